package tasks

import (
	"context"
	"encoding/json"
	"errors"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/wire"
)

// fakeRun is a run whose outcomes are set by a test.
type fakeRun struct {
	outcomes chan runOutcome
	resume   []mcp.InputResponses
	state    *string
	ended    error
	message  string
	changes  []string
}

func newFakeRun() *fakeRun { return &fakeRun{outcomes: make(chan runOutcome, 1)} }

func (s *fakeRun) Wait() runOutcome                { return <-s.outcomes }
func (s *fakeRun) Message() string                 { return s.message }
func (*fakeRun) Request() (json.RawMessage, error) { return json.RawMessage(`{}`), nil }
func (s *fakeRun) Resume(answers mcp.InputResponses, state *string) {
	s.resume, s.state = append(s.resume, answers), state
}

func (s *fakeRun) Changed(t *Task) {
	s.changes = append(s.changes, string(t.Status)+t.StatusMessage)
}

// End ends an active run, like a handler that returns when its context ends.
func (s *fakeRun) End(cause error) {
	if s.ended = cause; cause != nil {
		s.outcomes <- runOutcome{Error: &wire.ErrorObject{Code: 1, Message: "ended"}}
	}
}

// finish sets an outcome and waits until the store has processed it.
func (s *fakeRun) finish(out runOutcome) {
	s.outcomes <- out
	synctest.Wait()
}

var wide = storeOptions{Budget: budget.Default(), TTL: time.Hour, PollInterval: time.Second, Quota: limit.NewQuota(100, 100)}

// withStore runs a test in a synctest bubble with a store, which is shut down at the end.
func withStore(t *testing.T, o storeOptions, f func(t *testing.T, store *localStore)) {
	synctest.Test(t, func(t *testing.T) {
		store := newLocalStore(o)
		f(t, store)
		require.NoError(t, store.Shutdown(t.Context()))
	})
}

func asks(keys ...string) runOutcome {
	questions := make(mcp.InputRequests)
	for _, key := range keys {
		questions[key] = new(mcp.ListRootsRequest)
	}
	return runOutcome{Ask: &mcp.InputRequiredResult{InputRequests: questions, RequestState: new("state of " + keys[0])}}
}

func keysOf(t *Task) []string {
	var keys []string
	for key := range t.InputRequests {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var roots = new(mcp.ListRootsResult)

func TestTaskBelongsToOwner(t *testing.T) {
	withStore(t, wide, func(t *testing.T, store *localStore) {
		task := store.Add("ann", newFakeRun(), 0)
		require.Len(t, task.ID, 26)
		require.NotNil(t, store.Get("ann", task.ID))
		require.Nil(t, store.Get("bob", task.ID))
		require.Nil(t, store.Get("", task.ID))
		require.False(t, store.Cancel("bob", task.ID))
		require.False(t, store.Update("bob", task.ID, nil))
		require.Equal(t, mcp.TaskStatusWorking, store.Get("ann", task.ID).Status)
	})
}

func TestTaskHasResult(t *testing.T) {
	withStore(t, wide, func(t *testing.T, store *localStore) {
		run := newFakeRun()
		task := store.Add("", run, 0)
		run.message = "half way"
		time.Sleep(time.Minute)
		seen := store.Get("", task.ID)
		require.Equal(t, "half way", seen.StatusMessage)
		require.Equal(t, seen.CreatedAt, seen.LastUpdatedAt)
		require.False(t, seen.Finished())
		run.finish(runOutcome{Result: json.RawMessage(`{"a":1}`)})
		seen = store.Get("", task.ID)
		require.Equal(t, mcp.TaskStatusCompleted, seen.Status)
		require.JSONEq(t, `{"a":1}`, string(seen.Result))
		require.Empty(t, seen.StatusMessage)
		require.Equal(t, time.Minute, seen.LastUpdatedAt.Sub(seen.CreatedAt))
		require.True(t, seen.Finished())
		require.NoError(t, run.ended)

		run = newFakeRun()
		task = store.Add("", run, 0)
		run.finish(runOutcome{Error: &wire.ErrorObject{Code: -5, Message: "no"}})
		seen = store.Get("", task.ID)
		require.Equal(t, mcp.TaskStatusFailed, seen.Status)
		require.EqualValues(t, -5, seen.Error.Code)
		require.Equal(t, "no", seen.StatusMessage)
	})
}

func TestQuestionKeysAreUnique(t *testing.T) {
	withStore(t, wide, func(t *testing.T, store *localStore) {
		run := newFakeRun()
		id := store.Add("", run, 0).ID
		require.True(t, store.Update("", id, mcp.InputResponses{"1.a": roots}), "nobody waits for it yet")
		require.Empty(t, run.resume)
		run.finish(asks("a", "b"))
		seen := store.Get("", id)
		require.Equal(t, mcp.TaskStatusInputRequired, seen.Status)
		require.Equal(t, []string{"1.a", "1.b"}, keysOf(seen))
		clear(seen.InputRequests) // a copy for the caller
		require.True(t, store.Update("", id, mcp.InputResponses{"1.a": roots, "x": roots, "1.b": nil}))
		require.Equal(t, []string{"1.b"}, keysOf(store.Get("", id)))
		require.Empty(t, run.resume)
		require.True(t, store.Update("", id, mcp.InputResponses{"1.b": roots}))
		require.Equal(t, []mcp.InputResponses{{"a": roots, "b": roots}}, run.resume)
		require.Equal(t, "state of a", *run.state)
		require.Equal(t, mcp.TaskStatusWorking, store.Get("", id).Status)
		require.True(t, store.Update("", id, mcp.InputResponses{"1.b": roots}))
		require.Len(t, run.resume, 1)
		run.finish(asks("a"))
		require.Equal(t, []string{"2.a"}, keysOf(store.Get("", id)))
		require.True(t, store.Update("", id, mcp.InputResponses{"2.a": roots}))
		require.Equal(t, mcp.InputResponses{"a": roots}, run.resume[1])
		run.finish(runOutcome{Ask: &mcp.InputRequiredResult{RequestState: new("once more")}})
		require.Equal(t, mcp.TaskStatusWorking, store.Get("", id).Status)
		require.Nil(t, run.resume[2])
		require.Equal(t, "once more", *run.state)
	})
}

func TestEndedTaskReleasesRun(t *testing.T) {
	withStore(t, wide, func(t *testing.T, store *localStore) {
		run := newFakeRun()
		id, left := store.Add("", run, 0).ID, weak.Make(run)
		run.finish(runOutcome{Result: json.RawMessage(`{}`)})
		run = nil
		runtime.GC()
		require.Nil(t, left.Value())
		require.Equal(t, mcp.TaskStatusCompleted, store.Get("", id).Status)
	})
}

func TestCancelledTaskStaysCancelled(t *testing.T) {
	withStore(t, wide, func(t *testing.T, store *localStore) {
		run := newFakeRun()
		id := store.Add("", run, 0).ID
		require.True(t, store.Cancel("", id))
		require.ErrorIs(t, run.ended, errCancelled)
		synctest.Wait()
		seen := store.Get("", id)
		require.Equal(t, mcp.TaskStatusCancelled, seen.Status)
		require.Nil(t, seen.Error)
		run.ended = nil
		require.True(t, store.Cancel("", id))
		require.NoError(t, run.ended)
		require.True(t, store.Update("", id, mcp.InputResponses{"1.a": roots}))
		require.Equal(t, mcp.TaskStatusCancelled, store.Get("", id).Status)
	})
}

func TestTaskExpires(t *testing.T) {
	withStore(t, wide, func(t *testing.T, store *localStore) {
		over, goesOn := newFakeRun(), newFakeRun()
		first, second := store.Add("", over, 0).ID, store.Add("", goesOn, 0).ID
		over.finish(runOutcome{Result: json.RawMessage(`{}`)})
		time.Sleep(time.Hour - 1)
		require.NotNil(t, store.Get("", first))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Nil(t, store.Get("", first))
		require.Nil(t, store.Get("", second))
		require.NoError(t, over.ended)
		require.ErrorIs(t, goesOn.ended, errExpired)
	})
	endless := wide
	endless.TTL = -1
	withStore(t, endless, func(t *testing.T, store *localStore) {
		task := store.Add("", newFakeRun(), 0)
		require.Negative(t, task.TTL)
		time.Sleep(1000 * time.Hour)
		require.NotNil(t, store.Get("", task.ID))
	})
}

func TestMaxTasks(t *testing.T) {
	o := wide
	o.Quota = limit.NewQuota(6, 2)
	withStore(t, o, func(t *testing.T, store *localStore) {
		require.NotNil(t, store.Add("ann", newFakeRun(), 0))
		time.Sleep(time.Minute)
		require.NotNil(t, store.Add("ann", newFakeRun(), 0))
		require.Nil(t, store.Add("ann", newFakeRun(), 0), "of one owner")
		require.NotNil(t, store.Add("bob", newFakeRun(), 0))
		for range 3 {
			require.NotNil(t, store.Add("", newFakeRun(), 0), "nobody is no owner")
		}
		require.Nil(t, store.Add("cy", newFakeRun(), 0), "of all")
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		require.NotNil(t, store.Add("ann", newFakeRun(), 0), "one has gone")
	})
}

func TestShutdownEndsAllTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newLocalStore(wide)
		run, stuck := newFakeRun(), &stuckRun{make(chan struct{})}
		id := store.Add("", run, 0).ID
		store.Add("", stuck, 0)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		require.EqualError(t, store.Shutdown(ctx), "enough")
		require.ErrorIs(t, run.ended, errShutdown)
		require.Nil(t, store.Get("", id))
		require.Nil(t, store.Add("", newFakeRun(), 0))
		close(stuck.done)
		require.NoError(t, store.Shutdown(t.Context()))
	})
}

// stuckRun ignores the end of its context.
type stuckRun struct{ done chan struct{} }

func (d *stuckRun) Wait() runOutcome                 { <-d.done; return runOutcome{} }
func (*stuckRun) Message() string                    { return "" }
func (*stuckRun) Request() (json.RawMessage, error)  { return json.RawMessage(`{}`), nil }
func (*stuckRun) Resume(mcp.InputResponses, *string) {}
func (*stuckRun) End(error)                          {}
func (*stuckRun) Changed(*Task)                      {}

func TestChangesAreReported(t *testing.T) {
	withStore(t, wide, func(t *testing.T, store *localStore) {
		run := newFakeRun()
		id := store.Add("", run, 0).ID
		run.finish(asks("a"))
		store.Update("", id, mcp.InputResponses{"1.a": roots})
		run.finish(runOutcome{Ask: &mcp.InputRequiredResult{}}) // no change
		run.finish(runOutcome{Error: &wire.ErrorObject{Message: ": it failed"}})
		store.Cancel("", id)
		require.Equal(t, []string{"working", "input_required", "working", "failed: it failed"}, run.changes)

		done, cancelled, expired := newFakeRun(), newFakeRun(), newFakeRun()
		store.Add("", done, 0)
		done.finish(runOutcome{Result: json.RawMessage(`{}`)})
		store.Cancel("", store.Add("", cancelled, 0).ID)
		store.Add("", expired, 0)
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.Equal(t, []string{"working", "completed"}, done.changes)
		require.Equal(t, []string{"working", "cancelled"}, cancelled.changes)
		require.Equal(t, []string{"working", "cancelled"}, expired.changes)
		last := newFakeRun()
		store.Add("", last, 0)
		require.NoError(t, store.Shutdown(t.Context()))
		require.Equal(t, []string{"working", "cancelled"}, last.changes)
	})
}

func TestMaxConcurrentTasks(t *testing.T) {
	o := wide
	o.Concurrent = limit.NewQuota(2, 0)
	withStore(t, o, func(t *testing.T, store *localStore) {
		full := func() bool { return store.Add("", newFakeRun(), 0) == nil }
		asking, stuck := newFakeRun(), &stuckRun{make(chan struct{})}
		question, ignores := store.Add("", asking, 0).ID, store.Add("", stuck, 0).ID
		require.True(t, full())
		asking.finish(asks("a"))
		require.True(t, full(), "a task that waits for its client has not finished")
		store.Cancel("", ignores)
		require.True(t, full(), "the handler still runs")
		close(stuck.done)
		synctest.Wait()
		store.Cancel("", question)
		first, second := newFakeRun(), newFakeRun()
		require.NotNil(t, store.Add("", first, 0))
		require.NotNil(t, store.Add("", second, 0))
		require.True(t, full())
		first.finish(runOutcome{Result: json.RawMessage(`{}`)})
		second.finish(runOutcome{Error: new(wire.ErrorObject)})
		require.NotNil(t, store.Add("", newFakeRun(), 0))
		require.NotNil(t, store.Add("", newFakeRun(), 0))
		require.True(t, full())
		time.Sleep(2 * time.Hour)
		synctest.Wait()
		require.NotNil(t, store.Add("", newFakeRun(), 0), "they have expired")
	})
	o.Quota = limit.NewQuota(1, 1)
	withStore(t, o, func(t *testing.T, store *localStore) {
		require.NotNil(t, store.Add("", newFakeRun(), 0))
		require.Nil(t, store.Add("", newFakeRun(), 0))
		require.Nil(t, store.Add("", newFakeRun(), 0))
		require.True(t, o.Concurrent.Acquire(nil), "a task that was not stored does not count")
		o.Concurrent.Release(nil)
	})
}

func TestTasksKeepToBudget(t *testing.T) {
	opts := wide
	opts.Budget = budget.New(&budget.Options{MaxBytes: 4 << 20})
	withStore(t, opts, func(t *testing.T, store *localStore) {
		require.Nil(t, store.Add("ann", newFakeRun(), 2<<20), "the request is too large")
		run := newFakeRun()
		id := store.Add("ann", run, 900<<10).ID
		require.Equal(t, 900<<10, opts.Budget.Held())
		require.Nil(t, store.Add("ann", newFakeRun(), 200<<10), "too much is held for its principal")
		run.finish(runOutcome{Result: make(json.RawMessage, 100<<10)})
		require.Equal(t, 100<<10, opts.Budget.Held(), "the result replaces the request")
		large := newFakeRun()
		other := store.Add("ann", large, 0).ID
		large.finish(runOutcome{Result: make(json.RawMessage, 2<<20)})
		require.Contains(t, store.Get("ann", other).Error.Message, "too many bytes")
		cancelled := newFakeRun()
		last := store.Add("ann", cancelled, 200<<10).ID
		store.Cancel("ann", last)
		cancelled.finish(runOutcome{Result: make(json.RawMessage, 10)})
		require.Equal(t, 100<<10, opts.Budget.Held())
		require.Equal(t, mcp.TaskStatusCompleted, store.Get("ann", id).Status)
		time.Sleep(2 * time.Hour)
		require.Zero(t, opts.Budget.Held())
	})
}
