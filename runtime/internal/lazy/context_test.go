package lazy_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/lazy"
)

var errWhy = errors.New("why")

func TestCancelBeforeAndAfterUse(t *testing.T) {
	for name, used := range map[string]bool{"used": true, "unused": false} {
		t.Run(name, func(t *testing.T) {
			c := lazy.Context{Context: t.Context()}
			if used {
				require.NoError(t, c.Err())
			}
			c.Cancel(errWhy)
			c.Cancel(nil)
			<-c.Done()
			require.ErrorIs(t, c.Err(), context.Canceled)
			require.Equal(t, errWhy, context.Cause(&c))
		})
	}
}

func TestConcurrentUseAndCancel(t *testing.T) {
	for range 1000 {
		c := lazy.Context{Context: t.Context()}
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { <-c.Done() }) // ends when c does
			all.Go(func() { c.Cancel(nil) })
		}
		all.Wait()
		require.ErrorIs(t, c.Err(), context.Canceled)
	}
}

func TestContextEndsWithParentAndHasItsValues(t *testing.T) {
	type key struct{}
	parent, cancel := context.WithCancelCause(context.WithValue(t.Context(), key{}, "mine"))
	c := lazy.Context{Context: parent}
	require.Equal(t, "mine", c.Value(key{}))
	child, stop := context.WithCancel(&c)
	defer stop()
	cancel(errWhy)
	<-child.Done()
	require.Equal(t, errWhy, context.Cause(child))
}

func TestUnusedContextDoesNotAllocate(t *testing.T) {
	var c lazy.Context
	require.Zero(t, testing.AllocsPerRun(100, func() {
		c = lazy.Context{Context: context.Background()}
		c.Cancel(nil)
	}))
}

func TestValueDoesNotAllocate(t *testing.T) {
	type key struct{}
	parent := context.WithValue(t.Context(), key{}, "mine")
	for _, detached := range []bool{false, true} {
		var c lazy.Context
		require.Zero(t, testing.AllocsPerRun(100, func() {
			c = lazy.Context{Context: parent, Detached: detached}
			if c.Value(key{}) != "mine" {
				t.Error("no value")
			}
			c.Cancel(nil)
			if c.Value(key{}) != "mine" {
				t.Error("no value after the end")
			}
		}))
	}
}

// TestCauseOfChild checks the cause that package context finds through Value.
func TestCauseOfChild(t *testing.T) {
	c := lazy.Context{Context: t.Context()}
	child := context.WithValue(&c, new(string), 1)
	c.Cancel(errWhy)
	require.Equal(t, errWhy, context.Cause(child))
}

func TestDetachedContextIgnoresEndOfParent(t *testing.T) {
	type key struct{}
	parent, cancel := context.WithTimeout(context.WithValue(t.Context(), key{}, "mine"), time.Hour)
	c := lazy.Context{Context: parent, Detached: true}
	_, hasDeadline := c.Deadline()
	require.False(t, hasDeadline)
	cancel()
	require.NoError(t, c.Err())
	require.NoError(t, context.Cause(&c))
	require.Equal(t, "mine", c.Value(key{}))
	c.Cancel(errWhy)
	require.Equal(t, errWhy, context.Cause(&c))
}

func TestContextHasDeadlineOfParent(t *testing.T) {
	parent, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	c := lazy.Context{Context: parent}
	want, _ := parent.Deadline()
	got, has := c.Deadline()
	require.True(t, has)
	require.Equal(t, want, got)
}

func TestValuesDoNotEnd(t *testing.T) {
	type key struct{}
	parent, cancel := context.WithTimeoutCause(context.WithValue(t.Context(), key{}, "mine"), time.Hour, errWhy)
	v := lazy.Values(parent)
	child, stop := context.WithCancelCause(v)
	defer stop(nil)
	cancel()
	_, has := v.Deadline()
	require.False(t, has)
	require.Nil(t, v.Done())
	require.NoError(t, v.Err())
	require.NoError(t, context.Cause(v))
	require.NoError(t, child.Err())
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if v.Value(key{}) != "mine" {
			t.Error("no value")
		}
	}))
	stop(errWhy)
	require.Equal(t, errWhy, context.Cause(child))
}

// TestKeysThatPointToIntegers uses a key of the type that package context uses itself.
func TestKeysThatPointToIntegers(t *testing.T) {
	key := new(int)
	parent := context.WithValue(t.Context(), key, "mine")
	require.Equal(t, "mine", lazy.Values(parent).Value(key))
	require.Equal(t, "mine", (&lazy.Context{Context: parent}).Value(key))
}
