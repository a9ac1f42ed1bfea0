package mcpclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
)

var (
	errStopped     = errors.New("iteration stopped")
	errNotAccepted = errors.New("server does not send updates of this resource")
)

// Watch iterates over changes of resources, in all revisions. It yields the URI of a resource that
// has changed and waits for the next change. The URI may also be a part of one of uris.
//
// The iteration continues after a reconnect. It then yields all URIs, because changes may have been
// missed. It ends when ctx ends, and with an error if the server refuses or the client is closed.
func (c *Client) Watch(ctx context.Context, uris ...string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		err := c.watch(ctx, &watching{uris: uris, yield: yield})
		if err != nil && !errors.Is(err, errStopped) && ctx.Err() == nil {
			yield("", err)
		}
	}
}

// watching is one use of [Client.Watch].
type watching struct {
	uris   []string
	yield  func(string, error) bool
	opened func() // is called when the server has agreed, possibly more than once; nil if not needed
	lost   bool   // changes may have been missed
}

// begin is called when the server has agreed. It yields all URIs if changes may have been missed, and
// returns errStopped if the iteration ends.
func (w *watching) begin() error {
	if w.opened != nil {
		w.opened()
	}
	for _, uri := range w.uris {
		if w.lost && !w.yield(uri, nil) {
			return errStopped
		}
	}
	return nil
}

// watch watches resources until it fails, is stopped, or ctx ends.
func (c *Client) watch(ctx context.Context, w *watching) error {
	err := c.watchRevision(ctx, w)
	for isUnsupported(err) && sleep(ctx, minDelay) == nil { // the kind of revision has changed
		w.lost = true
		err = c.watchRevision(ctx, w)
	}
	return err
}

// watchRevision watches resources until the kind of revision changes.
func (c *Client) watchRevision(ctx context.Context, w *watching) error {
	if revisions.Handshake(c.Revision()) {
		return c.watchSession(ctx, w)
	}
	return c.watchSubscriptions(ctx, w)
}

// watchSubscriptions watches resources in a stateless revision: it opens a new subscription when one
// ends.
func (c *Client) watchSubscriptions(ctx context.Context, w *watching) error {
	var delay time.Duration
	if w.lost {
		delay = minDelay
	}
	for ; ; w.lost = true {
		s, err := c.listenWithRetry(ctx, mcp.SubscriptionFilter{ResourceSubscriptions: w.uris}, false, delay)
		if err != nil {
			return err
		}
		opened := time.Now()
		err = w.subscription(ctx, s)
		s.Close()
		if errors.Is(err, errStopped) || errors.Is(err, errNotAccepted) || ctx.Err() != nil {
			return err
		}
		delay = longerDelay(delay, time.Since(opened))
	}
}

// subscription yields the changes of one subscription.
func (w *watching) subscription(ctx context.Context, s *Subscription) error {
	for _, uri := range w.uris {
		if !slices.Contains(s.Filter().ResourceSubscriptions, uri) {
			return fmt.Errorf("watch %q: %w", uri, errNotAccepted)
		}
	}
	if err := w.begin(); err != nil {
		return err
	}
	return yieldUpdates(ctx, s.events, w.yield)
}

// watchSession watches resources in a handshake revision, with resources/subscribe.
func (c *Client) watchSession(ctx context.Context, w *watching) error {
	q := newQueue()
	defer func() {
		q.end(nil)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		for _, uri := range w.uris {
			c.unsubscribe(ctx, uri, q)
		}
	}()
	for _, uri := range w.uris {
		if err := c.subscribe(ctx, uri, q); err != nil {
			return err
		}
	}
	if err := w.begin(); err != nil {
		return err
	}
	defer context.AfterFunc(c.life, func() {
		q.end(&peer.ClosedError{Method: mcp.MethodSubscribe, Cause: c.Err()})
	})()
	return yieldUpdates(ctx, q, w.yield)
}

// subscribe adds a queue to a resource, and sends the request for the first one.
func (c *Client) subscribe(ctx context.Context, uri string, q *queue) error {
	w := c.watched.addQueue(uri, q)
	if err := w.acquire(ctx); err != nil {
		return err
	}
	defer w.release()
	if w.subscribed && revisions.Handshake(c.Revision()) {
		return nil
	}
	_, err := c.Subscribe(ctx, &mcp.SubscribeRequest{URI: uri})
	w.subscribed = err == nil
	return err
}

// unsubscribe removes a queue from a resource, and sends the request for the last one.
func (c *Client) unsubscribe(ctx context.Context, uri string, q *queue) {
	w := c.watched.removeQueue(uri, q)
	if w == nil {
		return
	}
	defer c.watched.removeUnused(w)
	if w.acquire(ctx) != nil {
		return
	}
	defer w.release()
	if !c.watched.isUnused(w) || c.isClosed() {
		return
	}
	w.subscribed = false // before the request, whose result is uncertain
	if _, err := c.Unsubscribe(ctx, &mcp.UnsubscribeRequest{URI: uri}); err != nil {
		c.opts.Logger.DebugContext(ctx, "unsubscribe failed", "uri", uri, "error", err)
	}
}

// yieldUpdates yields the updates in a queue until it ends.
func yieldUpdates(ctx context.Context, q *queue, yield func(string, error) bool) error {
	defer context.AfterFunc(ctx, q.wake)()
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
