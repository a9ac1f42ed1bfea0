package mcpclient

import (
	"context"
	"errors"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ErrFellBehind is why a subscription is over whose notifications were not taken
// as fast as they came.
var ErrFellBehind = errors.New("too many notifications are waiting")

// mostEvents is how many different changes may wait.
const mostEvents = 1024

// queue holds notifications in the order in which they came. A change that
// waits already is not announced twice.
type queue struct {
	mu      sync.Mutex // guards what follows
	waiting []peer.Notification
	pending map[event]bool
	over    bool
	err     error

	wake chan struct{} // holds one signal
	gone chan struct{} // closed when over
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
	return &queue{pending: make(map[event]bool), wake: make(chan struct{}, 1), gone: make(chan struct{})}
}

// put adds a notification. It never blocks, and returns false where too many
// wait.
func (q *queue) put(n peer.Notification) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := eventOf(n)
	switch {
	case q.over || q.pending[e]:
		return true
	case len(q.waiting) == mostEvents:
		return false
	}
	q.waiting, q.pending[e] = append(q.waiting, n), true
	q.signal()
	return true
}

// end lets nothing more be added. What waits may still be taken. The first end
// has a say in the error.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.over {
		q.over, q.err = true, err
		close(q.gone)
	}
	q.signal()
}

func (q *queue) signal() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// next takes the notification that has waited longest, and waits for one. It is
// nil at the end, with the error of that.
func (q *queue) next(ctx context.Context) (peer.Notification, error) {
	for {
		if n, over, err := q.take(); n != nil || over {
			return n, err
		}
		select {
		case <-q.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func (q *queue) take() (n peer.Notification, over bool, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		if q.over {
			q.signal() // for others who wait
		}
		return nil, q.over, q.err
	}
	n, q.waiting[0] = q.waiting[0], nil
	q.waiting = q.waiting[1:]
	delete(q.pending, eventOf(n))
	if len(q.waiting) > 0 {
		q.signal()
	}
	return n, false, nil
}
