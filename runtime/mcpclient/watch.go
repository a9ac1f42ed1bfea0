package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
)

// Watch iterates over changes of resources, whatever the revision: it yields the
// URI of one that has changed, which may also be a part of one that was asked
// for, and waits for the next. Read it then.
//
// A connection that breaks does not end the iteration as long as the client
// lives. After a gap all URIs are yielded, since nobody knows what was missed.
// The iteration ends when ctx does, and with an error where the server refuses or
// the client is over.
func (c *Client) Watch(ctx context.Context, uris ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := c.watchOnce(ctx, uris, false, yield)
		for turned(err) && rest(ctx, leastDelay) == nil { // a server of the other era is watched in another way
			err = c.watchOnce(ctx, uris, true, yield)
		}
		if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
			yield("", err)
		}
	}
}

// turned tells whether a way to watch was one that the revision does not have
// which is spoken now.
func turned(err error) bool {
	_, other := errors.AsType[*connection.UnsupportedError](err)
	return other
}

// watchOnce watches as long as the server is of the same era.
func (c *Client) watchOnce(ctx context.Context, uris []string, gap bool, yield func(string, error) bool) error {
	if handshake(c.Revision()) {
		return c.watchSession(ctx, uris, gap, yield)
	}
	return c.watchStreams(ctx, uris, gap, yield)
}

// errStopped says that the caller wants no more.
var errStopped = errors.New("iteration stopped")

// pass yields the changes of a queue until it ends.
func pass(ctx context.Context, q *queue, yield func(string, error) bool) error {
	defer context.AfterFunc(ctx, q.rouse)()
	for {
		n, err := q.next(ctx)
		if n == nil {
			return err
		}
		if u, ok := n.(*mcp.ResourceUpdatedNotification); ok && !yield(u.URI, nil) {
			return errStopped
		}
	}
}

// watchStreams watches over one subscription after another.
func (c *Client) watchStreams(ctx context.Context, uris []string, gap bool, yield func(string, error) bool) error {
	var delay time.Duration
	if gap {
		delay = leastDelay
	}
	for ; ; gap = true {
		s, err := c.listenAgain(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: uris}, false, delay)
		if err != nil {
			return err
		}
		begun := time.Now()
		err = c.watchStream(ctx, s, uris, gap, yield)
		s.Close()
		if errors.Is(err, errStopped) || errors.Is(err, errNotHonoured) || ctx.Err() != nil {
			return err
		}
		delay = longer(delay, time.Since(begun))
	}
}

// longer is how long to wait before a subscription that has lasted so long is
// opened again: a server that ends each at once is not kept busy.
func longer(delay, lasted time.Duration) time.Duration {
	if lasted > mostDelay {
		return leastDelay
	}
	return min(max(2*delay, leastDelay), mostDelay)
}

var errNotHonoured = errors.New("the server does not tell of changes of this resource")

func (c *Client) watchStream(ctx context.Context, s *Subscription, uris []string, gap bool, yield func(string, error) bool) error {
	for _, uri := range uris {
		if !slices.Contains(s.Filter().ResourceSubscriptions, uri) {
			return fmt.Errorf("watch %q: %w", uri, errNotHonoured)
		}
		if gap && !yield(uri, nil) {
			return errStopped
		}
	}
	return pass(ctx, s.events, yield)
}

// listenAgain opens a subscription, and is patient with a connection that is
// broken. Where there was a subscription before, there is a delay, and it is so
// with anything that is no refusal.
func (c *Client) listenAgain(ctx context.Context, f mcp.SubscriptionFilter, relay bool, delay time.Duration) (*Subscription, error) {
	for again := delay > 0; ; delay = min(2*delay, mostDelay) {
		if delay = max(delay, leastDelay); again {
			if err := rest(ctx, delay); err != nil {
				return nil, err
			}
		}
		s, err := c.listen(ctx, f, relay)
		_, broke := errors.AsType[*peer.ClosedError](err)
		again = again || broke
		if err == nil || !again || ctx.Err() != nil || refuses(err) || turned(err) || c.isOver() {
			return s, err
		}
		c.opts.Logger.DebugContext(ctx, "subscription not opened yet", "server", c.to.name(), "error", err)
	}
}

func (c *Client) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.over
}

// watchSession watches by way of the session's subscriptions.
func (c *Client) watchSession(ctx context.Context, uris []string, gap bool, yield func(string, error) bool) error {
	q := newQueue()
	defer func() {
		q.end(nil)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		for _, uri := range uris {
			c.unwatch(ctx, uri, q)
		}
	}()
	for _, uri := range uris {
		if err := c.watch(ctx, uri, q); err != nil {
			return err
		}
		if gap && !yield(uri, nil) {
			return errStopped
		}
	}
	defer context.AfterFunc(c.life, func() {
		q.end(&peer.ClosedError{Method: mcp.MethodSubscribe, Cause: c.Err()})
	})()
	return pass(ctx, q, yield)
}
