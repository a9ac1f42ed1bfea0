package mcpclient_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sseServer is a server of the HTTP+SSE transport. It sends messages on one stream and receives them at
// another URL. It serves the newest client only.
type sseServer struct {
	*server
	cut chan struct{} // a value ends the stream

	mu     sync.Mutex
	newest sseSession
	busy   bool // the next notification is rejected
}

type sseSession struct {
	conn  *connection.Connection
	lines chan []byte
}

func serveSSE(t testing.TB) (*sseServer, string) {
	s := &sseServer{server: greeter(mcp.Revision20241105), cut: make(chan struct{})}
	s.pipe()
	h := httptest.NewServer(s)
	t.Cleanup(h.Close)
	return s, h.URL + "/sse"
}

func (s *sseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.URL.Path == "/post":
		s.take(w, r)
	case r.Method == http.MethodGet:
		s.stream(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

func (s *sseServer) stream(w http.ResponseWriter, r *http.Request) {
	session := sseSession{connection.New(nil, nil), make(chan []byte, 9)}
	s.mu.Lock()
	s.newest = session
	s.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, "event: endpoint\ndata: /post\n\n")
	for {
		_ = http.NewResponseController(w).Flush()
		select {
		case line := <-session.lines:
			fmt.Fprintf(w, "event: message\ndata: %s\n\n", line)
		case <-s.cut:
			return
		case <-r.Context().Done():
			return
		}
	}
}

func (s *sseServer) take(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	m, _ := wire.ReadMessage(body, nil)
	s.mu.Lock()
	session, busy := s.newest, s.busy && m.ID.IsZero()
	s.busy = s.busy && !busy
	s.mu.Unlock()
	if busy {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	reply, err := s.kernel.Serve(r.Context(), session.conn, &peer.Inbound{Method: m.Method, ID: m.ID, Params: m.Params, Back: outbound.None{}})
	w.WriteHeader(http.StatusAccepted)
	if m.ID.IsZero() {
		return
	}
	var line []byte
	if err == nil {
		line, err = wire.AppendResult(nil, reply.Frame, m.ID, reply.Result)
	}
	if err != nil {
		line, _ = wire.AppendError(nil, m.ID, &wire.ErrorObject{Code: mcp.CodeInternal, Message: err.Error()})
	}
	session.lines <- line
}

func TestLegacySSEFallback(t *testing.T) {
	leaks.Check(t)
	_, url := serveSSE(t)
	_, err := mcpclient.Connect(t.Context(), mcpclient.URL(url), &mcpclient.Options{Logger: silent})
	require.ErrorContains(t, err, "405")
	require.ErrorContains(t, err, "use LegacySSE")

	to := mcpclient.URL(url)
	to.LegacySSE = true
	c := connect(t, to, &mcpclient.Options{Logger: silent})
	require.Equal(t, mcp.Revision20241105, c.Revision())
	greet(t, c)
	require.NoError(t, c.Close())

	c = connect(t, mcpclient.LegacySSE(url, &to.HTTP), &mcpclient.Options{Logger: silent, Mode: mcpclient.Handshake})
	greet(t, c)

	_, err = mcpclient.Connect(t.Context(), to, &mcpclient.Options{Logger: silent, Mode: mcpclient.NoHandshake})
	require.ErrorContains(t, err, "405", "HTTP+SSE has only handshake revisions")
}

func TestNoLegacySSEFallbackForStatelessServer(t *testing.T) {
	leaks.Check(t)
	h := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		body, _ := io.ReadAll(r.Body)
		m, _ := wire.ReadMessage(body, nil)
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		line, _ := wire.AppendError(nil, m.ID, &wire.ErrorObject{
			Code: mcp.CodeUnsupportedProtocolVersion, Message: "no", Data: []byte(`{"requested":"2026-07-28","supported":["2031-01-01"]}`),
		})
		_, _ = w.Write(line)
	}))
	t.Cleanup(h.Close)
	to := mcpclient.URL(h.URL)
	to.LegacySSE = true
	_, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Logger: silent})
	var unsupported *mcp.UnsupportedProtocolVersionError
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, []string{"2031-01-01"}, unsupported.Supported)
}

func TestBrokenLegacySSEStreamIsReplaced(t *testing.T) {
	leaks.Check(t)
	s, url := serveSSE(t)
	c := connect(t, mcpclient.LegacySSE(url, nil), &mcpclient.Options{Logger: silent, Mode: mcpclient.Handshake})
	greet(t, c)
	first := c.Connection()
	s.cut <- struct{}{}
	for c.Connection() == first { // calls before the detection fail
		_, _ = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	}
	greet(t, c)
}

func TestInitializedIsRetriedOverLegacySSE(t *testing.T) {
	leaks.Check(t)
	s, url := serveSSE(t)
	s.busy = true
	connect(t, mcpclient.LegacySSE(url, nil), &mcpclient.Options{Logger: silent, Mode: mcpclient.Handshake})
	require.Eventually(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.newest.conn.State().Initialized()
	}, 5*time.Second, time.Millisecond)
}

// Some servers have the HTTP+SSE transport at the URL of Streamable HTTP.
func TestKitServerOverLegacySSE(t *testing.T) {
	leaks.Check(t)
	h := httptest.NewServer(streamable.NewLegacySSEHandler(newKit(nil).Dispatcher(), &streamable.Options{Logger: silent}))
	t.Cleanup(h.Close)
	to := mcpclient.URL(h.URL)
	to.LegacySSE = true
	c := connect(t, to, handlerOptions(mcpclient.Options{Logger: silent}))
	require.False(t, c.NoHandshake())
	require.Equal(t, "accept Ada true", callText(t, c, "ask"))
	require.Equal(t, "note:1", firstChange(t, c))
}
