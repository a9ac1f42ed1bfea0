package tasks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/engine/enginetest"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/taskrecords"
	"github.com/mcpwright/mcp/runtime/wire"
)

const lease = 8 * time.Second

// process is a store with its own connection to the engine.
type process struct {
	*sharedStore
	t        *testing.T
	down     atomic.Bool            // the engine cannot be reached
	afterPut atomic.Pointer[func()] // called once, after the next record of a task was written; the response is lost
	opts     storeOptions
	mu       sync.Mutex // guards restored
	restored []*restoredRun
}

// restoredRun is a run that continues at a process.
type restoredRun struct {
	*fakeRun
	request string
}

// table is the engine as a process reaches it.
type table struct {
	engine.Table
	p *process
}

var errDown = errors.New("engine cannot be reached")

func (e table) Get(ctx context.Context, key string) (engine.Record, error) {
	if e.p.down.Load() {
		return engine.Record{}, errDown
	}
	return e.Table.Get(ctx, key)
}

func (e table) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	if e.p.down.Load() {
		return 0, errDown
	}
	version, err := e.Table.Put(ctx, key, data, prev, keep)
	if strings.HasPrefix(key, "t/") {
		if f := e.p.afterPut.Swap(nil); f != nil {
			(*f)()
			return 0, errDown
		}
	}
	return version, err
}

var secret = [][]byte{[]byte("a secret of at least 32 bytes....")}

// newProcess returns a process that shares tasks in an engine. It is shut down at the end.
func newProcess(t *testing.T, shared engine.Table) *process {
	p := &process{t: t, opts: storeOptions{
		Budget: budget.Default(), TTL: time.Hour, PollInterval: time.Second, Quota: limit.NewQuota(100, 2),
	}}
	quiet := slog.New(slog.DiscardHandler)
	worker, err := taskrecords.NewWorker(taskrecords.Options{Table: table{shared, p}, Keys: secret, Lease: lease, Logger: quiet})
	require.NoError(t, err)
	p.sharedStore = newSharedStore(sharedOptions{storeOptions: p.opts, Worker: worker, Logger: quiet, Restore: p.restore})
	return p
}

func (p *process) restore(_ context.Context, request json.RawMessage) (activeRun, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := &restoredRun{newFakeRun(), string(request)}
	p.restored = append(p.restored, r)
	return r, nil
}

// add adds a task with a run that is not shared with other tasks.
func (p *process) add(owner string) (id string, run *fakeRun) {
	run = newFakeRun()
	task := p.Add(p.t.Context(), owner, run, 10)
	require.NotNil(p.t, task)
	return task.ID, run
}

// get returns a task that exists.
func (p *process) get(owner, id string) *Task {
	task, err := p.Get(p.t.Context(), owner, id)
	require.NoError(p.t, err)
	require.NotNil(p.t, task)
	return task
}

// withProcesses runs a test in a bubble, with processes that share an engine.
func withProcesses(t *testing.T, shared engine.Table, test func(t *testing.T, a, b *process)) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newProcess(t, shared), newProcess(t, shared)
		test(t, a, b)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.NoError(t, a.Shutdown(ctx))
		require.NoError(t, b.Shutdown(ctx))
		require.Zero(t, a.opts.Budget.Held())
	})
}

func TestAnyProcessHasATask(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		require.Equal(t, mcp.TaskStatusWorking, b.get("ann", id).Status)
		run.message = "half way"
		require.Equal(t, "half way", a.get("ann", id).StatusMessage)
		time.Sleep(lease / 2)
		synctest.Wait()
		require.Equal(t, "half way", b.get("ann", id).StatusMessage)
		run.finish(runOutcome{Result: json.RawMessage(`{"a":1}`)})
		for _, p := range []*process{a, b} {
			seen := p.get("ann", id)
			require.Equal(t, mcp.TaskStatusCompleted, seen.Status)
			require.JSONEq(t, `{"a":1}`, string(seen.Result))
			require.Equal(t, time.Hour, seen.TTL)
		}
		for _, other := range []string{"bob", ""} {
			seen, err := b.Get(t.Context(), other, id)
			require.NoError(t, err)
			require.Nil(t, seen)
			exists, err := b.Cancel(t.Context(), other, id)
			require.NoError(t, err)
			require.False(t, exists)
			exists, err = b.Update(t.Context(), other, id, nil)
			require.NoError(t, err)
			require.False(t, exists)
		}
	})
}

func TestQuestionOutlivesItsProcess(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		run.finish(asks("one", "two"))
		a.down.Store(true)
		time.Sleep(10 * lease)
		seen := b.get("ann", id)
		require.Equal(t, mcp.TaskStatusInputRequired, seen.Status)
		require.Equal(t, []string{"1.one", "1.two"}, keysOf(seen))
		exists, err := b.Update(t.Context(), "ann", id, mcp.InputResponses{"1.one": roots})
		require.NoError(t, err)
		require.True(t, exists)
		require.Equal(t, []string{"1.two"}, keysOf(b.get("ann", id)))
		require.Empty(t, b.restored)
		_, err = b.Update(t.Context(), "ann", id, mcp.InputResponses{"1.two": roots})
		require.NoError(t, err)
		require.Len(t, b.restored, 1)
		next := b.restored[0]
		require.Equal(t, `{}`, next.request)
		require.Len(t, next.resume, 1)
		require.Len(t, next.resume[0], 2)
		require.Contains(t, *next.state, "state of")
		require.Equal(t, mcp.TaskStatusWorking, b.get("ann", id).Status)
		next.finish(asks("three"))
		require.Equal(t, []string{"2.three"}, keysOf(b.get("ann", id)))
		_, err = b.Update(t.Context(), "ann", id, mcp.InputResponses{"2.three": roots})
		require.NoError(t, err)
		require.Equal(t, mcp.InputResponses{"three": roots}, b.restored[1].resume[0])
		b.restored[1].finish(runOutcome{Result: json.RawMessage(`{}`)})
		a.down.Store(false)
		require.Equal(t, mcp.TaskStatusCompleted, a.get("ann", id).Status)
	})
}

// A process reports the changes of the tasks that it runs, and the end of a task that has no process.
func TestSharedChangesAreReported(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		run.finish(asks("one"))
		require.Equal(t, []string{"working", "input_required"}, run.changes)
		_, err := b.Update(t.Context(), "ann", id, mcp.InputResponses{"1.one": roots})
		require.NoError(t, err)
		next := b.restored[0]
		next.finish(runOutcome{Error: &wire.ErrorObject{Message: ": it failed"}})
		require.Equal(t, []string{"working", "failed: it failed"}, next.changes)
		require.Len(t, run.changes, 2)

		elsewhere, cancelled := a.add("ann")
		_, err = b.Cancel(t.Context(), "ann", elsewhere)
		require.NoError(t, err)
		require.Len(t, b.restored, 1, "its process reports it")
		time.Sleep(lease)
		synctest.Wait()
		require.Equal(t, []string{"working", "cancelled"}, cancelled.changes)

		idle, asking := a.add("bob")
		asking.finish(asks("one"))
		for range 2 {
			_, err = b.Cancel(t.Context(), "bob", idle)
			require.NoError(t, err)
		}
		require.Len(t, b.restored, 2)
		require.Equal(t, []string{"cancelled"}, b.restored[1].changes)

		_, expired := a.add("cy")
		time.Sleep(time.Hour + lease)
		synctest.Wait()
		require.Equal(t, []string{"working", "cancelled"}, expired.changes)

		lost, orphan := a.add("dan")
		a.down.Store(true)
		time.Sleep(lease + time.Second)
		b.get("dan", lost) // it is not sure yet that the process is gone
		time.Sleep(lease / 2)
		for range 2 {
			require.Equal(t, mcp.TaskStatusFailed, b.get("dan", lost).Status)
		}
		require.Len(t, b.restored, 3)
		require.Equal(t, []string{"failed" + errLost.Message}, b.restored[2].changes)
		a.down.Store(false)
		orphan.finish(runOutcome{Result: json.RawMessage(`{}`)})
		time.Sleep(lease)
		synctest.Wait()
		require.Equal(t, []string{"working"}, orphan.changes, "the other process has reported the end")
	})
}

func TestMaxConcurrentSharedTasks(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		a.sharedStore.opts.Concurrent, b.sharedStore.opts.Concurrent = limit.NewQuota(1, 0), limit.NewQuota(1, 0)
		full := func(p *process) bool { return p.Add(t.Context(), "", newFakeRun(), 0) == nil }
		id, run := a.add("ann")
		require.True(t, full(a))
		run.finish(asks("one"))
		_, other := a.add("bob")
		_, err := a.Update(t.Context(), "ann", id, mcp.InputResponses{"1.one": roots})
		require.NoError(t, err)
		require.Len(t, a.restored, 1, "a task continues even if the limit is reached")
		a.restored[0].finish(runOutcome{Result: json.RawMessage(`{}`)})
		require.True(t, full(a))
		other.finish(runOutcome{Result: json.RawMessage(`{}`)})
		_, last := a.add("cy")
		b.down.Store(true)
		require.True(t, full(b), "the engine cannot store it")
		b.down.Store(false)
		_, free := b.add("cy")
		last.finish(runOutcome{Result: json.RawMessage(`{}`)})
		free.finish(runOutcome{Result: json.RawMessage(`{}`)})
	})
}

func TestTaskContinuesInOneProcess(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		run.finish(asks("one"))
		var all sync.WaitGroup
		for i := range 8 {
			p := []*process{a, b}[i%2]
			all.Go(func() {
				exists, err := p.Update(t.Context(), "ann", id, mcp.InputResponses{"1.one": roots})
				require.NoError(t, err)
				require.True(t, exists)
			})
		}
		all.Wait()
		continued := append(a.restored, b.restored...)
		require.Len(t, continued, 1)
		continued[0].finish(runOutcome{Result: json.RawMessage(`{}`)})
		require.Equal(t, mcp.TaskStatusCompleted, b.get("ann", id).Status)
	})
}

func TestTaskOfAGoneProcessFails(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		time.Sleep(time.Minute)
		require.Equal(t, mcp.TaskStatusWorking, b.get("ann", id).Status, "the process renews its lease")
		a.down.Store(true)
		time.Sleep(lease + time.Second)
		require.Equal(t, mcp.TaskStatusWorking, b.get("ann", id).Status, "the other process may have to renew its lease")
		time.Sleep(lease / 2)
		for range 2 {
			seen := b.get("ann", id)
			require.Equal(t, mcp.TaskStatusFailed, seen.Status)
			require.Contains(t, seen.Error.Message, "process that ran the task is gone")
			require.JSONEq(t, `{"reason":"owner-lost"}`, string(seen.Error.Data))
		}
		require.NoError(t, run.ended)
		a.down.Store(false)
		time.Sleep(lease / 2)
		synctest.Wait()
		require.ErrorIs(t, run.ended, errCancelled, "the process notices that the task was given up")
		require.Equal(t, mcp.TaskStatusFailed, a.get("ann", id).Status)
	})
}

func TestOutageOfTheEngineFailsNoTask(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		a.down.Store(true)
		b.down.Store(true)
		time.Sleep(time.Minute)
		_, err := b.Get(t.Context(), "ann", id)
		require.ErrorIs(t, err, errDown)
		require.Equal(t, mcp.TaskStatusWorking, a.get("ann", id).Status, "its process needs no engine to return it")
		run.outcomes <- runOutcome{Result: json.RawMessage(`{}`)}
		time.Sleep(time.Minute)
		require.Equal(t, mcp.TaskStatusWorking, a.get("ann", id).Status, "the result is not stored yet")
		b.down.Store(false)
		require.Equal(t, mcp.TaskStatusWorking, b.get("ann", id).Status)
		a.down.Store(false)
		time.Sleep(lease/4 + time.Second)
		require.Equal(t, mcp.TaskStatusCompleted, b.get("ann", id).Status)
	})
}

func TestCancelReachesTheProcess(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		time.Sleep(time.Second)
		exists, err := b.Cancel(t.Context(), "ann", id)
		require.NoError(t, err)
		require.True(t, exists)
		require.Equal(t, mcp.TaskStatusCancelled, b.get("ann", id).Status)
		time.Sleep(lease / 2)
		synctest.Wait()
		require.ErrorIs(t, run.ended, errCancelled)
		require.Equal(t, mcp.TaskStatusCancelled, a.get("ann", id).Status, "the outcome of the run is dropped")
		id, run = a.add("ann")
		_, err = a.Cancel(t.Context(), "ann", id)
		require.NoError(t, err)
		require.ErrorIs(t, run.ended, errCancelled, "in its own process at once")
	})
}

func TestRepliesOfTheEngineAreLost(t *testing.T) {
	for nth := int64(1); nth < 5; nth++ {
		shared := &enginetest.Lossy{Table: new(engine.Memory), Nth: nth + 1}
		withProcesses(t, shared, func(t *testing.T, a, b *process) {
			for range 20 {
				id, run := a.add("")
				run.finish(asks("one"))
				time.Sleep(time.Second)
				_, err := b.Update(t.Context(), "", id, mcp.InputResponses{"1.one": roots})
				require.NoError(t, err)
				next := b.restored[len(b.restored)-1]
				require.Equal(t, mcp.InputResponses{"one": roots}, next.resume[0])
				next.finish(runOutcome{Result: json.RawMessage(`{}`)})
				time.Sleep(time.Second)
				require.Equal(t, mcp.TaskStatusCompleted, a.get("", id).Status)
			}
			require.Len(t, b.restored, 20)
			require.Empty(t, a.restored)
		})
	}
}

// The client receives a question and responds, before its process learns that the question is stored.
func TestQuestionWhoseReplyIsLateIsAskedOnce(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, _ *process) {
		id, run := a.add("ann")
		respond := func() {
			_, err := a.Update(t.Context(), "ann", id, mcp.InputResponses{"1.one": roots})
			require.NoError(t, err)
		}
		a.afterPut.Store(&respond)
		run.finish(asks("one"))
		time.Sleep(time.Second)
		require.Equal(t, mcp.TaskStatusWorking, a.get("ann", id).Status, "the question is not asked again")
		require.Len(t, a.restored, 1)
		a.restored[0].finish(runOutcome{Result: json.RawMessage(`{}`)})
		time.Sleep(time.Second)
		require.Equal(t, mcp.TaskStatusCompleted, a.get("ann", id).Status)
	})
}

func TestCallWithoutEngineHasNoTask(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, _ *process) {
		a.down.Store(true)
		require.Nil(t, a.Add(t.Context(), "ann", newFakeRun(), 10))
		require.Zero(t, a.Len())
		a.down.Store(false)
		a.add("ann")
		a.add("ann")
		require.Nil(t, a.Add(t.Context(), "ann", newFakeRun(), 10), "the quota is exceeded")
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		a.add("ann")
	})
}

func TestShutdownKeepsQuestionsAndFailsRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := new(engine.Memory)
		a, b := newProcess(t, shared), newProcess(t, shared)
		waits, run := a.add("ann")
		run.finish(asks("one"))
		works, run := a.add("bob")
		require.NoError(t, a.Shutdown(t.Context()))
		require.ErrorIs(t, run.ended, errShutdown)
		failed := b.get("bob", works)
		require.Equal(t, mcp.TaskStatusFailed, failed.Status)
		require.Contains(t, failed.Error.Message, "server was shut down")
		require.Equal(t, mcp.TaskStatusInputRequired, b.get("ann", waits).Status)
		_, err := a.Update(t.Context(), "ann", waits, mcp.InputResponses{"1.one": roots})
		require.ErrorIs(t, err, errShutdown)
		_, err = b.Update(t.Context(), "ann", waits, mcp.InputResponses{"1.one": roots})
		require.NoError(t, err)
		require.Len(t, b.restored, 1)
		require.Nil(t, a.Add(t.Context(), "ann", newFakeRun(), 10))
		require.NoError(t, b.Shutdown(t.Context()))
		require.Zero(t, a.Len()+b.Len())
	})
}

func TestStoredTaskExpires(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		time.Sleep(time.Hour + time.Second)
		synctest.Wait()
		require.ErrorIs(t, run.ended, errExpired)
		seen, err := b.Get(t.Context(), "ann", id)
		require.NoError(t, err)
		require.Nil(t, seen)
		require.Zero(t, a.Len())
	})
}

func TestOutcomeThatIsTooLargeFails(t *testing.T) {
	withProcesses(t, new(engine.Memory), func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		large := `{"a":"` + string(bytes.Repeat([]byte("a"), taskrecords.MaxSize)) + `"}`
		run.finish(runOutcome{Result: json.RawMessage(large)})
		seen := b.get("ann", id)
		require.Equal(t, mcp.TaskStatusFailed, seen.Status)
		require.Contains(t, seen.Error.Message, "too large")
		require.Empty(t, seen.Result)
	})
}

// spy stores all data that were written.
type spy struct {
	engine.Table
	mu      sync.Mutex
	written map[string][]byte
}

func (s *spy) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.written[key] = data
	return s.Table.Put(ctx, key, data, prev, keep)
}

func TestRecordsOfTasksAreSealed(t *testing.T) {
	seen := &spy{Table: new(engine.Memory), written: make(map[string][]byte)}
	withProcesses(t, seen, func(t *testing.T, a, b *process) {
		id, run := a.add("ann")
		run.finish(runOutcome{Error: &wire.ErrorObject{Code: 1, Message: "a readable text"}})
		key := ""
		for k, data := range seen.written {
			require.NotContains(t, k, id)
			require.NotContains(t, string(data), "readable")
			require.NotContains(t, string(data), "status")
			if k[:2] == "t/" {
				key = k
			}
		}
		other, _ := a.add("bob")
		for k := range seen.written {
			if k[:2] == "t/" && k != key { // a record that was moved to the key of another task
				r, err := seen.Get(t.Context(), k)
				require.NoError(t, err)
				_, err = seen.Table.Put(t.Context(), k, seen.written[key], r.Version, time.Minute)
				require.NoError(t, err)
			}
		}
		_, err := b.Get(t.Context(), "bob", other)
		require.ErrorContains(t, err, "was changed, or belongs to another")
	})
}
