package wiretrace

import (
	"bytes"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Kind is the kind of an event.
type Kind string

// The kinds.
const (
	Request      Kind = "request"
	Notification Kind = "notification"
	Response     Kind = "response" // with a result
	Error        Kind = "error"    // a response with an error
	Batch        Kind = "batch"
	Text         Kind = "text" // not a message
	HTTP         Kind = "http" // a request or a response of HTTP without a message
)

// Event is a message, or another part of a connection. Its JSON is a line of a
// recording.
type Event struct {
	N    int       `json:"n"` // number of the event, from 1
	Time time.Time `json:"time"`
	// Connection is the number of the pipe or the session, or 0 for a message of a
	// stateless revision over HTTP.
	Connection int             `json:"connection,omitempty"`
	From       string          `json:"from"` // client or server
	Kind       Kind            `json:"kind"`
	Method     string          `json:"method,omitempty"` // for a response, the method of the request
	ID         json.RawMessage `json:"id,omitempty"`
	// RespondsTo is the number of the request that a response, a progress notification
	// or a cancellation belongs to.
	RespondsTo int          `json:"respondsTo,omitempty"`
	LatencyMS  float64      `json:"latencyMs,omitempty"` // of a response, in milliseconds
	Revision   string       `json:"revision,omitempty"`
	Violations []Violation  `json:"violations,omitempty"`
	HTTP       *HTTPDetails `json:"http,omitempty"`
	Size       int64        `json:"size"`              // bytes of the message
	Clipped    bool         `json:"clipped,omitempty"` // the message is longer than Message or Text, and was not validated
	Masked     bool         `json:"masked,omitempty"`  // secrets were replaced
	// Message is the message if it is valid JSON, and otherwise Text has its bytes.
	Text    string          `json:"text,omitempty"`
	Message json.RawMessage `json:"message,omitempty"`
}

// HTTPDetails describes the HTTP exchange of an event.
type HTTPDetails struct {
	Exchange int    `json:"exchange"` // number of the exchange, from 1
	Method   string `json:"method,omitempty"`
	Path     string `json:"path,omitempty"`
	Status   int    `json:"status,omitempty"`
	Type     string `json:"type,omitempty"` // content type of the response
}

// Violation is a value that the revision does not allow.
type Violation struct {
	Pointer string `json:"pointer"` // JSON pointer, empty for the whole message
	Problem string `json:"problem"`
}

// message has the members of a message that are needed to pair it. A member of the wrong
// type is absent.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method json.RawMessage `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// read reads a message that a peer would accept.
func (m *message) read(raw []byte) error {
	return wire.DecodeWith(raw, nil, m, func(d *wire.Decoder, m *message) {
		for o := d.Object(nil); o.Next(); {
			switch o.Key() {
			case "id":
				m.ID = d.Raw()
			case "method":
				m.Method = d.Raw()
			case "params":
				m.Params = d.Raw()
			case "result":
				m.Result = present(d)
			case "error":
				m.Error = present(d)
			default:
				d.Skip()
			}
		}
	})
}

// present reads a value of which only the presence matters.
func present(d *wire.Decoder) json.RawMessage {
	d.Skip()
	return json.RawMessage("{}")
}

// kind returns the kind of a message.
func (m *message) kind() Kind {
	switch {
	case m.Method != nil && m.ID != nil:
		return Request
	case m.Method != nil:
		return Notification
	case m.Error != nil:
		return Error
	case m.Result != nil:
		return Response
	}
	return Text
}

// clippedMessage reads the members at the beginning of a message that was clipped.
func clippedMessage(raw []byte) (m message) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return m
	}
	for {
		name, err := d.Token()
		if err != nil {
			return m
		}
		var value json.RawMessage
		err = d.Decode(&value)
		switch name {
		case "id":
			m.ID = value
		case "method":
			m.Method = value
		case "params":
			m.Params = value
		case "result":
			m.Result = json.RawMessage("{}")
		case "error":
			m.Error = json.RawMessage("{}")
		}
		if err != nil {
			return m
		}
	}
}

// part is a message on its way to OnEvent.
type part struct {
	time time.Time
	from mcptest.Sender
	raw  []byte // at most MaxMessage
	size int64
	http *HTTPDetails
	kind Kind // for a part without a message, or ""
	text string
	// hidden is true if the part has messages that cannot be read.
	hidden bool
}

// hide replaces the message of a part by the reason why it is not shown.
func (p *part) hide(reason string) {
	p.kind, p.raw, p.hidden = HTTP, nil, true
	p.text = "the body is not shown, since " + reason
}

// event returns the event of a part without what depends on the connection.
func (r *Recorder) event(p *part) *Event {
	e := &Event{Time: p.time, From: p.from.String(), Kind: p.kind, HTTP: p.http, Size: p.size, Text: p.text, Clipped: len(p.raw) > 0 && p.size > int64(len(p.raw))}
	masked := r.opts.Mask.Bytes(p.raw)
	e.Masked = !bytes.Equal(masked, p.raw)
	switch {
	case len(p.raw) == 0:
	case !e.Clipped && json.Valid(p.raw) && utf8.Valid(p.raw):
		e.Message = masked
	default:
		e.Text = string(r.opts.Mask.text(masked))
	}
	return e
}

// textOf returns the value of a JSON string, or "".
func textOf(raw json.RawMessage) (s string) {
	if wire.Kind(raw) != '"' {
		return ""
	}
	if text := bytes.Trim(raw, `"`); bytes.IndexByte(text, '\\') < 0 && utf8.Valid(text) {
		return string(text)
	}
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}
