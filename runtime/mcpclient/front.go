package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// front is the way out of a client. There are three, which differ in how much
// they do by themselves.
type front struct {
	client *Client
	fresh  bool // what is kept is not looked at
	plain  bool // nothing is kept, and no question answered
}

// Uncached is the server without what is kept of its answers: each list and each
// resource is asked for. The answers are kept for others.
func (c *Client) Uncached() mcp.ServerPeer {
	return mcp.ServerPeer{Outbound: &front{client: c, fresh: true}}
}

// Forward is the server for a gateway: nothing is kept, and the questions in an
// answer are the caller's, who finds them as an *[mcp.InputRequiredError]. The
// server kit knows what to do with them: there a tool of this server is
//
//	upstream := mcp.ServerPeer{Outbound: mcpserver.Forward(client.Forward())}
//	server.AddRawTool(tool, upstream.CallTool)
//
// [Options].Capabilities then declares what its clients can be asked for. With
// [Options].Tasks a task is followed to its end, and what it asks meanwhile goes to
// the handlers of this client.
//
// Subscriptions are refused: what comes on one bears the id of the request that
// opened it, so that a gateway has to open its own, with [Client.Listen].
func (c *Client) Forward() mcp.ServerPeer {
	return mcp.ServerPeer{Outbound: &front{client: c, plain: true}}
}

// Call implements [peer.Outbound].
func (f *front) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if take := callOptions(opts).OnLog; take != nil {
		return f.client.hear(ctx, take, func(ctx context.Context) error { return f.call(ctx, req, res, opts) })
	}
	return f.call(ctx, req, res, opts)
}

func (f *front) call(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	if f.plain && req.Method() == mcp.MethodSubscriptionsListen {
		return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "A subscription cannot be forwarded"}
	}
	if f.plain {
		return f.client.try(ctx, req, res, opts)
	}
	return f.client.keep(ctx, req, res, opts, f.fresh)
}

// callOptions returns what opts come to. Without any it takes no memory.
func callOptions(opts []peer.CallOption) peer.CallOptions {
	if len(opts) == 0 {
		return peer.CallOptions{}
	}
	o := new(peer.CallOptions)
	for _, opt := range opts {
		opt(o)
	}
	return *o
}

// Notify implements [peer.Outbound].
func (f *front) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	l, err := f.client.current(ctx, n.Method())
	if err != nil {
		return nil // what cannot be delivered is dropped
	}
	return l.conn.Load().Notify(ctx, n, opts...)
}

// deliver sends a request, and once more where what went wrong could be mended.
func (c *Client) deliver(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) error {
	l, err := c.send(ctx, req, res, opts)
	for l != nil && c.outlive(ctx, l, err) {
		l, err = c.send(ctx, req, res, opts)
	}
	if err == nil || l == nil {
		return err
	}
	mended, problem := c.mend(ctx, l, req, err)
	switch {
	case problem != nil:
		return fmt.Errorf("%w (and then: %w)", err, problem)
	case !mended:
		return err
	}
	reset(res)
	_, err = c.send(ctx, req, res, opts)
	return err
}

// send sends a request over the live in use, and returns that, nil where there
// is none.
func (c *Client) send(ctx context.Context, req peer.Message, res wire.Value, opts []peer.CallOption) (*live, error) {
	list, lists := res.(*mcp.ListToolsResult)
	var changes uint64
	if lists {
		changes = c.tools.soFar()
	}
	l, err := c.current(ctx, req.Method())
	for ; err == nil && !l.enter(); l, err = c.current(ctx, req.Method()) {
	}
	if err != nil {
		return nil, err
	}
	defer l.leave()
	if err := l.conn.Load().Call(ctx, req, res, opts...); err != nil {
		return l, err
	}
	if lists {
		c.learnTools(l, req, list, changes)
	}
	if set, ok := req.(*mcp.SetLevelRequest); ok {
		level := set.Level
		c.level.Store(&level) // for the next session, too
	}
	return l, nil
}

// mend sees to it that a request that has failed may be sent again, where
// sending it again can be right: the server has not begun to handle it.
func (c *Client) mend(ctx context.Context, l *live, req peer.Message, err error) (bool, error) {
	if sessionLost(err) {
		return true, c.renew(ctx, l)
	}
	if unsupported, ok := errors.AsType[*mcp.UnsupportedProtocolVersionError](err); ok && !handshake(l.about.revision) {
		return c.mendRevision(ctx, l, unsupported.Supported)
	}
	if e := peer.AsError(err); e != nil && e.Code == mcp.CodeHeaderMismatch && req.Method() == mcp.MethodCallTool {
		return true, c.relearnTools(ctx)
	}
	return c.turned(l, err) && c.turn(ctx, l), nil
}

// mendRevision goes on in another revision, of those that the server says it
// speaks. One of the other era takes another live.
func (c *Client) mendRevision(ctx context.Context, l *live, names []string) (bool, error) {
	if r, known := c.choose(names); known {
		l.respeak(r)
		return true, nil
	}
	if _, shakes := newest(names, true); !shakes || c.opts.Mode != Auto || c.opts.Revision.Index() >= 0 {
		return false, nil
	}
	return true, c.renew(ctx, l)
}

// reset makes a result empty again that a failed answer was read into.
func reset(res wire.Value) {
	if a, ok := res.(*taskAnswer); ok {
		a.task, res = nil, a.result
	}
	if v := reflect.ValueOf(res); v.Kind() == reflect.Pointer && !v.IsNil() {
		v.Elem().SetZero()
	}
}
