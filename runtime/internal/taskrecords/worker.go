// Package taskrecords stores tasks in an engine, so that each replica of a server finds them and a
// task outlives the process that has run it.
package taskrecords

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
)

// Options configure a worker. There are no defaults.
type Options struct {
	// Table stores the records. It also has the tasks of other replicas.
	Table engine.Table
	// Keys encrypt records. They are the same in all replicas.
	Keys [][]byte
	// Lease is the time after which a worker that does not renew its lease counts as gone.
	Lease time.Duration
	// Logger receives errors of the engine that no caller gets.
	Logger *slog.Logger
}

// engineTimeout limits an operation with the engine.
const engineTimeout = 5 * time.Second

// Worker is a process that runs tasks, or sends questions of tasks. While it has any, it holds a lease: a
// record in the engine. It is safe for concurrent use.
type Worker struct {
	opts Options
	keys sealed.Ring
	tag  string

	renewing chan struct{} // holds a value while the lease is renewed; guards version
	version  uint64        // of the lease

	mu      sync.Mutex
	running int                // tasks and questions
	renewed time.Time          // when the last renewal began
	stop    context.CancelFunc // of the goroutine that renews the lease
	done    <-chan struct{}    // closed when that goroutine has ended; nil before the first task
	checks  []func(ctx context.Context)
	silent  map[string]time.Time // other workers without a lease, by tag: since when, as far as this one has learnt
}

// NewWorker returns a worker without a lease.
func NewWorker(o Options) (*Worker, error) {
	keys, err := sealed.NewRing("tasks", o.Keys)
	if err != nil {
		return nil, err
	}
	return &Worker{opts: o, keys: keys, tag: rand.Text()[:8], renewing: make(chan struct{}, 1), silent: make(map[string]time.Time)}, nil
}

// Tag returns the name of the worker in records.
func (w *Worker) Tag() string { return w.tag }

// OnRenewal adds a function that is called four times in a lease, while the worker runs tasks. Its context
// ends before the next call.
func (w *Worker) OnRenewal(f func(ctx context.Context)) { w.checks = append(w.checks, f) }

func leaseKey(tag string) string { return "w/" + tag }

// Begin counts a task that is about to run, or a question that is about to be sent. When it returns no
// error, the worker holds its lease. The caller calls End when the task or the question has ended.
func (w *Worker) Begin(ctx context.Context) error {
	w.mu.Lock()
	w.running++
	held := time.Since(w.renewed) < w.opts.Lease/2
	if w.running == 1 {
		running, stop := context.WithCancel(context.Background())
		done := make(chan struct{})
		w.stop, w.done = stop, done
		go func() { // ends with the last task
			defer close(done)
			w.keepLease(running)
		}()
	}
	w.mu.Unlock()
	if held {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	if err := w.renew(ctx); err != nil {
		w.End()
		return fmt.Errorf("could not begin the lease of this process: %w", err)
	}
	return nil
}

// End ends the count of a task or a question.
func (w *Worker) End() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.running--; w.running == 0 {
		w.stop()
	}
}

// Wait waits until the goroutine of the worker has ended, if no task runs.
func (w *Worker) Wait() {
	w.mu.Lock()
	done := w.done
	if w.running > 0 {
		done = nil
	}
	w.mu.Unlock()
	if done != nil {
		<-done
	}
}

// keepLease renews the lease until ctx ends.
func (w *Worker) keepLease(ctx context.Context) {
	interval := w.opts.Lease / 4
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		attempt, cancel := context.WithTimeout(ctx, min(interval, engineTimeout))
		if err := w.renew(attempt); err != nil && ctx.Err() == nil {
			w.opts.Logger.WarnContext(ctx, "could not renew the lease of the process for its tasks", "error", err)
		}
		for _, check := range w.checks {
			check(attempt)
		}
		cancel()
	}
}

// renew writes the lease.
func (w *Worker) renew(ctx context.Context) error {
	select {
	case w.renewing <- struct{}{}:
		defer func() { <-w.renewing }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	began := time.Now()
	data := w.keys.Seal(nil, leaseKey(w.tag))
	version, err := sealed.Put(ctx, w.opts.Table, leaseKey(w.tag), data, w.version, w.opts.Lease)
	if errors.Is(err, engine.ErrConflict) { // the lease has ended, or the reply to an earlier renewal was lost
		r, getErr := w.opts.Table.Get(ctx, leaseKey(w.tag))
		if getErr != nil && !errors.Is(getErr, engine.ErrNone) {
			return getErr
		}
		version, err = sealed.Put(ctx, w.opts.Table, leaseKey(w.tag), data, r.Version, w.opts.Lease)
	}
	if err != nil {
		return err
	}
	w.version = version
	w.mu.Lock()
	defer w.mu.Unlock()
	w.renewed = began
	return nil
}

// maxSilent limits the workers that are remembered as silent. They can be found again.
const maxSilent = 10_000

// Gone reports whether another worker is gone: it had no lease for half of the time of one. After an
// outage of the engine all leases have ended, and workers need a quarter to renew theirs.
func (w *Worker) Gone(ctx context.Context, tag string) (bool, error) {
	if tag == w.tag {
		return false, nil
	}
	r, err := w.opts.Table.Get(ctx, leaseKey(tag))
	if err == nil {
		_, err = w.keys.Open(r.Data, leaseKey(tag))
	}
	if err != nil && !errors.Is(err, engine.ErrNone) {
		return false, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err == nil {
		delete(w.silent, tag)
		return false, nil
	}
	since, known := w.silent[tag]
	if !known {
		if len(w.silent) >= maxSilent {
			clear(w.silent)
		}
		w.silent[tag] = time.Now()
		return false, nil
	}
	return time.Since(since) >= w.opts.Lease/2, nil
}
