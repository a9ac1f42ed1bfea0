package mcpclient

import (
	"context"
	"encoding/json"
	"slices"
	"sync/atomic"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// InProcess returns the endpoint of a server in this process, such as a *mcpserver.Server. Messages
// are passed as Go values without a copy: neither side may change a message that it has received.
func InProcess(server interface {
	InProcess(client *jsonrpc.Options) *jsonrpc.InProcessConn
}) Endpoint {
	return inProcess{server.InProcess}
}

type inProcess struct {
	connect func(*jsonrpc.Options) *jsonrpc.InProcessConn
}

func (inProcess) name() string { return "in process" }

func (e inProcess) dial(_ context.Context, o *dialOptions) (Conn, error) {
	return &inProcessConn{InProcessConn: e.connect(&o.jsonrpc), frame: o.jsonrpc.Frame}, nil
}

// inProcessConn passes the metadata of the frame together with a request. On other transports the
// metadata is encoded into the request.
type inProcessConn struct {
	*jsonrpc.InProcessConn
	frame func(method string) *wire.Frame
	last  atomic.Pointer[frameMetadata] // most requests have the same frame
}

func (c *inProcessConn) inFlight() connection.InFlight { return c.InFlight() }
func (c *inProcessConn) relatesToCalls()               {}

// Call implements [peer.Outbound].
func (c *inProcessConn) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	switch f := c.frameOf(req, opts); {
	case f == nil || len(f.Meta) == 0:
	case slices.ContainsFunc(f.Meta, isCustom):
		req = &encodedRequest{req, f}
	default:
		req = &requestWithMetadata{encodedRequest{req, f}, c.metadataOf(f)}
	}
	return c.InProcessConn.Call(ctx, req, res, opts...)
}

// isCustom reports whether handlers can read an entry of the metadata in their request. They cannot
// read the entries that describe the client.
func isCustom(e wire.Entry) bool {
	return e.Name != revisions.KeyVersion && e.Name != revisions.KeyCapabilities && e.Name != revisions.KeyInfo && e.Name != revisions.KeyLogLevel
}

// frameOf returns the frame of a request. The first option is always the connection's own frame.
func (c *inProcessConn) frameOf(req peer.Message, opts []peer.CallOption) *wire.Frame {
	f := c.frame(req.Method())
	if len(opts) > 1 {
		if own := callOptions(opts).Frame; own != nil {
			f = own
		}
	}
	if m, ok := req.(interface{ RequestMeta() *mcp.RequestMeta }); ok && m.RequestMeta() != nil && m.RequestMeta().LogLevel != "" {
		return withLogLevel(f, m.RequestMeta().LogLevel)
	}
	return f
}

func (c *inProcessConn) metadataOf(f *wire.Frame) *frameMetadata {
	if m := c.last.Load(); m != nil && m.frame == f {
		return m
	}
	b := []byte{'{'}
	for i, e := range f.Meta {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(wire.AppendString(b, e.Name), ':')
		b = append(b, e.Value...)
	}
	m := &frameMetadata{f, append(b, '}')}
	c.last.Store(m)
	return m
}

// frameMetadata is the metadata of a frame as a JSON object.
type frameMetadata struct {
	frame *wire.Frame
	json  json.RawMessage
}

// encodedRequest encodes a request with its frame. The handler receives a decoded copy.
type encodedRequest struct {
	peer.Message
	frame *wire.Frame
}

// AppendParams implements [wire.Params].
func (m *encodedRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	b, err := wire.AppendParams(b, m.frame, m.Message)
	if err != nil {
		e.FailWith(b, err)
	}
	return b
}

// requestWithMetadata is a request and its metadata. The handler receives the request itself.
type requestWithMetadata struct {
	encodedRequest
	metadata *frameMetadata
}

// SplitMetadata implements [outbound.WithMetadata].
func (m *requestWithMetadata) SplitMetadata() (peer.Message, json.RawMessage) {
	return m.Message, m.metadata.json
}
