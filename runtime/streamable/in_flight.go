package streamable

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
)

// inFlight counts the requests and streams that are being served, and sends keep-alives
// on their streams.
type inFlight struct {
	opts            *Options
	closing         atomic.Bool  // changed only with the lock held
	sessionRequests atomic.Int64 // requests of sessions; their sessions send keep-alives

	mu            sync.Mutex
	clock         clock
	keepAlives    keepAliveQueue // of all other requests and streams
	timer         *time.Timer    // of keepAlives
	timerRunning  bool           // timer is running
	requests      int            // requests outside sessions
	subscriptions int            // the part of requests that is subscriptions
	streams       int            // streams of sessions
	callers       map[string]*caller
	spareCaller   *caller       // for reuse; may be nil
	idle          chan struct{} // closed when nothing is left; nil if nothing waits for that
}

func (w *inFlight) init(o *Options) {
	w.opts, w.clock = o, newClock()
	w.keepAlives.init()
}

// caller counts the requests of a named principal that are in flight. Nil has no limit.
type caller struct {
	requests atomic.Int64
	sessions atomic.Int64 // changed only with the lock of inFlight held
}

// begin counts a request, and reports whether it is within the limit.
func (c *caller) begin(limit int) bool {
	return c == nil || c.requests.Add(1) <= int64(limit) || limit < 0
}

// callerFor returns the caller with a name, and nil for "". The lock is held.
func (w *inFlight) callerFor(principal string) *caller {
	if principal == "" {
		return nil
	}
	c := w.callers[principal]
	if c == nil {
		if c, w.spareCaller = w.spareCaller, nil; c == nil {
			c = new(caller)
		}
		if w.callers == nil {
			w.callers = make(map[string]*caller)
		}
		w.callers[principal] = c
	}
	return c
}

// addSession returns the caller of a new session.
func (w *inFlight) addSession(principal string) *caller {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.callerFor(principal)
	if c != nil {
		c.sessions.Add(1)
	}
	return c
}

// removeSession ends the use of the caller that addSession has returned.
func (w *inFlight) removeSession(principal string, c *caller) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if c != nil && c.sessions.Add(-1) == 0 {
		w.forgetUnused(principal, c)
	}
}

// forgetUnused forgets a caller without sessions and requests. The lock is held.
func (w *inFlight) forgetUnused(principal string, c *caller) {
	if c.requests.Load() == 0 && c.sessions.Load() == 0 && w.callers[principal] == c {
		delete(w.callers, principal)
		w.spareCaller = c
	}
}

// enter counts a request, if the limits allow it.
func (w *inFlight) enter(p *response) (refused *refusal) {
	if p.requestCtx != nil {
		return w.enterCounted(p)
	}
	inSessions, c := w.sessionRequests.Add(1), p.session.caller
	within := c.begin(w.opts.MaxInFlightPerPrincipal)
	switch {
	case w.closing.Load():
		refused = &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	case p.isPing:
	case !within:
		refused = w.opts.overLimit("MaxInFlightPerPrincipal", &refusal{status: http.StatusTooManyRequests, err: errTooManyRequests})
	case !belowLimit(int(inSessions)-1, w.opts.MaxInFlight):
		refused = w.opts.overLimit("MaxInFlight", &refusal{status: http.StatusServiceUnavailable, err: errTooManyRequests})
	}
	if refused != nil {
		w.leave(p)
	}
	return refused
}

// leave ends the count that enter has begun.
func (w *inFlight) leave(p *response) {
	if p.requestCtx != nil {
		w.leaveCounted(p)
		return
	}
	if c := p.session.caller; c != nil && c.requests.Add(-1) == 0 && c.sessions.Load() == 0 {
		w.mu.Lock()
		w.forgetUnused(p.session.principal, c)
		w.mu.Unlock()
	}
	if w.sessionRequests.Add(-1) == 0 && w.closing.Load() {
		w.mu.Lock()
		w.signalIdle()
		w.mu.Unlock()
	}
}

func (w *inFlight) enterCounted(p *response) (refused *refusal) {
	w.mu.Lock()
	c := w.callerFor(p.transport.principal)
	within := c.begin(w.opts.MaxInFlightPerPrincipal)
	switch {
	case w.closing.Load():
		refused = &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	case p.isSubscription && !belowLimit(w.subscriptions, w.opts.MaxSubscriptionStreams):
		refused = w.opts.overLimit("MaxSubscriptionStreams", &refusal{status: http.StatusServiceUnavailable, err: errTooManySubscriptions})
	case !p.isSubscription && !belowLimit(w.requests-w.subscriptions, w.opts.MaxInFlight):
		refused = w.opts.overLimit("MaxInFlight", &refusal{status: http.StatusServiceUnavailable, err: errTooManyRequests})
	case !within:
		refused = w.opts.overLimit("MaxInFlightPerPrincipal", &refusal{status: http.StatusTooManyRequests, err: errTooManyRequests})
	}
	if refused == nil {
		w.count(p, 1)
		p.requestCtx.keepAlive.target = p
		w.schedule(&p.requestCtx.keepAlive)
	} else {
		w.endRequest(p.transport.principal, c)
	}
	w.mu.Unlock()
	return refused
}

func (w *inFlight) leaveCounted(p *response) {
	w.mu.Lock()
	w.count(p, -1)
	w.endRequest(p.transport.principal, w.callers[p.transport.principal])
	w.remove(&p.requestCtx.keepAlive)
	w.mu.Unlock()
}

// endRequest ends the count of a caller's request. The lock is held.
func (w *inFlight) endRequest(principal string, c *caller) {
	if c != nil {
		c.requests.Add(-1)
		w.forgetUnused(principal, c)
	}
}

// count adds n requests like the request of p. The caller holds the lock.
func (w *inFlight) count(p *response, n int) {
	w.requests += n
	if p.isSubscription {
		w.subscriptions += n
	}
}

// addStream counts a stream of a session. It returns false if the handler is closing.
func (w *inFlight) addStream(p *keepAlive) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing.Load() {
		return false
	}
	w.streams++
	w.schedule(p)
	return true
}

// removeStream ends the count that addStream has begun.
func (w *inFlight) removeStream(p *keepAlive) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.streams--
	w.remove(p)
}

// remove removes a keep-alive. The caller holds the lock.
func (w *inFlight) remove(p *keepAlive) {
	w.keepAlives.drop(p)
	w.signalIdle()
}

// signalIdle wakes the goroutines that wait until nothing is left, if that is the case.
// The caller holds the lock.
func (w *inFlight) signalIdle() {
	if w.idle != nil && w.isIdle() {
		close(w.idle)
		w.idle = nil
	}
}

// isIdle reports whether nothing is being served. The caller holds the lock.
func (w *inFlight) isIdle() bool { return w.keepAlives.first() == nil && w.sessionRequests.Load() == 0 }

// close refuses new requests and ends the subscriptions.
func (w *inFlight) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing.Store(true)
	w.eachResponse(func(p *response) {
		if p.isSubscription {
			p.requestCtx.Cancel(connection.ErrClosing)
		}
	})
}

// isClosing reports whether new requests are refused.
func (w *inFlight) isClosing() bool { return w.closing.Load() }

// cancel cancels the contexts of all requests outside sessions.
func (w *inFlight) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eachResponse(func(p *response) { p.requestCtx.Cancel(connection.ErrClosing) })
}

// refuseRemaining responds that the server is shutting down to all requests outside sessions, at
// most until ctx ends.
func (w *inFlight) refuseRemaining(ctx context.Context) {
	var responses sync.WaitGroup
	w.mu.Lock()
	w.eachResponse(func(p *response) {
		if !p.requestCtx.id.IsZero() {
			responses.Go(p.refuseClosing) // ends when the client has received it, or with the write timeout
		}
	})
	w.mu.Unlock()
	done := make(chan struct{})
	go func() { // ends with the last response
		responses.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// eachResponse calls f for each request outside sessions. The caller holds the lock.
func (w *inFlight) eachResponse(f func(*response)) {
	for p := w.keepAlives.first(); p != nil; p = w.keepAlives.next(p) {
		if r, ok := p.target.(*response); ok {
			f(r)
		}
	}
}

// wait waits until nothing is being served, or ctx ends.
func (w *inFlight) wait(ctx context.Context) error {
	w.mu.Lock()
	if w.isIdle() {
		w.mu.Unlock()
		return nil
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// clock returns the time since its start. That is faster than [time.Now].
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() time.Duration { return time.Since(c.start) }

// keepAlive schedules keep-alives on a stream, or on a response that may become one.
// Requests of a session have none: [session.sendKeepAlives] sends their keep-alives.
type keepAlive struct {
	target     keepAliveTarget
	prev, next *keepAlive // in the queue
	due        time.Duration
}

// keepAliveTarget is a stream or response that needs keep-alives.
type keepAliveTarget interface {
	// sendKeepAlive is called in its own goroutine.
	sendKeepAlive()
}

// keepAliveQueue contains keep-alives in the order of their time. Nearly all are
// removed long before that time. It is a ring whose element ends has no target.
type keepAliveQueue struct{ ends keepAlive }

func (q *keepAliveQueue) init() { q.ends.prev, q.ends.next = &q.ends, &q.ends }

// first returns the keep-alive that is due first, or nil.
func (q *keepAliveQueue) first() *keepAlive { return q.next(&q.ends) }

// next returns the keep-alive after p, or nil.
func (q *keepAliveQueue) next(p *keepAlive) *keepAlive {
	if p.next == &q.ends {
		return nil
	}
	return p.next
}

// push adds a keep-alive at the end.
func (q *keepAliveQueue) push(p *keepAlive) {
	p.prev, p.next = q.ends.prev, &q.ends
	p.prev.next, q.ends.prev = p, p
}

// drop removes a keep-alive.
func (q *keepAliveQueue) drop(p *keepAlive) { p.prev.next, p.next.prev = p.next, p.prev }

// schedule adds a keep-alive to the queue and starts the timer if needed. All
// keep-alives have the same interval, so one timer is enough. The caller holds the
// lock.
func (w *inFlight) schedule(p *keepAlive) {
	w.keepAlives.push(p)
	interval := w.opts.KeepAlive
	if interval < 0 {
		return
	}
	p.due = w.clock.now() + interval
	if !w.timerRunning {
		w.startTimer(interval)
	}
}

// startTimer starts the timer. The caller holds the lock.
func (w *inFlight) startTimer(after time.Duration) {
	w.timerRunning = true
	if w.timer == nil {
		w.timer = time.AfterFunc(after, w.sendKeepAlives)
	} else {
		w.timer.Reset(after)
	}
}

// sendKeepAlives sends the keep-alives that are due, and starts the timer for the next
// ones.
func (w *inFlight) sendKeepAlives() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.now()
	for p := w.keepAlives.first(); p != nil && p.due <= now; p = w.keepAlives.first() {
		w.keepAlives.drop(p)
		w.schedule(p)
		go p.target.sendKeepAlive() // ends when the client has received it
	}
	w.timerRunning = false
	if p := w.keepAlives.first(); p != nil {
		w.startTimer(p.due - now)
	}
}
