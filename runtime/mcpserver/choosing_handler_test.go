package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
)

// customer is the header that chooses a server in these tests.
const customer = "X-Customer"

// withHeader returns an endpoint whose requests have a customer.
func withHeader(url, name string) *mcpclient.URLEndpoint {
	to := mcpclient.URL(url)
	to.HTTP.Header = http.Header{customer: {name}}
	return to
}

// counted counts notifications.
type counted struct {
	peer.Outbound
	n *atomic.Int32
}

func (c counted) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	c.n.Add(1)
	return c.Outbound.Notify(ctx, n, opts...)
}

func TestChoosingHandler(t *testing.T) {
	for _, options := range []*streamable.Options{nil, {Stateless: true}} {
		inEveryRevision(t, func(t *testing.T, revision string) {
			var made, sent atomic.Int32
			h := streamable.NewChoosingHandler(func(r *http.Request) *mcpserver.Server {
				name := r.Header.Get(customer)
				if name == "unknown" {
					return nil
				}
				n := made.Add(1)
				s := mcpserver.New(mcp.Implementation{Name: name, Version: "1"}, &mcpserver.Options{
					Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{ListChanged: true}},
					Outgoing:     []func(peer.Outbound) peer.Outbound{func(o peer.Outbound) peer.Outbound { return counted{o, &sent} }},
				})
				mcpserver.AddTool(s, &mcp.Tool{Name: "of_" + name}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
					mcpserver.AddTool(s, &mcp.Tool{Name: "later"}, sayer("later"))
					return fmt.Sprint(name, " ", n), nil
				})
				return s
			}, options)
			defer h.Close()
			web := httptest.NewServer(h)
			defer web.Close()
			r, _ := mcp.ParseRevision(revision)
			hasSessions := handshakes(revision) && options == nil
			for _, name := range []string{"ada", "bob"} {
				c, err := mcpclient.Connect(t.Context(), withHeader(web.URL, name), &mcpclient.Options{Revision: r})
				require.NoError(t, err)
				first := said(t, c, "of_"+name, nil)
				second := said(t, c, "of_"+name, nil)
				require.Equal(t, hasSessions, first == second, "%q and %q", first, second)
				require.Contains(t, second, name)
				require.Equal(t, hasSessions, len(names(t, c)) == 2, "the session stays with its server")
				require.NoError(t, c.Close())
			}
			before := made.Load()
			if hasSessions {
				require.EqualValues(t, 2, before)
				require.Positive(t, sent.Load(), "the changed list passes Outgoing of the server")
			}
			_, err := mcpclient.Connect(t.Context(), withHeader(web.URL, "unknown"), &mcpclient.Options{Revision: r})
			require.ErrorContains(t, err, "404")
			require.Equal(t, before, made.Load())
		})
	}
}

func TestChoosingHandlerRefusesOtherSessions(t *testing.T) {
	s := withLogin(nil)
	h := streamable.NewChoosingHandler(func(*http.Request) *mcpserver.Server { return s }, nil)
	defer h.Close()
	web := httptest.NewServer(h)
	defer web.Close()
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		req, err := http.NewRequestWithContext(t.Context(), method, web.URL, http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Mcp-Session-Id", "absent")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		res.Body.Close()
		require.Equal(t, http.StatusNotFound, res.StatusCode)
	}
	require.NoError(t, s.Shutdown(t.Context()))
	_, err := mcpclient.Connect(t.Context(), mcpclient.URL(web.URL), nil)
	require.ErrorContains(t, err, "404", "a server that has been shut down serves no new session")
}

func TestChoosingHandlerWithSharing(t *testing.T) {
	require.PanicsWithValue(t, "streamable: NewChoosingHandler: sessions cannot be shared", func() {
		streamable.NewChoosingHandler[*mcpserver.Server](nil, &streamable.Options{Sharing: struct{ streamable.Sharing }{}})
	})
}

func TestChoosingLegacySSEHandler(t *testing.T) {
	var sent atomic.Int32
	made := map[string]*mcpserver.Server{}
	for _, name := range []string{"ada", "bob"} {
		made[name] = mcpserver.New(mcp.Implementation{Name: name, Version: "1"}, &mcpserver.Options{
			Outgoing: []func(peer.Outbound) peer.Outbound{func(o peer.Outbound) peer.Outbound { return counted{o, &sent} }},
		})
		mcpserver.AddTool(made[name], &mcp.Tool{Name: "of_" + name}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
			return name, s.ReportProgress(ctx, peer.Progress{Progress: 1})
		})
	}
	h := streamable.NewChoosingLegacySSEHandler(func(r *http.Request) *mcpserver.Server { return made[r.Header.Get(customer)] }, nil)
	web := httptest.NewServer(h)
	defer web.Close()
	defer h.Close()
	connectAs := func(name string) (*mcpclient.Client, error) {
		to := mcpclient.LegacySSE(web.URL, &httpclient.Options{Header: http.Header{customer: {name}}})
		return mcpclient.Connect(t.Context(), to, nil)
	}
	for name := range made {
		c, err := connectAs(name)
		require.NoError(t, err)
		defer c.Close()
		var res mcp.CallToolResult
		require.NoError(t, c.Call(t.Context(), &mcp.CallToolRequest{Name: "of_" + name}, &res, peer.OnProgress(func(peer.Progress) {})))
		require.Equal(t, name, mcp.TextOf(res.Content))
	}
	require.EqualValues(t, 2, sent.Load(), "each report passes Outgoing of the server")
	_, err := connectAs("unknown")
	require.ErrorContains(t, err, "404")
	require.NoError(t, made["bob"].Shutdown(t.Context()))
	_, err = connectAs("bob")
	require.ErrorContains(t, err, "404", "the server has been shut down")
}
