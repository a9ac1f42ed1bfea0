package jsonrpc

import (
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// maxUnwritten limits the responses that are being written while further requests are accepted. The
// limit is MaxInFlight if that is greater. The requests of these responses are not in flight any
// more: the peer may have read a response before the Writer returns.
const maxUnwritten = 1024

// addRequest adds a request from the peer to the table. If the caller must handle it, here is true.
// Otherwise, unless inline is set, the request is queued for the workers; if a worker w is
// returned, the caller must wake it. The parameter alone reports whether the caller may handle the
// request.
func (s *state) addRequest(x *inboundMessage, maxInFlight int, inline, alone bool) (w *worker, here bool, err error) {
	s.mu.Lock()
	if err = s.refusalOf(x, maxInFlight); err == nil {
		here = s.alone.add(alone && s.requests.len == s.subscriptions) && !x.isSubscription()
		s.requests.add(x.in.ID, x)
		s.active++
		s.count(x, 1)
		if !inline && !here {
			s.workers.add(x)
			w = s.nextWorker(x.conn)
		}
	}
	s.mu.Unlock()
	return w, here, err
}

// refusalOf returns the reason to refuse a request, or nil. Pings are accepted even if the table is
// full. The lock is held.
func (s *state) refusalOf(x *inboundMessage, maxInFlight int) error {
	switch {
	case s.isClosed:
		return ErrClosed
	case s.requests.has(x.in.ID):
		return errDuplicateID
	case s.cancelledEarly != nil && s.cancelledEarly.remove(x.in.ID):
		return errCancelledEarly
	case s.refusal != nil:
		return s.refusal
	case s.requests.len >= maxInFlight && x.in.Method != methodPing, s.active-s.requests.len >= max(maxInFlight, maxUnwritten):
		return errTooMany
	}
	return nil
}

// count adds n to the counter for requests like x. At the client's end, a question may be on behalf
// of any call, so that it suspends the timeouts of all calls. The lock is held.
func (s *state) count(x *inboundMessage, n int) {
	switch {
	case x.isSubscription():
		s.subscriptions += n
	case s.client && x.in.Method != methodPing:
		if s.questions += n; s.questions == 0 {
			s.restartTimeouts()
		}
	}
}

// refuseRequests makes the connection refuse new requests.
func (s *state) refuseRequests(reason *peer.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = reason
}

// responseKind is what happens to the response of a request when its handler returns.
type responseKind int

const (
	sendResponse  responseKind = iota
	noResponse                 // the sender cancelled the request
	sentOnClosing              // the request was answered when the connection closed
)

// finishRequest removes a request from the table when its handler has returned.
func (s *state) finishRequest(x *inboundMessage) responseKind {
	s.mu.Lock()
	if s.requests.remove(x.in.ID, x); s.requests.len == 0 {
		s.allReturned.signal()
	}
	s.count(x, -1)
	s.mu.Unlock()
	switch {
	case x.cancelled:
		return noResponse
	case x.answered:
		return sentOnClosing
	}
	return sendResponse
}

// responseWritten counts a request whose response has been written.
func (s *state) responseWritten() {
	s.mu.Lock()
	s.deactivate()
	s.mu.Unlock()
}

// deactivate is responseWritten with the lock held.
func (s *state) deactivate() {
	if s.active--; s.active == 0 {
		s.allWritten.signal()
	}
}

// cancelRequest marks a request as cancelled and returns it. It returns nil if there is no such
// request, or if the request was cancelled or answered before. If there is no such request, the id
// is remembered, because the request may arrive later; maxEarly limits these ids, and zero
// remembers none.
func (s *state) cancelRequest(id wire.RequestID, maxEarly int) *inboundMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := find[inboundMessage](&s.requests, id)
	if x == nil && maxEarly > 0 {
		if s.cancelledEarly == nil {
			s.cancelledEarly = new(cancelledIDs)
		}
		s.cancelledEarly.add(id, maxEarly)
	}
	if x == nil || x.cancelled || x.answered {
		return nil
	}
	x.cancelled = true
	return x
}

// responsesWritten returns a channel that is closed when no request is active.
func (s *state) responsesWritten() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allWritten.wait(s.active == 0)
}

// handlersReturned returns a channel that is closed when no handler of a request is running.
func (s *state) handlersReturned() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.allReturned.wait(s.requests.len == 0)
}

// openSubscriptions returns the subscriptions that are being handled.
func (s *state) openSubscriptions() (list []*inboundMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range each[inboundMessage](&s.requests) {
		if x.isSubscription() {
			list = append(list, x)
		}
	}
	return list
}

// requestIDs returns the ids of the requests being handled.
func (s *state) requestIDs() []wire.RequestID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]wire.RequestID, 0, s.requests.len)
	for x := range each[inboundMessage](&s.requests) {
		ids = append(ids, x.in.ID)
	}
	return ids
}

// requestInfos returns descriptions of the requests being handled.
func (s *state) requestInfos() []peer.RequestInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]peer.RequestInfo, 0, s.requests.len)
	for x := range each[inboundMessage](&s.requests) {
		list = append(list, peer.RequestInfo{ID: x.in.ID, Method: x.in.Method, Name: messageName(&x.in), Asks: x.back.asks()})
	}
	return list
}

// responseWriters returns the Writer of each request being handled.
func (s *state) responseWriters() (list []Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range each[inboundMessage](&s.requests) {
		list = append(list, x.out)
	}
	return list
}

// askingWriters returns the Writer of each request whose handler waits for a response of the peer.
func (s *state) askingWriters() (list []Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range each[inboundMessage](&s.requests) {
		if x.back.asks() {
			list = append(list, x.out)
		}
	}
	return list
}

// setNotification stores the notification being handled, or nil. If the connection is closed, it
// returns the cause to cancel the notification's context with.
func (s *state) setNotification(x *inboundMessage) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.notification = x
	if s.isClosed {
		return closeCause(s.cause)
	}
	return nil
}

// handlerWaited makes the workers handle the next requests, even if they arrive alone. It is called
// if the handler of a request that arrived alone had to wait.
func (s *state) handlerWaited() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alone = -aloneAfterWait
}

// aloneCounter counts consecutive requests that arrived alone, while no other request was handled.
type aloneCounter int

const (
	// minAlone is how many requests must arrive alone before the goroutine that reads handles
	// them itself.
	minAlone = 4
	// aloneProbe is how often a request is given to a worker nevertheless. Requests arrive alone
	// if the goroutine that reads is busy with the previous one; the probe finds out whether
	// requests overlap.
	aloneProbe = 64
	// aloneAfterWait is how many requests the workers handle after the handler of one had to
	// wait: the next requests are likely to be similar.
	aloneAfterWait = 64
)

// add counts a request, and reports whether the goroutine that read it should handle it.
func (n *aloneCounter) add(alone bool) bool {
	if !alone {
		*n = min(*n, 0)
		return false
	}
	*n++
	return *n >= minAlone && *n%aloneProbe != 0
}

// cancelledIDs are the ids of requests that were cancelled before they arrived: messages may
// overtake each other if each is sent separately. Most of these requests have in fact been answered
// before the cancellation. The zero value is empty.
type cancelledIDs struct {
	recent, older map[wire.RequestID]time.Time // when they were cancelled
	since         time.Time                    // of the first id in recent
	last          time.Time                    // of the last id
}

// maxEarlyAge is how long after its cancellation a request may arrive.
const maxEarlyAge = 5 * time.Second

// maxCancelledEarly returns the limit of the ids in recent, which must cover all requests that a
// client has in flight. It is zero if messages arrive in order.
func (o *Options) maxCancelledEarly() int {
	if !o.Unordered {
		return 0
	}
	return 2 * min(max(o.MaxInFlight, 256), 8192)
}

// add adds an id. If recent is full or too old, it replaces older.
func (c *cancelledIDs) add(id wire.RequestID, max int) {
	now := time.Now()
	if c.recent == nil || len(c.recent) >= max || now.Sub(c.since) >= maxEarlyAge {
		c.recent, c.older, c.since = make(map[wire.RequestID]time.Time), c.recent, now
	}
	c.recent[idKey(id)], c.last = now, now
}

// remove removes an id and reports whether it was cancelled not too long ago.
func (c *cancelledIDs) remove(id wire.RequestID) bool {
	if c.isEmpty() {
		return false
	}
	id = idKey(id)
	when, ok := c.recent[id]
	if !ok {
		when, ok = c.older[id]
	}
	delete(c.recent, id)
	delete(c.older, id)
	return ok && time.Since(when) < maxEarlyAge
}

// isEmpty reports whether all ids are too old.
func (c *cancelledIDs) isEmpty() bool {
	return len(c.recent)+len(c.older) == 0 || time.Since(c.last) >= maxEarlyAge
}

// workers are goroutines that handle requests. Each handles one request after another, so that a
// stack that has grown is used again.
//
// A request waits only for a worker that has been woken. This worker takes a request and, if others
// are waiting, wakes another worker before it handles its own request. So no request waits until a
// handler returns. Workers that finish meanwhile take waiting requests too, so that under load few
// workers need to be woken.
//
// The lock of the state guards them.
type workers struct {
	waiting []*inboundMessage // in order, beginning at first
	first   int
	idle    []*worker
	waking  bool // a worker has been woken and has not taken a request yet; true while requests wait
}

// worker is one of the goroutines.
type worker struct {
	wake chan struct{} // buffers one signal; closed when the connection is closed
}

// maxIdleWorkers limits the workers that are kept for reuse.
const maxIdleWorkers = 64

// add adds a waiting request.
func (w *workers) add(x *inboundMessage) {
	if w.first > 0 && len(w.waiting) == cap(w.waiting) {
		n := copy(w.waiting, w.waiting[w.first:])
		clear(w.waiting[n:])
		w.waiting, w.first = w.waiting[:n], 0
	}
	w.waiting = append(w.waiting, x)
}

// take removes and returns the oldest waiting request, or nil.
func (w *workers) take() *inboundMessage {
	if w.first == len(w.waiting) {
		return nil
	}
	x := w.waiting[w.first]
	w.waiting[w.first] = nil
	if w.first++; w.first == len(w.waiting) {
		w.waiting, w.first = w.waiting[:0], 0
	}
	return x
}

// next returns a worker that must be woken, or nil if none needs to be. The channel wake of a new
// worker is nil: its goroutine must be started.
func (w *workers) next() *worker {
	if w.waking || len(w.waiting) == 0 {
		return nil
	}
	w.waking = true
	n := len(w.idle)
	if n == 0 {
		return new(worker)
	}
	next := w.idle[n-1]
	w.idle = w.idle[:n-1]
	return next
}

// park adds a worker to the idle ones, and reports false if there are enough of them.
func (w *workers) park(who *worker) bool {
	if len(w.idle) >= maxIdleWorkers {
		return false
	}
	w.idle = append(w.idle, who)
	return true
}

// stop ends the idle workers.
func (w *workers) stop() {
	for _, who := range w.idle {
		close(who.wake)
	}
	w.idle = nil
}

// wake wakes a worker or starts its goroutine. Nil is allowed.
func (c *Conn) wake(who *worker) {
	switch {
	case who == nil:
	case who.wake != nil:
		who.wake <- struct{}{}
	default:
		who.wake = make(chan struct{}, 1)
		go c.work(who) // ends with the connection, or when enough workers are idle
	}
}

func (c *Conn) work(who *worker) {
	defer c.tasks.Done()
	for done := false; ; {
		a := c.state.assign(who, done)
		c.wake(a.other)
		switch {
		case a.request != nil:
			a.request.serve()
			done = true
		case !a.parked:
			return
		default:
			if _, open := <-who.wake; !open {
				return
			}
			done = false
		}
	}
}

// assignment is what a worker must do next.
type assignment struct {
	request *inboundMessage // to be handled
	parked  bool            // if there is no request: the worker waits until it is woken
	other   *worker         // to be woken before anything else
}

// assign returns the next assignment of a worker. The parameter done reports whether the worker has
// handled a request; otherwise it has been woken.
func (s *state) assign(who *worker, done bool) (a assignment) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if done {
		s.deactivate()
	} else {
		s.workers.waking = false
	}
	if a.request = s.workers.take(); a.request == nil {
		a.parked = !s.isClosed && s.workers.park(who)
		return a
	}
	a.other = s.nextWorker(a.request.conn)
	return a
}

// nextWorker returns a worker that must be woken, or nil. It counts the goroutine of a new worker.
// The lock is held.
func (s *state) nextWorker(c *Conn) *worker {
	who := s.workers.next()
	if who != nil && who.wake == nil {
		c.tasks.Add(1)
	}
	return who
}
