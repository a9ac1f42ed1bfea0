package mcpclient

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// InProcess is a server in this process, such as a *mcpserver.Server. Messages
// are handed over as they are: neither side may change what it got.
func InProcess(server interface {
	InProcess(client *jsonrpc.Options) *jsonrpc.InProcessConn
}) Endpoint {
	return inProcess{server.InProcess}
}

type inProcess struct {
	connect func(*jsonrpc.Options) *jsonrpc.InProcessConn
}

func (inProcess) name() string { return "in process" }

func (e inProcess) dial(_ context.Context, w *wiring) (Conn, error) {
	return &inProcessConn{InProcessConn: e.connect(&w.dispatch), frame: w.dispatch.Frame}, nil
}

// inProcessConn is an in-process connection as a Conn. What a frame would write
// into a message on a wire has to travel with the message itself.
type inProcessConn struct {
	*jsonrpc.InProcessConn
	frame func(method string) *wire.Frame
	last  atomic.Pointer[stamp] // the frame seldom changes
}

func (l *inProcessConn) inFlight() connection.InFlight { return l.InFlight() }
func (l *inProcessConn) relates()                      {}

// Call implements [peer.Outbound].
func (l *inProcessConn) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	switch f := l.frameOf(req, opts); {
	case f == nil || len(f.Meta) == 0:
	case slices.ContainsFunc(f.Meta, foreign):
		req = &framed{req, f}
	default:
		req = &stamped{framed{req, f}, l.stamp(f)}
	}
	return l.InProcessConn.Call(ctx, req, res, opts...)
}

// foreign tells whether an entry is none of those by which a request says who
// sends it: a handler is to see it, too.
func foreign(e wire.Entry) bool {
	return e.Name != eras.KeyVersion && e.Name != eras.KeyCapabilities && e.Name != eras.KeyInfo && e.Name != eras.KeyLogLevel
}

// frameOf is how a request is to be written. The first option is the
// connection's own, which says nothing new.
func (l *inProcessConn) frameOf(req peer.Message, opts []peer.CallOption) *wire.Frame {
	f := l.frame(req.Method())
	if len(opts) > 1 {
		if own := callOptions(opts).Frame; own != nil {
			f = own
		}
	}
	if m, ok := req.(interface{ RequestMeta() *mcp.RequestMeta }); ok && m.RequestMeta() != nil && m.RequestMeta().LogLevel != "" {
		return withLevel(f, m.RequestMeta().LogLevel)
	}
	return f
}

func (l *inProcessConn) stamp(f *wire.Frame) *stamp {
	if s := l.last.Load(); s != nil && s.frame == f {
		return s
	}
	meta := []byte{'{'}
	for i, e := range f.Meta {
		if i > 0 {
			meta = append(meta, ',')
		}
		meta = append(wire.AppendString(meta, e.Name), ':')
		meta = append(meta, e.Value...)
	}
	s := &stamp{f, append(meta, '}')}
	l.last.Store(s)
	return s
}

// stamp is a frame and what it adds to the "_meta" of a message.
type stamp struct {
	frame *wire.Frame
	meta  json.RawMessage
}

// framed is a message that is written down by its frame before a handler has it.
type framed struct {
	peer.Message
	frame *wire.Frame
}

// AppendParams implements [wire.Params].
func (m *framed) AppendParams(b []byte, e *wire.Encoder) []byte {
	b, err := wire.AppendParams(b, m.frame, m.Message)
	if err != nil {
		e.FailWith(b, err)
	}
	return b
}

// stamped is a message with its stamp. A handler has it as it is.
type stamped struct {
	framed
	stamp *stamp
}

// Envelope implements [connection.Enveloped].
func (m *stamped) Envelope() (peer.Message, json.RawMessage) { return m.Message, m.stamp.meta }
