package mcpclient_test

import (
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
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

func TestNewestCommonRevision(t *testing.T) {
	leaks.Check(t)
	for _, want := range mcp.Revisions {
		s := greeter(want.Revision)
		for way, to := range s.ways(t) {
			t.Run(want.Revision.String()+" "+way, func(t *testing.T) {
				c := connect(t, to, nil)
				require.Equal(t, want.Revision.String(), c.Revision().String())
				require.Equal(t, !want.Handshake, c.NoHandshake())
				require.Equal(t, "stand-in", c.ServerInfo().Name)
				require.Equal(t, "be kind", c.Instructions())
				require.NotNil(t, c.ServerCapabilities().Tools)

				res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{
					Name: "greet", Arguments: json.RawMessage(`{"name":"gopher"}`),
				})
				require.NoError(t, err)
				require.Equal(t, "hello gopher", mcp.TextOf(res.Content))

				text, err := mcpclient.CallTool[string](t.Context(), c, "greet", map[string]string{"name": "Go"})
				require.NoError(t, err)
				require.Equal(t, "hello Go", text)
			})
		}
	}
}

// old is the response of a server that supports only initialize.
func old(m message) string {
	if m.Method == "initialize" {
		return ok(welcome)
	}
	return ""
}

func TestFallbackToInitialize(t *testing.T) {
	leaks.Check(t)
	answers := map[string]string{
		"an empty result":             ok(`{}`),
		"another result":              ok(`{"tools":[]}`),
		"unknown result type":         ok(`{"resultType":"other","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`),
		"only handshake revisions":    ok(`{"resultType":"complete","supportedVersions":["2025-06-18","2025-11-25"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`),
		"unsupported, handshake only": fail(-32022, `{"supported":["2024-11-05"],"requested":"2026-07-28"}`),
		"connection ends":             hangUp,
		"an error without data":       `{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}`,
		"a number as result":          `{"jsonrpc":"2.0","id":$ID,"result":7}`,
	}
	for _, code := range []int{-32601, -32602, -32600, -32603, -32700, -32000, -32001, 0, -1} {
		answers[fmt.Sprint("error ", code)] = fail(code, `null`)
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			s := &script{answer: func(m message) string {
				if m.Method == "server/discover" {
					return answer
				}
				return old(m)
			}}
			c := connect(t, s.endpoint(t), nil)
			require.Equal(t, "2025-11-25", c.Revision().String())
			require.Equal(t, "old", c.ServerInfo().Name)
			require.Equal(t, []string{"server/discover", "initialize"}, s.methods()[:2])
			require.Empty(t, s.messages()[1].Params["_meta"], "initialize has no metadata")
		})
	}
}

func TestDiscoverResultWithoutType(t *testing.T) {
	leaks.Check(t)
	s := &script{answer: func(message) string { return ok(strings.Replace(discovered, `"resultType":"complete",`, "", 1)) }}
	c := connect(t, s.endpoint(t), nil)
	require.Equal(t, "2026-07-28", c.Revision().String())
	require.Equal(t, []string{"server/discover"}, s.methods())
}

func TestFallbackAfterProbeTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: old}
		begun := time.Now()
		c := connect(t, s.endpoint(t), nil)
		require.Equal(t, "2025-11-25", c.Revision().String())
		require.Equal(t, 10*time.Second, time.Since(begun))
		require.NotContains(t, s.methods(), "notifications/cancelled")
	})
}

// A slow server may respond to the probe late, and to initialize with an error.
func TestSlowServerIsProbedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		unsupported := fail(-32022, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
		asked := 0
		s := &script{answer: func(m message) string {
			switch {
			case m.Method == "initialize":
				return unsupported
			case m.Method == "server/discover":
				if asked++; asked > 1 {
					return ok(discovered)
				}
			}
			return ""
		}}
		c := connect(t, s.endpoint(t), nil)
		require.Equal(t, "2026-07-28", c.Revision().String())
		require.Equal(t, []string{"server/discover", "initialize", "server/discover"}, s.methods())
	})
}

func TestNegotiationEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{answer: func(m message) string {
			if m.Method == "initialize" {
				return fail(-32022, `{"supported":["2026-07-28"],"requested":"2025-11-25"}`)
			}
			return ""
		}}
		_, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Logger: quiet})
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		require.Equal(t, []string{"server/discover", "initialize", "server/discover"}, s.methods())
	})
}

func TestDiscoverIsRetriedInSupportedRevision(t *testing.T) {
	leaks.Check(t)
	refused := false
	s := &script{answer: func(m message) string {
		if !refused {
			refused = true // although supported contains the requested revision
			return fail(-32022, `{"supported":["2025-11-25","2026-07-28"],"requested":"2026-07-28"}`)
		}
		return ok(discovered)
	}}
	c := connect(t, s.endpoint(t), nil)
	require.Equal(t, "2026-07-28", c.Revision().String())
	require.Equal(t, []string{"server/discover", "server/discover"}, s.methods())
}

func TestDiscoverErrorsWithoutFallback(t *testing.T) {
	leaks.Check(t)
	for name, answer := range map[string]string{
		"header mismatch":                  fail(-32020, `null`),
		"missing capability":               fail(-32021, `{"requiredCapabilities":{"roots":{}}}`),
		"unsupported, nothing in common":   fail(-32022, `{"supported":["2031-01-01"],"requested":"2026-07-28"}`),
		"unsupported, with unusable data":  fail(-32022, `{"supported":7}`),
		"supported, but nothing in common": ok(`{"resultType":"complete","supportedVersions":["2031-01-01"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}`),
		"unsupported repeatedly":           fail(-32022, `{"supported":["2026-07-28"],"requested":"2026-07-28"}`),
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answer: func(message) string { return answer }}
			_, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Logger: quiet})
			require.ErrorContains(t, err, `connect to "script": `)
			require.NotContains(t, s.methods(), "initialize")
			require.LessOrEqual(t, len(s.methods()), 2)
		})
	}
}

func TestMode(t *testing.T) {
	leaks.Check(t)
	t.Run("handshake", func(t *testing.T) {
		s := &script{answer: old}
		c := connect(t, s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake})
		require.Equal(t, "2025-11-25", c.Revision().String())
		require.NotContains(t, s.methods(), "server/discover")
	})
	t.Run("stateless", func(t *testing.T) {
		s := &script{answer: func(message) string { return fail(-32601, `null`) }}
		_, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Mode: mcpclient.NoHandshake})
		require.ErrorContains(t, err, `no common protocol version: tried "2026-07-28": `)
		require.Equal(t, []string{"server/discover"}, s.methods())
	})
	t.Run("handshake, stateless server", func(t *testing.T) {
		s := &script{answer: func(message) string { return fail(-32601, `null`) }}
		_, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake})
		require.ErrorContains(t, err, `no common protocol version: tried "2025-11-25": `)
	})
}

func TestOnlyRevision(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		c := connect(t, mcpclient.InProcess(greeter()), &mcpclient.Options{Revision: r.Revision})
		require.Equal(t, r.Revision, c.Revision())
	}
	s := &script{answer: old}
	_, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Revision: mcp.Revision20250618})
	require.ErrorContains(t, err, `server selected "2025-11-25"`)
	require.Equal(t, []string{"initialize"}, s.methods(), "the client does not send notifications/initialized")
}

func TestConnectWithoutEndpoint(t *testing.T) {
	_, err := mcpclient.Connect(t.Context(), nil, nil)
	require.ErrorContains(t, err, "endpoint is nil")
}

func TestUnknownRevisionIsRejected(t *testing.T) {
	leaks.Check(t)
	s := &script{answer: func(message) string {
		return ok(`{"protocolVersion":"2031-01-01","capabilities":7}`)
	}}
	_, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Mode: mcpclient.Handshake})
	require.ErrorContains(t, err, `server selected "2031-01-01"`)
}

func TestInitializeRejectsStatelessRevision(t *testing.T) {
	leaks.Check(t)
	s := &script{answer: func(m message) string {
		if m.Method == "server/discover" {
			return fail(-32601, `null`)
		}
		return ok(strings.Replace(welcome, "2025-11-25", "2026-07-28", 1))
	}}
	c, err := mcpclient.Connect(t.Context(), s.endpoint(t), &mcpclient.Options{Logger: silent})
	if err == nil {
		c.Close()
	}
	require.ErrorContains(t, err, `server selected "2026-07-28"`)
	require.Equal(t, []string{"server/discover", "initialize"}, s.methods(), "the client does not send notifications/initialized")
}

func TestLastRevisionIsTriedFirst(t *testing.T) {
	leaks.Check(t)
	s := &script{answer: old}
	c := connect(t, s.endpoint(t), &mcpclient.Options{LastRevision: mcp.Revision20250618})
	require.Equal(t, "2025-11-25", c.Revision().String())
	require.Equal(t, "initialize", s.methods()[0])
	require.JSONEq(t, `"2025-06-18"`, string(s.messages()[0].Params["protocolVersion"]))

	s = &script{answer: func(m message) string {
		if m.Method == "server/discover" {
			return ok(discovered)
		}
		return fail(-32601, `null`)
	}}
	c = connect(t, s.endpoint(t), &mcpclient.Options{LastRevision: mcp.Revision20251125})
	require.Equal(t, "2026-07-28", c.Revision().String())
	require.Equal(t, []string{"initialize", "server/discover"}, s.methods())

	c = connect(t, mcpclient.InProcess(greeter()), &mcpclient.Options{LastRevision: mcp.Revision20251125, Mode: mcpclient.NoHandshake})
	require.True(t, c.NoHandshake(), "the mode takes precedence")
}

func TestContextLimitsConnectOnly(t *testing.T) {
	leaks.Check(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("test timeout")
	stuck := &script{answer: func(message) string { cancel(why); return "" }}
	_, err := mcpclient.Connect(ctx, stuck.endpoint(t), &mcpclient.Options{Logger: quiet})
	require.ErrorIs(t, err, why)

	ctx, cancel = context.WithCancelCause(t.Context())
	c, err := mcpclient.Connect(ctx, mcpclient.InProcess(greeter()), nil)
	require.NoError(t, err)
	defer c.Close()
	cancel(why)
	_, err = mcpclient.CallTool[string](t.Context(), c, "greet", map[string]string{"name": "you"})
	require.NoError(t, err)
}

// slowCloser is a connection whose Close ends the context.
type slowCloser struct {
	mcpclient.Conn
	timeUp func()
}

func (l slowCloser) Close() error {
	l.timeUp()
	return l.Conn.Close()
}

func TestConnectDoesNotRedialAfterContextEnds(t *testing.T) {
	leaks.Check(t)
	s := &script{answer: func(message) string { return hangUp }}
	ctx, cancel := context.WithCancelCause(t.Context())
	enough := errors.New("enough")
	starts := 0
	_, err := mcpclient.Connect(ctx, mcpclient.Dial("script", func(ctx context.Context, opts *jsonrpc.Options) (mcpclient.Conn, error) {
		starts++
		ours, theirs := net.Pipe()
		go s.play(theirs) // ends with the first message
		return slowCloser{mcpclient.NewStreamConn(ctx, ours, ours, opts), func() { cancel(enough) }}, nil
	}), &mcpclient.Options{Logger: silent})
	require.ErrorIs(t, err, enough)
	require.Equal(t, 1, starts)
}

func TestDialError(t *testing.T) {
	leaks.Check(t)
	broken := errors.New("no such place")
	to := mcpclient.Dial("nowhere", func(context.Context, *jsonrpc.Options) (mcpclient.Conn, error) { return nil, broken })
	_, err := mcpclient.Connect(t.Context(), to, nil)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, `"nowhere"`)

	_, err = mcpclient.Connect(t.Context(), mcpclient.Command("/does/not/exist"), nil)
	require.ErrorContains(t, err, "/does/not/exist")
}

func TestInvalidOptions(t *testing.T) {
	for _, opts := range []*mcpclient.Options{
		{Roots: []mcp.Root{{URI: "http://example.com"}}},
		{Info: mcp.Implementation{Name: "x", Extra: map[string]json.RawMessage{"y": json.RawMessage(`{`)}}},
		{Capabilities: mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{"a/b": {"c": json.RawMessage(`nope`)}}}},
		{Capabilities: mcp.ClientCapabilities{Extensions: map[string]map[string]json.RawMessage{"b": {}}}},
	} {
		_, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(greeter()), opts)
		require.ErrorContains(t, err, "connect to")
	}
}

func TestStreamsCanBeDialledOnce(t *testing.T) {
	leaks.Check(t)
	in, server := io.Pipe()
	server.Close() // the connection is closed
	_, err := mcpclient.Connect(t.Context(), mcpclient.Streams(in, discard{}), &mcpclient.Options{Logger: quiet})
	require.ErrorContains(t, err, "cannot be dialled again")
}

type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }
func (discard) Close() error                { return nil }

// An error that both kinds of revision have is in the text once.
func TestErrorsOfEndpointsWithoutServer(t *testing.T) {
	leaks.Check(t)
	pages := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<title>Log in</title>")
	}))
	defer pages.Close()
	page, other := mcpclient.URL(pages.URL), mcpclient.URL(pages.URL+"/other")
	both := mcpclient.URL(other.URL)
	both.LegacySSE = true
	failing := child(t, "failing")
	hint := ` (is the path of the URL right? use LegacySSE if the server has the HTTP+SSE transport of 2024-11-05)`
	notFound := fmt.Sprintf(`connect to %[1]q: no common protocol version: tried "2026-07-28" and "2025-11-25": POST %[1]q: 404 Not Found: "404 page not found"`, other.URL)
	for _, c := range []struct {
		to   mcpclient.Endpoint
		want string
	}{
		{page, fmt.Sprintf(`connect to %[1]q: send "initialize": no response to the request: response of %[1]q: unexpected content type "text/html": "<title>Log in</title>"`, page.URL)},
		{other, notFound + hint},
		{both, notFound + fmt.Sprintf(`; tried HTTP+SSE: no common protocol version: tried "2025-11-25" and "2026-07-28": connection closed: GET %q: 404 Not Found: "404 page not found"`, other.URL)},
		{failing, fmt.Sprintf(`connect to %[1]q: send "initialize": connection closed: child %[1]q ended: exit status 3; last lines of standard error: "no API key"`, failing.Path)},
	} {
		_, err := mcpclient.Connect(t.Context(), c.to, &mcpclient.Options{Logger: silent})
		require.EqualError(t, err, c.want)
	}
}
