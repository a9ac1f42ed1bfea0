package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

// send sends a request and ignores the result.
func send[R wire.Value](t *testing.T, c peer.Outbound, req peer.Request[R], opts ...peer.CallOption) {
	t.Helper()
	_, _ = peer.SendRequest(t.Context(), c, req, opts...)
}

func TestStatelessHeadersRepeatBody(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) { w.status(400, "", "") })
		c := s.connect(client.Options{})
		for _, x := range []struct {
			send         func()
			method, name string
			named        bool
		}{
			{func() { send(t, c, &mcp.CallToolRequest{Name: "greet"}) }, "tools/call", "greet", true},
			{func() { send(t, c, &mcp.CallToolRequest{Name: ""}) }, "tools/call", "", true},
			{func() { send(t, c, &mcp.CallToolRequest{Name: "grüße"}) }, "tools/call", "=?base64?Z3LDvMOfZQ==?=", true},
			{func() {
				send(t, c, &mcp.CallToolRequest{Name: "n", Arguments: json.RawMessage(`{"name":"x","uri":"y"}`)})
			}, "tools/call", "n", true},
			{func() { send(t, c, &mcp.GetPromptRequest{Name: " edge"}) }, "prompts/get", "=?base64?IGVkZ2U=?=", true},
			{func() { send(t, c, &mcp.ReadResourceRequest{URI: "file:///a%20b?c=d"}) }, "resources/read", "file:///a%20b?c=d", true},
			{func() { send(t, c, &mcp.ListToolsRequest{}) }, "tools/list", "", false},
		} {
			x.send()
			h := s.find("POST " + x.method).Header
			require.Equal(t, []string{x.method}, h.Values("Mcp-Method"))
			if x.named {
				require.Equal(t, []string{x.name}, h.Values("Mcp-Name"))
			} else {
				require.Empty(t, h.Values("Mcp-Name"))
			}
		}
	})
}

func TestToolHeaders(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) { w.json(weatherResult) })
		c := s.connect(client.Options{ToolHeaders: func(tool string, arguments json.RawMessage) (http.Header, error) {
			switch string(arguments) {
			case `{"city":"Bern"}`:
				return http.Header{"Mcp-Param-City": {"Bern"}}, nil
			case "":
				return nil, nil
			}
			return nil, errors.New("argument \"city\": no text")
		}})
		call := func(arguments string) (http.Header, error) {
			req := &mcp.CallToolRequest{Name: "weather"}
			if arguments != "" {
				req.Arguments = json.RawMessage(arguments)
			}
			_, err := peer.SendRequest(t.Context(), c, req)
			return s.find("POST tools/call").Header, err
		}
		h, err := call(`{"city":"Bern"}`)
		require.NoError(t, err)
		require.Equal(t, "Bern", h.Get("Mcp-Param-City"))
		require.Equal(t, "weather", h.Get("Mcp-Name"))

		h, err = call("")
		require.NoError(t, err)
		require.Empty(t, h.Values("Mcp-Param-City"))

		_, err = call(`{"city":{}}`)
		require.ErrorContains(t, err, `headers for the call of tool "weather": argument "city": no text`)
		require.Equal(t, 2, count(s.requests(), "POST tools/call"), "the call was not sent")
	})
}

func TestHeaderFunc(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		type user struct{}
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) { w.json(weatherResult) }))
		c := s.handshake(client.Options{
			Header: http.Header{"X-User": {"static"}, "X-Always": {"1"}, "X-Once": {"static"}},
			HeaderFunc: func(ctx context.Context) http.Header {
				name, _ := ctx.Value(user{}).(string)
				return http.Header{"x-user": {"func" + name}, "X-Once": {"func"}, "Mcp-Session-Id": {"mine"}}
			},
		})
		_, err := callWeather(context.WithValue(t.Context(), user{}, " ann"), c, peer.WithHeader(http.Header{"X-Once": {"call"}}))
		require.NoError(t, err)
		h := s.find("POST tools/call").Header
		require.Equal(t, []string{"func ann"}, h.Values("X-User"))
		require.Equal(t, []string{"1"}, h.Values("X-Always"))
		require.Equal(t, []string{"call"}, h.Values("X-Once"))
		require.Equal(t, []string{"session-1"}, h.Values("Mcp-Session-Id"))
		h = s.find("GET").Header
		require.Equal(t, []string{"func"}, h.Values("X-User"))
		require.Equal(t, []string{"func"}, h.Values("X-Once"))
	})
}

func TestProtocolHeadersCannotBeSet(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, inSession(func(w *rawResponse, r *sentRequest) { w.json(weatherResult) }))
		everything := http.Header{
			"X-Always": {"1", "2"}, "accept": {"text/html"}, "Content-Type": {"text/plain"}, "Mcp-Session-Id": {"mine"}, "MCP-Protocol-Version": {"1"},
			"Mcp-Method": {"x"}, "Mcp-Name": {"y"}, "Last-Event-ID": {"z"}, "Content-Length": {"1"},
		}
		c := s.handshake(client.Options{Header: everything})
		for range 2 {
			_, err := callWeather(t.Context(), c, peer.WithHeader(http.Header{"x-once": {"here"}, "Mcp-Session-Id": {"mine"}}))
			require.NoError(t, err)
		}
		h := s.find("POST tools/call").Header
		require.Equal(t, "here", h.Get("X-Once"))
		require.Equal(t, []string{"1", "2"}, h.Values("X-Always"))
		require.Equal(t, []string{"session-1"}, h.Values("Mcp-Session-Id"))
		require.Equal(t, []string{"2025-11-25"}, h.Values("MCP-Protocol-Version"))
		require.Equal(t, []string{"application/json, text/event-stream"}, h.Values("Accept"))
		require.Equal(t, []string{"application/json"}, h.Values("Content-Type"))
		for _, name := range []string{"Mcp-Method", "Mcp-Name", "Last-Event-Id"} {
			require.Empty(t, h.Values(name))
		}
		h = s.find("GET").Header
		require.Empty(t, h.Get("X-Once"))
		require.Equal(t, "1", h.Get("X-Always"))
	})
}

func TestRedirectsWithinOrigin(t *testing.T) {
	for _, c := range []struct {
		name, to string
		status   int
		followed bool
	}{
		{"the same origin", "/other", 307, true},
		{"the same origin, permanently", "http://SERVER.test:80/other", 308, true},
		{"another host", "http://evil.test/other", 307, false},
		{"another scheme", "https://server.test/other", 308, false},
		{"another port", "http://server.test:81/other", 307, false},
		{"another method", "/other", 302, false},
		{"endless", "/mcp", 307, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
					if r.URL.Path == "/mcp" {
						w.Header().Set("Location", c.to)
						w.status(c.status, "", "")
						return
					}
					w.json(weatherResult)
				})
				conn := s.connect(client.Options{Header: http.Header{"Authorization": {"Bearer secret"}}})
				_, err := callWeather(t.Context(), conn)
				if c.followed {
					require.NoError(t, err)
					require.Equal(t, "POST", s.find("POST tools/call").Method)
					return
				}
				var e *client.HTTPError
				require.ErrorAs(t, err, &e)
				require.Equal(t, c.status, e.Status)
				require.ErrorContains(t, err, "redirect to")
				require.LessOrEqual(t, len(s.requests()), 6)
			})
		})
	}
}

func TestRedirectsNeedCheckRedirect(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) {
			w.Header().Set("Location", "/other")
			w.status(307, "", "")
		})
		s.client.CheckRedirect = func(*http.Request, []*http.Request) error { return errors.New("never") }
		_, err := callWeather(t.Context(), s.connect(client.Options{}))
		require.ErrorContains(t, err, "never")
		require.Len(t, s.requests(), 1)
	})
}

func TestInvalidURLErrorHasNoSecret(t *testing.T) {
	for url, want := range map[string]string{
		"ftp://server.test/mcp":       `scheme "ftp", expected http or https`,
		"http:///mcp":                 "no host",
		"http://u:secret@host:x/mcp":  "the URL is invalid",
		"http://u:secret/x@host/mcp":  "the URL is invalid",
		"127.0.0.1:8080/mcp":          "expected a URL such as https://example.com/mcp",
		"server.test/mcp":             "the URL has no scheme",
		"http://u:secret@\x00/secret": "the URL is invalid",
	} {
		c := client.New(url, nil)
		_, err := callWeather(t.Context(), c)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "secret")
		require.NoError(t, c.Notify(t.Context(), &mcp.InitializedNotification{}))
		require.NoError(t, c.Close())
	}
}

func TestErrorsHaveNoSecretOfURL(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := newFakeServer(t, func(w *rawResponse, r *sentRequest) { w.status(500, "", "") })
		c := client.New("http://user:secret@server.test/mcp?token=secret", &client.Options{HTTPClient: s.client})
		_, err := callWeather(t.Context(), c)
		require.ErrorContains(t, err, `POST "http://server.test/mcp"`)
		require.NotContains(t, err.Error(), "secret")
		user, password, _ := s.find("POST tools/call").BasicAuth()
		require.Equal(t, "user secret", user+" "+password)
		require.NoError(t, c.Close())
	})
}
