// Package lazy contains contexts that allocate nothing until they are used:
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

// Context is the context of a message that is being handled. Most handlers do not
// use their context, so it creates a cancelable context only when it needs one: for
// Done, Err and Value, and for Cancel with a cause. It is safe for concurrent use
// and must not be copied after the first use.
type Context struct {
	// Context is the parent: the context of the transport that delivered the message.
	context.Context
	// Detached means that the Context has only the values of its parent, and does
	// not end when its parent ends.
	Detached bool

	made atomic.Pointer[cancelable] // nil if the context was not used yet
}

// cancelable is the context that a [Context] creates when it is used.
type cancelable struct {
	ctx    context.Context
	cancel context.CancelCauseFunc
}

// canceledUnused marks each Context that was canceled before it was used.
var canceledUnused cancelable

// use returns the context behind c. It creates the context on the first call.
func (c *Context) use() *cancelable {
	for {
		o := c.made.Load()
		if o != nil && o != &canceledUnused {
			return o
		}
		made := new(cancelable)
		made.ctx, made.cancel = context.WithCancelCause(c.parent())
		if o == &canceledUnused {
			made.cancel(nil)
		}
		if c.made.CompareAndSwap(o, made) {
			return made
		}
		made.cancel(nil) // a concurrent call was first
	}
}

// parent returns the parent of the context that use creates.
func (c *Context) parent() context.Context {
	if c.Detached {
		return context.WithoutCancel(c.Context)
	}
	return c.Context
}

// Deadline implements [context.Context].
func (c *Context) Deadline() (time.Time, bool) { return c.parent().Deadline() }

// Done implements [context.Context].
func (c *Context) Done() <-chan struct{} { return c.use().ctx.Done() }

// Err implements [context.Context].
func (c *Context) Err() error { return c.use().ctx.Err() }

// Value implements [context.Context]. Package context calls it with a key of the type
// *int, to find the cause of the cancellation and to register the children of c. All
// other keys have the value of the parent.
func (c *Context) Value(key any) any {
	if _, internal := key.(*int); internal {
		return c.use().ctx.Value(key)
	}
	return c.Context.Value(key)
}

// Cancel cancels c with the given cause, unless c has ended. If cause is nil, the
// cause is [context.Canceled].
func (c *Context) Cancel(cause error) {
	switch {
	case cause == nil && c.made.CompareAndSwap(nil, &canceledUnused):
	case c.made.Load() != &canceledUnused:
		c.use().cancel(cause)
	}
}

// Values returns a context that has the values of ctx and does not end. It is
// [context.WithoutCancel], except that finding a value in it allocates nothing.
func Values(ctx context.Context) context.Context { return &values{ctx} }

type values struct{ context.Context }

// Deadline implements [context.Context].
func (*values) Deadline() (time.Time, bool) { return time.Time{}, false }

// Done implements [context.Context].
func (*values) Done() <-chan struct{} { return nil }

// Err implements [context.Context].
func (*values) Err() error { return nil }

// Value implements [context.Context]. Only package context can hide the value that it looks
// for to find the cause of the cancellation, see [Context.Value]. Programs may have keys of
// that type, too.
func (v *values) Value(key any) any {
	if _, internal := key.(*int); internal {
		return context.WithoutCancel(v.Context).Value(key)
	}
	return v.Context.Value(key)
}
