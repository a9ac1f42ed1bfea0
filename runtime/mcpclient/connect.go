package mcpclient

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
)

// Connect opens a connection to a server and negotiates the revision. It returns when the client can
// be used. Nil options have the defaults.
//
// The context limits Connect only: the connection lasts until [Client.Close]. Handlers of messages
// outside of calls receive the values of ctx, without its end. If Connect fails, it leaves nothing
// behind. A child process that does not exit is terminated soon after the end of ctx, and killed
// after its Start.KillAfter.
//
// If client and server have no revision in common, the error contains "no common protocol version"
// and the revisions that were tried.
func Connect(ctx context.Context, to Endpoint, opts *Options) (*Client, error) {
	if to == nil {
		return nil, errors.New("connect: endpoint is nil")
	}
	c := &Client{opts: opts.complete(), endpoint: to, done: make(chan struct{})}
	if err := errors.Join(context.Cause(ctx), c.opts.check()); err != nil {
		return nil, fmt.Errorf("connect to %q: %w", to.name(), err)
	}
	c.dispatcher = c.newDispatcher()
	c.cache.init(&c.opts.Cache)
	c.ServerPeer = mcp.ServerPeer{Outbound: &clientOutbound{client: c}}
	c.values = lazy.Values(ctx)
	c.life, c.end = context.WithCancel(c.values)
	sc, err := c.open(ctx, to, c.opts.LastRevision)
	if err != nil {
		c.end()
		return nil, fmt.Errorf("connect to %q: %w", to.name(), err)
	}
	c.mu.Lock()
	c.state.conn = sc
	c.mu.Unlock()
	c.start(sc)
	c.resume(ctx, sc, false)
	return c, nil
}
