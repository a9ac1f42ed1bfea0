package scale_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/scale"
)

// BenchmarkCall measures a ping in a session: at a server without sharing, at the owner of the session, and
// through another replica.
func BenchmarkCall(b *testing.B) {
	server := func() *mcpserver.Server {
		return mcpserver.New(mcp.Implementation{Name: "bench", Version: "1"}, &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	}
	memory := new(engine.Memory)
	replica := func() string {
		mux := http.NewServeMux()
		front := httptest.NewServer(mux)
		b.Cleanup(front.Close)
		node, err := scale.NewNode(memory, memory, &scale.Options{Address: front.URL, Keys: keys})
		require.NoError(b, err)
		b.Cleanup(func() { node.Shutdown(b.Context()) })
		mux.Handle("/mcp", node.Handler(server(), nil))
		return front.URL + "/mcp"
	}
	alone := httptest.NewServer(server().Handler(nil))
	b.Cleanup(alone.Close)
	owner, other := replica(), replica()
	for _, row := range []struct{ name, begin, call string }{
		{"alone", alone.URL, alone.URL}, {"owner", owner, owner}, {"forwarded", owner, other},
	} {
		b.Run(row.name, func(b *testing.B) { benchmarkPing(b, row.begin, row.call) })
	}
}

// benchmarkPing begins a session at a URL and sends pings to another URL.
func benchmarkPing(b *testing.B, begin, call string) {
	id := ""
	post := func(url, body string) {
		r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
		require.NoError(b, err)
		r.Header = http.Header{"Accept": {"application/json, text/event-stream"}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {"2025-11-25"}}
		if id != "" {
			r.Header["Mcp-Session-Id"] = []string{id}
		}
		res, err := http.DefaultClient.Do(r)
		require.NoError(b, err)
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		require.Less(b, res.StatusCode, 300)
		if id == "" {
			id = res.Header.Get("Mcp-Session-Id")
		}
	}
	post(begin, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	post(begin, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		post(call, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"ping"}`, i+1))
	}
}
