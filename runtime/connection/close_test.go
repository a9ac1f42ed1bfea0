package connection_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/connection"
)

// These tests run in a synctest bubble, which waits for all goroutines.

func TestCloseRunsFunctionsInReverseOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := connection.New(nil, nil)
		var ran []int
		for i := range 3 {
			conn.OnClose(func(context.Context) error { ran = append(ran, i); return nil })
		}
		conn.Close(t.Context())
		require.Equal(t, []int{2, 1, 0}, ran)
		conn.Close(t.Context())
		require.Len(t, ran, 3, "the functions run once")
	})
}

func TestCloseIgnoresCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "kept"))
		cancel()
		conn := connection.New(nil, nil)
		conn.OnClose(func(ctx context.Context) error {
			require.NoError(t, ctx.Err())
			require.Equal(t, "kept", ctx.Value(key{}))
			deadline, has := ctx.Deadline()
			require.True(t, has)
			require.Equal(t, 5*time.Second, time.Until(deadline))
			return nil
		})
		conn.Close(ctx)
	})
}

func TestCloseContinuesAfterFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(testLog)
		conn := connection.New(nil, &connection.Options{Logger: slog.New(log)})
		ran := false
		conn.OnClose(func(context.Context) error { ran = true; return nil })
		conn.OnClose(func(context.Context) error { panic("no") })
		conn.OnClose(func(context.Context) error { return errors.New("no") })
		conn.Close(t.Context())
		require.True(t, ran)
		require.Equal(t, 2, log.count())
	})
}

func TestCloseTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(testLog)
		conn := connection.New(nil, &connection.Options{Logger: slog.New(log)})
		free := make(chan struct{})
		ran := false
		conn.OnClose(func(context.Context) error { ran = true; return nil })
		conn.OnClose(func(context.Context) error { <-free; return nil })
		began := time.Now()
		go conn.Close(t.Context()) // ends with the second call
		synctest.Wait()
		conn.Close(t.Context())
		require.Equal(t, 5*time.Second, time.Since(began))
		close(free)
		synctest.Wait()
		require.False(t, ran, "functions after the timeout do not run")
		require.Equal(t, 1, log.count())
	})
}

func TestOnCloseAfterClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := connection.New(nil, nil)
		conn.Close(t.Context())
		ran := false
		conn.OnClose(func(context.Context) error { ran = true; return nil })
		require.True(t, ran)
	})
}
