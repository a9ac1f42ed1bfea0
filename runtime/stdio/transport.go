package stdio

import "github.com/mcpwright/mcp/runtime/peer"

// Kind is what the transport contexts of this package call themselves.
const Kind = "stdio"

// TransportContextContext is what this transport knows about an inbound message. Handlers
// reach it by type assertion:
//
//	if t, ok := session.Transport().(*stdio.TransportContext); ok && t.Process() != nil {
//		log.Printf("from the child with process id %d", t.Process().PID())
//	}
type TransportContext struct {
	peer.Transport
	process    *Process
	notifyOnly *TransportContext
}

func newTransport(p *Process) *TransportContext {
	only := &TransportContext{Transport: peer.NewTransport(Kind, false, nil, ""), process: p}
	only.notifyOnly = only
	return &TransportContext{peer.NewTransport(Kind, true, nil, ""), p, only}
}

// NotifyOnly is what handlers see where the revision has no requests to the
// client: the same, except that no request can be sent.
func (t *TransportContext) NotifyOnly() peer.TransportContext { return t.notifyOnly }

// Process is the child that sent the message. It is nil on the server's end,
// which did not start its peer.
func (t *TransportContext) Process() *Process { return t.process }
