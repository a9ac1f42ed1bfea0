package mcpclient

import (
	"context"
	"io"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// StreamLink is a link over streams that can be dialled more than once.
func StreamLink(ctx context.Context, in io.ReadCloser, out io.WriteCloser, opts *jsonrpc.Options) Conn {
	return newStreamLink(ctx, in, out, opts)
}

// LinkOf returns the link that a client uses.
func LinkOf(c *Client) Conn { return c.now().link }
