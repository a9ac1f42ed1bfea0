package tasks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

type contextKey struct{}

// Changes are reported in order, also after a panic and runtime.Goexit, and without the end of the context.
func TestChangesAreReportedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []string
		var log bytes.Buffer
		begin := make(chan struct{})
		c := newChanges(func(ctx context.Context, tool string, task *Task) {
			<-begin
			seen = append(seen, fmt.Sprint(ctx.Value(contextKey{}), " ", tool, " ", task.ID, " ", ctx.Err()))
			if tool == "panics" {
				panic("it panicked")
			}
			if tool == "exits" {
				runtime.Goexit()
			}
		}, slog.New(slog.NewTextHandler(&log, nil)))
		require.NoError(t, c.wait(t.Context()), "there are none")
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), contextKey{}, "value"))
		cancel()
		for i, tool := range []string{"a", "panics", "exits", "b"} {
			c.add(ctx, tool, &Task{ID: fmt.Sprint(i)})
		}
		failed, stop := context.WithCancelCause(t.Context())
		stop(errors.New("enough"))
		require.EqualError(t, c.wait(failed), "enough")
		close(begin)
		require.NoError(t, c.wait(t.Context()))
		require.Equal(t, []string{"value a 0 <nil>", "value panics 1 <nil>", "value exits 2 <nil>", "value b 3 <nil>"}, seen)
		require.Contains(t, log.String(), "tasks.Options.OnChange panicked")
		c.add(ctx, "again", new(Task))
		require.NoError(t, c.wait(t.Context()))
		require.Len(t, seen, 5)
	})
	require.Nil(t, newChanges(nil, nil))
	(*changes)(nil).add(t.Context(), "a", new(Task))
}
