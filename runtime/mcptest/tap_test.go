package mcptest_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/mcptest"
)

func TestTapPipe(t *testing.T) {
	var found []string
	ours, theirs := net.Pipe()
	tapped := mcptest.TapPipe(func(v *mcptest.Violation) { found = append(found, short(v)) }, ours, mcptest.FromServer)
	go func() { // ends when the pipe is closed
		defer theirs.Close()
		_, _ = io.WriteString(theirs, "\r\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n")
		_, _ = io.Copy(io.Discard, io.LimitReader(theirs, 37))
		_, _ = io.WriteString(theirs, "half")
	}()
	lines := bufio.NewReader(tapped)
	for range 2 {
		_, err := lines.ReadString('\n')
		require.NoError(t, err)
	}
	for _, part := range []string{`{"jsonrpc":"2.0"`, `,"id":1,"result":`, "{}}\n"} {
		_, err := io.WriteString(tapped, part)
		require.NoError(t, err)
	}
	require.Empty(t, found)
	_, err := io.ReadAll(lines)
	require.NoError(t, err)
	require.Equal(t, []string{"2025-11-25 invalid JSON: unexpected 'h'"}, found, "the last line needs no line end")
	require.NoError(t, tapped.Close())
}

func TestFirstRequestOnAPipeSelectsTheRevision(t *testing.T) {
	const (
		ping      = `{"jsonrpc":"2.0","id":"p","method":"ping"}`
		logged    = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}`
		roots     = `{"jsonrpc":"2.0","id":2,"method":"roots/list"}`
		changed   = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`
		list      = `{"jsonrpc":"2.0","id":3,"method":"tools/list"}`
		ready     = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
		stateless = `{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	)
	for _, first := range []string{hello, stateless} {
		var found []string
		ours, theirs := net.Pipe()
		tapped := mcptest.TapPipe(func(v *mcptest.Violation) { found = append(found, short(v)) }, ours, mcptest.FromClient)
		server := bufio.NewReader(theirs)
		send := func(from mcptest.Sender, message string) []string {
			found = nil
			writer, reader := io.Writer(theirs), bufio.NewReader(tapped)
			if from == mcptest.FromClient {
				writer, reader = tapped, server
			}
			go io.WriteString(writer, message+"\n") // ends when it has been read
			_, err := reader.ReadString('\n')
			require.NoError(t, err)
			return found
		}
		const early = "2025-11-25 the client has not selected a revision yet"
		require.Empty(t, send(mcptest.FromServer, ping))
		require.Empty(t, send(mcptest.FromClient, ping))
		require.Empty(t, send(mcptest.FromServer, logged))
		require.Equal(t, []string{early}, send(mcptest.FromServer, roots))
		require.Equal(t, []string{early}, send(mcptest.FromServer, changed))
		require.Equal(t, []string{early}, send(mcptest.FromClient, list))
		require.Equal(t, []string{early}, send(mcptest.FromClient, ready))
		require.Empty(t, send(mcptest.FromClient, first))
		require.Empty(t, send(mcptest.FromServer, changed))
		require.NoError(t, tapped.Close())
	}
}

// post posts a message and returns the body and the header of the response.
func post(t *testing.T, client *http.Client, url, message string, header ...string) (string, http.Header) {
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

// taps start an HTTP server for a handler with each kind of tap, and return a client.
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

// invalidGreeting returns a handler that changes greetings of another handler to an
// invalid result.
func invalidGreeting(h http.Handler) http.Handler {
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

func TestTapsValidateMessages(t *testing.T) {
	for name, tap := range taps {
		for _, stream := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " stream=", stream), func(t *testing.T) {
				var r violations
				s, client := tap(r.report, invalidGreeting(newEndpoint(stream)))
				defer s.Close()
				_, header := post(t, client, s.URL, hello)
				session := header.Get("Mcp-Session-Id")
				post(t, client, s.URL, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, "Mcp-Session-Id", session)
				require.Empty(t, r.take())

				post(t, client, s.URL, greet, "Mcp-Session-Id", session)
				require.Equal(t, []string{"server 2025-06-18 /result/content/0/text expected string, but got number"}, r.take())
				post(t, client, s.URL, `{"jsonrpc":"2.0","id":3,"method":"tools/call"}`, "Mcp-Session-Id", session)
				require.Equal(t, []string{"client 2025-06-18 missing properties: 'params'"}, r.take())

				post(t, client, s.URL, `nonsense`, "Mcp-Protocol-Version", "2024-11-05")
				require.Len(t, r.take(), 1)
			})
		}
	}
}

func TestTapsPassOtherContent(t *testing.T) {
	for name, tap := range taps {
		t.Run(name, func(t *testing.T) {
			var r violations
			h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				n, err := io.Copy(io.Discard, r.Body)
				fmt.Fprint(w, r.Method, " ", n, " ", err)
			})
			s, client := tap(r.report, h)
			defer s.Close()
			text, _ := post(t, client, s.URL, strings.Repeat(" ", 20<<20))
			require.Equal(t, fmt.Sprint("POST ", 20<<20, " <nil>"), text, "a long body is not validated")
			text, _ = post(t, client, s.URL, "what", "Content-Type", "text/plain")
			require.Equal(t, "POST 4 <nil>", text)
			res, err := client.Get(s.URL)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
			require.Empty(t, r.take())
		})
	}
}

func TestTapsDoNotDelayStreams(t *testing.T) {
	for name, tap := range taps {
		t.Run(name, func(t *testing.T) {
			var r violations
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
			require.Equal(t, []string{"server 2025-03-26 not a request, a notification or a response"}, r.take())
		})
	}
}

func TestResponsesOfOtherExchangesWithoutSession(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, "data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n")
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	t.Cleanup(s.Close)
	var found violations
	client := &http.Client{Transport: mcptest.TapTransport(found.report, nil)}
	const version, response = "Mcp-Protocol-Version", `{"jsonrpc":"2.0","id":1,"result":{}}`
	post(t, client, s.URL, response, version, "2025-06-18")
	post(t, client, s.URL, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}`, version, "2025-06-18")
	require.Empty(t, found.take(), "the request of the server may be in another exchange")
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
	post(t, client, s.URL, `{"jsonrpc":"2.0","id":1,"result":5}`, version, "2025-06-18")
	require.Equal(t, []string{"client 2025-06-18 /result expected object, but got number"}, found.take())
	post(t, client, s.URL, response, version, "2026-07-28")
	post(t, client, s.URL, response, version, "2025-06-18", "Mcp-Session-Id", "x")
	require.Equal(t, []string{
		"client 2026-07-28 /id the server has not sent a request with the id 1",
		"client 2025-06-18 /id the server has not sent a request with the id 1",
	}, found.take())
}

func TestResumedStreamsMayRepeatMessages(t *testing.T) {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Mcp-Session-Id", "s")
		fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	})
	for name, tap := range taps {
		t.Run(name, func(t *testing.T) {
			var r violations
			s, client := tap(r.report, h)
			defer s.Close()
			post(t, client, s.URL, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
			post(t, client, s.URL, ``, "Mcp-Session-Id", "s", "Last-Event-ID", "1")
			require.Empty(t, r.take())
			post(t, client, s.URL, ``, "Mcp-Session-Id", "s")
			require.Equal(t, []string{"server 2025-03-26 /id the request already has a response"}, r.take())
		})
	}
}

func TestRequestsRefusedByHTTPMayBeRepeated(t *testing.T) {
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
		var fromTransport, fromHandler violations
		s := httptest.NewServer(mcptest.TapHandler(fromHandler.report, h))
		client := &http.Client{Transport: mcptest.TapTransport(fromTransport.report, nil)}
		const ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
		for range 2 {
			post(t, client, s.URL, ping, "Mcp-Session-Id", "1", "Mcp-Protocol-Version", "2025-06-18")
		}
		s.Close()
		want := []string{"server 2025-06-18 /result expected object, but got number"}
		require.Equal(t, want, fromTransport.take(), refusal)
		require.Equal(t, want, fromHandler.take(), refusal)
	}
}

func TestRedirectedAndFailedRequestsMayBeRepeated(t *testing.T) {
	for name, tap := range taps {
		var r violations
		s, client := tap(r.report, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/redirected", http.StatusTemporaryRedirect)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`)
		}))
		post(t, client, s.URL, greet, "Mcp-Session-Id", "1", "Mcp-Protocol-Version", "2025-06-18")
		require.Empty(t, r.take(), name)
		s.Close()
	}

	fail := false
	var r violations
	client := &http.Client{Transport: mcptest.TapTransport(r.report, roundTrip(func(req *http.Request) (*http.Response, error) {
		if fail = !fail; fail {
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
	post(t, client, "http://localhost/", greet, "Mcp-Session-Id", "1")
	require.Empty(t, r.take())
}

// roundTrip is a function that implements [http.RoundTripper].
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestStatusAndHeaderAreValidated(t *testing.T) {
	const (
		version, session = "Mcp-Protocol-Version", "Mcp-Session-Id"
		ping             = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
		changed          = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`
		pong             = `{"jsonrpc":"2.0","id":1,"result":{}}`
		modern           = `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
		unknown          = `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown"}}`
		missing          = `{"jsonrpc":"2.0","id":1,"error":{"code":-32021,"message":"missing","data":{"requiredCapabilities":{}}}}`
		either           = `the response to a request must have the content type "application/json" or "text/event-stream", not `
	)
	for _, c := range []struct {
		name, message, media, body string
		status                     int
		sessions                   []string
		problem                    string // empty for none
	}{
		{"a response", ping, "application/json", pong, 200, nil, ""},
		{"a stream", ping, "text/event-stream", "data: " + pong + "\n\n", 200, nil, ""},
		{"a response of another type", ping, "text/html", "<p>", 200, nil, `HTTP 200 OK: ` + either + `"text/html"`},
		{"a response of an invalid type", ping, "application/json; x", pong, 200, nil, `HTTP 200 OK: ` + either + `"application/json; x"`},
		{"a response with status 201", ping, "application/json", pong, 201, nil, "HTTP 201 Created: the response to a request must have the status 200"},
		{"an accepted request", ping, "", "", 202, nil, "HTTP 202 Accepted: the response to a request must have the status 200"},
		{"a result with status 500", ping, "application/json", pong, 500, nil, "HTTP 500 Internal Server Error: this response must have the status 200"},
		{"a stream with status 400", ping, "text/event-stream", "data: " + pong + "\n\n", 400, nil, "HTTP 400 Bad Request: a stream must have the status 200"},
		{"an HTTP error", ping, "text/plain", "no", 599, nil, ""},
		{"an error of a handshake revision", ping, "application/json", unknown, 200, nil, ""},
		{"the same error with status 400", ping, "application/json", unknown, 400, nil, ""},
		{"an unknown method", modern, "application/json", unknown, 404, nil, ""},
		{"an unknown method with status 200", modern, "application/json", unknown, 200, nil, "HTTP 200 OK: this response must have the status 404"},
		{"a missing capability", modern, "application/json", missing, 400, nil, ""},
		{"a missing capability with status 200", modern, "application/json", missing, 200, nil, "HTTP 200 OK: this response must have the status 400"},
		{"an error in a stream", modern, "text/event-stream", "data: " + unknown + "\n\n", 200, nil, ""},
		{"an accepted notification", changed, "", "", 202, nil, ""},
		{"a rejected notification", changed, "", "", 400, nil, ""},
		{"a notification with status 200", changed, "", "", 200, nil, "HTTP 200 OK: an accepted notification or response must have the status 202"},
		{"a response with status 204", unknown, "", "", 204, nil, "HTTP 204 No Content: an accepted notification or response must have the status 202"},
		{"an empty batch", "[]", "", "", 200, nil, ""},
		{"the same session", ping, "application/json", pong, 200, []string{"s"}, ""},
		{"another session", ping, "application/json", pong, 200, []string{"t"}, `HTTP 200 OK: the session id of the request is "s", not "t"`},
		{"two sessions", ping, "application/json", pong, 200, []string{"s", "t"}, `HTTP 200 OK: a session id must be one value of visible ASCII characters, not ["s" "t"]`},
		{"a session id with a space", ping, "application/json", pong, 200, []string{"a b"}, `HTTP 200 OK: a session id must be one value of visible ASCII characters, not ["a b"]`},
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
		for kind, tap := range taps {
			var problems []string
			s, client := tap(func(v *mcptest.Violation) {
				if v.Pointer == "" && strings.HasPrefix(v.Problem, "HTTP ") {
					problems = append(problems, v.Problem)
				}
			}, h)
			post(t, client, s.URL, c.message, session, "s", version, "2025-06-18")
			s.Close()
			if c.problem == "" {
				require.Empty(t, problems, "%s: %s", kind, c.name)
			} else {
				require.Equal(t, []string{c.problem}, problems, "%s: %s", kind, c.name)
			}
		}
	}
}

func TestSessionStreamMustBeAStream(t *testing.T) {
	for name, tap := range taps {
		var r violations
		s, client := tap(r.report, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if r.URL.Path == "/no-stream" {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
		}))
		for _, path := range []string{"/no-stream", "/"} {
			req, err := http.NewRequest(http.MethodGet, s.URL+path, nil)
			require.NoError(t, err)
			req.Header.Set("Accept", "text/event-stream")
			res, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, res.Body.Close())
		}
		s.Close()
		require.Equal(t, []string{`server 2025-03-26 HTTP 200 OK: a stream must have the content type "text/event-stream", not "application/json"; without a stream, the status must be 405`}, r.take(), name)
	}
}

func TestAbandonedRequestNeedsNoResponse(t *testing.T) {
	var r violations
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader(greet))
	req.Header.Set("Content-Type", "application/json")
	mcptest.TapHandler(r.report, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})).ServeHTTP(httptest.NewRecorder(), req)
	require.Empty(t, r.take())
}

func TestTapHandlerKeepsResponseControllers(t *testing.T) {
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

func TestTapHandlerPassesBodyErrors(t *testing.T) {
	var failure error
	h := mcptest.TapHandler(nil, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, failure = io.ReadAll(r.Body)
	}))
	r := httptest.NewRequest(http.MethodPost, "/", iotest.ErrReader(io.ErrNoProgress))
	r.Header.Set("Content-Type", "application/json")
	h.ServeHTTP(httptest.NewRecorder(), r)
	require.ErrorIs(t, failure, io.ErrNoProgress)
}

func TestTapTransportPassesErrors(t *testing.T) {
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

func TestRefusedMessagesMayBeSentAgain(t *testing.T) {
	attempts := 0
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		require.NoError(t, err)
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Mcp-Session-Id", "s")
		switch attempts++; {
		case attempts%2 == 1:
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			id := "1"
			if strings.Contains(string(data), "result") {
				id = "null"
			}
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"busy"}}`, id)
		case strings.Contains(string(data), "result"):
			w.Header().Del("Content-Type")
			w.WriteHeader(http.StatusAccepted)
		default:
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ping\"}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		}
	})
	for name, tap := range taps {
		t.Run(name, func(t *testing.T) {
			var r violations
			s, client := tap(r.report, h)
			defer s.Close()
			for _, message := range []string{`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":7,"result":{}}`} {
				for range 2 {
					post(t, client, s.URL, message, "Mcp-Session-Id", "s")
				}
			}
			require.Empty(t, r.take())
			attempts++
			post(t, client, s.URL, `{"jsonrpc":"2.0","id":7,"result":{}}`, "Mcp-Session-Id", "s")
			require.Equal(t, []string{"client 2025-03-26 /id the request already has a response"}, r.take())
			attempts = 0
		})
	}
}
