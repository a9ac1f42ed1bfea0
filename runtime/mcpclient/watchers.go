package mcpclient

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
)

// watchers is who watches which resources in a session.
type watchers struct {
	mu  sync.Mutex // guards what follows, and the queues of each
	all []*watched
}

// watched is a resource that somebody watches.
type watched struct {
	uri    string
	queues []*queue

	turn       chan struct{} // holds a token while the server is being told
	subscribed bool          // for whoever has the turn
}

// watch adds a watcher of a resource. The first one has the server tell of it.
func (c *Client) watch(ctx context.Context, uri string, q *queue) error {
	w := c.watchers.add(uri, q)
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer w.end()
	if w.subscribed && handshake(c.Revision()) {
		return nil
	}
	_, err := c.Subscribe(ctx, &mcp.SubscribeRequest{URI: uri})
	w.subscribed = err == nil
	return err
}

// unwatch takes a watcher out. The last one has the server tell no more.
func (c *Client) unwatch(ctx context.Context, uri string, q *queue) {
	w := c.watchers.leave(uri, q)
	if w == nil {
		return
	}
	defer c.watchers.drop(w)
	if w.begin(ctx) != nil {
		return
	}
	defer w.end()
	if !c.watchers.idle(w) || c.isOver() {
		return
	}
	w.subscribed = false // it may be true at the server even if nobody heard so
	if _, err := c.Unsubscribe(ctx, &mcp.UnsubscribeRequest{URI: uri}); err != nil {
		c.opts.Logger.DebugContext(ctx, "subscription not ended", "uri", uri, "error", err)
	}
}

// begin waits for the turn to tell the server: it must not hear of an end and of
// another beginning in the wrong order.
func (w *watched) begin(ctx context.Context) error {
	select {
	case w.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *watched) end() { <-w.turn }

// find finds a resource, nil where nobody watches it. The lock is held.
func (t *watchers) find(uri string) *watched {
	for _, w := range t.all {
		if w.uri == uri {
			return w
		}
	}
	return nil
}

// forget takes a resource out. The lock is held.
func (t *watchers) forget(w *watched) {
	t.all = slices.DeleteFunc(t.all, func(other *watched) bool { return other == w })
}

// add enters a watcher of a resource.
func (t *watchers) add(uri string, q *queue) *watched {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.find(uri)
	if w == nil {
		w = &watched{uri: uri, turn: make(chan struct{}, 1)}
		t.all = append(t.all, w)
	}
	if !slices.Contains(w.queues, q) {
		w.queues = append(w.queues, q)
	}
	return w
}

// leave takes a watcher out, and returns what it watched if it was the last.
func (t *watchers) leave(uri string, q *queue) *watched {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.find(uri)
	if w == nil {
		return nil
	}
	w.queues = slices.DeleteFunc(w.queues, func(other *queue) bool { return other == q })
	if len(w.queues) > 0 {
		return nil
	}
	return w
}

// idle tells whether nobody watches.
func (t *watchers) idle(w *watched) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(w.queues) == 0
}

// drop forgets a resource, unless somebody watches it again.
func (t *watchers) drop(w *watched) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(w.queues) == 0 {
		t.forget(w)
	}
}

// partOf tells whether a URI is that of a resource or of a part of it. One that only
// begins with the same letters is a sibling.
func partOf(whole, uri string) bool {
	const edges = "/?#"
	rest, begins := strings.CutPrefix(uri, whole)
	return begins && (rest == "" || strings.TrimRight(whole, edges) != whole || strings.TrimLeft(rest, edges) != rest)
}

// tell passes a change on to those who watch the resource, or one that it is a part
// of.
func (t *watchers) tell(n *mcp.ResourceUpdatedNotification) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.all {
		if !partOf(w.uri, n.URI) {
			continue
		}
		for _, q := range w.queues {
			if !q.put(n) {
				q.end(ErrSlowConsumer)
			}
		}
	}
}

// end ends all that is watched.
func (t *watchers) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.all {
		for _, q := range w.queues {
			q.end(err)
		}
	}
}

// fail ends all that watches a resource. Who watches it anew begins anew.
func (t *watchers) fail(uri string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.find(uri)
	if w == nil {
		return
	}
	t.forget(w)
	for _, q := range w.queues {
		q.end(err)
	}
}

// watched lists the resources that somebody watches.
func (t *watchers) watched() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var uris []string
	for _, w := range t.all {
		uris = append(uris, w.uri)
	}
	slices.Sort(uris)
	return uris
}
