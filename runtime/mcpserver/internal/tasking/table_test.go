package tasking_test

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
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/tasking"
	"github.com/mcpwright/mcp/runtime/tasks"
	"github.com/mcpwright/mcp/runtime/wire"
)

// script is a run of which a test says what comes of it.
type script struct {
	outcomes chan tasking.Outcome
	again    []mcp.InputResponses
	state    *string
	ended    error
	message  string
}

func newScript() *script { return &script{outcomes: make(chan tasking.Outcome, 1)} }

func (s *script) Wait() tasking.Outcome { return <-s.outcomes }
func (s *script) Message() string       { return s.message }
func (s *script) Again(answers mcp.InputResponses, state *string) {
	s.again, s.state = append(s.again, answers), state
}

// End has a run that still goes on end, as one that heeds its context does.
func (s *script) End(cause error) {
	if s.ended = cause; cause != nil {
		s.outcomes <- tasking.Outcome{Error: &wire.ErrorObject{Code: 1, Message: "ended"}}
	}
}

// comes has something come of the run, and waits until it counts.
func (s *script) comes(out tasking.Outcome) {
	s.outcomes <- out
	synctest.Wait()
}

var wide = tasking.Options{Keep: time.Hour, Poll: time.Second, Max: 100, MaxEach: 100}

// within runs a test with time of its own, and a table that is shut down in the end.
func within(t *testing.T, o tasking.Options, f func(t *testing.T, table *tasking.Table)) {
	synctest.Test(t, func(t *testing.T) {
		table := tasking.New(o)
		f(t, table)
		require.NoError(t, table.Shutdown(t.Context()))
	})
}

func asks(keys ...string) tasking.Outcome {
	questions := make(mcp.InputRequests)
	for _, key := range keys {
		questions[key] = new(mcp.ListRootsRequest)
	}
	return tasking.Outcome{Ask: &mcp.InputRequiredResult{InputRequests: questions, RequestState: new("state of " + keys[0])}}
}

func keysOf(t *tasks.Task) []string {
	var keys []string
	for key := range t.InputRequests {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

var roots = new(mcp.ListRootsResult)

func TestATaskIsItsOwnersAlone(t *testing.T) {
	within(t, wide, func(t *testing.T, table *tasking.Table) {
		task := table.Add("ann", newScript())
		require.Len(t, task.ID, 26)
		require.NotNil(t, table.Get("ann", task.ID))
		require.Nil(t, table.Get("bob", task.ID))
		require.Nil(t, table.Get("", task.ID))
		require.False(t, table.Cancel("bob", task.ID))
		require.False(t, table.Update("bob", task.ID, nil))
		require.Equal(t, mcp.TaskStatusWorking, table.Get("ann", task.ID).Status)
	})
}

func TestATaskHasItsResult(t *testing.T) {
	within(t, wide, func(t *testing.T, table *tasking.Table) {
		run := newScript()
		task := table.Add("", run)
		run.message = "half way"
		time.Sleep(time.Minute)
		seen := table.Get("", task.ID)
		require.Equal(t, "half way", seen.StatusMessage)
		require.Equal(t, seen.CreatedAt, seen.LastUpdatedAt)
		require.False(t, seen.Finished())
		run.comes(tasking.Outcome{Result: json.RawMessage(`{"a":1}`)})
		seen = table.Get("", task.ID)
		require.Equal(t, mcp.TaskStatusCompleted, seen.Status)
		require.JSONEq(t, `{"a":1}`, string(seen.Result))
		require.Empty(t, seen.StatusMessage)
		require.Equal(t, time.Minute, seen.LastUpdatedAt.Sub(seen.CreatedAt))
		require.True(t, seen.Finished())
		require.NoError(t, run.ended)

		run = newScript()
		task = table.Add("", run)
		run.comes(tasking.Outcome{Error: &wire.ErrorObject{Code: -5, Message: "no"}})
		seen = table.Get("", task.ID)
		require.Equal(t, mcp.TaskStatusFailed, seen.Status)
		require.EqualValues(t, -5, seen.Error.Code)
		require.Equal(t, "no", seen.StatusMessage)
	})
}

func TestAQuestionIsAnsweredOnceAndNoKeyComesTwice(t *testing.T) {
	within(t, wide, func(t *testing.T, table *tasking.Table) {
		run := newScript()
		id := table.Add("", run).ID
		require.True(t, table.Update("", id, mcp.InputResponses{"1.a": roots}), "nobody waits for it yet")
		require.Empty(t, run.again)
		run.comes(asks("a", "b"))
		seen := table.Get("", id)
		require.Equal(t, mcp.TaskStatusInputRequired, seen.Status)
		require.Equal(t, []string{"1.a", "1.b"}, keysOf(seen))
		clear(seen.InputRequests) // which is the caller's own
		require.True(t, table.Update("", id, mcp.InputResponses{"1.a": roots, "x": roots, "1.b": nil}))
		require.Equal(t, []string{"1.b"}, keysOf(table.Get("", id)))
		require.Empty(t, run.again)
		require.True(t, table.Update("", id, mcp.InputResponses{"1.b": roots}))
		require.Equal(t, []mcp.InputResponses{{"a": roots, "b": roots}}, run.again)
		require.Equal(t, "state of a", *run.state)
		require.Equal(t, mcp.TaskStatusWorking, table.Get("", id).Status)
		require.True(t, table.Update("", id, mcp.InputResponses{"1.b": roots}))
		require.Len(t, run.again, 1)
		run.comes(asks("a"))
		require.Equal(t, []string{"2.a"}, keysOf(table.Get("", id)))
		require.True(t, table.Update("", id, mcp.InputResponses{"2.a": roots}))
		require.Equal(t, mcp.InputResponses{"a": roots}, run.again[1])
		run.comes(tasking.Outcome{Ask: &mcp.InputRequiredResult{RequestState: new("once more")}})
		require.Equal(t, mcp.TaskStatusWorking, table.Get("", id).Status)
		require.Nil(t, run.again[2])
		require.Equal(t, "once more", *run.state)
	})
}

func TestATaskThatIsOverKeepsNothingOfItsRun(t *testing.T) {
	within(t, wide, func(t *testing.T, table *tasking.Table) {
		run := newScript()
		id, left := table.Add("", run).ID, weak.Make(run)
		run.comes(tasking.Outcome{Result: json.RawMessage(`{}`)})
		run = nil
		runtime.GC()
		require.Nil(t, left.Value())
		require.Equal(t, mcp.TaskStatusCompleted, table.Get("", id).Status)
	})
}

func TestWhatIsCancelledStaysSo(t *testing.T) {
	within(t, wide, func(t *testing.T, table *tasking.Table) {
		run := newScript()
		id := table.Add("", run).ID
		require.True(t, table.Cancel("", id))
		require.ErrorIs(t, run.ended, tasking.ErrCancelled)
		synctest.Wait()
		seen := table.Get("", id)
		require.Equal(t, mcp.TaskStatusCancelled, seen.Status)
		require.Nil(t, seen.Error)
		run.ended = nil
		require.True(t, table.Cancel("", id))
		require.NoError(t, run.ended)
		require.True(t, table.Update("", id, mcp.InputResponses{"1.a": roots}))
		require.Equal(t, mcp.TaskStatusCancelled, table.Get("", id).Status)
	})
}

func TestATaskIsKeptForSoLong(t *testing.T) {
	within(t, wide, func(t *testing.T, table *tasking.Table) {
		over, goesOn := newScript(), newScript()
		first, second := table.Add("", over).ID, table.Add("", goesOn).ID
		over.comes(tasking.Outcome{Result: json.RawMessage(`{}`)})
		time.Sleep(time.Hour - 1)
		require.NotNil(t, table.Get("", first))
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		require.Nil(t, table.Get("", first))
		require.Nil(t, table.Get("", second))
		require.NoError(t, over.ended)
		require.ErrorIs(t, goesOn.ended, tasking.ErrGone)
	})
	endless := wide
	endless.Keep = -1
	within(t, endless, func(t *testing.T, table *tasking.Table) {
		task := table.Add("", newScript())
		require.Negative(t, task.TTL)
		time.Sleep(1000 * time.Hour)
		require.NotNil(t, table.Get("", task.ID))
	})
}

func TestThereAreNoMoreTasksThanFit(t *testing.T) {
	o := wide
	o.Max, o.MaxEach = 6, 2
	within(t, o, func(t *testing.T, table *tasking.Table) {
		require.NotNil(t, table.Add("ann", newScript()))
		time.Sleep(time.Minute)
		require.NotNil(t, table.Add("ann", newScript()))
		require.Nil(t, table.Add("ann", newScript()), "of one owner")
		require.NotNil(t, table.Add("bob", newScript()))
		for range 3 {
			require.NotNil(t, table.Add("", newScript()), "nobody is no owner")
		}
		require.Nil(t, table.Add("cy", newScript()), "of all")
		time.Sleep(59 * time.Minute)
		synctest.Wait()
		require.NotNil(t, table.Add("ann", newScript()), "one has gone")
	})
}

func TestShutdownEndsAllTasks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := tasking.New(wide)
		run, stuck := newScript(), &deaf{make(chan struct{})}
		id := table.Add("", run).ID
		table.Add("", stuck)
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("enough"))
		defer cancel()
		require.EqualError(t, table.Shutdown(ctx), "enough")
		require.ErrorIs(t, run.ended, tasking.ErrShutdown)
		require.Nil(t, table.Get("", id))
		require.Nil(t, table.Add("", newScript()))
		close(stuck.done)
		require.NoError(t, table.Shutdown(t.Context()))
	})
}

// deaf is a run that does not heed its end.
type deaf struct{ done chan struct{} }

func (d *deaf) Wait() tasking.Outcome           { <-d.done; return tasking.Outcome{} }
func (*deaf) Message() string                   { return "" }
func (*deaf) Again(mcp.InputResponses, *string) {}
func (*deaf) End(error)                         {}
