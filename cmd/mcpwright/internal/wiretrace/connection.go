package wiretrace

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/wire"
)

// connection has what is needed to pair and validate the messages of a pipe or a
// session. The goroutine of the recorder owns it.
type connection struct {
	recorder *Recorder
	number   int
	gap      bool // messages were not validated, so others may seem to be missing
	known    bool // a revision was selected
	requests map[string]request
}

// request is a request that has no response yet.
type request struct {
	n      int
	time   time.Time
	method string
	token  string // key of its progress token, or ""
}

// maxRequests limits the requests that wait for a response.
const maxRequests = 10_000

func (r *Recorder) newConnection(number int) *connection {
	return &connection{recorder: r, number: number, requests: map[string]request{}}
}

// check validates a message.
type check func(from mcptest.Sender, raw []byte) ([]*mcptest.Violation, wire.Revision)

// observe makes the event of a part and emits it.
func (c *connection) observe(p *part, check check) {
	e := c.recorder.event(p)
	e.Connection = c.number
	c.gap = c.gap || p.hidden || e.Clipped
	if e.Kind != "" {
		c.recorder.emit(e)
		return
	}
	all, batch := c.messages(p, e)
	e.Kind = Text
	for _, m := range all {
		e.Kind = m.kind()
		c.find(e, p, m)
	}
	if batch {
		e.Kind, e.ID, e.Method = Batch, nil, ""
	}
	if !e.Clipped {
		found, revision := check(p.from, p.raw)
		e.Revision, e.Violations = revision.String(), c.violations(found)
		if e.Kind == Request && e.Method == mcp.MethodInitialize {
			e.Revision = textOf(member(all[0].Params, "protocolVersion")) // the requested one
		}
	}
	c.recorder.emit(e)
	for _, m := range all {
		c.store(e, p, m)
	}
}

// messages returns the message of a part, or the messages of a batch.
func (c *connection) messages(p *part, e *Event) (list []*message, batch bool) {
	raw := bytes.TrimSpace(p.raw)
	switch {
	case len(raw) == 0:
	case e.Clipped:
		m := clippedMessage(raw)
		list = append(list, &m)
	case raw[0] == '[':
		batch = json.Unmarshal(raw, &list) == nil
	case raw[0] == '{':
		m := &message{}
		if m.read(raw) == nil || json.Unmarshal(raw, m) == nil {
			list = append(list, m)
		}
	}
	for i, m := range list {
		if m == nil {
			list[i] = &message{} // null in a batch
		}
	}
	return list, batch
}

// find sets what a message of an event responds to.
func (c *connection) find(e *Event, p *part, m *message) {
	e.ID = m.ID
	e.Method = textOf(m.Method)
	var key string
	switch {
	case m.Method == nil && m.ID != nil:
		key = requestKey(p.from == mcptest.FromClient, m.ID)
		r, ok := c.requests[key]
		if !ok {
			return
		}
		e.Method = r.method
		e.RespondsTo, e.LatencyMS = r.n, float64(p.time.Sub(r.time).Microseconds())/1000
		delete(c.requests, key)
		delete(c.requests, r.token)
	case e.Method == mcp.MethodProgress:
		e.RespondsTo = c.requests[tokenKey(p.from == mcptest.FromClient, member(m.Params, "progressToken"))].n
	case e.Method == mcp.MethodCancelled:
		e.RespondsTo = c.requests[requestKey(p.from == mcptest.FromServer, member(m.Params, "requestId"))].n
	}
}

// store stores a request for its response.
func (c *connection) store(e *Event, p *part, m *message) {
	method := textOf(m.Method)
	if !e.Clipped && p.from == mcptest.FromClient && (method == mcp.MethodInitialize || strings.Contains(string(m.Params), `"io.modelcontextprotocol/protocolVersion"`)) {
		c.known = true
	}
	if m.kind() != Request {
		return
	}
	if len(c.requests) > maxRequests {
		clear(c.requests)
	}
	r := request{n: e.N, time: p.time, method: method}
	if token := member(m.Params, "_meta", "progressToken"); token != nil {
		r.token = tokenKey(p.from == mcptest.FromServer, token)
		c.requests[r.token] = r
	}
	c.requests[requestKey(p.from == mcptest.FromServer, m.ID)] = r
}

// violations leaves out the violations that lost messages may cause.
func (c *connection) violations(found []*mcptest.Violation) (list []Violation) {
	for _, v := range found {
		if c.gap && (!c.known || strings.HasSuffix(v.Pointer, "/id")) {
			continue
		}
		list = append(list, Violation{v.Pointer, v.Problem})
	}
	return list
}

// requestKey returns the key of a request. The side is true for requests of the server.
func requestKey(ofServer bool, id json.RawMessage) string { return key("i", ofServer, id) }

// tokenKey returns the key of a progress token.
func tokenKey(ofServer bool, token json.RawMessage) string { return key("t", ofServer, token) }

func key(kind string, ofServer bool, value json.RawMessage) string {
	text := string(bytes.TrimSpace(value))
	if strings.HasPrefix(text, `"`) {
		text = `"` + textOf(value)
	}
	if ofServer {
		kind += "s"
	}
	return kind + " " + text
}

// member returns the value at a path of names, or nil. The JSON must be valid.
func member(raw json.RawMessage, path ...string) json.RawMessage {
	for _, name := range path {
		raw = readMember(raw, name)
	}
	return raw
}

// readMember returns the value of a member of an object, or nil.
func readMember(raw json.RawMessage, name string) (value json.RawMessage) {
	_, kind := wire.Peek(raw, name) // is fast, and most members that are asked for are absent
	if kind == 0 {
		return nil
	}
	_ = wire.DecodeWith(raw, nil, &value, func(d *wire.Decoder, value *json.RawMessage) {
		for o := d.Object(nil); o.Next(); {
			if *value == nil && o.Key() == name {
				*value = d.Raw()
			} else {
				d.Skip()
			}
		}
	}) // the validator reports an error
	return value
}
