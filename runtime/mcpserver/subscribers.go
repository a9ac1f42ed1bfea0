package mcpserver

import (
	"context"
	"iter"
	"maps"
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

	mu      sync.Mutex // may be held while another lock is taken, but not Server.mu
	members map[subscriber]struct{}
	scratch []subscriber // the array that deliverConcurrently uses again; contains nil
	streams int
	closed  bool
}

// subscriber is a recipient of events.
type subscriber interface {
	// isSubscribed reports whether the subscriber is to be notified of an event.
	isSubscribed(e Event) bool
	// resources returns the URIs that the subscriber watches.
	resources() []string
	// notify sends or queues an event. It does not block. Calls for one subscriber are
	// serialized by subscribers.mu.
	notify(m *eventMessage)
	// end is called when no more events follow.
	end()
}

func (subs *subscribers) init(opts *Options) {
	subs.opts, subs.members = opts, make(map[subscriber]struct{})
}

// add adds a subscriber. It returns false if the server has been shut down.
func (subs *subscribers) add(l subscriber) bool {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	if !subs.closed {
		subs.members[l] = struct{}{}
	}
	return !subs.closed
}

func (subs *subscribers) remove(l subscriber) {
	subs.mu.Lock()
	defer subs.mu.Unlock()
	delete(subs.members, l)
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
	switch {
	case len(subs.members) == 0:
	case e.Lost:
		subs.deliverAll()
	case len(subs.members) < 2*minShare || subs.opts.Affects != nil: // the program's function is called in the caller's goroutine
		subs.share(e, maps.Keys(subs.members))
	default:
		subs.deliverConcurrently(e)
	}
}

// minShare is the number of subscribers for which another goroutine is worth its start.
const minShare = 128

// deliverConcurrently is deliver for many subscribers, whose connections are spread over the
// memory. It returns when all are notified, so that the next event comes later for each of them.
// subs.mu is held.
func (subs *subscribers) deliverConcurrently(e Event) {
	all := slices.AppendSeq(subs.scratch[:0], maps.Keys(subs.members))
	subs.scratch = all
	shares := min(goruntime.GOMAXPROCS(0), len(all)/minShare)
	var others sync.WaitGroup
	defer func() {
		others.Wait()
		clear(all)
	}()
	for i := range shares {
		some := all[i*len(all)/shares : (i+1)*len(all)/shares]
		if i == shares-1 {
			subs.share(e, slices.Values(some))
			break
		}
		others.Go(func() { // ends when these subscribers are notified
			defer failure.LogPanic(context.Background(), subs.opts.Logger, "notification")
			subs.share(e, slices.Values(some))
		})
	}
}

// share notifies some subscribers of an event.
func (subs *subscribers) share(e Event, some iter.Seq[subscriber]) {
	message := newEventMessage(e)
	for l := range some {
		if l.isSubscribed(e) {
			l.notify(message)
		}
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
			if l.isSubscribed(e) {
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
	if subs.add(s) {
		conn.OnClose(s.close)
	}
}

// sessionSubscriber is a session of a handshake revision. It has a goroutine only while events
// are queued.
type sessionSubscriber struct {
	subscribers *subscribers
	conn        *connection.Connection
	queue       eventQueue
	ctx         lazy.Context // ends with the connection
	sending     sync.WaitGroup
}

// close removes the subscriber, and waits until nothing is being sent.
func (s *sessionSubscriber) close(context.Context) error {
	s.subscribers.remove(s)
	s.ctx.Cancel(nil)
	s.sending.Wait()
	return nil
}

func (s *sessionSubscriber) isSubscribed(e Event) bool {
	switch e.Method {
	case mcp.MethodToolListChanged, mcp.MethodPromptListChanged, mcp.MethodResourceListChanged:
		return true // the connection drops what was not declared
	case mcp.MethodResourceUpdated:
		return s.watchesResource(e.URI)
	}
	return false
}

func (s *sessionSubscriber) resources() []string { return s.conn.State().Subscriptions() }

// watchesResource reports whether the client is to be notified of a change of a resource.
func (s *sessionSubscriber) watchesResource(uri string) bool {
	state := s.conn.State()
	if s.subscribers.opts.Affects == nil {
		return state.Subscribed(uri)
	}
	for _, watched := range state.Subscriptions() {
		if s.subscribers.opts.affects(uri, watched) {
			return true
		}
	}
	return false
}

// notify implements subscriber. close removes the session before it waits for the goroutine
// that is started here.
func (s *sessionSubscriber) notify(m *eventMessage) {
	if s.queue.idle() && outbound.TryNotify(s.conn, &m.session) {
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
