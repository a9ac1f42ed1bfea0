package page

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
)

// timeout limits the wait for an event.
const timeout = 20 * time.Second

// guest is the form of the tool "ask".
type guest struct {
	Name string `json:"name"`
}

// newTestServer returns an MCP server.
func newTestServer() *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "kitchen", Version: "1"}, nil)
	mcpserver.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		in, err := mcpserver.Elicit[guest](ctx, session, "Who are you?")
		return "Hello, " + in.Name, err
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "wait"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		if err := session.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return "", err
		}
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
	s.AddRawTool(&mcp.Tool{Name: "exact", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.ContentBlock{}, StructuredContent: req.Arguments}, nil
	})
	s.AddResource(&mcp.Resource{URI: "kitchen://menu", Name: "menu"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	apps.AddView(s, fstest.MapFS{"view.html": {Data: []byte("<!doctype html><p>plate</p>")}}, apps.View{
		URI: "ui://kitchen/view", File: "view.html", Meta: apps.ResourceMeta{CSP: &apps.ResourceCSP{ConnectDomains: []string{"https://api.example.com"}}},
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "change"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		return "changed", s.ResourceUpdated(ctx, "kitchen://menu")
	})
	return s
}

// pipes is an MCP server over pipes, which can be ended.
type pipes struct {
	server *mcpserver.Server
	fail   error
	closed chan io.Closer // the end of the server of each connection
}

func (p *pipes) connect(ctx context.Context, to *Connection) (*mcpclient.Client, error) {
	if p.fail != nil {
		return nil, p.fail
	}
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	served := make(chan struct{})
	go func() { // ends with the pipes
		defer close(served)
		_ = p.server.ServeStreams(context.WithoutCancel(ctx), fromClient, toClient)
	}()
	p.closed <- toClient
	observer := to.Recorder.Pipe()
	return mcpclient.Connect(ctx, mcpclient.Streams(
		&observed{fromServer, func(b []byte) { observer.Copied(1, b) }, nil},
		&observed{nil, func(b []byte) { observer.Copied(0, b) }, toServer}), to.Client)
}

// observed passes the bytes of a stream to a function.
type observed struct {
	in      io.ReadCloser
	observe func([]byte)
	out     io.WriteCloser
}

func (o *observed) Read(b []byte) (int, error) {
	n, err := o.in.Read(b)
	o.observe(b[:n])
	return n, err
}

func (o *observed) Write(b []byte) (int, error) {
	o.observe(b)
	return o.out.Write(b)
}

func (o *observed) Close() error {
	if o.in != nil {
		return o.in.Close()
	}
	return o.out.Close()
}

// opened is a page that is served.
type opened struct {
	t      *testing.T
	page   *Server
	server *httptest.Server
	frames *httptest.Server
	mcp    *pipes
}

// open serves a page for an MCP server.
func open(t *testing.T, fail error) *opened {
	t.Helper()
	o := &opened{t: t, mcp: &pipes{server: newTestServer(), fail: fail, closed: make(chan io.Closer, 10)}}
	o.server = httptest.NewUnstartedServer(nil)
	o.frames = httptest.NewUnstartedServer(nil)
	o.page = New(o.server.Listener.Addr(), Options{Name: "kitchen", Frames: o.frames.Listener.Addr(), Connect: o.mcp.connect})
	o.server.Config.Handler, o.frames.Config.Handler = o.page, o.page.Frames()
	o.server.Start()
	o.frames.Start()
	t.Cleanup(func() {
		o.page.Close()
		o.frames.Close()
		o.server.Close()
	})
	return o
}

// send sends a request that change has changed.
func (o *opened) send(method, path, body string, change func(*http.Request)) *http.Response {
	o.t.Helper()
	req, err := http.NewRequestWithContext(o.t.Context(), method, o.server.URL+path, strings.NewReader(body))
	require.NoError(o.t, err)
	req.Header.Set("Authorization", "Bearer "+o.page.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if change != nil {
		change(req)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(o.t, err)
	o.t.Cleanup(func() { res.Body.Close() })
	return res
}

// post sends a request of the page and returns its result.
func (o *opened) post(name, body string) string {
	o.t.Helper()
	res := o.send(http.MethodPost, "/api/"+name, body, nil)
	data, err := io.ReadAll(res.Body)
	require.NoError(o.t, err)
	require.Equal(o.t, http.StatusOK, res.StatusCode, "%s", data)
	return strings.TrimSpace(string(data))
}

// event is a server-sent event.
type event struct{ id, name, data string }

// events returns the events after an id.
func (o *opened) events(after string) <-chan event {
	o.t.Helper()
	res := o.send(http.MethodGet, "/api/events", "", func(r *http.Request) {
		if after != "" {
			r.Header.Set("Last-Event-ID", after)
		}
	})
	require.Equal(o.t, http.StatusOK, res.StatusCode)
	out := make(chan event)
	go func() { // ends with the response
		defer close(out)
		var e event
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "id":
				e.id = value
			case "event":
				e.name = value
			case "data":
				e.data = value
			case "":
				if e.name == "" {
					continue
				}
				select {
				case out <- e:
				case <-o.t.Context().Done():
					return
				}
				e = event{}
			}
		}
	}()
	return out
}

// wait returns the next event with a name and a text.
func wait(t *testing.T, events <-chan event, name, text string) event {
	t.Helper()
	deadline := time.After(timeout)
	for {
		select {
		case e, ok := <-events:
			require.True(t, ok, "the events have ended before %q with %q", name, text)
			if e.name == name && strings.Contains(e.data, text) {
				return e
			}
		case <-deadline:
			require.Fail(t, "timeout", "no event %q with %q", name, text)
		}
	}
}

func TestRequestsFromElsewhereAreRefused(t *testing.T) {
	o := open(t, nil)
	host := o.server.Listener.Addr().String()
	_, port, err := net.SplitHostPort(host)
	require.NoError(t, err)
	for name, test := range map[string]struct {
		method, path string
		change       func(*http.Request)
		status       int
	}{
		"own":                {"GET", "/api/events", nil, 200},
		"localhost":          {"GET", "/", func(r *http.Request) { r.Host = "localhost:" + port }, 200},
		"own origin":         {"GET", "/api/events", func(r *http.Request) { r.Header.Set("Origin", "http://"+host) }, 200},
		"file without token": {"GET", "/main.js", func(r *http.Request) { r.Header.Del("Authorization") }, 200},
		"link of a page": {"GET", "/", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Sec-Fetch-Mode", "navigate")
		}, 200},
		"missing token":         {"GET", "/api/events", func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"wrong token":           {"GET", "/api/message/1", func(r *http.Request) { r.Header.Set("Authorization", "Bearer x") }, 401},
		"token in the query":    {"GET", "/api/events?token=" + o.page.token, func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"rebound name":          {"GET", "/api/events", func(r *http.Request) { r.Host = "evil.example:" + port }, 421},
		"name without port":     {"GET", "/", func(r *http.Request) { r.Host = "127.0.0.1" }, 421},
		"foreign origin":        {"GET", "/api/events", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") }, 403},
		"null origin":           {"GET", "/api/events", func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"other port":            {"GET", "/api/events", func(r *http.Request) { r.Header.Set("Origin", "http://127.0.0.1:1") }, 403},
		"two origins":           {"GET", "/api/events", func(r *http.Request) { r.Header["Origin"] = []string{"http://" + host, "null"} }, 403},
		"other site":            {"GET", "/main.js", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"other site, same host": {"GET", "/api/events", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") }, 403},
		"GET of an action":      {"GET", "/api/request", nil, 404},
		"DELETE":                {"DELETE", "/api/events", nil, 405},
		"PUT":                   {"PUT", "/", nil, 405},
		"text":                  {"POST", "/api/request", func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"no content type":       {"POST", "/api/request", nil, 415},
		"outside":               {"GET", "/../page.go", nil, 404},
	} {
		t.Run(name, func(t *testing.T) {
			res := o.send(test.method, test.path, "", test.change)
			require.Equal(t, test.status, res.StatusCode)
			require.Contains(t, res.Header.Get("Content-Security-Policy"), "default-src 'none'; script-src 'self';")
			require.Equal(t, "nosniff", res.Header.Get("X-Content-Type-Options"))
			require.Empty(t, res.Header.Values("Access-Control-Allow-Origin"))
			require.Empty(t, res.Header.Values("Set-Cookie"))
		})
	}
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/#[A-Z2-7]{26}$`, o.page.URL())
}

func TestActionsAndQuestions(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	wait(t, events, "state", `"state":"connected","revision":"2026-07-28","stateless":true`)
	wait(t, events, "offer", `"kind":"tools","list":[{"name":"ask"`)
	require.Equal(t, `{"ids":[1]}`, o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"exact","arguments":{"n":12345678901234567890.10}}}`))
	wait(t, events, "action", `{\"n\":12345678901234567890.10}`)
	require.Equal(t, `{"ids":[2]}`, o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"ask"}}`))
	wait(t, events, "question", `{"id":1,"side":0,"method":"elicitation/create","params":{"mode":"form","message":"Who are you?"`)

	res := o.send(http.MethodPost, "/api/answer", `{"id":1,"result":{"action":"perhaps"}}`, nil)
	require.Equal(t, http.StatusBadRequest, res.StatusCode, "an invalid answer leaves the question open")
	o.post("answer", `{"id":1,"result":{"action":"accept","content":{"name":"Ada"}}}`)
	wait(t, events, "action", "Hello, Ada")
	res = o.send(http.MethodPost, "/api/answer", `{"id":1,"result":{"action":"cancel"}}`, nil)
	require.Equal(t, http.StatusConflict, res.StatusCode)
}

func TestCancelEndsActionAndQuestion(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"wait"}}`)
	wait(t, events, "progress", `{"id":1,"message":"","progress":1,"total":null}`)
	require.Equal(t, `{"cancelled":true}`, o.post("cancel", `{"id":1}`))
	wait(t, events, "action", `"state":"cancelled"`)
	require.Equal(t, `{"cancelled":false}`, o.post("cancel", `{"id":1}`))

	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"ask"}}`)
	wait(t, events, "question", `"method":"elicitation/create"`)
	o.post("cancel", `{"id":2}`)
	wait(t, events, "question", `{"id":1,"side":0}`)
}

func TestBothKindsOfRevision(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	require.Equal(t, `{"ids":[1,2]}`, o.post("request", `{"sides":[0,1],"method":"tools/call","params":{"name":"ask"}}`))
	for range 2 {
		q := wait(t, events, "question", `"method":"elicitation/create"`)
		var shown shown
		require.NoError(t, json.Unmarshal([]byte(q.data), &shown))
		o.post("answer", fmt.Sprintf(`{"id":%d,"result":{"action":"accept","content":{"name":"side %d"}}}`, shown.ID, shown.Side))
	}
	again := o.events("")
	wait(t, again, "state", `"side":1,"state":"connected","revision":"2025-11-25","stateless":false`)
	again = o.events("")
	wait(t, again, "action", "Hello, side 1")
	again = o.events("")
	wait(t, again, "wire", `"side":1,"n":1,`)
}

func TestMessagesAreShownWithTheirViolations(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"exact","arguments":{"password":"secret-1"}}}`)
	e := wait(t, events, "wire", `"method":"tools/call"`)
	require.Contains(t, e.data, `"note":"exact"`)
	require.Contains(t, e.data, `"masked":true`)
	require.NotContains(t, e.data, `"message":`, "the message is sent on request")
	res := o.send(http.MethodGet, "/api/message/"+e.id, "", nil)
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	require.Contains(t, string(body), `"arguments":{"password":"***"}`)
	require.Equal(t, "text/plain; charset=utf-8", res.Header.Get("Content-Type"))

	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"exact"}}`)
	o.post("request", `{"sides":[0],"method":"custom/method","params":{"a":1}}`)
	e = wait(t, events, "wire", `"kind":"error","method":"custom/method"`)
	require.Contains(t, e.data, `"respondsTo":`)
	require.Equal(t, http.StatusNotFound, o.send(http.MethodGet, "/api/message/999999", "", nil).StatusCode)
	require.Equal(t, http.StatusBadRequest, o.send(http.MethodGet, "/api/message/x", "", nil).StatusCode)
}

func TestReconnectReceivesMissedEvents(t *testing.T) {
	o := open(t, nil)
	first := wait(t, o.events(""), "page", "kitchen")
	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"exact"}}`)
	events := o.events(first.id)
	wait(t, events, "state", "connected")
	last := wait(t, events, "action", `"state":"done"`)
	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"exact","arguments":{"second":2}}}`)
	next := <-o.events(last.id)
	require.NotEqual(t, "page", next.name)
	require.Equal(t, http.StatusBadRequest, o.send(http.MethodGet, "/api/events", "", func(r *http.Request) { r.Header.Set("Last-Event-ID", "x") }).StatusCode)
}

func TestServerThatEnds(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	wait(t, events, "state", "connected")
	o.post("watch", `{"side":0,"uri":"kitchen://menu","on":true}`)
	wait(t, events, "watch", `"on":true`)
	require.NoError(t, (<-o.mcp.closed).Close())
	wait(t, events, "state", `"state":"ended","stateless":false,"error":"server closed the connection"`)
	wait(t, events, "watch", `"on":false`)
	o.post("connect", `{"side":0}`)
	wait(t, events, "state", `"state":"connected"`)
	require.NoError(t, (<-o.mcp.closed).Close())
	wait(t, events, "state", `"state":"ended"`)
	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"exact"}}`)
	wait(t, events, "action", `"state":"done"`)
}

func TestServerThatCannotBeReached(t *testing.T) {
	o := open(t, errors.New("no such server"))
	events := o.events("")
	wait(t, events, "state", `"state":"failed","stateless":false,"error":"no such server"`)
	o.post("request", `{"sides":[0],"method":"ping"}`)
	wait(t, events, "action", `"state":"failed","error":{"message":"no such server"}`)
	o.post("request", `{"sides":[1],"method":"ping"}`)
	wait(t, events, "action", `the other kind of revision is unknown: no such server`)
}

func TestSubscription(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	o.post("watch", `{"side":0,"uri":"kitchen://menu","on":true}`)
	wait(t, events, "watch", `"on":true`)
	require.Eventually(t, func() bool { // the subscription begins after the event
		o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":"change"}}`)
		list, _, _ := o.page.log.after(0, maxEntries)
		for _, e := range list {
			if e.kind == "watch" && !strings.Contains(string(e.data), `"changes":0`) {
				return true
			}
		}
		return false
	}, timeout, 50*time.Millisecond)
	o.post("watch", `{"side":0,"uri":"kitchen://menu","on":false}`)
	wait(t, events, "watch", `"on":false`)
}

func TestInvalidRequests(t *testing.T) {
	o := open(t, nil)
	for _, body := range []string{`{`, `[]`, `{"sides":[],"method":"ping"}`, `{"sides":[0]}`, `{"sides":[2],"method":"ping"}`, `{"sides":[-1],"method":"ping"}`, `{"sides":[0],"method":"ping","params":[]}`} {
		require.Equal(t, http.StatusBadRequest, o.send(http.MethodPost, "/api/request", body, nil).StatusCode, body)
	}
	events := o.events("")
	o.post("request", `{"sides":[0],"method":"tools/call","params":{"name":5}}`)
	wait(t, events, "action", `prepare request \"tools/call\"`)
	o.post("roots", `{"roots":[{"uri":"file:///tmp"}]}`)
	wait(t, events, "roots", "file:///tmp")
}

func TestCloseEndsAll(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	o.post("request", `{"sides":[0,1],"method":"tools/call","params":{"name":"wait"}}`)
	wait(t, events, "progress", "")
	o.page.Close() // waits for all goroutines
	for range events {
	}
	require.Equal(t, http.StatusInternalServerError, o.send(http.MethodPost, "/api/request", `{"sides":[0],"method":"ping"}`, nil).StatusCode)
}

func TestViewsHaveAnotherOrigin(t *testing.T) {
	o := open(t, nil)
	events := o.events("")
	wait(t, events, "state", `"connected"`)
	var view viewResponse
	require.NoError(t, json.Unmarshal([]byte(o.post("view", `{"side":0,"uri":"ui://kitchen/view"}`)), &view))
	require.True(t, strings.HasPrefix(view.URL, o.frames.URL+"/"), view.URL)
	require.NotEqual(t, o.server.URL, o.frames.URL)
	require.NotContains(t, view.Sandbox, "same-origin")
	get := func(url, host string) (int, string, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
		require.NoError(t, err)
		req.Host = host
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		return res.StatusCode, res.Header.Get("Content-Security-Policy"), string(body)
	}
	status, policy, body := get(view.URL, "")
	require.Equal(t, http.StatusOK, status)
	require.Equal(t, "<!doctype html><p>plate</p>", body)
	require.Contains(t, policy, "connect-src https://api.example.com;")
	require.Contains(t, policy, "sandbox allow-scripts allow-forms; frame-ancestors "+o.server.URL+" http://localhost:")
	for name, refused := range map[string][2]string{
		"another name":  {o.frames.URL + "/other", ""},
		"no name":       {o.frames.URL + "/", ""},
		"another host":  {view.URL, "rebound.example.com"},
		"files of page": {o.frames.URL + "/main.js", ""},
	} {
		status, policy, body := get(refused[0], refused[1])
		require.GreaterOrEqual(t, status, 400, name)
		require.NotContains(t, body, "plate", name)
		require.Contains(t, policy, "default-src 'none'", name)
	}
	res := o.send(http.MethodGet, "/", "", nil)
	require.True(t, strings.HasSuffix(res.Header.Get("Content-Security-Policy"), "frame-src "+o.frames.URL), "only views can be framed")
	res = o.send(http.MethodPost, "/api/view", `{"side":0,"uri":"ui://kitchen/view"}`, func(r *http.Request) { r.Header.Del("Authorization") })
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	res = o.send(http.MethodPost, "/api/view", `{"side":0,"uri":"kitchen://menu"}`, nil)
	require.Equal(t, http.StatusInternalServerError, res.StatusCode)

	for range maxViews {
		o.page.frames.add(&apps.Document{HTML: "new"})
	}
	status, _, _ = get(view.URL, "")
	require.Equal(t, http.StatusNotFound, status, "old views are forgotten")
	o.post("request", `{"sides":[0],"method":"ping","view":true}`)
	wait(t, events, "action", `"view":true`)
}
