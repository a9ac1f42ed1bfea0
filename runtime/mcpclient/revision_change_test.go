package mcpclient_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// address is a URL at which one server can replace another.
type address struct {
	url string
	now atomic.Pointer[http.Handler]
}

func newAddress(t testing.TB) *address {
	a := new(address)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*a.now.Load()).ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	a.url = s.URL
	return a
}

func (a *address) hold(h http.Handler) { a.now.Store(&h) }

// kitOf returns a server of the kit that supports one revision.
func kitOf(r wire.Revision, opts *streamable.Options) http.Handler {
	opts.Logger = silent
	return streamable.NewHandler(newKit(&mcpserver.Options{Revisions: []wire.Revision{r}}), opts)
}

func TestServerWithOtherKindOfRevision(t *testing.T) {
	leaks.Check(t)
	for name, opts := range map[string]streamable.Options{"with sessions": {}, "without": {Stateless: true}} {
		t.Run(name, func(t *testing.T) {
			a := newAddress(t)
			a.hold(kitOf(mcp.Revision20251125, &opts))
			c := connect(t, mcpclient.URL(a.url), &mcpclient.Options{Logger: silent})
			for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728, mcp.Revision20250618, mcp.Revision20260728} {
				a.hold(kitOf(r, &opts))
				got, err := mcpclient.CallTool[welcomed](t.Context(), c, "greet", greeting{"Ada"})
				require.NoError(t, err)
				require.Equal(t, "hello Ada", got.Greeting)
				require.Equal(t, r, c.Revision())
			}
		})
	}
}

// Servers with the other kind of revision reject requests in different ways. Each is recognized, also in
// concurrent calls.
func TestRejectionsByOtherKindOfServer(t *testing.T) {
	leaks.Check(t)
	for name, c := range map[string]struct {
		before, after wire.Revision
		status        int
		body          string
	}{
		"missing metadata":          {mcp.Revision20251125, mcp.Revision20260728, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"x"}}`},
		"an unsupported revision":   {mcp.Revision20251125, mcp.Revision20260728, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32022,"message":"x","data":{"requested":"2025-11-25","supported":["2026-07-28"]}}}`},
		"a header mismatch":         {mcp.Revision20251125, mcp.Revision20260728, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32020,"message":"x"}}`},
		"not found":                 {mcp.Revision20251125, mcp.Revision20260728, 404, ``},
		"not found, unknown method": {mcp.Revision20251125, mcp.Revision20260728, 404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32601,"message":"x"}}`},
		"no session, text":          {mcp.Revision20260728, mcp.Revision20251125, 400, `Bad Request`},
		"no session, error":         {mcp.Revision20260728, mcp.Revision20251125, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"x"}}`},
		"no session, custom error":  {mcp.Revision20260728, mcp.Revision20251125, 400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAddress(t)
			a.hold(kitOf(c.before, &streamable.Options{Stateless: true}))
			client := connect(t, mcpclient.URL(a.url), &mcpclient.Options{Logger: silent})
			require.Equal(t, "reported", callText(t, client, "report"))

			next := kitOf(c.after, &streamable.Options{})
			a.hold(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				method, version := r.Header.Get("Mcp-Method"), r.Header.Get("Mcp-Protocol-Version")
				if version == c.before.String() && method != mcp.MethodDiscover {
					_, _ = io.Copy(io.Discard, r.Body)
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(c.status)
					_, _ = io.WriteString(w, c.body)
					return
				}
				next.ServeHTTP(w, r)
			}))
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() { // ends with the call
					if text, err := mcpclient.CallTool[string](t.Context(), client, "report", nil); text != "reported" {
						t.Error(err)
					}
				})
			}
			all.Wait()
			require.Equal(t, c.after, client.Revision())
		})
	}
}

// Other errors are returned to the caller, and the session continues.
func TestRejectionsBySameServer(t *testing.T) {
	leaks.Check(t)
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			s := serve(t, greeter(r))
			c := connect(t, mcpclient.URL(s.url), &mcpclient.Options{Logger: silent})
			greet(t, c)
			before, status := c.Connection(), http.StatusBadRequest
			s.instead(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
				if m.Method == mcp.MethodCallTool {
					w.WriteHeader(status)
				}
				return m.Method == mcp.MethodCallTool
			})
			for _, status = range []int{400, 401, 403, 429, 500, 502} {
				calls := s.count(mcp.MethodCallTool)
				_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
				require.Error(t, err)
				require.Equal(t, calls+1, s.count(mcp.MethodCallTool), "status %d", status)
			}
			s.instead(nil)
			greet(t, c)
			require.Same(t, before, c.Connection())
		})
	}
}

func TestWatchContinuesInOtherKindOfRevision(t *testing.T) {
	leaks.Check(t)
	notes := func(r wire.Revision) http.Handler {
		s := newKit(&mcpserver.Options{Revisions: []wire.Revision{r}})
		s.AddResource(&mcp.Resource{URI: "note:2", Name: "other"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{}, nil
		})
		return streamable.NewHandler(s, &streamable.Options{Logger: silent})
	}
	for _, eras := range [][]wire.Revision{
		{mcp.Revision20251125, mcp.Revision20260728},
		{mcp.Revision20260728, mcp.Revision20251125},
	} {
		t.Run(eras[0].String(), func(t *testing.T) {
			a, old := newAddress(t), notes(eras[0])
			gone, leave := context.WithCancel(t.Context())
			defer leave()
			a.hold(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithCancel(r.Context())
				defer context.AfterFunc(gone, cancel)()
				old.ServeHTTP(w, r.WithContext(ctx))
			}))
			changed := make(chan struct{}, 99)
			c := connect(t, mcpclient.URL(a.url), &mcpclient.Options{
				Logger:            slog.New(slog.NewTextHandler(failOnError{t}, &slog.HandlerOptions{Level: slog.LevelWarn})),
				OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { changed <- struct{}{}; return nil },
			})
			seen := make(chan string)
			ctx, cancel := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			defer watching.Wait()
			defer cancel()
			watching.Go(func() { // ends with the context
				for uri, err := range c.Watch(ctx, "note:1", "note:2") {
					if err != nil {
						uri = err.Error()
					}
					select {
					case seen <- uri:
					case <-ctx.Done():
					}
				}
			})
			for watched := ""; watched == ""; {
				require.Equal(t, "touched", callText(t, c, "touch"))
				select {
				case watched = <-seen:
					require.Equal(t, "note:1", watched)
				default:
				}
			}
			a.hold(notes(eras[1]))
			require.Equal(t, "touched", callText(t, c, "touch"))
			require.Equal(t, eras[1], c.Revision())
			leave()
			uri := <-seen
			for uri == "note:1" {
				uri = <-seen
			}
			require.Equal(t, "note:2", uri, "it may have changed during the reconnect")
			<-changed
		})
	}
}
