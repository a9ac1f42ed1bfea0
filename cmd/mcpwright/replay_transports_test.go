package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// batchLines are the messages of a client with a batch.
const batchLines = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
[{"jsonrpc":"2.0","id":2,"method":"ping"},{"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"order","arguments":{"dish":"soup"}}}]
`

// TestReplayOfBatches records a batch of 2025-03-26, and plays both sides.
func TestReplayOfBatches(t *testing.T) {
	s := newShell(t)
	s.stdin = batchLines
	file := filepath.Join(s.dir, "trace.jsonl")
	require.Zero(t, s.run(append([]string{"trace", "-quiet", "-out", file}, child(t)...)...).status)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 2, strings.Count(string(data), `"kind":"batch"`), "%s", data)
	all := strings.SplitAfter(string(data), "\n") // the client has not waited for the first response, but a session requires it
	i := slices.IndexFunc(all, func(line string) bool { return strings.Contains(line, `"serverInfo"`) })
	first := all[i]
	data = []byte(strings.Join(slices.Insert(slices.Delete(all, i, i+1), 1, first), ""))
	require.NoError(t, os.WriteFile(file, data, 0o600))

	none := result{0, "0 differences\n", ""}
	require.Equal(t, none, s.run(append([]string{"replay", file}, child(t)...)...), "a command")
	require.Equal(t, none, s.run("replay", file, serveHTTP(t, nil)), "Streamable HTTP")

	got := s.run("replay", "-serve", file) // with the lines as its input
	require.Equal(t, "0 differences\n", got.errs)
	lines := strings.Split(strings.TrimSpace(got.out), "\n")
	require.Len(t, lines, 2)
	require.Regexp(t, `^\{"jsonrpc":"2.0","id":1,.*"serverInfo":`, lines[0])
	require.Regexp(t, `^\[\{"jsonrpc":"2.0","id":2,"result":\{\}\},\{"jsonrpc":"2.0","id":"three",.*\}\]$`, lines[1])
	require.Contains(t, lines[1], `{\"dish\":\"soup\"}`)
	s.stdin = strings.NewReplacer("[", "", "]", "", "},{\"jsonrpc", "}\n{\"jsonrpc").Replace(batchLines)
	require.Equal(t, "0 differences\n", s.run("replay", "-serve", file).errs, "a client without batches")

	url, stop := serveCommand(t, "replay", "-serve", "-listen", "127.0.0.1:0", file)
	for i, line := range strings.Split(strings.TrimSpace(batchLines), "\n") {
		res, got := request(t, http.MethodPost, url, line, http.Header{"Content-Type": {"application/json"}})
		require.Equal(t, []int{200, 202, 200}[i], res.StatusCode)
		if i == 2 {
			require.Equal(t, "application/json", res.Header.Get("Content-Type"))
			require.Regexp(t, `^\[.*soup.*\]\s*$`, got)
		}
	}
	require.Equal(t, "0 differences\n", stop().out)

	changed := strings.Replace(string(data), `{\"dish\":\"soup\"}`, "tea", 1)
	require.NotEqual(t, string(data), changed)
	require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	require.Contains(t, s.run(append([]string{"replay", file}, child(t)...)...).out, `tools/call: /result/content/0/text: recorded "tea", received "{\"dish\":\"soup\"}"`)
}

// growingServer returns a server with a tool that adds a tool, and a tool that asks for roots.
func growingServer() *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "growing", Version: "1"}, nil)
	mcpserver.AddTool(s, &mcp.Tool{Name: "grow"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) { return "", nil })
		return "grown", nil
	})
	return s
}

// grow calls the tool "grow", and waits for the notification about the list of tools.
func grow(t *testing.T, url string) {
	changed := make(chan struct{}, 10)
	client, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{
		Revision: mcp.Revision20251125,
		OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error {
			changed <- struct{}{}
			return nil
		},
	})
	require.NoError(t, err)
	text, err := mcpclient.CallTool[string](t.Context(), client, "grow", nil)
	require.NoError(t, err)
	require.Equal(t, "grown", text)
	select {
	case <-changed:
	case <-time.After(10 * time.Second):
		t.Error("no notification about the list of tools")
	}
	require.NoError(t, client.Close())
}

// TestReplayServesStreamOfSession sends messages on the stream that the client opens with GET.
func TestReplayServesStreamOfSession(t *testing.T) {
	server := httptest.NewServer(streamable.NewHandler(growingServer(), nil))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	file := filepath.Join(t.TempDir(), "trace.jsonl")
	url, stop := traceHTTP(t, "-quiet", "-out", file, server.URL)
	grow(t, url)
	require.Zero(t, stop().status)
	var exchanges []int // with GET, and of the notification
	for _, e := range events(t, file) {
		if e.Method == "notifications/tools/list_changed" || e.HTTP.Method == http.MethodGet {
			exchanges = append(exchanges, e.HTTP.Exchange)
		}
	}
	require.Len(t, exchanges, 2)
	require.Equal(t, exchanges[0], exchanges[1])

	url, stop = serveCommand(t, "replay", "-serve", "-listen", "127.0.0.1:0", file)
	grow(t, url)
	got := stop()
	require.Equal(t, "0 differences\n", got.out)
	require.Zero(t, got.status)
}

// legacyServer serves the test server with the transport HTTP+SSE only.
func legacyServer(t *testing.T) string {
	s := httptest.NewServer(streamable.NewLegacySSEHandler(testServer(), nil))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s.URL
}

// TestReplayToServerWithSSE plays recordings to a server with the transport HTTP+SSE.
func TestReplayToServerWithSSE(t *testing.T) {
	s := newShell(t)
	file := record(t, s, mcp.Revision20251125)
	server := legacyServer(t)
	require.Equal(t, result{0, "0 differences\n", ""}, s.run("replay", file, server), "a recording of a pipe")

	file = filepath.Join(s.dir, "sse.jsonl")
	url, stop := traceHTTP(t, "-quiet", "-out", file, server)
	useKitchen(t, mcpclient.LegacySSE(url, nil), mcp.Revision20251125, "soup")
	require.Zero(t, stop().status)
	require.Equal(t, result{0, "0 differences\n", ""}, s.run("replay", file, server), "a recording of the same transport")

	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(data), "Hello, Ada", "Hello, Eve")), 0o600))
	require.Contains(t, s.run("replay", file, server).out, `recorded "Hello, Eve 36", received "Hello, Ada 36"`)

	// Servers that are no MCP servers, and servers that end the stream.
	for name, h := range map[string]http.HandlerFunc{
		"no stream":   func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusMethodNotAllowed) },
		"no endpoint": func(w http.ResponseWriter, r *http.Request) { legacyHeader(w, r) },
		"other host": func(w http.ResponseWriter, r *http.Request) {
			legacyHeader(w, r, "event: endpoint\ndata: http://192.0.2.1/\n\n")
		},
		"ends after that": func(w http.ResponseWriter, r *http.Request) { legacyHeader(w, r, "event: endpoint\ndata: /post\n\n") },
	} {
		broken := httptest.NewServer(h)
		got := s.run("replay", "-timeout", "500ms", file, broken.URL)
		broken.Close()
		require.Equal(t, 1, got.status, "%s: %v", name, got)
	}
}

// TestReplayServesClientsWithSSE plays the server to clients with the transport HTTP+SSE, two at once.
func TestReplayServesClientsWithSSE(t *testing.T) {
	s := newShell(t)
	file := filepath.Join(s.dir, "sse.jsonl")
	url, stop := traceHTTP(t, "-quiet", "-out", file, legacyServer(t))
	useKitchen(t, mcpclient.LegacySSE(url, nil), mcp.Revision20251125, "soup")
	require.Zero(t, stop().status)

	url, stop = serveCommand(t, "replay", "-serve", "-listen", "127.0.0.1:0", file)
	stream, err := http.Get(url) // is another client, which gets nothing but its URL
	require.NoError(t, err)
	defer stream.Body.Close()
	useKitchen(t, mcpclient.LegacySSE(url, nil), mcp.Revision20251125, "soup")
	event := make([]byte, 100)
	n, err := stream.Body.Read(event)
	require.NoError(t, err)
	require.Regexp(t, `^event: endpoint\ndata: /\?stream=\w+\n\n$`, string(event[:n]))
	res, _ := request(t, http.MethodPost, url+"/?stream=none", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, http.Header{"Content-Type": {"application/json"}})
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.NoError(t, stream.Body.Close())
	got := stop()
	require.Equal(t, "0 differences\n", got.out)
	require.Zero(t, got.status)

	// A recording of a pipe serves the same clients.
	url, stop = serveCommand(t, "replay", "-serve", "-listen", "127.0.0.1:0", record(t, s, mcp.Revision20251125))
	useKitchen(t, mcpclient.LegacySSE(url, nil), mcp.Revision20251125, "soup")
	require.Equal(t, "0 differences\n", stop().out)
}

// legacyHeader answers GET with a stream of events, and refuses all other requests.
func legacyHeader(w http.ResponseWriter, r *http.Request, events ...string) {
	if r.Method != http.MethodGet {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, fmt.Sprint(strings.Join(events, "")))
}
