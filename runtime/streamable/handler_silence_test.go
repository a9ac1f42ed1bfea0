package streamable_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// A deadline is that of one write. Over HTTP/2 one that runs on resets the stream,
// and cancels its request.
func TestAStreamMayBeSilentForLongerThanAWriteMayTake(t *testing.T) {
	const patience = 300 * time.Millisecond
	slow := func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return nil, err
		}
		select {
		case <-time.After(2 * patience):
			return mcp.TextResult("slept"), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	for proto, h2 := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(proto, func(t *testing.T) {
			h := streamable.NewHandler(newKernel(map[string]tool{"slow": slow}), &streamable.Options{
				WriteTimeout: patience, KeepAlive: -1, Logger: slog.New(slog.DiscardHandler),
			})
			server := httptest.NewUnstartedServer(h)
			server.EnableHTTP2 = h2
			server.StartTLS()
			t.Cleanup(func() { h.Close(); server.Close() })
			e := &endpoint{t: t, url: server.URL, handler: h, client: server.Client()}

			c := e.open("2025-11-25")
			standing := e.stream(http.MethodGet, "", c.headers()...)
			standing.event()
			l := e.stream(http.MethodPost, callTool(1, "slow"), c.headers()...)
			data, _ := l.data()
			require.Contains(t, data, "notifications/progress")
			data, _ = l.data()
			require.Contains(t, data, "slept")
			l.end()
			require.Equal(t, http.StatusNoContent, e.send(http.MethodDelete, "", c.headers()...).status)
			standing.end()
		})
	}
}

// Answers that the system could hold one by one are too many for it together.
func TestAClientThatReadsNoneOfItsAnswersKeepsNoRoom(t *testing.T) {
	medium := func(context.Context, *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult(strings.Repeat("x", 60<<10)), nil
	}
	e := serve(t, map[string]tool{"medium": medium}, &streamable.Options{MaxInFlight: 1, WriteTimeout: 100 * time.Millisecond})
	c, err := net.Dial("tcp", strings.TrimPrefix(e.url, "http://"))
	require.NoError(t, err)
	defer c.Close()
	body := call26("medium")
	request := "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n" +
		strings.Join(headers26("medium"), "\r\n") + fmt.Sprintf("\r\nContent-Length: %d\r\n\r\n", len(body)) + body
	require.NoError(t, c.SetDeadline(time.Now().Add(serverPatience)))
	_, err = io.WriteString(c, strings.Repeat(request, 20_000)) // more than is ever read
	require.Error(t, err)
	require.NotErrorIs(t, err, os.ErrDeadlineExceeded, "the connection is closed")
	require.Eventually(t, func() bool { // package net/http closes it while the handler still runs
		return e.call26("echo").status == http.StatusOK
	}, serverPatience, time.Millisecond)
}

// A middleware may wrap the ResponseWriter in a type of its own that lacks what
// streams need. Who writes one has to learn why questions reach nobody.
func TestAMiddlewareThatHoldsStreamsBackIsLoggedOnce(t *testing.T) {
	talk := func(ctx context.Context, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		return mcp.TextResult("said"), s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: json.RawMessage(`1`)})
	}
	var logged bytes.Buffer
	h := streamable.NewHandler(newKernel(map[string]tool{"talk": talk}), &streamable.Options{Stateless: true, Logger: slog.New(slog.NewTextHandler(&logged, nil))})
	defer h.Close()
	call := func(wrap func(http.ResponseWriter) http.ResponseWriter) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(callTool(1, "talk")))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
		w := httptest.NewRecorder()
		h.ServeHTTP(wrap(w), r)
		require.Equal(t, 2, strings.Count(w.Body.String(), "event: message"), w.Body)
	}
	call(func(w http.ResponseWriter) http.ResponseWriter { return w })
	require.Empty(t, logged.String())
	for range 2 {
		call(func(w http.ResponseWriter) http.ResponseWriter { return struct{ http.ResponseWriter }{w} })
	}
	require.Equal(t, 1, strings.Count(logged.String(), "held back"), logged.String())
}
