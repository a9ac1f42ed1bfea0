package check

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// oldEndpoint serves the good server with HTTP+SSE only. The function wrap may be nil.
func oldEndpoint(t *testing.T, wrap func(next http.Handler) http.Handler) *Server {
	old := streamable.NewLegacySSEHandler(newServer(), nil)
	var h http.Handler = old
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		require.NoError(t, old.Close())
		s.Close()
	})
	return &Server{URL: s.URL + "/sse"}
}

// TestServerWithOldTransport finds no fault in a good server that has only the transport of the first
// revision.
func TestServerWithOldTransport(t *testing.T) {
	var mu sync.Mutex
	headers := map[string]bool{}
	server := oldEndpoint(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet || r.URL.RawQuery != "" {
				mu.Lock()
				headers[r.Method+" "+r.Header.Get("Authorization")] = true
				mu.Unlock()
			}
			next.ServeHTTP(w, r)
		})
	})
	server.Header = http.Header{"Authorization": {"Bearer x"}}
	report := run(t, server, Options{Call: true})
	require.Empty(t, report.Findings, reportText(t, report))
	require.Equal(t, SSE, report.Transport)
	require.Equal(t, "subject", report.Server)
	require.Len(t, report.Revisions, len(mcp.Revisions))
	for _, r := range report.Revisions {
		require.Equal(t, r.Revision == "2024-11-05", r.Supported, r.Revision)
		if r.Supported {
			require.Greater(t, len(r.Cases), 20)
		}
	}
	require.Equal(t, map[string]bool{"GET Bearer x": true, "POST Bearer x": true}, headers)
}

// eventWriter replaces a text in each event.
type eventWriter struct {
	http.ResponseWriter
	old, new string
}

func (w eventWriter) Write(b []byte) (int, error) {
	_, err := w.ResponseWriter.Write(bytes.ReplaceAll(b, []byte(w.old), []byte(w.new)))
	return len(b), err
}

func (w eventWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func TestFaultOfServerWithOldTransport(t *testing.T) {
	server := oldEndpoint(t, func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(eventWriter{w, `"inputSchema"`, `"inputscheme"`}, r)
		})
	})
	report := run(t, server, Options{Call: true})
	require.NotEmpty(t, report.Findings)
	require.Equal(t, "message-schema", report.Findings[0].ID, reportText(t, report))
}

func TestOldTransportThatFails(t *testing.T) {
	for name, test := range map[string]struct{ event, want string }{
		"endpoint of another origin": {"event: endpoint\ndata: http://127.0.0.2:1/messages\n\n", `no response: the endpoint "http://127.0.0.2:1/messages" has another origin than the stream`},
		"endpoint that is no URL":    {"event: endpoint\ndata: http://[\n\n", `no response: the endpoint "http://[" is no URL`},
		"no endpoint":                {"event: message\ndata: {}\n\n", `no response: the stream has no event "endpoint"`},
		"endpoint that is missing":   {"event: endpoint\ndata: /missing\n\n", "no response: POST has the status 405"},
	} {
		t.Run(name, func(t *testing.T) {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet {
					w.WriteHeader(http.StatusMethodNotAllowed)
					return
				}
				w.Header().Set("Content-Type", mediaEvents)
				fmt.Fprint(w, test.event)
				_ = http.NewResponseController(w).Flush()
				<-r.Context().Done()
			}))
			defer s.Close()
			_, err := Run(t.Context(), &Server{URL: s.URL}, Options{Timeout: 100 * time.Millisecond})
			require.ErrorIs(t, err, ErrUnreachable)
			require.Contains(t, err.Error(), "over HTTP+SSE: revision 2024-11-05: "+test.want)
			require.Equal(t, 1, strings.Count(err.Error(), "over HTTP+SSE"))
		})
	}
}
