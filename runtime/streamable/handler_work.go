package streamable

import (
	"context"
	"net/http"
	"sync"

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
	mu        sync.Mutex
	closing   bool
	posts     map[*post]struct{} // outside sessions
	listening int                // of the posts
	of        map[string]int     // posts of each principal that has a name
	others    int                // requests of sessions, and their streams
	idle      chan struct{}      // closed when nothing is left; nil if nobody waits for that
}

// enter counts a request outside sessions, if there is room for it.
func (w *work) enter(p *post, o *Options) *refusal {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := p.transport.Principal()
	switch {
	case w.closing:
		return &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	case p.listens && !within(w.listening, o.MaxListen):
		return &refusal{status: http.StatusServiceUnavailable, err: errListens}
	case !p.listens && !within(len(w.posts)-w.listening, o.MaxInFlight):
		return &refusal{status: http.StatusServiceUnavailable, err: errTooMany}
	case name != "" && !within(w.of[name], o.MaxInFlightPerPrincipal):
		return &refusal{status: http.StatusTooManyRequests, err: errTooMany}
	}
	if w.posts == nil {
		w.posts, w.of = make(map[*post]struct{}), make(map[string]int)
	}
	w.posts[p] = struct{}{}
	if p.listens {
		w.listening++
	}
	if name != "" {
		w.of[name]++
	}
	return nil
}

// leave takes back an enter.
func (w *work) leave(p *post) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.posts, p)
	if p.listens {
		w.listening--
	}
	if name := p.transport.Principal(); name != "" {
		if w.of[name]--; w.of[name] == 0 {
			delete(w.of, name)
		}
	}
	w.signal()
}

// join counts a request of a session. It is false when no new ones are served.
func (w *work) join() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closing {
		return false
	}
	w.others++
	return true
}

// part takes back a join.
func (w *work) part() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.others--
	w.signal()
}

// signal wakes who waits for the end of the work. The lock is held.
func (w *work) signal() {
	if w.idle != nil && len(w.posts)+w.others == 0 {
		close(w.idle)
		w.idle = nil
	}
}

// close lets nothing more begin, and ends the subscriptions.
func (w *work) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closing = true
	for p := range w.posts {
		if p.listens {
			p.ctx.Cancel(ErrClosing)
		}
	}
}

// cancel ends the contexts of all that is being handled outside sessions.
func (w *work) cancel() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for p := range w.posts {
		p.ctx.Cancel(ErrClosing)
	}
}

// wait waits until nothing is being handled, at most until ctx ends.
func (w *work) wait(ctx context.Context) error {
	w.mu.Lock()
	if len(w.posts)+w.others == 0 {
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
