package mcpclient

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Subscription is an open stream of notifications, in revisions since
// 2026-07-28. [Client.Listen] opens one. It is safe for concurrent use.
type Subscription struct {
	id     wire.RequestID
	wish   mcp.SubscriptionFilter
	relay  bool // notifications go on to the handlers of the options
	events *queue
	cancel context.CancelFunc
	done   chan struct{} // closed when the server sends no more

	mu       sync.Mutex    // guards honoured
	acked    chan struct{} // closed when honoured is set
	honoured *mcp.SubscriptionFilter
}

// Listen asks the server for notifications and returns when the server has
// agreed to send some. The subscription ends with ctx, and when it is closed.
//
// For changes of resources there is [Client.Watch], which knows all revisions
// and goes on after a broken connection. For changes of lists there are handlers
// in [Options].
func (c *Client) Listen(ctx context.Context, filter mcp.SubscriptionFilter) (*Subscription, error) {
	return c.listen(ctx, filter, false)
}

// listen is Listen. With relay, what the server sends goes on to the handlers of
// the options.
func (c *Client) listen(ctx context.Context, filter mcp.SubscriptionFilter, relay bool) (*Subscription, error) {
	if r := c.Revision(); handshake(r) {
		return nil, &connection.UnsupportedError{Method: mcp.MethodSubscriptionsListen, Revision: r}
	}
	s := &Subscription{
		wish: filter, relay: relay, events: newQueue(),
		done: make(chan struct{}), acked: make(chan struct{}),
	}
	within, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	c.subs.add(s)
	if !c.spawn(func() { c.hold(within, s) }) { // ends with ctx, the subscription and the link
		s.lose(nil)
		c.subs.remove(s)
		return nil, &peer.ClosedError{Method: mcp.MethodSubscriptionsListen, Cause: c.Err(), Unsent: true}
	}
	if err := c.awaitAck(ctx, s); err != nil {
		return nil, err
	}
	return s, nil
}

// awaitAck waits until the server has agreed to a subscription.
func (c *Client) awaitAck(ctx context.Context, s *Subscription) error {
	within := c.opts.answerTimeout()
	if s.relay {
		within = c.opts.ProbeTimeout // nobody asked for it: connecting waits
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case <-s.acked:
	case <-s.done:
		switch err := s.Err(); {
		case s.isOpened():
		case err != nil:
			return err
		default:
			return context.Cause(ctx) // nil for one that the server has ended in order
		}
	case <-timer.C:
		s.Close()
		return &peer.TimeoutError{Method: mcp.MethodSubscriptionsListen, After: within}
	}
	return nil
}

// answerTimeout is how long a server may take for an answer, also where nobody
// can wait without a limit.
func (o *Options) answerTimeout() time.Duration {
	if o.Timeout > 0 {
		return o.Timeout
	}
	return time.Minute
}

// hold keeps the request of a subscription open.
func (c *Client) hold(ctx context.Context, s *Subscription) {
	req := &mcp.SubscriptionsListenRequest{Notifications: s.wish}
	err := c.deliver(ctx, req, req.NewResult(), []peer.CallOption{peer.WithID(s.id), peer.WithTimeout(-1)})
	if ctx.Err() != nil {
		err = nil // somebody wanted it to end, and said why if there was a reason
	}
	c.subs.remove(s)
	s.lose(err)
	close(s.done)
}

// Filter is what the server has agreed to send. What it cannot do is missing.
func (s *Subscription) Filter() mcp.SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.honoured == nil {
		return mcp.SubscriptionFilter{}
	}
	return *s.honoured
}

// All iterates over the notifications in the order in which the server sent
// them, and waits for more. A change that is announced again before it is taken
// comes once. The iteration ends with the subscription, and with an error if
// that did not end in order. Each notification is given to one iteration only.
func (s *Subscription) All() iter.Seq2[peer.Notification, error] {
	return func(yield func(peer.Notification, error) bool) {
		for {
			n, err := s.events.next(context.Background())
			if n == nil {
				if err != nil {
					yield(nil, err)
				}
				return
			}
			if !yield(n, nil) {
				return
			}
		}
	}
}

// Done is closed when the server sends no more.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Err tells why the subscription is over: nil while it is not, when the server
// has ended it in order, and after Close or the end of its context. Otherwise it
// was lost: some of what it was about may have changed without a notification.
func (s *Subscription) Err() error {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	return s.events.err
}

// Close ends the subscription and waits until the server has been told.
func (s *Subscription) Close() error {
	s.lose(nil)
	<-s.done
	return nil
}

// acknowledge records what the server has agreed to, once.
func (s *Subscription) acknowledge(f mcp.SubscriptionFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.honoured == nil {
		s.honoured = &f
		close(s.acked)
	}
}

// isOpened tells whether the server has agreed.
func (s *Subscription) isOpened() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.honoured != nil
}

// lose ends the subscription, because of something that went wrong where err is
// not nil.
func (s *Subscription) lose(err error) {
	s.events.end(err)
	s.cancel()
}

// listenID is what the ids of our subscriptions begin with.
const listenID = "listen-"

func isListenID(id wire.RequestID) bool {
	text, ok := id.Text()
	return ok && strings.HasPrefix(text, listenID)
}

// subscriptions is the table of the open ones, by the id of their request. An id
// is never used again, since something may come late.
type subscriptions struct {
	mu   sync.Mutex // guards what follows
	last int
	open map[wire.RequestID]*Subscription
}

func (t *subscriptions) add(s *Subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[wire.RequestID]*Subscription)
	}
	t.last++
	s.id = wire.StringID(listenID + strconv.Itoa(t.last))
	t.open[s.id] = s
}

func (t *subscriptions) remove(s *Subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, s.id)
}

func (t *subscriptions) find(id wire.RequestID) *Subscription {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.open[id]
}
