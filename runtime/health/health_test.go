package health_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/health"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/streamable/client"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func get(h http.Handler) (status int, text string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	return w.Code, w.Body.String()
}

// busy is a server whose tool "wait" waits until it is released.
type busy struct {
	*mcpserver.Server
	begun   chan bool
	release chan bool
}

func newBusy() *busy {
	b := &busy{mcpserver.New(mcp.Implementation{Name: "busy", Version: "1"}, nil), make(chan bool), make(chan bool)}
	mcpserver.AddTool(b.Server, &mcp.Tool{Name: "wait"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		b.begun <- true
		select {
		case <-b.release:
			return "done", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	mcpserver.AddTool(b.Server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		_, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Who?"})
		return "", err
	})
	return b
}

func TestReadinessEndsWithShutdown(t *testing.T) {
	b := newBusy()
	var down error
	ready := health.Ready(b.Server, func(context.Context) error { return down })
	status, text := get(ready)
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "ready\n", text)
	down = errors.New("database does not respond")
	status, text = get(ready)
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Equal(t, "database does not respond\n", text)
	down = nil

	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(b), nil)
	require.NoError(t, err)
	defer c.Close()
	called := make(chan error, 1)
	go func() { // ends with the call
		_, err := mcpclient.CallTool[string](t.Context(), c, "wait", nil)
		called <- err
	}()
	<-b.begun
	ended := make(chan error, 1)
	go func() { ended <- b.Shutdown(t.Context()) }() // ends with the call
	require.Eventually(t, b.ShuttingDown, 10*time.Second, time.Millisecond)
	status, text = get(ready)
	require.Equal(t, http.StatusServiceUnavailable, status, "while the last request is being handled")
	require.Equal(t, "server is shutting down\n", text)
	status, _ = get(health.Live())
	require.Equal(t, http.StatusOK, status)
	b.release <- true
	require.NoError(t, <-called)
	require.NoError(t, <-ended)
}

// serve serves over HTTP. The header X-User is the principal.
func (b *busy) serve(t *testing.T, opts *streamable.Options) string {
	opts.Principal = func(r *http.Request) string { return r.Header.Get("X-User") }
	h := streamable.NewHandler(b, opts)
	listener := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		listener.Close()
	})
	return listener.URL
}

func connect(t *testing.T, url, user string, r func(*mcpclient.Options)) *mcpclient.Client {
	to := mcpclient.URL(url)
	to.HTTP.Header = http.Header{"X-User": {user}}
	to.HTTP.Backoff = client.Backoff{InitialDelay: time.Millisecond, MaxDelay: time.Millisecond} // refused calls are not repeated
	opts := &mcpclient.Options{Info: mcp.Implementation{Name: "<script>", Version: "2"}}
	r(opts)
	c, err := mcpclient.Connect(t.Context(), to, opts)
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

func TestStatsOfSessions(t *testing.T) {
	b := newBusy()
	held := budget.New(nil)
	url := b.serve(t, &streamable.Options{MaxInFlightPerPrincipal: 2, JSONRPC: jsonrpc.Options{Budget: held}})
	asked := make(chan bool)
	ann := connect(t, url, "ann", func(o *mcpclient.Options) {
		o.Revision = mcp.Revision20251125
		o.OnElicit = func(ctx context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked <- true
			<-ctx.Done()
			return nil, context.Cause(ctx)
		}
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	calls := make(chan error, 2)
	for _, tool := range []string{"wait", "ask"} {
		go func() { // ends with ctx
			_, err := mcpclient.CallTool[string](ctx, ann, tool, nil)
			calls <- err
		}()
	}
	<-b.begun
	<-asked
	_, err := mcpclient.CallTool[string](t.Context(), ann, "ask", nil)
	require.ErrorContains(t, err, "429")

	s := b.Stats()
	require.Equal(t, 1, s.Sessions)
	require.Equal(t, 2, s.Requests)
	require.Equal(t, 1, s.Streams, "of the client's GET request")
	require.Positive(t, s.Events)
	require.Positive(t, s.EventBytes)
	require.Positive(t, s.Refused["MaxInFlightPerPrincipal"])
	_, text := get(health.Metrics(b.Server))
	require.Contains(t, text, "\nmcp_server_sessions 1\n")
	require.Contains(t, text, "\nmcp_server_requests 2\n")
	require.Contains(t, text, `mcp_server_refusals_total{mcp_limit="MaxInFlightPerPrincipal"} `)

	list := b.Sessions()
	require.Len(t, list, 1)
	require.Equal(t, "ann", list[0].Principal)
	require.Equal(t, mcp.Revision20251125, list[0].Revision)
	require.Len(t, list[0].Requests, 2)
	_, text = get(health.Sessions(b.Server))
	require.Contains(t, text, "tools/call wait<br>")
	require.Contains(t, text, "tools/call ask (waits for the client)")
	require.Contains(t, text, "<td>ann</td>")
	require.Contains(t, text, "&lt;script&gt; 2")
	require.NotContains(t, text, list[0].ID, "the id is a secret")
	cancel()
	<-calls
	<-calls
}

func TestStatsOfOtherClients(t *testing.T) {
	b := newBusy()
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(b), &mcpclient.Options{Revision: mcp.Revision20251125})
	require.NoError(t, err)
	defer c.Close()
	called := make(chan error, 1)
	go func() { // ends with the call
		_, err := mcpclient.CallTool[string](t.Context(), c, "wait", nil)
		called <- err
	}()
	<-b.begun
	s := b.Stats()
	require.Equal(t, 1, s.Sessions)
	require.Equal(t, 1, s.Requests)
	require.Zero(t, s.Streams)
	list := b.Sessions()
	require.Len(t, list, 1)
	require.Equal(t, "tools/call", list[0].Requests[0].Method)
	require.Equal(t, "wait", list[0].Requests[0].Name)
	require.True(t, strings.HasSuffix(list[0].Client.Name, ".test"), "the name of the test")
	b.release <- true
	require.NoError(t, <-called)
}
