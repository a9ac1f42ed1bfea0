package mcpclient

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// turned tells whether a request may have been refused because there is another
// server at the URL now, one of the other era. Nothing came of the request then.
func (c *Client) turned(l *live, err error) bool {
	e, ok := errors.AsType[*streamable.HTTPError](err)
	if _, both := l.link.(httpLink); !ok || !both || !c.opts.speaks(eras.Newest(true)) || !c.opts.speaks(eras.Newest(false)) {
		return false
	}
	code := int64(0)
	if in := peer.AsError(e); in != nil {
		code = in.Code
	}
	if handshake(l.about.revision) {
		return modernError(e) || e.Status == http.StatusNotFound ||
			e.Status == http.StatusBadRequest && code == mcp.CodeInvalidParams
	}
	return unknownStatus(e) && code != mcp.CodeInvalidParams && code != mcp.CodeMethodNotFound
}

// turn goes on with a server of the other era, if there is one in the place of
// the old one. It tells whether there is.
func (c *Client) turn(ctx context.Context, old *live) bool {
	l, err := c.dial(old.to)
	if err == nil {
		l, err = c.openOther(ctx, l, old)
	}
	if err != nil {
		c.opts.Logger.DebugContext(ctx, "no server of the other era", "server", c.to.name(), "error", err)
		return false
	}
	r, begun, err := c.renewal(old, func(r *renewal) {
		c.install(l, nil, r)
		old.retire()
	})
	if !begun { // somebody else was faster
		l.close()
	}
	return err == nil && c.await(ctx, r) == nil
}

var errNotTurned = errors.New("the server speaks what it did before")

// openOther opens a link to a server of the other era than the old one, and
// closes it where there is none. A server that speaks without a handshake is not
// asked for one.
func (c *Client) openOther(ctx context.Context, l *live, old *live) (*live, error) {
	err := l.open(ctx, eras.Newest(false))
	if !handshake(old.about.revision) {
		if _, wrong := errors.AsType[*wrongEra](err); wrong {
			if l, err = c.unbroken(ctx, l, err); err != nil {
				return nil, err
			}
			err = l.open(ctx, eras.Newest(true))
		} else if err == nil {
			err = errNotTurned
		}
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}
