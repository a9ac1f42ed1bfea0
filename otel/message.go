package mcpotel

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// maxText limits the bytes of an attribute that a peer has chosen.
const maxText = 256

// clip shortens a text to maxText bytes.
func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	return strings.ToValidUTF8(s[:maxText], "")
}

// message contains the parts of a message that are recorded.
type message struct {
	method    string
	tool      string
	prompt    string
	uri       string
	meta      map[string]json.RawMessage // without the members that the protocol defines
	arguments json.RawMessage
}

// inboundMessage reads the recorded parts of a message that has been received.
func inboundMessage(in *peer.Inbound) message {
	m := message{method: in.Method}
	switch {
	case in.Message != nil && m.read(in.Message):
	case in.Value != nil && m.read(in.Value):
	case in.Params != nil || in.Value != nil:
		m.probe(in)
	}
	return m
}

// read reads the recorded parts of a request. It reports whether it has the metadata
// of the message.
func (m *message) read(msg peer.Message) bool {
	m.target(msg)
	with, ok := msg.(interface{ RequestMeta() *mcp.RequestMeta })
	if !ok {
		return false
	}
	if meta := with.RequestMeta(); meta != nil {
		m.meta = meta.Extra
	}
	return true
}

// target reads the tool, the prompt or the resource of a message.
func (m *message) target(msg peer.Message) {
	switch r := msg.(type) {
	case *mcp.CallToolRequest:
		m.tool, m.arguments = r.Name, r.Arguments
	case *mcp.GetPromptRequest:
		m.prompt = r.Name
	case *mcp.ReadResourceRequest:
		m.uri = r.URI
	case *mcp.SubscribeRequest:
		m.uri = r.URI
	case *mcp.UnsubscribeRequest:
		m.uri = r.URI
	case *mcp.ResourceUpdatedNotification:
		m.uri = r.URI
	}
}

// probe reads the recorded parts of a message that has not been decoded.
func (m *message) probe(in *peer.Inbound) {
	var p probe
	if in.Decode(in.Frame, &p) != nil {
		return
	}
	m.meta = p.meta
	switch in.Method {
	case mcp.MethodCallTool:
		m.tool, m.arguments = p.name, p.arguments
	case mcp.MethodGetPrompt:
		m.prompt = p.name
	case mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodUnsubscribe, mcp.MethodResourceUpdated:
		m.uri = p.uri
	}
}

// probe reads a few members of the params of a message, or of a result.
type probe struct {
	wire.ReadOnly
	meta      map[string]json.RawMessage
	name, uri string
	revision  string
	arguments json.RawMessage
}

var (
	probeMembers = wire.NewMembers("params", wire.Member{Name: "_meta", In: wire.Always},
		wire.Member{Name: "name", In: wire.Always}, wire.Member{Name: "uri", In: wire.Always}, wire.Member{Name: "arguments", In: wire.Always},
		wire.Member{Name: "protocolVersion", In: wire.Always})
	noMembers = wire.NewMembers("_meta")
)

// DecodeParams implements [wire.Params].
func (p *probe) DecodeParams(d *wire.Decoder) {
	for o := d.Object(probeMembers); o.Next(); {
		switch kind := d.Kind(); {
		case o.Name == "_meta" && kind == '{':
			for meta := d.Object(noMembers); meta.Next(); {
				p.meta = meta.Extra(p.meta)
			}
		case o.Name == "name" && kind == '"':
			p.name = d.String()
		case o.Name == "uri" && kind == '"':
			p.uri = d.String()
		case o.Name == "protocolVersion" && kind == '"':
			p.revision = d.String()
		case o.Name == "arguments" && kind == '{':
			p.arguments = d.Raw()
		default:
			d.Skip()
		}
	}
}

// metaReader is the metadata of a received message as a
// [go.opentelemetry.io/otel/propagation.TextMapCarrier].
type metaReader map[string]json.RawMessage

// Get returns a member that is a string, or "".
func (m metaReader) Get(key string) string {
	raw := m[key]
	if len(raw) < 2 || raw[0] != '"' {
		return ""
	}
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var value string
	if json.Unmarshal(raw, &value) != nil {
		return ""
	}
	return value
}

// Set does nothing.
func (metaReader) Set(string, string) {}

// Keys returns the names of the members.
func (m metaReader) Keys() []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	return keys
}

// metaWriter collects the entries that are added to the metadata of a message. It is a
// [go.opentelemetry.io/otel/propagation.TextMapCarrier].
type metaWriter struct {
	frame   wire.Frame
	entries [4]wire.Entry // room for the entries of a client, and for traceparent
	n       int
	text    [64]byte // room for the value of traceparent
}

// Get returns "".
func (*metaWriter) Get(string) string { return "" }

// Keys returns nil.
func (*metaWriter) Keys() []string { return nil }

// Set adds an entry, or replaces it.
func (w *metaWriter) Set(key, value string) {
	if value != "" {
		w.set(key, wire.AppendString(nil, value))
	}
}

// setParent adds the traceparent of a span.
func (w *metaWriter) setParent(sc trace.SpanContext) { w.set(keyParent, appendParent(w.text[:0], sc)) }

func (w *metaWriter) set(key string, value json.RawMessage) {
	e := wire.Entry{Name: key, Value: value, Checked: true}
	w.n++
	meta := w.frame.Meta
	if i := slices.IndexFunc(meta, func(old wire.Entry) bool { return old.Name == key }); i >= 0 {
		meta[i] = e
		return
	}
	w.frame.Meta = append(meta, e)
}

// use begins with the frame that the message would have had, which may be nil.
func (w *metaWriter) use(frame *wire.Frame) {
	if frame != nil {
		w.frame = *frame
	}
	w.frame.Meta = append(w.entries[:0], w.frame.Meta...)
}
