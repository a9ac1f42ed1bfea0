package wiretrace

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// AppendJSON appends the event as a line of a recording. The line is the encoding of the event
// by encoding/json, except that the message is copied as it is.
func (e *Event) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"n":`...), int64(e.N), 10)
	b = append(e.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano), '"')
	if e.Connection != 0 {
		b = strconv.AppendInt(append(b, `,"connection":`...), int64(e.Connection), 10)
	}
	b = appendText(b, "from", e.From, true)
	b = appendText(b, "kind", string(e.Kind), true)
	b = appendText(b, "method", e.Method, false)
	if e.ID != nil {
		b = append(append(b, `,"id":`...), appendLine(nil, e.ID)...)
	}
	if e.RespondsTo != 0 {
		b = strconv.AppendInt(append(b, `,"respondsTo":`...), int64(e.RespondsTo), 10)
	}
	if e.LatencyMS != 0 {
		b = appendValue(b, "latencyMs", e.LatencyMS)
	}
	b = appendText(b, "revision", e.Revision, false)
	if len(e.Violations) > 0 {
		b = appendValue(b, "violations", e.Violations)
	}
	if e.HTTP != nil {
		b = appendValue(b, "http", e.HTTP)
	}
	b = strconv.AppendInt(append(b, `,"size":`...), e.Size, 10)
	if e.Clipped {
		b = append(b, `,"clipped":true`...)
	}
	if e.Masked {
		b = append(b, `,"masked":true`...)
	}
	b = appendText(b, "text", e.Text, false)
	if e.Message != nil {
		b = appendLine(append(b, `,"message":`...), e.Message)
	}
	return append(b, "}\n"...)
}

// appendText appends a member with a text. An empty text is appended only if it is required.
func appendText(b []byte, name, text string, required bool) []byte {
	if text == "" && !required {
		return b
	}
	for i := range len(text) {
		if c := text[i]; c < ' ' || c > '~' || strings.IndexByte(`"\<>&`, c) >= 0 {
			return appendValue(b, name, text)
		}
	}
	b = append(append(append(b, `,"`...), name...), `":"`...)
	return append(append(b, text...), '"')
}

// appendValue appends a member with any value that can be encoded.
func appendValue(b []byte, name string, v any) []byte {
	raw, _ := json.Marshal(v) // cannot fail
	return append(append(append(append(b, `,"`...), name...), `":`...), raw...)
}

// appendLine appends JSON without line ends.
func appendLine(b []byte, message json.RawMessage) []byte {
	message = bytes.TrimSpace(message)
	if bytes.IndexByte(message, '\n') < 0 && bytes.IndexByte(message, '\r') < 0 {
		return append(b, message...)
	}
	out := bytes.NewBuffer(b)
	_ = json.Compact(out, message) // is valid
	return out.Bytes()
}

// maxPreview limits the bytes of a message that are printed.
const maxPreview = 160

// timeFormat is the format of times in text.
const timeFormat = "15:04:05.000"

// AppendText appends the event as lines for a person: the event, and each violation. The
// whole message is appended if full is true, and otherwise its beginning.
func (e *Event) AppendText(b []byte, full bool) []byte {
	b = strconv.AppendInt(b, int64(e.N), 10)
	b = append(b, ' ')
	b = e.Time.AppendFormat(b, timeFormat)
	if e.From == "client" {
		b = append(b, " > "...)
	} else {
		b = append(b, " < "...)
	}
	b = append(b, e.Kind...)
	b = e.appendDetails(b)
	b = e.appendContent(b, full)
	b = append(b, '\n')
	for _, v := range e.Violations {
		b = append(b, "    violation at "...)
		if v.Pointer == "" {
			b = append(b, "the whole message"...)
		} else {
			b = strconv.AppendQuote(b, v.Pointer)
		}
		b = append(b, ": "...)
		b = append(b, v.Problem...)
		if e.Revision != "" {
			b = append(append(append(b, " ("...), e.Revision...), ')')
		}
		b = append(b, '\n')
	}
	return b
}

// appendDetails appends the method, the ids and the times.
func (e *Event) appendDetails(b []byte) []byte {
	add := func(name, value string) {
		if value != "" {
			b = append(append(append(b, ' '), name...), value...)
		}
	}
	add("", e.Method)
	add("id=", string(e.ID))
	if h := e.HTTP; h != nil {
		add("", h.Method)
		add("", h.Path)
		if h.Status != 0 {
			add("", strconv.Itoa(h.Status))
			add("", h.Type)
		}
	}
	if e.Connection > 1 {
		add("connection ", strconv.Itoa(e.Connection))
	}
	if e.RespondsTo != 0 {
		add("to ", strconv.Itoa(e.RespondsTo))
	}
	if e.LatencyMS != 0 {
		add("after ", strconv.FormatFloat(e.LatencyMS, 'f', -1, 64)+" ms")
	}
	if e.Clipped {
		add("", strconv.FormatInt(e.Size, 10)+" bytes, not validated")
	}
	if len(e.Violations) > 0 {
		add("", "INVALID")
	}
	return b
}

// appendContent appends the message or the text on the same line.
func (e *Event) appendContent(b []byte, full bool) []byte {
	content := []byte(e.Message)
	if content == nil {
		if e.Text == "" {
			return b
		}
		content = []byte(e.Text)
	}
	cut := !full && len(content) > maxPreview
	if cut {
		content = bytes.ToValidUTF8(content[:maxPreview], nil) // without a part of a character
	}
	b = append(b, ' ')
	start := len(b)
	b = append(b, content...)
	for i, c := range b[start:] {
		if c == '\n' || c == '\r' {
			b[start+i] = ' '
		}
	}
	if cut {
		b = append(b, "..."...)
	}
	return b
}
