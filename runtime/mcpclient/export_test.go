package mcpclient

import (
	"context"
	"io"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// StreamLink is a link over streams that can be dialled more than once.
func StreamLink(ctx context.Context, in io.ReadCloser, out io.WriteCloser, opts *jsonrpc.Options) Link {
	return newStreamLink(ctx, in, out, opts)
}

// LinkOf returns the link that a client uses.
func LinkOf(c *Client) Link { return c.now().link }
