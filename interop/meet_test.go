package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// role is the environment variable that makes this program a server on standard input and output.
const role = "INTEROP_ROLE"

// An sdk has the client and the server of one SDK.
type sdk struct {
	name string
	// stdio serves on standard input and output until the client disconnects.
	stdio func(ctx context.Context) error
	// handler returns an HTTP handler for clients of a revision, and a function that ends it.
	handler func(revision string) (http.Handler, func(context.Context) error)
	// command connects to a child process, url to an HTTP server.
	command func(ctx context.Context, path, role, revision string) (client, error)
	url     func(ctx context.Context, url, revision string) (client, error)
}

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

func TestMain(m *testing.M) {
	for _, s := range sdks {
		if os.Getenv(role) != s.name {
			continue
		}
		if err := s.stdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestEveryClientWithEveryServer runs the tour with each client and each server. The official client
// with the official server shows that the tour is fair.
func TestEveryClientWithEveryServer(t *testing.T) {
	for _, from := range sdks {
		for _, to := range sdks {
			for _, revision := range revisions {
				t.Run(fmt.Sprintf("%s client, %s server, %s", from.name, to.name, revision), func(t *testing.T) {
					t.Parallel()
					t.Run("stdio", func(t *testing.T) { overStdio(t, from, to, revision) })
					t.Run("http", func(t *testing.T) { overHTTP(t, from, to, revision) })
				})
			}
		}
	}
}

// A fault is a tool that the client of one SDK cannot use with the server of another, with the reason
// why this module cannot fix that.
type fault struct{ client, server, since, tool, why string }

var faults = []fault{
	{"go-sdk", "mcpwright", "2026-07-28", "roots", "it cannot decode a roots/list request without params, which are optional"},
}

// skips returns a function that reports whether a tour skips a tool.
func skips(t *testing.T, from, to sdk, revision string) func(tool string) bool {
	return func(tool string) bool {
		for _, f := range faults {
			if f.client == from.name && f.server == to.name && f.since <= revision && f.tool == tool {
				t.Logf("skipped %q: %s", tool, f.why)
				return true
			}
		}
		return false
	}
}

func overStdio(t *testing.T, from, to sdk, revision string) {
	self, err := os.Executable()
	require.NoError(t, err)
	c, err := from.command(t.Context(), self, to.name, revision)
	require.NoError(t, err)
	tour(t, c, revision, skips(t, from, to, revision))
	require.NoError(t, c.close())
}

func overHTTP(t *testing.T, from, to sdk, revision string) {
	h, end := to.handler(revision)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{Handler: h}
	go server.Serve(l)                   // returns when the server is closed
	t.Cleanup(func() { server.Close() }) // does not wait: some handlers continue without their client
	c, err := from.url(t.Context(), "http://"+l.Addr().String()+"/mcp", revision)
	require.NoError(t, err)
	tour(t, c, revision, skips(t, from, to, revision))
	require.NoError(t, c.close())
	require.NoError(t, end(t.Context()))
}

// TestProxyFailures connects our client to each server through a proxy that refuses the first requests, and
// loses the first response to a question, before or after the server has received it.
func TestProxyFailures(t *testing.T) {
	for _, to := range sdks {
		for _, delivered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s server, delivered: %v", to.name, delivered), func(t *testing.T) {
				t.Parallel()
				h, end := to.handler("2025-11-25")
				var mu sync.Mutex
				failed := make(map[string]bool)
				fail := func(method string) bool {
					mu.Lock()
					defer mu.Unlock()
					before := failed[method]
					failed[method] = true
					return !before
				}
				proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.Method != http.MethodPost {
						h.ServeHTTP(w, r)
						return
					}
					body, err := io.ReadAll(r.Body)
					if err != nil {
						return
					}
					r.Body = io.NopCloser(bytes.NewReader(body))
					var m struct{ Method string }
					_ = json.Unmarshal(body, &m)
					switch {
					case !fail(m.Method):
						h.ServeHTTP(w, r)
					case m.Method == "":
						if delivered {
							h.ServeHTTP(httptest.NewRecorder(), r)
						}
						w.WriteHeader(http.StatusBadGateway)
					default:
						w.Header().Set("Retry-After", "0")
						w.WriteHeader(http.StatusServiceUnavailable)
					}
				}))
				t.Cleanup(func() {
					proxy.CloseClientConnections()
					proxy.Close()
				})
				c, err := ourURL(t.Context(), proxy.URL, "2025-11-25")
				require.NoError(t, err)
				text, _, err := c.call(t.Context(), "ask", nil)
				require.NoError(t, err)
				require.Equal(t, "Hello, Ada", text)
				for _, method := range []string{"initialize", "notifications/initialized", "tools/call", ""} {
					require.False(t, fail(method), "the proxy has failed %q before", method)
				}
				require.NoError(t, c.close())
				require.NoError(t, end(t.Context()))
			})
		}
	}
}
