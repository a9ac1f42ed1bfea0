package tasks

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/extension"
	"github.com/mcpwright/mcp/runtime/internal/failure"
)

// changes calls [Options].OnChange for each change of a task, in order. Nil ignores changes. It is safe for
// concurrent use, and has no locks of stores.
type changes struct {
	call   func(ctx context.Context, tool string, t *Task)
	logger *slog.Logger

	mu    sync.Mutex
	queue []change
	empty chan struct{} // closed when the queue is empty; nil if it is
}

type change struct {
	ctx  context.Context
	tool string
	task *Task
}

// newChanges returns nil for no function.
func newChanges(call func(context.Context, string, *Task), logger *slog.Logger) *changes {
	if call == nil {
		return nil
	}
	return &changes{call: call, logger: logger}
}

// add adds a change of a task.
func (c *changes) add(ctx context.Context, tool string, t *Task) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.queue = append(c.queue, change{context.WithoutCancel(ctx), tool, t})
	if c.empty == nil {
		c.empty = make(chan struct{})
		go c.run() // ends when the queue is empty
	}
}

func (c *changes) run() {
	exits := true
	defer func() {
		if exits {
			go c.run() // OnChange has called runtime.Goexit
		}
	}()
	for {
		c.mu.Lock()
		if len(c.queue) == 0 {
			close(c.empty)
			c.queue, c.empty, exits = nil, nil, false
			c.mu.Unlock()
			return
		}
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.mu.Unlock()
		c.report(next)
	}
}

func (c *changes) report(next change) {
	defer failure.LogPanic(next.ctx, c.logger, "tasks.Options.OnChange")
	c.call(next.ctx, next.tool, next.task)
}

// wait waits until the queue is empty, or ctx ends.
func (c *changes) wait(ctx context.Context) error {
	c.mu.Lock()
	empty := c.empty
	c.mu.Unlock()
	if empty == nil {
		return nil
	}
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// reportedStore is a store that waits for the calls of OnChange when it is shut down.
type reportedStore struct {
	extension.TaskStore
	changes *changes
}

// Shutdown implements [extension.TaskStore].
func (r reportedStore) Shutdown(ctx context.Context) error {
	return errors.Join(r.TaskStore.Shutdown(ctx), r.changes.wait(ctx))
}
