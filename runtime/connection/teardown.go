package connection

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"
)

// teardownTime bounds all of a connection's teardown together.
const teardownTime = 5 * time.Second

// OnClose adds a step to the connection's teardown. Steps run one after another,
// the last added first. If the teardown has begun, f runs at once.
func (c *Connection) OnClose(f func(context.Context) error) {
	if !c.teardown.push(f) {
		unwind(context.Background(), c.log, []func(context.Context) error{f})
	}
}

// Close tears the connection down and returns when that is done, after five
// seconds at most. The steps outlive the cancellation of ctx; a step that fails
// or panics is logged and does not keep the others from running; one that hangs
// is left behind, and with it those that were to follow. Close does not close
// the channel, which is not the connection's. Calling it again waits for the
// first call and does nothing else.
func (c *Connection) Close(ctx context.Context) {
	switch steps, done := c.teardown.begin(); {
	case steps != nil:
		defer close(done)
		unwind(ctx, c.log, steps)
	case done != alwaysReady:
		<-done
	}
}

// teardown is the stack of steps.
type teardown struct {
	mu    sync.Mutex // not held while a step runs
	steps []func(context.Context) error
	done  chan struct{} // not nil when the teardown has begun, closed when it is done
}

// push adds a step and reports whether it was in time.
func (t *teardown) push(f func(context.Context) error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.done != nil {
		return false
	}
	t.steps = append(t.steps, f)
	return true
}

// begin hands out the steps to the one who is to run them, and to everyone what
// to wait for.
func (t *teardown) begin() (steps []func(context.Context) error, done chan struct{}) {
	t.mu.Lock()
	if t.done == nil {
		steps, t.steps = t.steps, nil
		t.done = alwaysReady
		if steps != nil {
			t.done = make(chan struct{})
		}
	}
	done = t.done
	t.mu.Unlock()
	return steps, done
}

// unwind runs the steps from the last to the first.
func unwind(ctx context.Context, log *slog.Logger, steps []func(context.Context) error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), teardownTime)
	defer cancel()
	done := make(chan struct{})
	go func() { // ends with the last step, or with the one that hangs
		defer close(done)
		for i := len(steps) - 1; i >= 0 && ctx.Err() == nil; i-- {
			if err := contain(func() error { return steps[i](ctx) }); err != nil {
				log.WarnContext(ctx, "teardown step failed", "error", err)
			}
		}
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		log.WarnContext(ctx, "teardown abandoned", "after", teardownTime)
	}
}

// contain makes an error of a panic.
func contain(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
}
