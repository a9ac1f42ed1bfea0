package connection

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// closeTimeout limits the time of all functions that run when a connection is closed.
const closeTimeout = 5 * time.Second

// OnClose adds a function that runs when the connection is closed. The functions run one after
// another, the last added first. If the connection is closed already, f runs immediately.
func (c *Connection) OnClose(f func(context.Context) error) {
	if !c.cleanup.add(f) {
		runCleanup(context.Background(), c.log, []func(context.Context) error{f})
	}
}

// Close runs the functions of [Connection.OnClose] and returns when they have finished, or after
// five seconds. Canceling ctx does not cancel them. A function that fails or panics is logged,
// and the others run. If a function does not return in time, Close leaves it running and does
// not run the remaining functions.
//
// Close does not close the channel, which the connection does not own. Further calls wait for
// the first call and do nothing else.
func (c *Connection) Close(ctx context.Context) {
	switch funcs, done := c.cleanup.begin(); {
	case funcs != nil:
		defer close(done)
		runCleanup(ctx, c.log, funcs)
	case done != closedChan:
		<-done
	}
}

// movedKey is the key of a context for the end of a connection that continues in another process.
type movedKey struct{}

// WithMoved returns a context for [Connection.Close]: the session of the connection continues in
// another process.
func WithMoved(ctx context.Context) context.Context {
	return context.WithValue(ctx, movedKey{}, true)
}

// HasMoved reports whether the session of a connection continues in another process. The context is
// the one that a function of [Connection.OnClose] receives.
func HasMoved(ctx context.Context) bool { return ctx.Value(movedKey{}) != nil }

// cleanup is the stack of functions that run when a connection is closed.
type cleanup struct {
	mu    sync.Mutex // not held while a function runs
	funcs []func(context.Context) error
	done  chan struct{} // nil until the connection is closed; closed when all functions have finished
}

// add adds a function, or reports false if the connection is closed.
func (t *cleanup) add(f func(context.Context) error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done != nil {
		return false
	}
	t.funcs = append(t.funcs, f)
	return true
}

// begin returns the functions to the first caller, which runs them and closes done. It returns
// nil and done to the other callers.
func (t *cleanup) begin() (funcs []func(context.Context) error, done chan struct{}) {
	t.mu.Lock()
	if t.done == nil {
		funcs, t.funcs = t.funcs, nil
		t.done = closedChan
		if funcs != nil {
			t.done = make(chan struct{})
		}
	}
	done = t.done
	t.mu.Unlock()
	return funcs, done
}

// closedChan is shared by all connections that were initialized before their channel was
// requested, and by all that have nothing to clean up.
var closedChan = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// runCleanup runs the functions from the last to the first.
func runCleanup(ctx context.Context, log *slog.Logger, funcs []func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	done := make(chan struct{})
	go func() { // ends after the last function, or when a function returns after the timeout
		defer close(done)
		for i := len(funcs) - 1; i >= 0 && ctx.Err() == nil; i-- {
			if err := recovered(func() error { return funcs[i](ctx) }); err != nil {
				log.WarnContext(ctx, "cleanup of a connection failed", "error", err)
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		log.WarnContext(ctx, "cleanup of a connection timed out", "after", closeTimeout)
	}
}

// recovered calls f and converts a panic to an error.
func recovered(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
