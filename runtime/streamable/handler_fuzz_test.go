package streamable_test

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// FuzzRequests sends anything to a handler: it answers, and opens a session for
// nothing but a handshake.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{
		"", "{", "[]", "[{}]", "1", "null", `{"jsonrpc":"2.0","id":1,"result":{}}`, initialize("2025-11-25"), initialize("x"), initialized, callTool(1, "echo"), call26("echo"),
		`[` + initialized + `]`, `{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "\xff", `{"a":"\ud800"}`,
	} {
		for _, name := range []string{"", "2025-03-26", "2025-11-25", "2026-07-28", "2099-01-01", "\t"} {
			f.Add(http.MethodPost, body, name, "tools/call", "echo", "", "application/json", "")
		}
	}
	f.Add(http.MethodGet, "", "", "", "", "x", "*/*;q=0", "1-1")
	f.Add(http.MethodDelete, "", "2025-11-25", "", "", "x", "", "")
	h := streamable.NewHandler(newKernel(nil), &streamable.Options{Logger: slog.New(slog.DiscardHandler), MaxBody: 1 << 16})
	f.Cleanup(func() { h.Close() })
	f.Fuzz(func(t *testing.T, method, body, version, name, tool, session, accept, last string) {
		r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
		r.Method = method
		r.Header = http.Header{"Content-Type": {"application/json"}}
		for k, v := range map[string]string{
			"Mcp-Protocol-Version": version, "Mcp-Method": name, "Mcp-Name": tool, "Mcp-Session-Id": session, "Accept": accept, "Last-Event-Id": last,
		} {
			if v != "" {
				r.Header[k] = []string{v}
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		require.GreaterOrEqual(t, w.Code, 200)
		require.Less(t, w.Code, 500, w.Body.String())
		if w.Header().Get("Mcp-Session-Id") != "" {
			require.Contains(t, body, "initialize")
		}
	})
}
