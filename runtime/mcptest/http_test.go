package mcptest_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestAnEndpointPassesInEveryRevision(t *testing.T) {
	for _, stream := range []bool{false, true} {
		e := newEndpoint(stream)
		changed := make(chan string, 10)
		mux := new(peer.Mux)
		mcp.HandleToolListChanged(mux, func(context.Context, *mcp.ToolListChangedNotification) error {
			changed <- "tools"
			return nil
		})
		client := mcptest.Client{Mux: mux}
		client.Run(t, mcptest.HTTP(e), func(t *testing.T, c *mcptest.Conn) {
			res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
			require.NoError(t, err)
			require.Equal(t, mcp.TextResult("hello").Content, res.Content)
			if mcp.Revisions[c.Revision().Index()].Handshake {
				require.Equal(t, "tools", <-changed, "the stream of what the server says by itself is open")
			}
		})
		require.Equal(t, []string{"1", "2", "3", "4"}, e.deleted)
	}
}

func TestAnEndpointIsToldWhatTheRevisionWants(t *testing.T) {
	e := newEndpoint(false)
	s := httptest.NewServer(e)
	t.Cleanup(s.Close)
	c := mcptest.Connect(t, mcptest.URL(s.URL, nil), "2026-07-28")
	for _, name := range []string{"none", "né ", "=?base64?eA==?="} {
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: name})
		require.Equal(t, int64(mcp.CodeInvalidParams), peer.AsError(err).Code, "%v", err)
	}
	require.NoError(t, c.Close())
	last := e.headers[len(e.headers)-1]
	require.Equal(t, "2026-07-28", last.Get("Mcp-Protocol-Version"))
	require.Equal(t, mcp.MethodCallTool, last.Get("Mcp-Method"))
	require.Equal(t, "=?base64?PT9iYXNlNjQ/ZUE9PT89?=", last.Get("Mcp-Name"))
	require.Empty(t, last.Get("Mcp-Session-Id"))

	c = mcptest.Connect(t, mcptest.URL(s.URL, s.Client()), "2025-06-18")
	_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	last = e.headers[len(e.headers)-1]
	require.Equal(t, "2025-06-18", last.Get("Mcp-Protocol-Version"))
	require.Equal(t, "1", last.Get("Mcp-Session-Id"))
}

func TestARequestOverHTTPCanBeGivenUp(t *testing.T) {
	e := newEndpoint(false)
	c := mcptest.Connect(t, mcptest.HTTP(e), "2026-07-28")
	ctx, cancel := context.WithCancel(t.Context())
	var call sync.WaitGroup
	call.Go(func() {
		if _, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: "wait"}); err == nil {
			t.Error("there is an answer")
		}
	})
	require.True(t, <-e.waits)
	cancel()
	call.Wait()
	require.False(t, <-e.waits, "the end of the exchange is the end of the request")
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	require.NoError(t, err)
}

func TestAnEndpointThatIsNoneIsAnError(t *testing.T) {
	failures := failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.HTTP(http.NotFoundHandler()), "2026-07-28") })
	require.Contains(t, failures[0], "HTTP 404 Not Found: 404 page not found")
	s := httptest.NewServer(nil)
	s.Close()
	failures = failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.URL(s.URL, nil), "2025-11-25") })
	require.Contains(t, failures[0], "refused")
	failures = failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.URL(":", nil), "2025-11-25") })
	require.Contains(t, failures[0], "missing protocol scheme")
}

func TestARequestThatAnEndpointDoesNotAnswerFails(t *testing.T) {
	const nobody = `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"not now"}}`
	for what, c := range map[string]struct {
		media, body string
		status      int
		problem     string
	}{
		"nothing":            {"", "", 200, "HTTP 200 OK: no answer"},
		"no more than taken": {"", "", 202, "HTTP 202 Accepted: no answer"},
		"empty JSON":         {"application/json", "", 200, "HTTP 200 OK: no answer"},
		"an empty stream":    {"text/event-stream", ": nothing\n\n", 200, "HTTP 200 OK: no answer"},
		"another's answer":   {"text/event-stream", `data: {"jsonrpc":"2.0","id":99,"result":{}}` + "\n\n", 200, "HTTP 200 OK: no answer"},
		"an error of nobody": {"application/json", nobody, 400, "HTTP 400 Bad Request: " + nobody},
		"several of these":   {"application/json", "[" + nobody + "]", 400, "HTTP 400 Bad Request: [" + nobody + "]"},
		"half an answer":     {"application/json", `{"jsonrpc":"2.0",`, 200, `HTTP 200 OK: {"jsonrpc"`},
	} {
		for _, revision := range []string{"2025-03-26", "2026-07-28"} {
			endpoint := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.media)
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			client := mcptest.Client{Report: func(*mcptest.Violation) {}}
			failures := failuresOf(func(t mcptest.TB) { client.Connect(t, mcptest.HTTP(endpoint), revision) })
			require.Len(t, failures, 1, what)
			require.Contains(t, failures[0], c.problem, what)
		}
	}
}

// record is a place for violations.
type record struct {
	mu    sync.Mutex
	found []string
}

func (r *record) report(v *mcptest.Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, v.From.String()+" "+short(v))
}

func (r *record) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.found
	r.found = nil
	return found
}

// say posts a message and returns what is answered.
func say(t *testing.T, client *http.Client, url, message string, header ...string) (string, http.Header) {
	t.Helper()
	req, err := http.NewRequest(http.MethodPost, url, strings.NewReader(message))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return string(body), res.Header
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	greet = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"greet"}}`
)

// taps are the two ways to listen to an HTTP endpoint.
var taps = map[string]func(report func(*mcptest.Violation), h http.Handler) (*httptest.Server, *http.Client){
	"handler": func(report func(*mcptest.Violation), h http.Handler) (*httptest.Server, *http.Client) {
		s := httptest.NewServer(mcptest.TapHandler(report, h))
		return s, s.Client()
	},
	"transport": func(report func(*mcptest.Violation), h http.Handler) (*httptest.Server, *http.Client) {
		s := httptest.NewServer(h)
		return s, &http.Client{Transport: mcptest.TapTransport(report, nil)}
	},
}

// spoilt is a handler that greets with a result that is none.
func spoilt(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(bytes.ReplaceAll(rec.Body.Bytes(), []byte(`"text":"hello"`), []byte(`"text":0`)))
	})
}

func TestATapJudgesWhatPassesAnEndpoint(t *testing.T) {
	for name, tap := range taps {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " stream=", stream), func(t *testing.T) {
				var r record
				s, client := tap(r.report, spoilt(newEndpoint(stream)))
				defer s.Close()
				_, header := say(t, client, s.URL, hello)
				session := header.Get("Mcp-Session-Id")
				say(t, client, s.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", session)
				require.Empty(t, r.take())

				say(t, client, s.URL, greet, "Mcp-Session-Id", session)
				require.Equal(t, []string{"server 2025-06-18 /result/content/0/text expected string, but got number"}, r.take())
				say(t, client, s.URL, `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`, "Mcp-Session-Id", session)
				require.Equal(t, []string{"client 2025-06-18 missing properties: 'params'"}, r.take())

				say(t, client, s.URL, `nonsense`, "Mcp-Protocol-Version", "2024-11-05")
				require.Len(t, r.take(), 1)
			})
		}
	}
}

func TestATapLetsEverythingThrough(t *testing.T) {
	for name, tap := range taps {
		t.Run(name, func(t *testing.T) {
			var r record
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, err := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, r.Method, " ", n, " ", err)
			})
			s, client := tap(r.report, h)
			defer s.Close()
			text, _ := say(t, client, s.URL, strings.Repeat(" ", 20<<20))
			require.Equal(t, fmt.Sprint("POST ", 20<<20, " <nil>"), text, "long bodies are for the server to refuse")
			text, _ = say(t, client, s.URL, "what", "Content-Type", "text/plain")
			require.Equal(t, "POST 4 <nil>", text)
			res, err := client.Get(s.URL)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Empty(t, r.take())
		})
	}
}

func TestATapDoesNotHoldUpAStream(t *testing.T) {
	for name, tap := range taps {
		t.Run(name, func(t *testing.T) {
			var r record
			const event = "data: {\"jsonrpc\":\"2.0\"}\n\n"
			read := make(chan struct{})
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprint(w, event)
				w.(http.Flusher).Flush()
				<-read
			})
			s, client := tap(r.report, h)
			defer s.Close()
			defer close(read)
			res, err := client.Get(s.URL)
			require.NoError(t, err)
			defer res.Body.Close()
			_, err = io.ReadFull(res.Body, make([]byte, len(event)))
			require.NoError(t, err)
			require.Equal(t, []string{"server 2025-03-26 it is neither a request nor a notification nor an answer"}, r.take())
		})
	}
}

func TestWithoutASessionAnAnswerMayBelongToAnotherExchange(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n")
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(s.Close)
	var found record
	client := &http.Client{Transport: mcptest.TapTransport(found.report, nil)}
	const version, answer = "Mcp-Protocol-Version", `{"jsonrpc":"2.0","id":1,"result":{}}`
	say(t, client, s.URL, answer, version, "2025-06-18")
	say(t, client, s.URL, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, version, "2025-06-18")
	require.Empty(t, found.take(), "the server has asked in another exchange")
	for _, last := range []string{"7", ""} {
		req, err := http.NewRequest(http.MethodGet, s.URL, nil)
		require.NoError(t, err)
		req.Header.Set(version, "2025-06-18")
		req.Header.Set("Last-Event-ID", last)
		res, err := client.Do(req)
		require.NoError(t, err)
		_, err = io.ReadAll(res.Body)
		require.NoError(t, err)
		require.NoError(t, res.Body.Close())
	}
	require.Equal(t, []string{"server 2025-06-18 /id the client has not sent a request with the id 3"}, found.take())
	say(t, client, s.URL, `{"jsonrpc":"2.0","id":1,"result":5}`, version, "2025-06-18")
	require.Equal(t, []string{"client 2025-06-18 /result expected object, but got number"}, found.take())
	say(t, client, s.URL, answer, version, "2026-07-28")
	say(t, client, s.URL, answer, version, "2025-06-18", "Mcp-Session-Id", "x")
	require.Equal(t, []string{
		"client 2026-07-28 /id the server has not sent a request with the id 1",
		"client 2025-06-18 /id the server has not sent a request with the id 1",
	}, found.take())
}

func TestAStreamThatIsTakenUpAgainMayRepeatItself(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Mcp-Session-Id", "s")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	})
	for name, tap := range taps {
		t.Run(name, func(t *testing.T) {
			var r record
			s, client := tap(r.report, h)
			defer s.Close()
			say(t, client, s.URL, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			say(t, client, s.URL, ``, "Mcp-Session-Id", "s", "Last-Event-ID", "1")
			require.Empty(t, r.take())
			say(t, client, s.URL, ``, "Mcp-Session-Id", "s")
			require.Equal(t, []string{"server 2025-03-26 /id the request has been answered before"}, r.take())
		})
	}
}

func TestWhatHTTPItselfRefusesMayComeAgain(t *testing.T) {
	for _, refusal := range []struct {
		status      int
		media, body string
	}{
		{http.StatusUnauthorized, "application/json", `{"error":"invalid_token","error_description":"expired"}`},
		{http.StatusForbidden, "application/json", `{"error":"insufficient_scope"}`},
		{http.StatusServiceUnavailable, "text/plain", "later"},
		{http.StatusTooManyRequests, "", ""},
	} {
		refuse := false
		h := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusEarlyHints)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Mcp-Session-Id", "1")
			if refuse = !refuse; !refuse {
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":5}`)
				return
			}
			w.Header().Set("Content-Type", refusal.media)
			w.WriteHeader(refusal.status)
			_, _ = io.WriteString(w, refusal.body)
		})
		var found, heard record
		s := httptest.NewServer(mcptest.TapHandler(heard.report, h))
		client := &http.Client{Transport: mcptest.TapTransport(found.report, nil)}
		const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		for range 2 {
			say(t, client, s.URL, ping, "Mcp-Session-Id", "1", "Mcp-Protocol-Version", "2025-06-18")
		}
		s.Close()
		want := []string{"server 2025-06-18 /result expected object, but got number"}
		require.Equal(t, want, found.take(), refusal)
		require.Equal(t, want, heard.take(), refusal)
	}
}

func TestARequestMayBeSentOnAndAgain(t *testing.T) {
	for name, tap := range taps {
		var r record
		s, client := tap(r.report, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
		}))
		say(t, client, s.URL, greet, "Mcp-Session-Id", "1", "Mcp-Protocol-Version", "2025-06-18")
		require.Empty(t, r.take(), name)
		s.Close()
	}

	lost := true
	var r record
	client := &http.Client{Transport: mcptest.TapTransport(r.report, roundTrip(func(req *http.Request) (*http.Response, error) {
		if lost = !lost; !lost {
			return nil, io.ErrUnexpectedEOF
		}
		rec := httptest.NewRecorder()
		rec.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rec, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
		return rec.Result(), nil
	}))}
	req, err := http.NewRequest(http.MethodPost, "http://localhost/", strings.NewReader(greet))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Mcp-Session-Id", "1")
	_, err = client.Do(req)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	say(t, client, "http://localhost/", greet, "Mcp-Session-Id", "1")
	require.Empty(t, r.take())
}

// roundTrip is a transport that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestHTTPIsJudgedAroundTheMessages(t *testing.T) {
	const (
		version, session = "Mcp-Protocol-Version", "Mcp-Session-Id"
		ping             = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		told             = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
		pong             = `{"jsonrpc":"2.0","id":1,"result":{}}`
		modern           = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		unknown          = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}`
		lacking          = `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"lacking","data":{"requiredCapabilities":{}}}}`
		either           = `the content type of an answer is "application/json" or "text/event-stream", not `
	)
	for _, c := range []struct {
		what, message, media, body string
		status                     int
		sessions                   []string
		problem                    string // empty for none
	}{
		{"an answer", ping, "application/json", pong, 200, nil, ""},
		{"a stream", ping, "text/event-stream", "data: " + pong + "\n\n", 200, nil, ""},
		{"an answer of another type", ping, "text/html", "<p>", 200, nil, `HTTP 200 OK: ` + either + `"text/html"`},
		{"an answer of a broken type", ping, "application/json; x", pong, 200, nil, `HTTP 200 OK: ` + either + `"application/json; x"`},
		{"an answer that was created", ping, "application/json", pong, 201, nil, "HTTP 201 Created: a request is answered with the status 200"},
		{"a request that was taken", ping, "", "", 202, nil, "HTTP 202 Accepted: a request is answered with the status 200"},
		{"a result that is a failure", ping, "application/json", pong, 500, nil, "HTTP 500 Internal Server Error: such an answer has the status 200"},
		{"a stream that is a failure", ping, "text/event-stream", "data: " + pong + "\n\n", 400, nil, "HTTP 400 Bad Request: a stream has the status 200"},
		{"a failure of HTTP", ping, "text/plain", "no", 599, nil, ""},
		{"an error of older revisions", ping, "application/json", unknown, 200, nil, ""},
		{"the same as a failure", ping, "application/json", unknown, 400, nil, ""},
		{"an unknown method", modern, "application/json", unknown, 404, nil, ""},
		{"an unknown method that is there", modern, "application/json", unknown, 200, nil, "HTTP 200 OK: such an answer has the status 404"},
		{"a capability that is lacking", modern, "application/json", lacking, 400, nil, ""},
		{"the same without a failure", modern, "application/json", lacking, 200, nil, "HTTP 200 OK: such an answer has the status 400"},
		{"an error in a stream", modern, "text/event-stream", "data: " + unknown + "\n\n", 200, nil, ""},
		{"a notification that was taken", told, "", "", 202, nil, ""},
		{"a notification that was refused", told, "", "", 400, nil, ""},
		{"a notification that was answered", told, "", "", 200, nil, "HTTP 200 OK: what wants no answer is taken with the status 202"},
		{"an answer that was answered", unknown, "", "", 204, nil, "HTTP 204 No Content: what wants no answer is taken with the status 202"},
		{"no message", "[]", "", "", 200, nil, ""},
		{"the same session", ping, "application/json", pong, 200, []string{"s"}, ""},
		{"another session", ping, "application/json", pong, 200, []string{"t"}, `HTTP 200 OK: the session of the request is "s", not "t"`},
		{"two sessions", ping, "application/json", pong, 200, []string{"s", "t"}, `HTTP 200 OK: a session id is one word of visible ASCII, not ["s" "t"]`},
		{"a session of two words", ping, "application/json", pong, 200, []string{"a b"}, `HTTP 200 OK: a session id is one word of visible ASCII, not ["a b"]`},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			if c.media != "" {
				w.Header().Set("Content-Type", c.media)
			}
			w.Header()[session] = c.sessions
			if c.status != http.StatusOK || c.body == "" {
				w.WriteHeader(c.status)
			}
			_, _ = io.WriteString(w, c.body)
		})
		for name, tap := range taps {
			var problems []string
			s, client := tap(func(v *mcptest.Violation) {
				if v.Pointer == "" && strings.HasPrefix(v.Problem, "HTTP ") {
					problems = append(problems, v.Problem)
				}
			}, h)
			say(t, client, s.URL, c.message, session, "s", version, "2025-06-18")
			s.Close()
			if c.problem == "" {
				require.Empty(t, problems, "%s: %s", name, c.what)
			} else {
				require.Equal(t, []string{c.problem}, problems, "%s: %s", name, c.what)
			}
		}
	}
}

func TestAStreamIsNothingElse(t *testing.T) {
	for name, tap := range taps {
		var r record
		s, client := tap(r.report, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/none" {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		}))
		for _, path := range []string{"/none", "/"} {
			req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
			require.NoError(t, err)
			req.Header.Set("Accept", "text/event-stream")
			res, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
		}
		s.Close()
		require.Equal(t, []string{`server 2025-03-26 HTTP 200 OK: a stream has the content type "text/event-stream", not "application/json"; where there is none the status is 405`}, r.take(), name)
	}
}

func TestARequestThatNobodyWaitsForNeedsNoResponse(t *testing.T) {
	var r record
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(greet))
	req.Header.Set("Content-Type", "application/json")
	mcptest.TapHandler(r.report, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), req)
	require.Empty(t, r.take())
}

func TestHTTPIsJudgedWhileAnEndpointIsTested(t *testing.T) {
	for problem, spoil := range map[string]func(w http.ResponseWriter, notification bool) bool{
		`2025-06-18: the server's answer to "tools/call": HTTP 201 Created: a request is answered with the status 200`: func(w http.ResponseWriter, notification bool) bool {
			if !notification {
				w.WriteHeader(http.StatusCreated)
			}
			return false
		},
		`2025-06-18: the server's answer to "notifications/roots/list_changed": HTTP 500 Internal Server Error: no`: func(w http.ResponseWriter, notification bool) bool {
			if notification {
				http.Error(w, "no", http.StatusInternalServerError)
			}
			return notification
		},
		`2025-06-18: the server's answer to "notifications/roots/list_changed": HTTP 400 Bad Request: {"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`: func(w http.ResponseWriter, notification bool) bool {
			if notification {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"jsonrpc":"2.0","error":{"code":-32600,"message":"no"}}`)
			}
			return notification
		},
	} {
		e := newEndpoint(false)
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			notification := bytes.Contains(body, []byte("list_changed"))
			if bytes.Contains(body, []byte("tools/call")) || notification {
				w.Header().Set("Content-Type", "application/json")
				if spoil(w, notification) {
					return
				}
			}
			e.ServeHTTP(w, r)
		})
		failures := failuresOf(func(tb mcptest.TB) {
			client := mcptest.Client{Capabilities: &mcp.ClientCapabilities{Roots: &mcp.RootsCapability{ListChanged: true}}}
			c := client.Connect(tb, mcptest.HTTP(h), "2025-06-18")
			if err := c.RootsListChanged(t.Context(), &mcp.RootsListChangedNotification{}); err != nil {
				t.Error(err)
			}
			if _, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"}); err != nil {
				t.Error(err)
			}
		})
		require.Len(t, failures, 1, problem)
		require.Contains(t, failures[0], problem+"\n")
	}
}

func TestATapLeavesTheWriterWhatItCan(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Error(err)
		}
	})
	s := httptest.NewServer(mcptest.TapHandler(nil, h))
	defer s.Close()
	res, err := s.Client().Get(s.URL)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
}

func TestABodyThatCannotBeReadIsTheHandlersBusiness(t *testing.T) {
	var failure error
	h := mcptest.TapHandler(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, failure = io.ReadAll(r.Body)
	}))
	r := httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(io.ErrNoProgress))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.ErrorIs(t, failure, io.ErrNoProgress)
}

func TestATransportTellsOfWhatFails(t *testing.T) {
	client := &http.Client{Transport: mcptest.TapTransport(nil, http.NewFileTransport(http.Dir(t.TempDir())))}
	res, err := client.Get("http://localhost/none")
	require.NoError(t, err)
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	require.NoError(t, res.Body.Close())
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "{")
	}))
	client = &http.Client{Transport: mcptest.TapTransport(nil, nil)}
	res, err = client.Get(s.URL)
	require.NoError(t, err)
	text, err := io.ReadAll(res.Body)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.Equal(t, "{", string(text))
	require.NoError(t, res.Body.Close())
	s.Close()
	_, err = client.Get(s.URL)
	require.Error(t, err)
}
