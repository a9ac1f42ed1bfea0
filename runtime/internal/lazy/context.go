// Package lazy has a context that costs nothing until somebody looks at it:
//
//	h := lazy.Context{Context: r.Context()}
//	defer h.Cancel(nil)
//	serve(&h)
package lazy

import (
	"cmp"
	"context"
	"sync"
)

// Context is the context of a message being handled. Most handlers never look
// whether it has ended: what it takes to tell them is made when one does.
type Context struct {
	// Context is that of whoever delivered the message.
	context.Context

	mu    sync.Mutex
	inner context.Context // nil while nobody has looked
	end   context.CancelCauseFunc
	cause error // why it has ended, nil if it has not
}

// look returns the context that ends when c does.
func (c *Context) look() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inner == nil {
		c.inner, c.end = context.WithCancelCause(c.Context)
		if c.cause != nil {
			c.end(c.cause)
		}
	}
	return c.inner
}

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} { return c.look().Done() }

// Err implements [context.Context].
func (c *Context) Err() error { return c.look().Err() }

// Value implements [context.Context]. It is also how package context finds the
// cause, and what to end together with c.
func (c *Context) Value(key any) any { return c.look().Value(key) }

// Cancel ends it because of cause, unless it has ended. Nil stands for
// [context.Canceled], as everywhere.
func (c *Context) Cancel(cause error) {
	c.mu.Lock()
	c.cause = cmp.Or(c.cause, cause, context.Canceled)
	end := c.end
	c.mu.Unlock()
	if end != nil {
		end(cause)
	}
}
