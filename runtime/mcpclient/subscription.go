package mcpclient

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ErrSlowConsumer is the error of a subscription that has ended because its notifications were not
// received fast enough.
var ErrSlowConsumer = errors.New("notification queue is full")

// Subscription is an open stream of notifications, in revisions since 2026-07-28. [Client.Listen]
// opens one. It is safe for concurrent use.
type Subscription struct {
	id       wire.RequestID
	filter   mcp.SubscriptionFilter
	forOpts  bool // notifications go to the handlers of the options
	events   *queue
	cancel   context.CancelFunc
	done     chan struct{} // closed when the server sends no more notifications
	mu       sync.Mutex    // guards accepted
	acked    chan struct{} // closed when accepted is set
	accepted *mcp.SubscriptionFilter
}

// newSubscription returns a subscription and its context.
func newSubscription(ctx context.Context, filter mcp.SubscriptionFilter, forOpts bool) (*Subscription, context.Context) {
	s := &Subscription{
		filter: filter, forOpts: forOpts, events: newQueue(),
		done: make(chan struct{}), acked: make(chan struct{}),
	}
	ctx, s.cancel = context.WithCancel(ctx)
	return s, ctx
}

// Filter returns the notifications that the server has agreed to send.
func (s *Subscription) Filter() mcp.SubscriptionFilter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepted == nil {
		return mcp.SubscriptionFilter{}
	}
	return *s.accepted
}

// All iterates over the notifications in the order in which the server sent them, and waits for
// more. Equal notifications that are waiting are merged. The iteration ends with the subscription,
// with an error if the subscription was lost. Each notification goes to only one iteration.
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

// Done is closed when the server sends no more notifications.
func (s *Subscription) Done() <-chan struct{} { return s.done }

// Err returns why the subscription was lost: notifications may be missing. It returns nil while the
// subscription is open, after the server has ended it, after Close and after the end of its
// context.
func (s *Subscription) Err() error {
	s.events.mu.Lock()
	defer s.events.mu.Unlock()
	if s.events.ended == nil {
		return nil
	}
	return *s.events.ended
}

// Close ends the subscription. It returns when the server has been informed.
func (s *Subscription) Close() error {
	s.end(nil)
	<-s.done
	return nil
}

// end ends the subscription. An error means that it was lost.
func (s *Subscription) end(err error) {
	s.events.end(err)
	s.cancel()
}

// acknowledge stores what the server has agreed to send, once.
func (s *Subscription) acknowledge(f mcp.SubscriptionFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.accepted == nil {
		s.accepted = &f
		close(s.acked)
	}
}

func (s *Subscription) isAcknowledged() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted != nil
}

// receive adds a notification if the filter asks for it.
func (s *Subscription) receive(n peer.Notification) {
	asked := false
	switch n.(type) {
	case *mcp.ToolListChangedNotification:
		asked = s.filter.ToolsListChanged
	case *mcp.PromptListChangedNotification:
		asked = s.filter.PromptsListChanged
	case *mcp.ResourceListChangedNotification:
		asked = s.filter.ResourcesListChanged
	case *mcp.ResourceUpdatedNotification:
		asked = len(s.filter.ResourceSubscriptions) > 0
	}
	if asked && !s.events.put(n) {
		s.end(ErrSlowConsumer)
	}
}

// listenIDPrefix begins the ids of the client's own subscriptions.
const listenIDPrefix = "listen-"

func isListenID(id wire.RequestID) bool {
	text, ok := id.Text()
	return ok && strings.HasPrefix(text, listenIDPrefix)
}

// subscriptions has the open subscriptions by the id of their request. Ids are never reused, because
// a notification may arrive after the end of its subscription.
type subscriptions struct {
	mu     sync.Mutex // guards the fields below
	lastID int
	open   map[wire.RequestID]*Subscription
}

func (t *subscriptions) add(s *Subscription) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.open == nil {
		t.open = make(map[wire.RequestID]*Subscription)
	}
	t.lastID++
	s.id = wire.StringID(listenIDPrefix + strconv.Itoa(t.lastID))
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

const (
	// maxQueued limits the notifications that wait in a queue.
	maxQueued = 1024
	// maxScanned is the length up to which a queue is searched without an index.
	maxScanned = 8
)

// queue has notifications in the order in which they arrived. It merges equal notifications.
type queue struct {
	mu      sync.Mutex // guards the fields below
	waiting []peer.Notification
	first   [1]peer.Notification // the array of waiting, which seldom grows
	ended   *error               // the argument of end; nil before
	index   map[event]struct{}   // of the waiting notifications; nil while there are few
	changed sync.Cond
}

// event identifies equal notifications.
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
	q.changed.L, q.waiting = &q.mu, q.first[:0]
	return q
}

// put adds a notification without blocking. It returns false if the queue is full.
func (q *queue) put(n peer.Notification) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := eventOf(n)
	switch {
	case q.ended != nil || q.has(e):
		return true
	case len(q.waiting) == maxQueued:
		return false
	}
	q.waiting = append(q.waiting, n)
	if q.index != nil {
		q.index[e] = struct{}{}
	} else if len(q.waiting) > maxScanned {
		q.index = make(map[event]struct{}, 2*maxScanned)
		for _, n := range q.waiting {
			q.index[eventOf(n)] = struct{}{}
		}
	}
	q.changed.Signal()
	return true
}

// has reports whether an equal notification is waiting. The caller holds the lock.
func (q *queue) has(e event) bool {
	if q.index == nil {
		return slices.ContainsFunc(q.waiting, func(n peer.Notification) bool { return eventOf(n) == e })
	}
	_, waits := q.index[e]
	return waits
}

// end stops put from adding notifications. Waiting notifications can still be received. The first
// call sets the error.
func (q *queue) end(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ended == nil {
		q.ended = &err
		q.changed.Broadcast()
	}
}

// wake makes next check its context.
func (q *queue) wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.changed.Broadcast()
}

// next removes and returns the first notification, and waits for one. At the end it returns nil and
// the error of the queue. If ctx has ended it returns nil and the cause; wake makes it notice.
func (q *queue) next(ctx context.Context) (peer.Notification, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.waiting) == 0 {
		switch {
		case q.ended != nil:
			return nil, *q.ended
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		}
		q.changed.Wait()
	}
	n := q.waiting[0]
	if len(q.waiting) > 1 {
		q.removeFirst()
		return n, nil
	}
	q.waiting[0], q.waiting, q.index = nil, q.waiting[:0], nil // usual, and without a call, which would use more of the stack
	return n, nil
}

// removeFirst removes the first of several notifications. The caller holds the lock.
func (q *queue) removeFirst() {
	delete(q.index, eventOf(q.waiting[0]))
	q.waiting = slices.Delete(q.waiting, 0, 1)
}

// watchedResources has the resources of a session that iterations of [Client.Watch] wait for.
type watchedResources struct {
	mu    sync.Mutex // guards all, and the queues of each
	all   []*watchedResource
	first [1]*watchedResource // the array of all, which seldom grows
}

type watchedResource struct {
	uri    string
	queues []*queue
	first  [1]*queue // the array of queues, which seldom grows

	sending    chan struct{} // has one element while a request is being sent
	subscribed bool          // used by the holder of sending
}

// acquire waits until no other request for the resource is being sent: the server must receive
// subscribe and unsubscribe in the right order.
func (w *watchedResource) acquire(ctx context.Context) error {
	select {
	case w.sending <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *watchedResource) release() { <-w.sending }

// find returns a resource, or nil. The caller holds the lock.
func (t *watchedResources) find(uri string) *watchedResource {
	for _, w := range t.all {
		if w.uri == uri {
			return w
		}
	}
	return nil
}

// remove removes a resource. The caller holds the lock.
func (t *watchedResources) remove(w *watchedResource) {
	t.all = slices.DeleteFunc(t.all, func(other *watchedResource) bool { return other == w })
}

// addQueue adds a queue to a resource.
func (t *watchedResources) addQueue(uri string, q *queue) *watchedResource {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.find(uri)
	if w == nil {
		w = &watchedResource{uri: uri, sending: make(chan struct{}, 1)}
		w.queues = w.first[:0]
		if len(t.all) == 0 {
			t.all = t.first[:0]
		}
		t.all = append(t.all, w)
	}
	if !slices.Contains(w.queues, q) {
		w.queues = append(w.queues, q)
	}
	return w
}

// removeQueue removes a queue from a resource. It returns the resource if that was the last queue.
func (t *watchedResources) removeQueue(uri string, q *queue) *watchedResource {
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

// isUnused reports whether a resource has no queues.
func (t *watchedResources) isUnused(w *watchedResource) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(w.queues) == 0
}

// removeUnused removes a resource if it has no queues.
func (t *watchedResources) removeUnused(w *watchedResource) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(w.queues) == 0 {
		t.remove(w)
	}
}

// notify adds a notification to the queues of its resource and of resources that contain it.
func (t *watchedResources) notify(n *mcp.ResourceUpdatedNotification) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.all {
		if !containsResource(w.uri, n.URI) {
			continue
		}
		for _, q := range w.queues {
			if !q.put(n) {
				q.end(ErrSlowConsumer)
			}
		}
	}
}

// notifyAll adds an update of each resource.
func (t *watchedResources) notifyAll() {
	for _, uri := range t.uris() {
		t.notify(&mcp.ResourceUpdatedNotification{URI: uri})
	}
}

// end ends all queues.
func (t *watchedResources) end(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.all {
		for _, q := range w.queues {
			q.end(err)
		}
	}
}

// endResource removes a resource and ends its queues.
func (t *watchedResources) endResource(uri string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w := t.find(uri)
	if w == nil {
		return
	}
	t.remove(w)
	for _, q := range w.queues {
		q.end(err)
	}
}

// uris returns the URIs of the resources, sorted.
func (t *watchedResources) uris() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var uris []string
	for _, w := range t.all {
		uris = append(uris, w.uri)
	}
	slices.Sort(uris)
	return uris
}

// containsResource reports whether uri is a resource or a part of it. A URI with the same prefix is
// a part only if the prefix ends at a separator.
func containsResource(whole, uri string) bool {
	const separators = "/?#"
	rest, ok := strings.CutPrefix(uri, whole)
	return ok && (rest == "" || strings.TrimRight(whole, separators) != whole || strings.TrimLeft(rest, separators) != rest)
}
