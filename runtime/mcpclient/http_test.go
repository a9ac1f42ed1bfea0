package mcpclient_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// web is an HTTP server that responds with JSON only.
type web struct {
	*server
	url string

	mu       sync.Mutex
	reply    func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool
	sessions map[string]*connection.Connection
	requests []*http.Request // in order
	methods  []string
}

func serve(t testing.TB, s *server) *web {
	s.pipe() // creates the dispatcher
	w := &web{server: s, sessions: map[string]*connection.Connection{}}
	h := httptest.NewServer(w)
	t.Cleanup(h.Close)
	w.url = h.URL
	return w
}

// instead calls f for each request first; f reports whether it has handled the request. Nil removes f.
func (s *web) instead(f func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reply = f
}

// forget ends all sessions.
func (s *web) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

// count returns how often a method was called.
func (s *web) count(method string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.methods {
		if m == method {
			n++
		}
	}
	return n
}

// headers returns the headers of the requests of a method.
func (s *web) headers(method string) (all []http.Header) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, m := range s.methods {
		if m == method {
			all = append(all, s.requests[i].Header)
		}
	}
	return all
}

func (s *web) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(r.Body)
	m, err := wire.ReadMessage(body, nil)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	s.requests, s.methods = append(s.requests, r), append(s.methods, m.Method)
	reply := s.reply
	s.mu.Unlock()
	if reply != nil && reply(w, r, &m) {
		return
	}
	in := &peer.Inbound{
		Method: m.Method, ID: m.ID, Params: m.Params,
		Transport: peer.NewTransportContext("web", false, r.Header, ""), Back: outbound.None{},
	}
	s.answer(w, r, in)
}

func (s *web) answer(w http.ResponseWriter, r *http.Request, in *peer.Inbound) {
	if v := r.Header.Get("Mcp-Protocol-Version"); v > mcp.LatestHandshakeRevision.String() {
		reply, err := s.kernel.ServeStateless(r.Context(), in, nil)
		write(w, in.ID, reply, err)
		return
	}
	s.mu.Lock()
	conn := s.sessions[r.Header.Get("Mcp-Session-Id")]
	if in.Method == mcp.MethodInitialize {
		id := rand.Text()
		conn = connection.New(nil, nil)
		s.sessions[id] = conn
		w.Header().Set("Mcp-Session-Id", id)
	}
	s.mu.Unlock()
	if conn == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	reply, err := s.kernel.Serve(r.Context(), conn, in)
	write(w, in.ID, reply, err)
}

func write(w http.ResponseWriter, id wire.RequestID, reply peer.Reply, err error) {
	if id.IsZero() {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	var body []byte
	if err == nil {
		body, err = wire.AppendResult(nil, reply.Frame, id, reply.Result)
	}
	if err != nil {
		refuse(w, id, http.StatusBadRequest, peer.AsError(err))
		return
	}
	_, _ = w.Write(body)
}

func refuse(w http.ResponseWriter, id wire.RequestID, status int, e *peer.Error) {
	body, err := wire.AppendError(nil, id, &wire.ErrorObject{Code: e.Code, Message: e.Message, Data: e.Data})
	if err != nil {
		panic(err)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

func greet(t testing.TB, c *mcpclient.Client) {
	t.Helper()
	text, err := mcpclient.CallTool[string](t.Context(), c, "greet", map[string]string{"name": "web"})
	require.NoError(t, err)
	require.Equal(t, "hello web", text)
}

func TestHTTP(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions[1:] {
		t.Run(r.Revision.String(), func(t *testing.T) {
			s := serve(t, greeter(r.Revision))
			c := connect(t, mcpclient.URL(s.url), nil)
			require.Equal(t, r.Revision, c.Revision())
			require.Equal(t, "stand-in", c.ServerInfo().Name)
			greet(t, c)
		})
	}
}

func TestNegotiationByHTTPStatus(t *testing.T) {
	leaks.Check(t)
	type answer struct {
		status int
		body   string
	}
	for name, c := range map[string]struct {
		answer answer
		old    bool // the client sends initialize
	}{
		"400, empty":           {answer{400, ``}, true},
		"400, text":            {answer{400, `Bad Request: Unsupported protocol version`}, true},
		"400, an old error":    {answer{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"}}`}, true},
		"404":                  {answer{404, ``}, true},
		"405":                  {answer{405, ``}, true},
		"415":                  {answer{415, ``}, true},
		"200, an old error":    {answer{200, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"x"}}`}, true},
		"202":                  {answer{202, ``}, true},
		"400, header mismatch": {answer{400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32020,"message":"x"}}`}, false},
		"400, capability":      {answer{400, `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32021,"message":"x","data":{"requiredCapabilities":{}}}}`}, false},
		"401":                  {answer{401, ``}, false},
		"403":                  {answer{403, ``}, false},
		"429":                  {answer{429, ``}, false},
		"500":                  {answer{500, ``}, false},
		"502":                  {answer{502, `<html>`}, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, greeter())
			s.instead(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
				if m.Method != mcp.MethodDiscover {
					return false
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(c.answer.status)
				_, _ = io.WriteString(w, strings.ReplaceAll(c.answer.body, "$ID", m.ID.String()))
				return true
			})
			client, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.url), &mcpclient.Options{Logger: silent})
			if !c.old {
				require.Error(t, err)
				require.Zero(t, s.count(mcp.MethodInitialize))
				return
			}
			require.NoError(t, err)
			defer client.Close()
			require.Equal(t, "2025-11-25", client.Revision().String())
			greet(t, client)
		})
	}
}

func TestUnreachableServer(t *testing.T) {
	leaks.Check(t)
	s := httptest.NewServer(nil)
	s.Close()
	_, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL), nil)
	require.ErrorContains(t, err, "refused")
	require.NotContains(t, err.Error(), "before that")
}

func TestErrorsAndLogsHaveNoSecretsOfURL(t *testing.T) {
	leaks.Check(t)
	s := serve(t, mirrored())
	var logs bytes.Buffer
	c := connect(t, mcpclient.URL(s.url+"/mcp?api_key=s3cret"), &mcpclient.Options{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
	names(t, c)
	require.NoError(t, c.Close())
	require.Contains(t, logs.String(), s.url+"/mcp")
	require.NotContains(t, logs.String(), "s3cret")

	s.instead(func(w http.ResponseWriter, _ *http.Request, _ *wire.Message) bool {
		w.WriteHeader(http.StatusInternalServerError)
		return true
	})
	url := strings.Replace(s.url, "//", "//ada:hunter2@", 1) + "/mcp?api_key=s3cret"
	for _, to := range []mcpclient.Endpoint{mcpclient.URL(url), mcpclient.LegacySSE(url, nil), mcpclient.URL("http://ada:hunter2@a b/s3cret")} {
		_, err := mcpclient.Connect(t.Context(), to, nil)
		require.ErrorContains(t, err, "connect to")
		require.NotContains(t, err.Error(), "s3cret")
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestLostSessionIsReplacedOnce(t *testing.T) {
	leaks.Check(t)
	s := serve(t, greeter(mcp.Revision20251125))
	c := connect(t, mcpclient.URL(s.url), &mcpclient.Options{Logger: silent})
	greet(t, c)
	s.forget()
	greet(t, c)
	require.Equal(t, 2, s.count(mcp.MethodInitialize))
	require.Equal(t, 2, s.count("notifications/initialized"))

	// All calls wait for the same new session.
	s.forget()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { greet(t, c) })
	}
	all.Wait()
	require.Equal(t, 3, s.count(mcp.MethodInitialize))

	// If the program waits for notifications, a session is opened without a call, and only one.
	waits := connect(t, mcpclient.URL(s.url), &mcpclient.Options{
		Logger: silent, OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error { return nil },
	})
	s.forget()
	greet(t, waits)
	greet(t, waits)
	require.Equal(t, 5, s.count(mcp.MethodInitialize))
	require.NoError(t, waits.Close())
	greet(t, c)

	// A server that loses each session is not asked for ever.
	calls := s.count(mcp.MethodCallTool)
	s.instead(func(_ http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if m.Method == mcp.MethodCallTool {
			s.forget()
		}
		return false
	})
	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	require.ErrorIs(t, err, httpclient.ErrSessionLost)
	require.Equal(t, calls+2, s.count(mcp.MethodCallTool))

	// A failed initialize does not make the client unusable.
	s.instead(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if m.Method == mcp.MethodInitialize {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return m.Method == mcp.MethodInitialize
	})
	_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	require.ErrorContains(t, err, "503")
	_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	require.ErrorContains(t, err, "503")
	s.instead(nil)
	greet(t, c)
}

func TestServerStopsSupportingRevision(t *testing.T) {
	leaks.Check(t)
	s := serve(t, greeter())
	c := connect(t, mcpclient.URL(s.url), &mcpclient.Options{Strict: true})
	refused := false
	s.instead(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		if refused {
			return false
		}
		refused = true
		refuse(w, m.ID, http.StatusBadRequest, peer.AsError(&mcp.UnsupportedProtocolVersionError{
			Requested: "2026-07-28", Supported: []string{"2026-07-28"},
		}))
		return true
	})
	greet(t, c)
	require.Equal(t, 2, s.count(mcp.MethodCallTool))
	_, err := c.Complete(t.Context(), &mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: "x"}})
	require.ErrorAs(t, err, new(*connection.CapabilityError), "the capabilities are still known")

	s.instead(func(w http.ResponseWriter, _ *http.Request, m *wire.Message) bool {
		refuse(w, m.ID, http.StatusBadRequest, peer.AsError(&mcp.UnsupportedProtocolVersionError{
			Requested: "2026-07-28", Supported: []string{"2031-01-01"},
		}))
		return true
	})
	_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
	var unsupported *mcp.UnsupportedProtocolVersionError
	require.ErrorAs(t, err, &unsupported)
	require.Equal(t, []string{"2031-01-01"}, unsupported.Supported)
	require.ErrorAs(t, err, new(*httpclient.HTTPError), "the error contains the error of the transport")
}

// mirrored returns a server with a tool that repeats an argument in a header, and two tools with
// invalid header annotations.
func mirrored() *server {
	s := newServer(mcp.Revision20260728)
	schema := func(header string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"city":{"type":"string","x-mcp-header":` + header + `}}}`)
	}
	mcp.HandleListTools(&s.mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: []mcp.Tool{
			{Name: "bad", InputSchema: schema(`"not a token"`)},
			{Name: "weather", InputSchema: schema(`"City"`)},
			{Name: "worse", InputSchema: schema(`7`)},
		}}, nil
	})
	mcp.HandleCallTool(&s.mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult("sunny"), nil
	})
	return s
}

func names(t testing.TB, c *mcpclient.Client) (names []string) {
	t.Helper()
	for tool, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
		names = append(names, tool.Name)
	}
	return names
}

func TestToolHeadersFollowNewestList(t *testing.T) {
	leaks.Check(t)
	s := serve(t, mirrored())
	c := connect(t, mcpclient.URL(s.url), &mcpclient.Options{Logger: silent})
	call := func() http.Header {
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "weather", Arguments: json.RawMessage(`{"city":"Zürich"}`)})
		require.NoError(t, err)
		sent := s.headers(mcp.MethodCallTool)
		return sent[len(sent)-1]
	}
	require.NotContains(t, call(), "Mcp-Param-City", "the tool was never listed")
	require.Equal(t, []string{"weather"}, names(t, c), "tools with invalid annotations are ignored")
	header := call()
	require.Equal(t, "=?base64?WsO8cmljaA==?=", header.Get("Mcp-Param-City"))
	require.Equal(t, "weather", header.Get("Mcp-Name"))
	require.Equal(t, "tools/call", header.Get("Mcp-Method"))

	_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "weather", Arguments: json.RawMessage(`{"city":[]}`)})
	require.ErrorContains(t, err, `tool "weather"`)
}

func TestToolsAreIgnoredOnlyOverHTTP(t *testing.T) {
	leaks.Check(t)
	c := connect(t, mcpclient.InProcess(mirrored()), nil)
	require.Len(t, names(t, c), 3)
}

func TestMissingToolHeaderIsRetried(t *testing.T) {
	leaks.Check(t)
	s := serve(t, mirrored())
	s.instead(func(w http.ResponseWriter, r *http.Request, m *wire.Message) bool {
		if m.Method != mcp.MethodCallTool || r.Header.Get("Mcp-Param-City") == "Bern" {
			return false
		}
		refuse(w, m.ID, http.StatusBadRequest, &peer.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch"})
		return true
	})
	c := connect(t, mcpclient.URL(s.url), &mcpclient.Options{Logger: silent})
	call := func(city string) error {
		_, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "weather", Arguments: json.RawMessage(`{"city":"` + city + `"}`)})
		return err
	}
	require.NoError(t, call("Bern"))
	require.Equal(t, 1, s.count(mcp.MethodListTools))
	require.NoError(t, call("Bern"))
	require.Equal(t, 1, s.count(mcp.MethodListTools))

	before := s.count(mcp.MethodCallTool)
	require.ErrorContains(t, call("Basel"), "Header mismatch")
	require.Equal(t, before+2, s.count(mcp.MethodCallTool), "it is retried once")
}

func TestSchemaIsNotChanged(t *testing.T) {
	leaks.Check(t)
	schema := `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","$defs":{"a":{"$anchor":"x"}},` +
		`"allOf":[{"$ref":"https://example.com/never-fetched"}],"if":{},"then":{},"x-unknown":[1.0]}`
	s := newServer()
	mcp.HandleListTools(&s.mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "t", InputSchema: json.RawMessage(schema)}}}, nil
	})
	c := connect(t, s.overPipe(t), nil)
	for tool, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
		require.Equal(t, schema, string(tool.InputSchema))
	}
}
