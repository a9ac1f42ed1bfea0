package scale_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// BenchmarkCall measures pings in sessions: at a server without sharing, at the owner of the session, and through
// another replica. The three alternate, so that the load of the machine does not change the ratios of their times.
func BenchmarkCall(b *testing.B) {
	server := func() *mcpserver.Server {
		return mcpserver.New(mcp.Implementation{Name: "bench", Version: "1"}, &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	}
	memory := new(engine.Memory)
	replica := func() string {
		mux := http.NewServeMux()
		front := httptest.NewServer(mux)
		b.Cleanup(front.Close)
		node, err := scale.NewNode(memory, memory, &scale.Options{Address: front.URL, Keys: keys, Logger: slog.New(slog.DiscardHandler)})
		require.NoError(b, err)
		b.Cleanup(func() { node.Shutdown(b.Context()) })
		mux.Handle("/mcp", node.Handler(server(), nil))
		return front.URL + "/mcp"
	}
	alone := httptest.NewServer(streamable.NewHandler(server(), nil))
	b.Cleanup(alone.Close)
	owner, other := replica(), replica()
	urls := [][2]string{{alone.URL, alone.URL}, {owner, owner}, {owner, other}} // for the begin of a session, and for its pings
	ids, times := make([]string, len(urls)), make([]time.Duration, len(urls))
	for i, url := range urls {
		ids[i] = ping(b, url[0], "")
	}
	for n := 0; b.Loop(); n++ {
		for k := range urls {
			i := (n + k) % len(urls)
			began := time.Now()
			ping(b, urls[i][1], ids[i])
			times[i] += time.Since(began)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(times[1])/float64(times[0]), "owner/alone")
	b.ReportMetric(float64(times[2])/float64(times[1]), "forwarded/owner")
}

// ping sends a ping in a session, or begins a session if the id is empty. It returns the id of the session.
func ping(b *testing.B, url, id string) string {
	body := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	header := http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"}}
	if id != "" {
		body = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		header["Mcp-Session-Id"] = []string{id}
	}
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	require.NoError(b, err)
	r.Header = header
	res, err := http.DefaultClient.Do(r)
	require.NoError(b, err)
	_, _ = io.Copy(io.Discard, res.Body)
	res.Body.Close()
	require.Less(b, res.StatusCode, 300)
	return res.Header.Get("Mcp-Session-Id")
}
