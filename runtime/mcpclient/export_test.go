package mcpclient

import (
	"context"
	"io"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// NewStreamConn returns a connection over streams, for endpoints that can be dialled more than once.
func NewStreamConn(ctx context.Context, in io.ReadCloser, out io.WriteCloser, opts *jsonrpc.Options) Conn {
	return newStreamConn(ctx, in, out, opts)
}

// TransportOf returns the connection that a client uses.
func TransportOf(c *Client) Conn { return c.current().transport }
