package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// establish makes a live: it dials, and finds the revision to speak. The hint is
// what the server spoke before, if that is known.
func (c *Client) establish(ctx context.Context, to Endpoint, hint wire.Revision) (*live, error) {
	l, err := c.dial(to)
	if err != nil {
		return nil, err
	}
	if l, err = c.settle(ctx, l, hint); err == nil {
		return l, nil
	}
	if other, ok := to.(interface{ fallback(error) Endpoint }); ok && c.opts.speaks(eras.Newest(true)) {
		if to := other.fallback(err); to != nil {
			return c.establish(ctx, to, eras.Newest(true))
		}
	}
	return nil, err
}

// settle finds the revision to speak over a link. An era that turns out wrong
// makes way for the other one. It is tried once more where that one is refused
// and the server had just not said anything in time.
func (c *Client) settle(ctx context.Context, l *live, hint wire.Revision) (_ *live, err error) {
	r, settled := c.opts.first(hint)
	for before := (*wrongEra)(nil); ; {
		if err = l.open(ctx, r); err == nil {
			return l, nil
		}
		wrong, isWrong := errors.AsType[*wrongEra](err)
		if !isWrong || settled || before != nil && !unheard(before) {
			l.drop(ctx)
			return nil, withEarlier(err, before)
		}
		settled = before != nil
		before, r = wrong, eras.Newest(!handshake(r))
		if l, err = c.unbroken(ctx, l, err); err != nil {
			return nil, withEarlier(err, before)
		}
	}
}

// unbroken returns the link, or another one if it has broken: some servers end
// when they meet a request that they do not know. There is none for a context that
// is over, which may be so by the time that the broken one is closed.
func (c *Client) unbroken(ctx context.Context, l *live, err error) (*live, error) {
	if _, broke := errors.AsType[*peer.ClosedError](err); !broke && !l.over() {
		return l, nil
	}
	l.drop(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return c.dial(l.to)
}

// unheard tells whether an era was given up because nothing was heard in time.
func unheard(e *wrongEra) bool {
	_, timedOut := errors.AsType[*peer.TimeoutError](e.cause)
	return timedOut
}

func withEarlier(err error, before *wrongEra) error {
	if before == nil {
		return err
	}
	return fmt.Errorf("%w (before that: %w)", err, before)
}

// open settles with the server that a revision is spoken, or one of its era.
func (l *live) open(ctx context.Context, r wire.Revision) error {
	if handshake(r) {
		return l.shakeHands(ctx, r)
	}
	return l.discover(ctx, r, true)
}

// shakeHands opens a session.
func (l *live) shakeHands(ctx context.Context, r wire.Revision) error {
	conn := l.speak(r)
	req := &initialize{mcp.InitializeRequest{
		ProtocolVersion: r.String(), Capabilities: l.client.declared, ClientInfo: l.client.opts.Info,
	}}
	raw, err := peer.SendRequest(ctx, conn, req)
	if err != nil {
		return judgeInitialize(r, err)
	}
	res, settled, err := raw.readInitialize()
	if err != nil {
		return fmt.Errorf("answer to %q: %w", req.Method(), err)
	}
	if !handshake(settled) || !l.client.opts.speaks(settled) {
		return fmt.Errorf("the server wants to speak revision %q: %w", res.ProtocolVersion, errNoRevision)
	}
	conn.SetRevision(settled)
	if s, ok := l.link.(settler); ok {
		s.SetRevision(settled)
	}
	l.know(about{settled, &res.ServerInfo, &res.Capabilities, res.Instructions})
	if err := l.begin(ctx, conn); err != nil {
		return err
	}
	l.awaitListening(ctx)
	return nil
}

// mostBusy is how long to wait in the end for a server that is too busy to hear
// that its session begins.
const mostBusy = 2 * time.Second

// begin tells the server that the session begins, more than once where it has not
// heard: many refuse everything until they have. One that does not know what to do
// with that has heard, and a session that is lost is opened anew later.
func (l *live) begin(ctx context.Context, conn *connection.Connection) error {
	n := &mcp.InitializedNotification{}
	link, knows := l.link.(beginner)
	for delay := leastDelay; ; delay *= 2 {
		if err := conn.Notify(ctx, n); err != nil || !knows {
			return err
		}
		err := link.InitializedErr()
		if err == nil {
			return nil
		}
		if e, ok := errors.AsType[*streamable.HTTPError](err); ok && unknownStatus(e) {
			l.client.grumble(ctx, n.Method(), err)
			return nil
		}
		if delay > mostBusy || rest(ctx, delay) != nil {
			return fmt.Errorf("send %q: %w", n.Method(), err)
		}
	}
}

// mostHearing is how long to wait for a server that does not answer the request
// for a stream before it has something to say on it.
const mostHearing = time.Second

// awaitListening waits until the server can reach this client on its own
// account. Some servers send the questions of a call that way, into the void if
// the call comes first.
func (l *live) awaitListening(ctx context.Context) {
	h, ok := l.link.(listener)
	if !ok {
		return
	}
	timer := time.NewTimer(mostHearing)
	defer timer.Stop()
	select {
	case <-h.Listening():
	case <-timer.C:
	case <-ctx.Done():
	}
}

// discover asks the server what it speaks, in the revision to be spoken. A
// server that wants another one is asked again, once.
func (l *live) discover(ctx context.Context, r wire.Revision, again bool) error {
	conn := l.speak(r)
	raw, err := peer.SendRequest(ctx, conn, &discover{},
		peer.WithTimeout(l.client.opts.ProbeTimeout), peer.WithoutCancelNotification())
	if err != nil {
		return l.judgeDiscover(ctx, r, again, err)
	}
	res, err := raw.readDiscover(r)
	if err != nil {
		return &wrongEra{r, fmt.Errorf("answer to %q: %w", mcp.MethodDiscover, err)}
	}
	best, known := l.client.choose(res.SupportedVersions)
	switch {
	case !known:
		return otherwise(r, res.SupportedVersions, fmt.Errorf("it speaks %q", res.SupportedVersions))
	case best != r:
		l.speak(best)
	}
	a := about{revision: best, capabilities: &res.Capabilities, instructions: res.Instructions}
	if res.Meta != nil {
		a.info = res.Meta.ServerInfo
	}
	l.know(a)
	return nil
}

// choose returns the newest of the revisions without handshake that a server
// and the options name.
func (c *Client) choose(names []string) (wire.Revision, bool) {
	if r := c.opts.Revision; r.Index() >= 0 {
		return r, slices.Contains(names, r.String())
	}
	return newest(names, false)
}
