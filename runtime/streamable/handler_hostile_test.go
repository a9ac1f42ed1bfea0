package streamable_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// dial opens a bare connection to a server in memory.
func (e *endpoint) dial() net.Conn {
	e.t.Helper()
	conn, err := e.client.Transport.(*http.Transport).DialContext(e.t.Context(), "", "")
	require.NoError(e.t, err)
	e.t.Cleanup(func() { conn.Close() })
	return conn
}

// TestADeadReaderKeepsNobodyFromTheEnd has connections without a buffer, and
// writes that may take for ever.
func TestADeadReaderKeepsNobodyFromTheEnd(t *testing.T) {
	opts := func() *streamable.Options {
		return &streamable.Options{KeepAlive: time.Second, WriteTimeout: -1, Logger: slog.New(slog.DiscardHandler)}
	}
	t.Run("old transport", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			h := streamable.NewLegacySSEHandler(newKernel(nil), opts())
			e, stop := inMemory(t, h, h.Close)
			defer stop()
			l, to := e.legacy()
			go to.post(initialize("2024-11-05")) // ends when its answer has been read
			l.data()
			for id := range 3 {
				require.Equal(t, http.StatusAccepted, to.post(callTool(id, "echo")).status)
			}
			time.Sleep(time.Minute) // in which nothing is read
			begin := time.Now()
			h.Close()
			require.LessOrEqual(t, time.Since(begin), 5*time.Second)
		})
	})
	flood := func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		text := json.RawMessage(`"` + strings.Repeat("x", 8<<10) + `"`)
		for ctx.Err() == nil {
			if err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: text}); err != nil {
				return nil, err
			}
		}
		return nil, ctx.Err()
	}
	t.Run("session", func(t *testing.T) {
		serveInBubble(t, map[string]tool{"flood": flood}, opts(), func(t *testing.T, e *endpoint) {
			c := e.open("2025-11-25")
			c.stream(http.MethodPost, callTool(1, "flood"), c.headers()...)
			c.stream(http.MethodGet, "", c.headers()...)
			time.Sleep(time.Minute)
			begin := time.Now()
			e.handler.Close()
			require.LessOrEqual(t, time.Since(begin), 5*time.Second)
		})
	})
	t.Run("no session", func(t *testing.T) {
		serveInBubble(t, map[string]tool{"flood": flood}, opts(), func(t *testing.T, e *endpoint) {
			body := strings.Replace(call26("flood"), `"_meta":{`, `"_meta":{"io.modelcontextprotocol/logLevel":"debug",`, 1)
			e.stream(http.MethodPost, body, headers26("flood")...)
			time.Sleep(time.Minute)
			begin := time.Now()
			e.handler.Close()
			require.LessOrEqual(t, time.Since(begin), 5*time.Second)
		})
	})
}

func TestABodyThatTricklesIsCutOff(t *testing.T) {
	serveInBubble(t, nil, nil, func(t *testing.T, e *endpoint) {
		conn := e.dial()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n")
		answered := make(chan *http.Response, 1)
		go func() { // ends with the connection
			res, _ := http.ReadResponse(bufio.NewReader(conn), nil)
			answered <- res
		}()
		begin := time.Now()
		for range 1000 {
			if _, err := conn.Write([]byte(" ")); err != nil {
				break
			}
			time.Sleep(5 * time.Second)
		}
		require.Less(t, time.Since(begin), 2*time.Minute)
		res := <-answered
		require.NotNil(t, res)
		require.Equal(t, http.StatusBadRequest, res.StatusCode)
	})
}

func TestAHeaderThatNeverEndsIsCutOff(t *testing.T) {
	serveInBubble(t, nil, nil, func(t *testing.T, e *endpoint) {
		conn := e.dial()
		answered := make(chan *http.Response, 1)
		go func() { // ends with the connection
			res, _ := http.ReadResponse(bufio.NewReader(conn), nil)
			answered <- res
		}()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\n")
		sent := 0
		for ; sent < 10<<20; sent += 1 << 10 {
			if _, err := fmt.Fprintf(conn, "X-%d: %s\r\n", sent, strings.Repeat("x", 1<<10)); err != nil {
				break
			}
		}
		require.Less(t, sent, 1<<20)
		res := <-answered
		require.NotNil(t, res)
		require.Equal(t, http.StatusRequestHeaderFieldsTooLarge, res.StatusCode)
	})
}

func TestAFloodOfStreamsIsBounded(t *testing.T) {
	e := serve(t, map[string]tool{"changed": changed}, &streamable.Options{MaxSessions: 3})
	c := e.open("2025-11-25")
	standing := e.stream(http.MethodGet, "", c.headers()...)
	require.Contains(t, standing.event(), "0-0")
	var wait sync.WaitGroup
	for range 100 {
		wait.Go(func() { // ends with the answer
			require.Equal(t, http.StatusConflict, e.send(http.MethodGet, "", c.headers()...).status)
		})
	}
	wait.Wait()
	for range 20 { // each takes the stream over from the one before
		next := e.stream(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 0-0")...)
		require.Contains(t, next.event(), "0-0")
		standing.end()
		standing = next
	}
	require.Contains(t, c.call("changed").body, "told")
	data, id := standing.data()
	require.Equal(t, "0-1", id)
	require.Contains(t, data, "list_changed")
}

func TestAHalfClosedConnectionIsAClientThatHasGone(t *testing.T) {
	g := newGate()
	e := serve(t, map[string]tool{"gate": g.call}, nil)
	conn, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, e.request(t.Context(), http.MethodPost, call26("gate"), headers26("gate")).Write(conn))
	within(t, g.called, "the handler")
	require.NoError(t, conn.(*net.TCPConn).CloseWrite())
	require.Error(t, within(t, g.ended, "the end of the handler"))
	_, err = io.Copy(io.Discard, conn)
	require.NoError(t, err, "and the connection ends")
}

// TestRequestsMayBeGivenUpAtAnyMoment gives up requests of both eras over real
// connections. What is left is found when the test's server and program end.
func TestRequestsMayBeGivenUpAtAnyMoment(t *testing.T) {
	e := serve(t, map[string]tool{"logs": logs(2), "ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.ListRoots(ctx)
		return nil, err
	}}, &streamable.Options{Polling: true})
	c := e.open("2025-11-25")
	var wait sync.WaitGroup
	for worker := range 10 {
		wait.Go(func() { // ends after its requests
			for i := range givenUp / 10 {
				ctx, cancel := context.WithTimeout(t.Context(), rand.N(2*time.Millisecond))
				r := e.request(ctx, http.MethodPost, callTool(1+worker+10*i, []string{"logs", "echo", "ask"}[i%3]), c.headers())
				if i%2 == 0 {
					r = e.request(ctx, http.MethodPost, call26("logs"), headers26("logs"))
				}
				if res, err := e.client.Do(r); err == nil {
					_, _ = io.Copy(io.Discard, res.Body)
					res.Body.Close()
				}
				cancel()
			}
		})
	}
	wait.Wait()
	require.Contains(t, e.open("2025-11-25").call("echo").body, `\"a\":1`)
	require.Contains(t, e.call26("echo").body, `\"a\":1`)
	ctx, cancel := context.WithTimeout(t.Context(), serverPatience)
	defer cancel()
	_ = c.send(http.MethodDelete, "", c.headers()...)
	require.NoError(t, e.handler.Shutdown(ctx), "nothing is left")
}

// givenUp is how many requests are given up.
const givenUp = 600
