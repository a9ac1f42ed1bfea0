package dispatch

import (
	"cmp"
	"context"
	"sync"
)

// handling is the context of a message being handled. Most handlers never look
// whether it has ended: what it takes to tell them is made when one does.
type handling struct {
	context.Context // of whoever delivered the message

	mu    sync.Mutex
	inner context.Context // nil while nobody has looked
	end   context.CancelCauseFunc
	cause error // why it has ended, nil if it has not
}

// look returns the context that ends when h does.
func (h *handling) look() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.inner == nil {
		h.inner, h.end = context.WithCancelCause(h.Context)
		if h.cause != nil {
			h.end(h.cause)
		}
	}
	return h.inner
}

// Done implements [context.Context].
func (h *handling) Done() <-chan struct{} { return h.look().Done() }

// Err implements [context.Context].
func (h *handling) Err() error { return h.look().Err() }

// Value implements [context.Context]. It is also how package context finds the
// cause, and what to end together with h.
func (h *handling) Value(key any) any { return h.look().Value(key) }

// cancel ends it because of cause, unless it has ended. Nil stands for
// [context.Canceled], as everywhere.
func (h *handling) cancel(cause error) {
	h.mu.Lock()
	h.cause = cmp.Or(h.cause, cause, context.Canceled)
	end := h.end
	h.mu.Unlock()
	if end != nil {
		end(cause)
	}
}
