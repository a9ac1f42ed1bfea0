package jsonrpc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestMessageInfoMore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := new(infoRecorder)
		c := jsonrpc.New(w, &jsonrpc.Options{Handler: scene, Inline: func(string) bool { return true }})
		defer c.Close()
		lines := strings.NewReader(request(1, "echo") + "\n" + request(2, "echo") + "\n" + request(3, "echo") + "\n")
		require.NoError(t, c.ReadLines(t.Context(), lines, jsonrpc.Source{}))
		require.Len(t, w.infos, 3)
		for i, more := range []bool{true, true, false} {
			require.Equal(t, more, w.infos[i].More, "%d", i)
		}
	})
}

func TestLineWriterExpectsMore(t *testing.T) {
	var out strings.Builder
	w := jsonrpc.NewLineWriter(&out)
	require.NoError(t, w.WriteWithInfo(context.Background(), jsonrpc.MessageInfo{More: true}, []byte("a")))
	require.NoError(t, w.WriteMessage(context.Background(), []byte("b")))
	require.Equal(t, "a\nb\n", out.String())
	err := w.WriteWithInfo(context.Background(), jsonrpc.MessageInfo{}, []byte("\n"))
	require.True(t, errors.Is(err, jsonrpc.ErrNotWritten))
}

// slowWriter blocks each Write until it receives an error or nil from next.
type slowWriter struct {
	next   chan error
	mu     sync.Mutex
	pieces []string
}

func (w *slowWriter) Write(p []byte) (int, error) {
	if err := <-w.next; err != nil {
		return 0, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pieces = append(w.pieces, string(p))
	return len(p), nil
}

func TestLineWriterCombinesMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		l := jsonrpc.NewLineWriter(w)
		first := start(func() error { return l.WriteMessage(context.Background(), []byte("a")) })
		require.False(t, first.isOver(), "it writes in the calling goroutine")
		for _, m := range []string{"b", "c", "d"} {
			require.NoError(t, l.WriteMessage(t.Context(), []byte(m)))
		}
		w.next <- nil
		w.next <- nil
		require.NoError(t, first.over(t))
		require.NoError(t, l.Flush(t.Context()))
		require.Equal(t, []string{"a\n", "b\nc\nd\n"}, w.pieces)
		require.ErrorIs(t, l.WriteMessage(t.Context(), []byte("two\nlines")), jsonrpc.ErrNotWritten)
	})
}

func TestLineWriterLimitsRounds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		l := jsonrpc.NewLineWriter(w)
		first := start(func() error { return l.WriteMessage(context.Background(), []byte("a")) })
		for range 10 {
			require.NoError(t, l.WriteMessage(t.Context(), []byte("b")))
			w.next <- nil
			synctest.Wait()
		}
		require.NoError(t, first.over(t))
		close(w.next)
		require.NoError(t, l.Flush(t.Context()))
	})
}

func TestLineWriterLimitsWaitingBytes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		l := jsonrpc.NewLineWriter(w)
		ctx, cancel := context.WithCancel(t.Context())
		require.NoError(t, l.WriteMessage(ctx, []byte("a")))
		synctest.Wait()
		require.NoError(t, l.WriteMessage(ctx, bytes.Repeat([]byte("b"), 1<<20)))
		one := start(func() error { return l.WriteMessage(ctx, []byte("c")) })
		require.False(t, one.isOver())
		cancel()
		require.ErrorIs(t, one.over(t), jsonrpc.ErrNotWritten)
		require.ErrorIs(t, one.err, context.Canceled)
		require.ErrorIs(t, l.Flush(ctx), context.Canceled)
		two := start(func() error { return l.WriteMessage(t.Context(), []byte("d")) })
		w.next <- nil
		require.NoError(t, two.over(t))
		w.next <- nil
		w.next <- nil
		synctest.Wait()
		require.Equal(t, "d\n", w.pieces[2])
	})
}

func TestLineWriterErrorFailsCalls(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error)}
		c := jsonrpc.New(jsonrpc.NewLineWriter(w), nil)
		defer c.Close()
		calls := []*call{ping(t.Context(), c), ping(t.Context(), c)}
		w.next <- io.ErrClosedPipe
		for _, call := range append(calls, ping(t.Context(), c)) {
			var closed *peer.ClosedError
			require.ErrorAs(t, call.over(t), &closed)
			require.ErrorIs(t, closed, io.ErrClosedPipe)
		}
		other := jsonrpc.New(jsonrpc.NewLineWriter(brokenWriter{}), nil)
		defer other.Close()
		require.ErrorIs(t, ping(context.Background(), other).over(t), errBroken)
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

func TestShutdownWithBlockedWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		_, w := io.Pipe() // without a reader
		c := jsonrpc.New(jsonrpc.NewLineWriter(w), &jsonrpc.Options{Handler: scene})
		ctx, cancel := context.WithCancel(t.Context())
		one := ping(ctx, c)
		cancel()
		require.ErrorIs(t, one.over(t), context.Canceled)
		deliver(c, request(1, "wait"), request(2, "echo"))
		begun := time.Now()
		c.Shutdown(t.Context(), nil)
		require.Equal(t, time.Second, time.Since(begun))
		w.Close()
	})
}

func TestShutdownFlushes(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := &slowWriter{next: make(chan error, 10)}
		c := jsonrpc.New(jsonrpc.NewLineWriter(w), &jsonrpc.Options{Handler: scene})
		deliver(c, request(1, "wait"), request(2, "echo"))
		synctest.Wait()
		time.AfterFunc(time.Second/2, func() { close(w.next) })
		c.Shutdown(t.Context(), nil)
		require.Equal(t, fmt.Sprintf(emptyOne, 2)+"\n"+fmt.Sprintf(closedOne, 1)+"\n", strings.Join(w.pieces, ""))
	})
}

func TestTryNotify(t *testing.T) {
	pr, pw := io.Pipe()
	c := jsonrpc.New(jsonrpc.NewLineWriter(pw), nil)
	n := &mcp.ResourceUpdatedNotification{URI: "x:a"}
	require.True(t, outbound.TryNotify(c, n, nil))
	require.False(t, outbound.TryNotify(c, n, nil), "the first notification has not been read")
	line := make([]byte, 1<<10)
	read, err := pr.Read(line)
	require.NoError(t, err)
	require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x:a"}}`, string(line[:read]))
	pr.Close()
	require.NoError(t, c.Close())
	require.False(t, outbound.TryNotify(c, n, nil), "the connection is closed")
}

func TestTryNotifyNeedsTryWriter(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, r := newConn(t, nil)
		require.False(t, outbound.TryNotify(c, &mcp.ToolListChangedNotification{}, nil))
		require.Empty(t, r.take())
	})
}

func TestTryNotifyOnBackChannel(t *testing.T) {
	backs := make(chan peer.BackChannel, 1)
	h := peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		require.True(t, outbound.TryNotify(in.Back, &mcp.ToolListChangedNotification{}, nil))
		backs <- in.Back
		return result(`{}`)
	})
	t.Run("on a pipe", func(t *testing.T) {
		pr, pw := io.Pipe()
		go io.Copy(io.Discard, pr) // ends when the pipe is closed
		c := jsonrpc.New(jsonrpc.NewLineWriter(pw), &jsonrpc.Options{Handler: h})
		deliver(c, request(1, "a"))
		require.NoError(t, c.Drain(t.Context()))
		require.False(t, outbound.TryNotify(<-backs, &mcp.ToolListChangedNotification{}, nil))
		require.NoError(t, c.Close())
		pw.Close()
	})
	t.Run("in process", func(t *testing.T) {
		client, server := jsonrpc.InProcessPair(nil, &jsonrpc.Options{Handler: h})
		defer server.Close()
		require.NoError(t, client.Call(t.Context(), &mcp.PingRequest{}, nil))
		require.False(t, outbound.TryNotify(<-backs, &mcp.ToolListChangedNotification{}, nil))
	})
}

func TestTryNotifyAfterClose(t *testing.T) {
	c, s := pair(t, nil)
	require.True(t, c.TryNotify(&changed{}, nil))
	s.Close()
	require.False(t, c.TryNotify(&changed{}, nil))
}

// unread returns a connection whose peer does not read.
func unread(t *testing.T) *jsonrpc.Conn {
	pr, pw := io.Pipe()
	c := jsonrpc.New(jsonrpc.NewLineWriter(pw), nil)
	t.Cleanup(func() {
		pr.Close()
		c.Close()
	})
	return c
}

func TestCallTimeoutIfPeerDoesNotRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		call := ping(context.Background(), unread(t), peer.WithTimeout(time.Second))
		time.Sleep(maxDuration)
		require.True(t, call.isOver())
		require.ErrorAs(t, call.err, new(*peer.TimeoutError))
	})
}

func TestCallTimeoutIfWriterDoesNotAccept(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := unread(t)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		long := json.RawMessage(`"` + strings.Repeat("x", 2<<20) + `"`)
		for range 2 { // one is being written, one is waiting
			require.NoError(t, c.Notify(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: long}))
			synctest.Wait()
		}
		for _, timeout := range []time.Duration{0, time.Second} {
			call := ping(context.Background(), c, peer.WithTimeout(timeout))
			time.Sleep(maxDuration)
			require.True(t, call.isOver(), timeout)
			require.ErrorAs(t, call.err, new(*peer.TimeoutError))
		}
	})
}

// maxDuration is longer than the call and its cancellation take together.
const maxDuration = 10 * time.Second
