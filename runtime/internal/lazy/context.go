// Package lazy has a context that costs nothing until somebody looks at it:
//
//	h := lazy.Context{Context: r.Context()}
//	defer h.Cancel(nil)
//	serve(&h)
package lazy

import (
	"context"
	"sync/atomic"
	"time"
)

// Context is the context of a message being handled. Most handlers never look
// whether it has ended: what it takes to tell them is made when one does.
type Context struct {
	// Context is that of whoever delivered the message.
	context.Context
	// Detached tells that what ends Context does not end this one, which has no more
	// than its values.
	Detached bool

	own atomic.Pointer[own] // nil while nobody has looked
}

// own is the context that ends when a [Context] does.
type own struct {
	ctx context.Context
	end context.CancelCauseFunc
}

// unseen is the own of every context that ended before anybody had looked.
var unseen own

// look returns the context that ends when c does.
func (c *Context) look() *own {
	for {
		o := c.own.Load()
		if o != nil && o != &unseen {
			return o
		}
		made := new(own)
		made.ctx, made.end = context.WithCancelCause(c.parent())
		if o == &unseen {
			made.end(nil)
		}
		if c.own.CompareAndSwap(o, made) {
			return made
		}
		made.end(nil) // somebody else was faster
	}
}

// parent is what ends c besides Cancel.
func (c *Context) parent() context.Context {
	if c.Detached {
		return context.WithoutCancel(c.Context)
	}
	return c.Context
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return c.parent().Deadline() }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} { return c.look().ctx.Done() }

// Err implements [context.Context].
func (c *Context) Err() error { return c.look().ctx.Err() }

// Value implements [context.Context]. It is also how package context finds the
// cause, and what to end together with c.
func (c *Context) Value(key any) any { return c.look().ctx.Value(key) }

// Cancel ends it because of cause, unless it has ended. Nil stands for
// [context.Canceled], as everywhere.
func (c *Context) Cancel(cause error) {
	switch {
	case cause == nil && c.own.CompareAndSwap(nil, &unseen):
	case c.own.Load() != &unseen:
		c.look().end(cause)
	}
}
