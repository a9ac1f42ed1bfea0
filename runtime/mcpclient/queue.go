package mcpclient

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ErrSlowConsumer is why a subscription is over whose notifications were not taken
// as fast as they came.
var ErrSlowConsumer = errors.New("too many notifications are waiting")

// mostEvents is how many different changes may wait.
const mostEvents = 1024

// fewEvents is how many changes are looked through rather than looked up.
const fewEvents = 8

// queue holds notifications in the order in which they came. A change that
// waits already is not announced twice.
type queue struct {
	mu      sync.Mutex // guards what follows
	changed sync.Cond
	waiting []peer.Notification
	lookup  map[event]struct{} // what waits; nil while that is a few
	over    bool
	err     error
}

// event is what a notification tells of.
type event struct{ method, uri string }

func eventOf(n peer.Notification) event {
	e := event{method: n.Method()}
	if u, ok := n.(*mcp.ResourceUpdatedNotification); ok {
		e.uri = u.URI
	}
	return e
}

func newQueue() *queue {
	q := new(queue)
	q.changed.L = &q.mu
	return q
}

// put adds a notification. It never blocks, and returns false where too many
// wait.
func (q *queue) put(n peer.Notification) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := eventOf(n)
	switch {
	case q.over || q.has(e):
		return true
	case len(q.waiting) == mostEvents:
		return false
	}
	q.waiting = append(q.waiting, n)
	if q.lookup != nil {
		q.lookup[e] = struct{}{}
	} else if len(q.waiting) > fewEvents {
		q.lookup = make(map[event]struct{}, 2*fewEvents)
		for _, n := range q.waiting {
			q.lookup[eventOf(n)] = struct{}{}
		}
	}
	q.changed.Signal()
	return true
}

// has tells whether a change waits already. The lock is held.
func (q *queue) has(e event) bool {
	if q.lookup == nil {
		return slices.ContainsFunc(q.waiting, func(n peer.Notification) bool { return eventOf(n) == e })
	}
	_, waits := q.lookup[e]
	return waits
}

// end lets nothing more be added. What waits may still be taken. The first end
// has a say in the error.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.over {
		q.over, q.err = true, err
		q.changed.Broadcast()
	}
}

// rouse has those who wait look whether they still want to.
func (q *queue) rouse() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// next takes the notification that has waited longest, and waits for one. It is
// nil at the end, with the error of that. The end of ctx is one, too, once
// somebody has roused the queue.
func (q *queue) next(ctx context.Context) (peer.Notification, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		switch {
		case q.over:
			return nil, q.err
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		q.changed.Wait()
	}
	n := q.waiting[0]
	q.waiting = slices.Delete(q.waiting, 0, 1)
	if delete(q.lookup, eventOf(n)); len(q.waiting) == 0 {
		q.lookup = nil
	}
	return n, nil
}
