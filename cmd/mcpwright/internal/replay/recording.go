// Package replay plays one side of a recording of mcpwright trace, and compares what the
// other side sends with the recording.
package replay

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
)

// Recording has the messages of a recording.
type Recording struct {
	// Connections has the messages of each connection, in the order of their first
	// messages.
	Connections [][]*Message
	// Skipped describes what cannot be replayed.
	Skipped []string
}

// Message is a message of a recording.
type Message struct {
	*wiretrace.Event
	fields
	// batch has the messages of a batch, if this is the first one.
	batch   []*Message
	inBatch bool
	// onStream is true if the message was sent on the stream that the client has opened with GET.
	onStream bool
}

// fields are the members of a message.
type fields struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

// kind returns the kind of a message.
func (f *fields) kind() wiretrace.Kind {
	switch {
	case f.Method != "" && f.ID != nil:
		return wiretrace.Request
	case f.Method != "":
		return wiretrace.Notification
	}
	return wiretrace.Response
}

// write writes the message as a line.
func (f *fields) write(w io.Writer) error { return writeLine(w, f.encode()) }

// encode returns the message as JSON.
func (f *fields) encode() json.RawMessage {
	raw, _ := json.Marshal(struct { // cannot fail, because the members have been decoded
		Version string `json:"jsonrpc"`
		*fields
	}{"2.0", f})
	return raw
}

// writeLine writes JSON as a line.
func writeLine(w io.Writer, raw json.RawMessage) error {
	_, err := w.Write(append(raw, '\n'))
	return err
}

// join returns messages as a batch.
func join(list []json.RawMessage) json.RawMessage {
	raw, _ := json.Marshal(list) // cannot fail
	return raw
}

// fromClient is the sender of messages of the client.
const fromClient = "client"

// Read reads a recording.
func Read(r io.Reader) (*Recording, error) {
	rec := &Recording{}
	index := map[int]int{}    // of connections
	streams := map[int]bool{} // numbers of the exchanges with GET
	lines := bufio.NewReader(r)
	for at := 1; ; at++ {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			m, problem := readLine(line)
			if problem != nil {
				return nil, fmt.Errorf("line %d is not a message of mcpwright trace: %w", at, problem)
			}
			if m.HTTP != nil {
				if m.HTTP.Method == http.MethodGet {
					streams[m.HTTP.Exchange] = true
				}
				m.onStream = streams[m.HTTP.Exchange] && m.RespondsTo == 0 && m.kind() != wiretrace.Response
			}
			rec.add(m, index)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	if len(rec.Connections) == 0 {
		return nil, errors.New("the recording has no messages")
	}
	return rec, nil
}

func readLine(line []byte) (*Message, error) {
	m := &Message{Event: &wiretrace.Event{}}
	if err := json.Unmarshal(line, m.Event); err != nil {
		return nil, err
	}
	if m.From != "client" && m.From != "server" || m.Kind == "" {
		return nil, errors.New("it has no sender or no kind")
	}
	switch {
	case m.Event.Message == nil || m.Kind == wiretrace.Text:
	case m.Kind == wiretrace.Batch:
		m.batch = readBatch(m)
	default:
		return m, json.Unmarshal(m.Event.Message, &m.fields)
	}
	return m, nil
}

// readBatch returns the messages of a batch, or nil if it has none or others.
func readBatch(m *Message) []*Message {
	all, err := readAll(m.Event.Message)
	if err != nil {
		return nil
	}
	var list []*Message
	for _, f := range all {
		e := *m.Event
		e.Kind, e.ID, e.Method = f.kind(), f.ID, f.Method
		list = append(list, &Message{Event: &e, fields: *f, inBatch: true})
	}
	return list
}

// readAll reads a message, or the messages of a batch.
func readAll(raw []byte) ([]*fields, error) {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] != '[' {
		f := new(fields)
		return []*fields{f}, json.Unmarshal(raw, f)
	}
	var list []*fields
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	if len(list) == 0 || slices.Contains(list, nil) {
		return nil, errors.New("it is not a batch of messages")
	}
	return list, nil
}

// add adds a message to its connection.
func (r *Recording) add(m *Message, index map[int]int) {
	switch {
	case m.Kind == wiretrace.HTTP:
		return
	case m.Clipped || m.Kind == wiretrace.Text || m.Kind == wiretrace.Batch && m.batch == nil || m.Event.Message == nil:
		r.Skipped = append(r.Skipped, fmt.Sprintf("message %d of the %s, because it is not a whole JSON-RPC message", m.N, m.From))
		return
	}
	at, ok := index[m.Connection]
	if !ok {
		at = len(r.Connections)
		index[m.Connection] = at
		r.Connections = append(r.Connections, nil)
	}
	if m.batch == nil {
		r.Connections[at] = append(r.Connections[at], m)
		return
	}
	m.batch[0].batch = m.batch
	r.Connections[at] = append(r.Connections[at], m.batch...)
	nameResponses(r.Connections[at], m.batch)
}

// nameResponses sets the methods of responses in a batch, for differences.
func nameResponses(all, batch []*Message) {
	for _, m := range batch {
		if m.kind() != wiretrace.Response {
			continue
		}
		for _, request := range all {
			if request.From != m.From && request.kind() == wiretrace.Request && string(request.fields.ID) == string(m.fields.ID) {
				m.Event.Method = request.fields.Method
			}
		}
	}
}

// Fill replaces the masked values in the messages of one side, which would be sent
// otherwise. Secrets has the value for each name of a member. The error names the members
// that have no value.
func (r *Recording) Fill(from string, secrets map[string]string) error {
	var missing []string
	for _, list := range r.Connections {
		for _, m := range list {
			if !m.Masked || m.From != from {
				continue
			}
			f := filler{secrets: secrets}
			for _, part := range []*json.RawMessage{&m.Params, &m.Result, &m.fields.Error} {
				*part = f.fill(*part)
			}
			for _, name := range f.missing {
				missing = append(missing, fmt.Sprintf("%q in message %d", name, m.N))
			}
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("the recording has masked values, which are not sent: %s; set each with -secret NAME=VARIABLE", strings.Join(slices.Compact(missing), ", "))
}

// mask is what a masked value has in place of the secret.
const mask = "***"

// filler replaces masked values.
type filler struct {
	secrets map[string]string
	missing []string
}

func (f *filler) fill(raw json.RawMessage) json.RawMessage {
	if !bytes.Contains(raw, []byte(mask)) {
		return raw
	}
	return encode(mapStrings(decode(raw), "", func(name, text string) string {
		if !strings.Contains(text, mask) {
			return text
		}
		if secret, ok := f.secrets[name]; ok && text == mask {
			return secret
		}
		f.missing = append(f.missing, name)
		return text
	}))
}

// mapStrings replaces the strings in a value. The name is the name of the member that has
// the string, or an array with it.
func mapStrings(value any, name string, replace func(name, text string) string) any {
	switch v := value.(type) {
	case string:
		return replace(name, v)
	case []any:
		for i := range v {
			v[i] = mapStrings(v[i], name, replace)
		}
	case map[string]any:
		for key := range v {
			v[key] = mapStrings(v[key], key, replace)
		}
	}
	return value
}

// decode decodes JSON that is valid. Numbers keep their digits.
func decode(raw json.RawMessage) (value any) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	_ = d.Decode(&value) // nil for an absent member
	return value
}

// encode encodes a value of decode.
func encode(value any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(value) // cannot fail
	return bytes.TrimSpace(b.Bytes())
}
