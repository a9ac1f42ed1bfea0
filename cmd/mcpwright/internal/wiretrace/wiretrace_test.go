package wiretrace

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/mcptest"
)

const (
	initialize  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`
)

// collect returns a recorder, and a function that ends it and returns its events as text.
func collect(t *testing.T, opts Options) (*Recorder, func() []string) {
	var mu sync.Mutex
	var lines []string
	opts.OnEvent = func(e *Event) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, short(e))
	}
	r := NewRecorder(opts)
	return r, func() []string {
		require.True(t, r.Close(10*time.Second))
		return lines
	}
}

// short returns an event without what differs between runs.
func short(e *Event) string {
	line := fmt.Sprint(e.N, " ", e.Connection, " ", e.From, " ", e.Kind)
	add := func(name string, value any, shown bool) {
		if shown {
			line += fmt.Sprint(" ", name, "=", value)
		}
	}
	add("method", e.Method, e.Method != "")
	add("id", string(e.ID), e.ID != nil)
	add("to", e.RespondsTo, e.RespondsTo != 0)
	add("rev", e.Revision, e.Revision != "")
	add("clipped", e.Size, e.Clipped)
	if e.HTTP != nil {
		add("http", fmt.Sprint(e.HTTP.Exchange, " ", e.HTTP.Method, e.HTTP.Path, e.HTTP.Status), true)
	}
	add("text", e.Text, e.Text != "")
	for _, v := range e.Violations {
		line += fmt.Sprint(" !", v.Pointer, ": ", v.Problem)
	}
	return line
}

func TestPipe(t *testing.T) {
	r, end := collect(t, Options{MaxMessage: 300})
	p := r.Pipe()
	for _, c := range []byte(initialize + "\r\n\n") { // byte by byte
		p.Copied(mcptest.FromClient, []byte{c})
	}
	p.Copied(mcptest.FromServer, []byte(initialized+"\nhello \"x\"\n"+`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`+"\n"))
	p.Copied(mcptest.FromClient, []byte(`{"jsonrpc":"2.0","id":"a","method":"tools/call","params":{"name":"x","_meta":{"progressToken":"p"}}}`+"\n"))
	p.Copied(mcptest.FromServer, []byte(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"p","progress":1}}`+"\n"))
	p.Copied(mcptest.FromServer, []byte(`{"jsonrpc":"2.0","id":"\u0061","result":{"content":1}}`+"\n"+`{"id":9,"result":`))
	p.Copied(mcptest.FromServer, []byte(`"`+strings.Repeat("x", 1000)+`"}`+"\n"))
	p.Copied(mcptest.FromClient, []byte(`[]`))
	p.Ended(mcptest.FromClient)
	p.Ended(mcptest.FromServer)
	require.Equal(t, []string{
		`1 1 client request method=initialize id=0 rev=2025-06-18`,
		`2 1 server response method=initialize id=0 to=1 rev=2025-06-18`,
		`3 1 server text rev=2025-06-18 text=hello "x" !: invalid JSON: unexpected 'h'`,
		`4 1 server notification method=notifications/progress rev=2025-06-18`,
		`5 1 client request method=tools/call id="a" rev=2025-06-18`,
		`6 1 server notification method=notifications/progress to=5 rev=2025-06-18`,
		`7 1 server response method=tools/call id="\u0061" to=5 rev=2025-06-18 !/result/content: expected array, but got number`,
		`8 1 server response id=9 clipped=1020 text={"id":9,"result":"` + strings.Repeat("x", 282),
		`9 1 client batch rev=2025-06-18 !: the revision has no batches`,
	}, end())
}

func TestSlowObserverLosesMessagesButDoesNotBlock(t *testing.T) {
	release := make(chan struct{})
	var events []*Event
	r := NewRecorder(Options{MaxWaiting: 4000, OnEvent: func(e *Event) {
		<-release
		events = append(events, e)
	}})
	p := r.Pipe()
	p.Copied(mcptest.FromClient, []byte(initialize+"\n"))
	for id := range 100 {
		p.Copied(mcptest.FromClient, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", id))
	}
	close(release)
	require.Eventually(t, func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.waiting == 0
	}, 10*time.Second, time.Millisecond)
	p.Copied(mcptest.FromServer, []byte(`{"jsonrpc":"2.0","id":99,"result":{}}`+"\n"))
	require.True(t, r.Close(10*time.Second))
	require.Greater(t, r.Lost(), 50)
	require.Len(t, events, 102-r.Lost())
	require.Empty(t, events[len(events)-1].Violations, "the request was lost")
}

// tap observes the exchanges of a handler.
func tap(r *Recorder, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		x := r.Exchange(req, req.URL.Path == "/mcp" || req.URL.Path == "/post")
		sent, _ := io.ReadAll(req.Body)
		x.Sent(sent)
		x.SentAll()
		answer := httptest.NewRecorder()
		next.ServeHTTP(answer, req)
		x.Header(answer.Code, answer.Header())
		for _, b := range answer.Body.Bytes() {
			x.Received([]byte{b})
		}
		x.ReceivedAll()
		for name, values := range answer.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write(answer.Body.Bytes())
	})
}

// answer is a response of HTTP.
type answer struct {
	status       int
	media, body  string
	name, header string
}

func TestExchanges(t *testing.T) {
	r, end := collect(t, Options{})
	var next answer
	h := tap(r, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", next.media)
		if next.name != "" {
			w.Header().Set(next.name, next.header)
		}
		w.WriteHeader(next.status)
		_, _ = io.WriteString(w, next.body)
	}))
	send := func(method, path, session, body string, a answer) {
		next = a
		req := httptest.NewRequest(method, path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		h.ServeHTTP(httptest.NewRecorder(), req)
	}
	send("POST", "/mcp?token=x", "", initialize, answer{200, "application/json", initialized, "Mcp-Session-Id", "s"})
	send("POST", "/mcp", "s", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, answer{status: 202})
	send("POST", "/mcp", "s", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, answer{status: 200, media: "text/event-stream",
		body: "id: 1\rdata:\r\revent: message\r\ndata: {\"jsonrpc\":\"2.0\",\r\ndata: \"id\":1,\"result\":{}}\r\n\r\n: comment\n\nevent: other\ndata: 1\n\n"})
	send("GET", "/mcp", "s", "", answer{status: 405})
	send("POST", "/token", "", "code=1", answer{status: 200, body: "secret", media: "application/json"})
	send("POST", "/mcp", "", `{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		answer{status: 202})
	send("DELETE", "/mcp", "s", "", answer{status: 204})
	send("POST", "/mcp", "s", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, answer{404, "text/plain", "gone", "Content-Encoding", "rot13"})
	got := end()
	require.Equal(t, []string{
		`1 1 client request method=initialize id=0 rev=2025-06-18 http=1 POST/mcp?token=***0`,
		`2 1 server response method=initialize id=0 to=1 rev=2025-06-18 http=1 200`,
		`3 1 client notification method=notifications/initialized rev=2025-06-18 http=2 POST/mcp0`,
		`4 1 server http to=3 http=2 202`,
		`5 1 client request method=ping id=1 rev=2025-06-18 http=3 POST/mcp0`,
		`6 1 server response method=ping id=1 to=5 rev=2025-06-18 http=3 200`,
		`7 1 server http http=3 200 text=event: other`,
		`8 1 client http http=4 GET/mcp0`,
		`9 1 server http to=8 http=4 405`,
		`10 0 client http http=5 POST/token0`,
		`11 0 server http to=10 http=5 200`,
		`12 0 client request method=server/discover id=1 rev=2026-07-28 http=6 POST/mcp0`,
		`13 0 server http to=12 http=6 202 !: HTTP 202 Accepted: the response to a request must have the status 200`,
		`14 1 client http http=7 DELETE/mcp0`,
		`15 1 server http to=14 http=7 204`,
		`16 2 client request method=ping id=1 rev=2025-03-26 http=8 POST/mcp0`,
		`17 2 server http to=16 http=8 404 text=the body is not shown, since it is encoded: rot13`,
	}, got, "%s", strings.Join(got, "\n"))
}

func TestLegacyTransport(t *testing.T) {
	r, end := collect(t, Options{})
	stream := r.Exchange(httptest.NewRequest("GET", "/mcp", nil), true)
	stream.Header(200, http.Header{"Content-Type": {"text/event-stream"}})
	stream.Received([]byte("event: endpoint\ndata: /post?sessionId=abc\n\n"))
	post := r.Exchange(httptest.NewRequest("POST", "/post?sessionId=abc", nil), true)
	post.Sent([]byte(initialize))
	post.SentAll()
	stream.Received([]byte("event: message\ndata: " + initialized + "\n\n"))
	post.Header(202, http.Header{"Content-Type": {"text/plain"}})
	post.Received([]byte("Accepted"))
	post.ReceivedAll()
	stream.ReceivedAll()
	require.Equal(t, []string{
		`1 0 client http http=1 GET/mcp0`,
		`2 0 server http to=1 http=1 200`,
		`3 1 server http http=1 200 text=endpoint: /post`,
		`4 1 client request method=initialize id=0 rev=2025-06-18 http=2 POST/post?sessionId=abc0`,
		`5 1 server response method=initialize id=0 to=4 rev=2025-06-18 http=1 200`,
		`6 1 server text to=4 http=2 202 text=Accepted`,
	}, end())
}

func TestMask(t *testing.T) {
	m := NewMask("hunter22", "a\"b\\c")
	for in, want := range map[string]string{
		`{"access_token":"x","n":1}`:                              `{"access_token":"***","n":1}`,
		`{"Authorization": ["Basic x", "y"], "b":"y"}`:            `{"Authorization": ["***", "***"], "b":"y"}`,
		`{"password":{"type":"string"},"progressToken":"p"}`:      `{"password":{"type":"string"},"progressToken":"p"}`,
		`["hunter22 and a\"b\\c","https://u:p@h/?api_key=1&b=2"]`: `["*** and ***","https://***@h/?api_key=***&b=2"]`,
		`{"h":"Bearer abcdefghijk \u0022"}`:                       `{"h":"Bearer *** \u0022"}`,
		`{"client-secret":"unfinished \"`:                         `{"client-secret":"***`,
		`{"nextCursor":"c","code":"1","tokens":5,"token":null}`:   `{"nextCursor":"c","code":"1","tokens":5,"token":null}`,
		`{"token":"x","args":["a","b"]}`:                          `{"token":"***","args":["a","b"]}`,
	} {
		require.Equal(t, want, string(m.Bytes([]byte(in))))
	}
	require.Equal(t, []string{"x", "--api-key=***", "--token", "***", "KEY", "ftp://***@h"},
		m.Words([]string{"x", "--api-key=1", "--token", "2", "KEY", "ftp://a@h"}))
}

// FuzzMask checks that valid JSON stays valid, with the same structure.
func FuzzMask(f *testing.F) {
	for _, seed := range []string{`{"token":"x\""}`, `["a","\\"]`, `{"a":{"secret":["x",{"b":"c"}]}}`, `"?token=1\"&"`} {
		f.Add([]byte(seed))
	}
	m := NewMask("value", "a\"b\\c")
	f.Fuzz(func(t *testing.T, raw []byte) {
		if json.Valid(raw) {
			require.True(t, json.Valid(m.Bytes(raw)))
		}
	})
}
