package streamable

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

var (
	errClosing = &peer.Error{Code: mcp.CodeInternal, Message: "Server is shutting down"}
	errTooMany = &peer.Error{Code: mcp.CodeInternal, Message: "Too many requests in flight"}
	errListens = &peer.Error{Code: mcp.CodeInternal, Message: "Too many subscriptions"}
)

// work counts what is being handled.
type work struct {
	opts       *Options
	closing    atomic.Bool  // set under the lock
	inSessions atomic.Int64 // requests of sessions, which see to their pulse themselves

	mu        sync.Mutex
	clock     clock
	open      queue         // of everything else
	timer     *time.Timer   // of the queue
	beats     bool          // the timer runs
	posts     tally         // requests outside sessions
	listening int           // of these, the subscriptions
	idle      chan struct{} // closed when nothing is left; nil if nobody waits for that
}

func (w *work) init(o *Options) {
	w.opts, w.clock = o, newClock()
	w.open.init()
}

// enter counts a request, if there is room for it.
func (w *work) enter(p *response) *refusal {
	if p.apart != nil {
		return w.enterApart(p)
	}
	w.inSessions.Add(1) // a session has a limit of its own
	if w.closing.Load() {
		w.leave(p)
		return &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	return nil
}

// leave takes back an enter.
func (w *work) leave(p *response) {
	if p.apart != nil {
		w.leaveApart(p)
	} else if w.inSessions.Add(-1) == 0 && w.closing.Load() {
		w.mu.Lock()
		w.rest()
		w.mu.Unlock()
	}
}

func (w *work) enterApart(p *response) (no *refusal) {
	w.mu.Lock()
	switch {
	case w.closing.Load():
		no = &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	case p.listens && !within(w.listening, w.opts.MaxSubscriptionStreams):
		no = &refusal{status: http.StatusServiceUnavailable, err: errListens}
	case !p.listens && !within(w.posts.all-w.listening, w.opts.MaxInFlight):
		no = &refusal{status: http.StatusServiceUnavailable, err: errTooMany}
	case !w.posts.fits(p.transport.principal, w.opts.MaxInFlightPerPrincipal):
		no = &refusal{status: http.StatusTooManyRequests, err: errTooMany}
	}
	if no == nil {
		w.count(p, 1)
		p.apart.pulse.of = p
		w.await(&p.apart.pulse)
	}
	w.mu.Unlock()
	return no
}

func (w *work) leaveApart(p *response) {
	w.mu.Lock()
	w.count(p, -1)
	w.drop(&p.apart.pulse)
	w.mu.Unlock()
}

// count adds n requests like that of p. The lock is held.
func (w *work) count(p *response, n int) {
	w.posts.add(p.transport.principal, n)
	if p.listens {
		w.listening += n
	}
}

// join counts a stream of a session. It is false when no new ones are served.
func (w *work) join(p *pulse) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing.Load() {
		return false
	}
	w.await(p)
	return true
}

// part takes back a join.
func (w *work) part(p *pulse) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.drop(p)
}

// drop ends a pulse, and wakes who waits for the end of the work. The lock is
// held.
func (w *work) drop(p *pulse) {
	w.open.drop(p)
	w.rest()
}

// rest wakes who waits for the end of the work, if there is somebody and this is it.
// The lock is held.
func (w *work) rest() {
	if w.idle != nil && w.isOver() {
		close(w.idle)
		w.idle = nil
	}
}

// isOver tells whether nothing is being handled. The lock is held.
func (w *work) isOver() bool { return w.open.first() == nil && w.inSessions.Load() == 0 }

// close lets nothing more begin, and ends the subscriptions.
func (w *work) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing.Store(true)
	w.each(func(p *response) {
		if p.listens {
			p.apart.Cancel(ErrClosing)
		}
	})
}

// isClosing tells whether nothing more begins.
func (w *work) isClosing() bool { return w.closing.Load() }

// cancel ends the contexts of all that is being handled outside sessions.
func (w *work) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.each(func(p *response) { p.apart.Cancel(ErrClosing) })
}

// each calls f with what answers requests outside sessions. The lock is held.
func (w *work) each(f func(*response)) {
	for p := w.open.first(); p != nil; p = w.open.next(p) {
		if r, ok := p.of.(*response); ok {
			f(r)
		}
	}
}

// wait waits until nothing is being handled, at most until ctx ends.
func (w *work) wait(ctx context.Context) error {
	w.mu.Lock()
	if w.isOver() {
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
