package mcpserver

import (
	"cmp"
	"context"
	goruntime "runtime"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
)

// subscribers are the recipients of events: sessions of handshake revisions, and subscription
// streams, which are requests whose response ends the stream.
type subscribers struct {
	opts *Options

	mu         sync.Mutex // may be held while another lock is taken, but not Server.mu
	members    map[subscriber]struct{}
	lastNumber uint64
	scratch    []subscriber // the array that deliver uses again; contains nil
	streams    int
	closed     bool

	watchers watchers
}

// subscriber is a recipient of events.
type subscriber interface {
	// isSubscribed reports whether the subscriber is to be notified of the change of a list.
	isSubscribed(method string) bool
	// resources returns the URIs that the subscriber watches.
	resources() []string
	// place returns the number that add has assigned.
	place() *uint64
	// notify sends or queues an event. It does not block. Calls for one subscriber are
	// serialized by subscribers.mu.
	notify(m *eventMessage)
	// end is called when no more events follow.
	end()
}

func (subs *subscribers) init(opts *Options) {
	subs.opts, subs.members = opts, make(map[subscriber]struct{})
	subs.watchers.byURI = make(map[string][]subscriber)
}

// add adds a subscriber. subs.mu is held.
func (subs *subscribers) add(l subscriber) {
	subs.lastNumber++
	*l.place() = subs.lastNumber
	subs.members[l] = struct{}{}
}

// isClosed reports whether the server has been shut down.
func (subs *subscribers) isClosed() bool {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	return subs.closed
}

// close ends the subscription streams and prevents new ones.
func (subs *subscribers) close() {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	subs.closed = true
	for l := range subs.members {
		l.end()
	}
}

// deliver notifies all subscribers of an event. It does not wait for any of them: if the
// connection cannot send a notification at once, the event is queued.
func (subs *subscribers) deliver(e Event) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if e.Lost {
		subs.deliverAll()
		return
	}
	subs.scratch = subs.appendRecipients(subs.scratch[:0], e)
	defer clear(subs.scratch)
	subs.notify(e, subs.scratch)
}

// appendRecipients appends the subscribers that are to be notified of an event. subs.mu is held.
func (subs *subscribers) appendRecipients(list []subscriber, e Event) []subscriber {
	switch e.Method {
	case mcp.MethodToolListChanged, mcp.MethodPromptListChanged, mcp.MethodResourceListChanged:
		for l := range subs.members {
			if l.isSubscribed(e.Method) {
				list = append(list, l)
			}
		}
	case mcp.MethodResourceUpdated:
		if subs.opts.Affects == nil {
			return subs.watchers.appendTo(list, e.URI)
		}
		affected := func(watched string) bool { return subs.opts.affects(e.URI, watched) }
		for l := range subs.members {
			if slices.ContainsFunc(l.resources(), affected) {
				list = append(list, l)
			}
		}
	}
	return list
}

// minShare is the number of subscribers for which another goroutine is worth its start.
const minShare = 128

// notify notifies subscribers of an event, concurrently if there are many, because their
// connections are spread over the memory. It returns when all are notified, so that the next event
// comes later for each of them. subs.mu is held.
func (subs *subscribers) notify(e Event, all []subscriber) {
	shares := max(1, min(goruntime.GOMAXPROCS(0), len(all)/minShare))
	var others sync.WaitGroup
	defer others.Wait()
	for i := range shares - 1 {
		others.Go(func() { // ends when these subscribers are notified
			defer failure.LogPanic(context.Background(), subs.opts.Logger, "notification")
			share(e, all[i*len(all)/shares:(i+1)*len(all)/shares])
		})
	}
	share(e, all[(shares-1)*len(all)/shares:])
}

// share notifies some subscribers of an event.
func share(e Event, some []subscriber) {
	message := newEventMessage(e)
	for _, l := range some {
		l.notify(message)
	}
}

// deliverAll notifies all subscribers of everything that they watch. subs.mu is held.
func (subs *subscribers) deliverAll() {
	messages := make(map[Event]*eventMessage)
	notify := func(l subscriber, e Event) {
		if messages[e] == nil {
			messages[e] = newEventMessage(e)
			messages[e].afterGap = true
		}
		l.notify(messages[e])
	}
	for l := range subs.members {
		for _, e := range listChanges {
			if l.isSubscribed(e.Method) {
				notify(l, e)
			}
		}
		for _, uri := range l.resources() {
			notify(l, Event{Method: mcp.MethodResourceUpdated, URI: uri})
		}
	}
}

// addSession adds a session, until its connection is closed.
func (subs *subscribers) addSession(_ context.Context, conn *connection.Connection) {
	s := &sessionSubscriber{subscribers: subs, conn: conn}
	s.ctx.Context = context.Background()
	if s.begin() {
		conn.OnClose(s.close)
	}
}

// sessionSubscriber is a session of a handshake revision. It has a goroutine only while events
// are queued.
type sessionSubscriber struct {
	subscribers *subscribers
	conn        *connection.Connection
	queue       eventQueue
	number      uint64
	ctx         lazy.Context // ends with the connection
	sending     sync.WaitGroup
}

// begin adds the subscriber. It returns false if the server has been shut down.
func (s *sessionSubscriber) begin() bool {
	subs := s.subscribers
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if subs.closed {
		return false
	}
	subs.add(s)
	s.conn.State().ObserveSubscriptions(s.subscriptionChanged)
	return true
}

// subscriptionChanged is called when a subscription to a resource begins or ends.
func (s *sessionSubscriber) subscriptionChanged(uri string, subscribed bool) {
	if subscribed {
		s.subscribers.watchers.add(uri, s)
	} else {
		s.subscribers.watchers.remove(uri, s)
	}
}

// close removes the subscriber, and waits until nothing is being sent.
func (s *sessionSubscriber) close(context.Context) error {
	s.leave()
	s.ctx.Cancel(nil)
	s.sending.Wait()
	return nil
}

// leave removes the subscriber.
func (s *sessionSubscriber) leave() {
	s.subscribers.mu.Lock()
	defer s.subscribers.mu.Unlock()
	delete(s.subscribers.members, s)
	s.conn.State().ObserveSubscriptions(nil)
}

func (s *sessionSubscriber) isSubscribed(string) bool { return true } // the connection drops what was not declared
func (s *sessionSubscriber) resources() []string      { return s.conn.State().Subscriptions() }
func (s *sessionSubscriber) place() *uint64           { return &s.number }

// notify implements subscriber. close removes the session before it waits for the goroutine
// that is started here.
func (s *sessionSubscriber) notify(m *eventMessage) {
	if s.queue.idle() && outbound.TryNotify(s.conn, &m.session, nil) {
		return
	}
	if s.queue.put(&m.session, m.room(s.subscribers.opts)) {
		s.sending.Go(s.sendQueued) // ends when the queue is empty or the connection is closed
	}
}

func (s *sessionSubscriber) sendQueued() {
	var waiting []*eventNotification
	for {
		var full bool
		waiting, full = s.queue.take(waiting)
		if full {
			s.subscribers.opts.Logger.Warn("notifications dropped: event queue of session is full", "limit", s.subscribers.opts.MaxQueuedEvents)
		}
		if len(waiting) == 0 || s.ctx.Err() != nil {
			return
		}
		for _, r := range waiting {
			s.notifyClient(r)
		}
	}
}

// notifyClient sends a notification. An event store or Options.Outgoing may panic; the panic
// is logged, and the following notifications are sent.
func (s *sessionSubscriber) notifyClient(r *eventNotification) {
	log := s.subscribers.opts.Logger
	defer func() {
		if p := recover(); p != nil {
			log.Error("notification panicked", "method", r.Method(), "panic", p, "stack", string(debug.Stack()))
		}
	}()
	if err := s.conn.Notify(&s.ctx, r); err != nil {
		log.Error("notification dropped", "method", r.Method(), "error", err)
	}
}

func (s *sessionSubscriber) end() {} // its transport closes the session

// watchers contains the subscribers of each resource, in the order in which they were added to the
// server. A change of a resource then costs nothing for other subscribers.
type watchers struct {
	mu    sync.Mutex // no other lock is taken while it is held
	byURI map[string][]subscriber
}

func (w *watchers) add(uri string, l subscriber) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.byURI[uri]
	if i, has := findSubscriber(list, l); !has {
		w.byURI[uri] = slices.Insert(list, i, l)
	}
}

func (w *watchers) remove(uri string, l subscriber) {
	w.mu.Lock()
	defer w.mu.Unlock()
	list := w.byURI[uri]
	i, has := findSubscriber(list, l)
	switch {
	case !has:
	case len(list) == 1:
		delete(w.byURI, uri)
	default:
		w.byURI[uri] = slices.Delete(list, i, i+1)
	}
}

// appendTo appends the subscribers of a resource.
func (w *watchers) appendTo(list []subscriber, uri string) []subscriber {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append(list, w.byURI[uri]...)
}

// findSubscriber returns the place of a subscriber in a list, and reports whether it is there.
func findSubscriber(list []subscriber, l subscriber) (i int, has bool) {
	return slices.BinarySearchFunc(list, *l.place(), func(other subscriber, place uint64) int {
		return cmp.Compare(*other.place(), place)
	})
}

// eventQueue contains the events that wait for one subscriber. An event that is equal to a
// waiting one is not added again. The zero value is an empty queue.
type eventQueue struct {
	mu       sync.Mutex // no other lock is taken while it is held
	draining bool       // a goroutine sends the queue
	full     bool       // an event was dropped
	waiting  []*eventNotification
	lookup   map[Event]struct{} // the waiting events; nil while there are few
}

// maxScannedEvents is the length from which on a map is used to find equal events.
const maxScannedEvents = 8

// idle reports whether no event is waiting or being sent from the queue, so that the next one
// may be sent directly.
func (m *eventQueue) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.draining
}

// put adds an event, unless most events are waiting. It reports whether the caller must start
// a goroutine that sends the queue.
func (m *eventQueue) put(r *eventNotification, most int) (start bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.has(r.event) {
		return false
	}
	if len(m.waiting) >= most {
		m.full = true
		return false
	}
	m.waiting = append(m.waiting, r)
	switch {
	case m.lookup != nil:
		m.lookup[r.event] = struct{}{}
	case len(m.waiting) > maxScannedEvents:
		m.lookup = make(map[Event]struct{}, 2*maxScannedEvents)
		for _, r := range m.waiting {
			m.lookup[r.event] = struct{}{}
		}
	}
	start = !m.draining
	m.draining = true
	return start
}

func (m *eventQueue) has(e Event) bool {
	if m.lookup == nil {
		return slices.ContainsFunc(m.waiting, func(r *eventNotification) bool { return r.event == e })
	}
	_, waits := m.lookup[e]
	return waits
}

// take removes and returns all events, and reports whether one was dropped. The caller passes
// the last result, whose memory is used again. If the result is empty, the caller must stop.
func (m *eventQueue) take(last []*eventNotification) (waiting []*eventNotification, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(last) // release the events that have been sent
	waiting, full = m.waiting, m.full
	m.waiting, m.full = last[:0], false
	m.lookup = nil
	m.draining = len(waiting) > 0
	return waiting, full
}
