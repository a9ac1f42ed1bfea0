package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// site is an HTTP server that can be taken down and replaced, and whose requests can fail.
type site struct {
	handler  atomic.Pointer[http.Handler]
	accident atomic.Pointer[func(http.ResponseWriter, *http.Request, http.Handler) bool]

	mu   sync.Mutex
	seen []string // the requests so far
}

func newSite(h http.Handler) *site {
	s := new(site)
	s.put(h)
	return s
}

// put replaces the handler.
func (s *site) put(h http.Handler) { s.handler.Store(&h) }

// meet calls f for each request first; f returns true if it has handled the request.
func (s *site) meet(f func(http.ResponseWriter, *http.Request, http.Handler) bool) {
	s.accident.Store(&f)
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	what := r.Method
	if m, err := wire.ReadMessage(body, nil); err == nil {
		what += " " + m.Method
	}
	s.mu.Lock()
	s.seen = append(s.seen, what)
	s.mu.Unlock()
	h := *s.handler.Load()
	if f := s.accident.Load(); f != nil && (*f)(w, r, h) {
		return
	}
	h.ServeHTTP(w, r)
}

// times returns the number of requests of a kind.
func (s *site) times(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(slices.DeleteFunc(slices.Clone(s.seen), func(w string) bool { return w != what }))
}

// quick resumes broken streams without delay.
func quick(to *mcpclient.URLEndpoint) *mcpclient.URLEndpoint {
	to.HTTP.Backoff = httpclient.Backoff{InitialDelay: time.Millisecond, MaxDelay: 10 * time.Millisecond}
	return to
}

func kitHandler(s *mcpserver.Server) *streamable.Handler {
	return streamable.NewHandler(s, &streamable.Options{Logger: silent, RetryInterval: time.Millisecond})
}

// listening connects in a revision and returns the notifications that the handler of changes
// receives.
func listening(t testing.TB, to mcpclient.Endpoint, r wire.Revision) (*mcpclient.Client, chan string) {
	heard := make(chan string, 100)
	return connect(t, to, &mcpclient.Options{Revision: r, Logger: silent,
		OnToolListChanged: func(_ context.Context, n *mcp.ToolListChangedNotification) error {
			heard <- n.Method()
			return nil
		},
	}), heard
}

// eachKind runs a test in the newest handshake revision and the newest stateless revision.
func eachKind(t *testing.T, f func(t *testing.T, r wire.Revision)) {
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) { f(t, r) })
	}
}

// isSessionStream reports whether a request opens the stream for messages outside of responses.
func isSessionStream(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Header.Get("Mcp-Method") == mcp.MethodSubscriptionsListen
}

func TestLostSessionStreamLosesNoCallAndNoChange(t *testing.T) {
	leaks.Check(t)
	eachKind(t, func(t *testing.T, r wire.Revision) {
		s := newKit(nil)
		at := newSite(kitHandler(s))
		kills := make(chan context.CancelFunc, 9)
		at.meet(func(w http.ResponseWriter, r *http.Request, h http.Handler) bool {
			if !isSessionStream(r) {
				return false
			}
			ctx, kill := context.WithCancel(r.Context())
			defer kill()
			kills <- kill
			h.ServeHTTP(w, r.WithContext(ctx))
			panic(http.ErrAbortHandler) // breaks the connection
		})
		begun, _ := waiting(s)
		c, heard := listening(t, quick(validatedURL(t, at)), r)
		ctx, cancel := context.WithCancel(t.Context())
		waits := make(chan error, 1)
		go func() { // ends with ctx
			_, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: "wait"})
			waits <- err
		}()
		<-begun
		for range 3 {
			(<-kills)()
			require.Equal(t, "hello Ada", must(mcpclient.CallTool[welcomed](t.Context(), c, "greet", greeting{"Ada"})).Greeting)
		}
		<-kills               // the stream is open again
		for len(heard) == 0 { // changes in between are not lost
			require.Equal(t, "grown", callText(t, c, "grow"))
		}
		require.Empty(t, waits, "the call is still active")
		cancel()
		require.ErrorIs(t, <-waits, context.Canceled)
		require.NoError(t, c.Err())
		require.LessOrEqual(t, at.times("POST "+mcp.MethodInitialize), 1, "the session is the same")
	})
}

func TestInvalidEventIsSkipped(t *testing.T) {
	leaks.Check(t)
	eachKind(t, func(t *testing.T, r wire.Revision) {
		s := newKit(nil)
		at := newSite(kitHandler(s))
		at.meet(func(w http.ResponseWriter, r *http.Request, h http.Handler) bool {
			if isSessionStream(r) || strings.Contains(r.Header.Get("Mcp-Name"), "report") {
				w = &spoiled{ResponseWriter: w}
			}
			h.ServeHTTP(w, r)
			return true
		})
		to := quick(validatedURL(t, at))
		to.HTTP.HTTPClient = nil // without validation, which would fail
		c, heard := listening(t, to, r)
		require.Equal(t, "reported", callText(t, c, "report", peer.OnProgress(func(peer.Progress) {})))
		require.Equal(t, "grown", callText(t, c, "grow"))
		require.Equal(t, mcp.MethodToolListChanged, <-heard)
		require.NoError(t, c.Err())
	})
}

// spoiled adds invalid events to a stream.
type spoiled struct{ http.ResponseWriter }

func (s *spoiled) Unwrap() http.ResponseWriter { return s.ResponseWriter }

func (s *spoiled) Write(b []byte) (int, error) {
	if s.Header().Get("Content-Type") == "text/event-stream" {
		for _, event := range []string{"data: {\"jsonrpc\":\n\n", "event: odd\ndata: 1\n\n", "data: {\"jsonrpc\":\"2.0\",\"method\":7}\n\n", ": nothing\n\n"} {
			if _, err := io.WriteString(s.ResponseWriter, event); err != nil {
				return 0, err
			}
		}
	}
	return s.ResponseWriter.Write(b)
}

func TestBadGatewayFailsOneCall(t *testing.T) {
	leaks.Check(t)
	eachKind(t, func(t *testing.T, r wire.Revision) {
		at := newSite(kitHandler(newKit(nil)))
		c, _ := listening(t, validatedURL(t, at), r)
		require.NotEmpty(t, names(t, c)) // otherwise the call would request the list
		var calls atomic.Int64
		at.meet(func(w http.ResponseWriter, r *http.Request, h http.Handler) bool {
			bad := r.Method == http.MethodPost && calls.Add(1) == 25
			if bad {
				w.WriteHeader(http.StatusBadGateway)
			}
			return bad
		})
		var all sync.WaitGroup
		var failed atomic.Int64
		for i := range 50 {
			all.Go(func() { // ends with its call
				name := fmt.Sprint("caller ", i)
				out, err := mcpclient.CallTool[welcomed](t.Context(), c, "greet", greeting{name})
				refused, _ := errors.AsType[*httpclient.HTTPError](err)
				switch {
				case err == nil && out.Greeting == "hello "+name:
				case refused != nil && refused.Status == http.StatusBadGateway:
					failed.Add(1)
				default:
					t.Errorf("%s: %v, %v", name, out, err)
				}
			})
		}
		all.Wait()
		require.EqualValues(t, 1, failed.Load())
		require.NoError(t, c.Err())
		require.Equal(t, "grown", callText(t, c, "grow"))
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A server may reject all requests for a while when it is replaced. The program need not do anything.
func TestServerIsReplaced(t *testing.T) {
	leaks.Check(t)
	eachKind(t, func(t *testing.T, r wire.Revision) {
		first := newKit(nil)
		at := newSite(kitHandler(first))
		c, heard := listening(t, quick(validatedURL(t, at)), r)
		next, stop := iter.Pull2(c.Watch(t.Context(), "note:1"))
		defer stop()
		changes := make(chan string)
		go func() { // ends after two changes
			for range 2 {
				uri, err, _ := next()
				if err != nil {
					t.Error(err)
				}
				changes <- uri
			}
		}()
		uri := ""
		for uri == "" { // until the client watches
			_ = callText(t, c, "touch")
			select {
			case uri = <-changes:
			default:
			}
		}

		require.NoError(t, first.Shutdown(t.Context()))
		second := newKit(nil)
		var refused atomic.Int64
		at.meet(func(w http.ResponseWriter, r *http.Request, _ http.Handler) bool {
			begins := r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == ""
			busy := begins && refused.Add(1) < 4
			if busy {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusServiceUnavailable)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32000,"message":"Server is starting"}}`)
			}
			return busy
		})
		at.put(kitHandler(second))

		require.Equal(t, "note:1", <-changes, "the program made no call in between")
		require.Equal(t, mcp.MethodToolListChanged, <-heard)
		require.Equal(t, "hello Ada", must(mcpclient.CallTool[welcomed](t.Context(), c, "greet", greeting{"Ada"})).Greeting)
		require.NoError(t, c.Err())
	})
}

func TestServerReturnsToHandshakeRevision(t *testing.T) {
	leaks.Check(t)
	at := newSite(kitHandler(newKit(nil)))
	c := connect(t, validatedURL(t, at), handlerOptions(mcpclient.Options{Logger: silent}))
	require.True(t, c.NoHandshake())
	at.put(kitHandler(newKit(&mcpserver.Options{Revisions: []wire.Revision{mcp.Revision20250618}})))
	require.Equal(t, "accept Ada true", callText(t, c, "ask"))
	require.Equal(t, mcp.Revision20250618, c.Revision())
}

// roundTrip handles HTTP requests without a network.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r), nil }

// opening returns a server that opens numbered sessions. The function rest handles other requests.
func opening(sessions *atomic.Int32, rest http.HandlerFunc) *mcpclient.URLEndpoint {
	to := mcpclient.URL("http://server.test/mcp")
	to.HTTP.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
		var m message
		if r.Body != nil {
			_ = json.NewDecoder(r.Body).Decode(&m)
		}
		w := httptest.NewRecorder()
		if m.Method == mcp.MethodInitialize {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", fmt.Sprint(sessions.Add(1)))
			fmt.Fprint(w, strings.ReplaceAll(ok(welcome), "$ID", string(m.ID)))
		} else {
			rest(w, r)
		}
		return w.Result()
	})}
	return to
}

// A server may end its streams and sessions at once, for example if each request reaches another
// process.
func TestBackoffIfSessionsEndAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sessions, streams atomic.Int32
		to := opening(&sessions, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodGet && streams.Add(1)%2 == 1:
				w.Header().Set("Content-Type", "text/event-stream")
			case r.Method == http.MethodGet:
				w.WriteHeader(http.StatusNotFound)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		})
		c, _ := listening(t, to, mcp.Revision20251125)
		time.Sleep(time.Hour)
		require.Less(t, int(sessions.Load()), 700)
		require.NoError(t, c.Close())
	})
}

func TestSessionLostDuringConnectIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sessions atomic.Int32
		to := opening(&sessions, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Header.Get("Mcp-Session-Id") == "1":
				w.WriteHeader(http.StatusNotFound)
			case r.Method == http.MethodGet:
				w.WriteHeader(http.StatusMethodNotAllowed)
			default:
				w.WriteHeader(http.StatusAccepted)
			}
		})
		c, _ := listening(t, to, mcp.Revision20251125)
		time.Sleep(time.Minute)
		require.EqualValues(t, 2, sessions.Load())
		require.NoError(t, c.Close())
	})
}

// Many servers reject all requests before notifications/initialized.
func TestInitializedIsRetried(t *testing.T) {
	for _, broken := range []int{1, 100} {
		synctest.Test(t, func(t *testing.T) {
			told, streams := 0, 0
			to := mcpclient.URL("http://server.test/mcp")
			to.HTTP.HTTPClient = &http.Client{Transport: roundTrip(func(r *http.Request) *http.Response {
				var m message
				if r.Body != nil {
					_ = json.NewDecoder(r.Body).Decode(&m)
				}
				w := httptest.NewRecorder()
				switch m.Method {
				case mcp.MethodInitialize:
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, strings.ReplaceAll(ok(welcome), "$ID", string(m.ID)))
				case "notifications/initialized":
					if told++; told <= broken {
						w.WriteHeader(http.StatusServiceUnavailable)
					}
				default:
					streams++
					w.WriteHeader(http.StatusMethodNotAllowed)
				}
				return w.Result()
			})}
			c, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Mode: mcpclient.Handshake, Logger: silent})
			if broken > 1 {
				require.ErrorContains(t, err, `send "notifications/initialized"`)
				require.ErrorContains(t, err, "503")
				return
			}
			require.NoError(t, err)
			defer c.Close()
			require.Equal(t, 2, told)
			require.Equal(t, 1, streams)
		})
	}
}

func TestServerWithoutTemplates(t *testing.T) {
	for declared, code := range map[string]int{`{"resources":{}}`: 0, `{}`: mcp.CodeMethodNotFound} {
		s := &script{answer: func(m message) string {
			switch m.Method {
			case mcp.MethodInitialize:
				return ok(`{"protocolVersion":"2025-11-25","capabilities":` + declared + `,"serverInfo":{"name":"old","version":"1"}}`)
			case mcp.MethodInitialized:
				return ""
			}
			return fail(mcp.CodeMethodNotFound, "null")
		}}
		c := connect(t, s.endpoint(t), nil)
		found := 0
		var err error
		for template, problem := range c.ResourceTemplates(t.Context()) {
			if err = problem; template != nil {
				found++
			}
		}
		require.Zero(t, found)
		if code == 0 {
			require.NoError(t, err)
		} else {
			require.Equal(t, int64(code), peer.AsError(err).Code)
		}
		for _, err := range c.Resources(t.Context()) {
			require.Equal(t, int64(mcp.CodeMethodNotFound), peer.AsError(err).Code, "only templates are optional")
		}
	}
}

// schemaServer is a server whose tools have output schemas that a test defines. It answers every
// call with structured content.
func schemaServer(t *testing.T, page func(n int) (tools []string, more bool)) (c *mcpclient.Client, pages *atomic.Int64) {
	pages = new(atomic.Int64)
	s := &script{answer: func(m message) string {
		switch m.Method {
		case mcp.MethodInitialize:
			return ok(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"old","version":"1"}}`)
		case mcp.MethodInitialized:
			return ""
		case mcp.MethodListTools:
			if m.Params["cursor"] == nil {
				pages.Store(0)
			}
			schemas, more := page(int(pages.Add(1)))
			var tools []string
			for i, schema := range schemas {
				tools = append(tools, fmt.Sprintf(`{"name":"t%d-%d","inputSchema":{"type":"object"},"outputSchema":%s}`, pages.Load(), i, schema))
			}
			next := ""
			if more {
				next = fmt.Sprintf(`,"nextCursor":"page %d"`, pages.Load())
			}
			return ok(`{"tools":[` + strings.Join(tools, ",") + `]` + next + `}`)
		case mcp.MethodCallTool:
			return ok(`{"content":[],"structuredContent":{"a":1}}`)
		}
		return fail(mcp.CodeMethodNotFound, "null")
	}}
	return connect(t, s.endpoint(t), nil), pages
}

func TestLargeSchemasOfServerAreBounded(t *testing.T) {
	large := `{"type":"object","description":"` + strings.Repeat("x", 1<<20-100) + `"}`
	c, pages := schemaServer(t, func(int) ([]string, bool) { return []string{large, large, large}, true })
	_, err := mcpclient.CallTool[map[string]any](t.Context(), c, "t1-0", nil)
	require.NoError(t, err, "the first schemas are stored")
	require.LessOrEqual(t, pages.Load(), int64(22), "64 MiB of a list are read")
	_, err = mcpclient.CallTool[map[string]any](t.Context(), c, "t7-0", nil)
	require.ErrorContains(t, err, "the schemas of the server have more than 16777216 bytes")

	tooLarge := `{"type":"object","description":"` + strings.Repeat("x", 1<<20) + `"}`
	c, _ = schemaServer(t, func(int) ([]string, bool) { return []string{tooLarge}, false })
	_, err = mcpclient.CallTool[map[string]any](t.Context(), c, "t1-0", nil)
	require.ErrorContains(t, err, "schema has more than 1048576 bytes")

	many := `{"type":"object","allOf":[true` + strings.Repeat(",true", 100_000) + `]}`
	c, _ = schemaServer(t, func(int) ([]string, bool) { return []string{many}, false })
	_, err = mcpclient.CallTool[map[string]any](t.Context(), c, "t1-0", nil)
	require.ErrorContains(t, err, "more than 100000 subschemas")
}

func TestListOfToolsHasTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pages := schemaServer(t, func(int) ([]string, bool) {
			time.Sleep(10 * time.Second)
			return []string{`{}`}, true
		})
		begun := time.Now()
		_, err := mcpclient.CallTool[map[string]any](t.Context(), c, "t", nil)
		require.NoError(t, err, "the tool is called without its schema")
		require.Less(t, time.Since(begun), 3*time.Minute)
		require.Less(t, pages.Load(), int64(20))
	})
}
