package connection

import (
	"encoding/json"

	"github.com/mcpwright/mcp/runtime/peer"
)

// Enveloped is a message that is passed on in process together with what a
// frame would write into its "_meta" on a wire. The kernel takes it out of its
// envelope before a handler sees it. Its AppendParams writes both.
type Enveloped interface {
	peer.Message
	// Envelope returns the message itself and the "_meta" that goes with it.
	Envelope() (peer.Message, json.RawMessage)
}

// spokenIn is the version that the envelope of a message names, empty if none.
func spokenIn(in *peer.Inbound) string {
	var l letter
	if e, ok := in.Value.(Enveloped); ok {
		_, l.Meta = e.Envelope()
		l.readMeta()
	} else {
		l.read(paramsOf(in))
	}
	return l.version
}

// unwrap takes a message out of its envelope, if it is in one, and notes what
// the envelope says. A message of another type than its handler's is written
// down later, envelope and all.
func (k *Dispatcher) unwrap(l *letter, in *peer.Inbound) *peer.Inbound {
	e, ok := in.Value.(Enveloped)
	if !ok {
		return in
	}
	m, meta := e.Envelope()
	l.Meta = meta
	if method := k.method(in.Method, k.perRequest); !method.handled() || !method.route.Is(m) {
		return in
	}
	inner := *in
	inner.Value = m
	return &inner
}
