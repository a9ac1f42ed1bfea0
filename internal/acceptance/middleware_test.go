package acceptance

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// changedCall is the call that the middleware of these tests makes of each call.
func changedCall(in *peer.Inbound) *mcp.CallToolRequest {
	call := new(mcp.CallToolRequest)
	if err := in.Decode(in.Frame, call); err != nil {
		panic(err)
	}
	call.Arguments = bytes.Replace(call.Arguments, []byte("sent"), []byte("changed"), 1)
	return call
}

// paramsOf returns the params of a changed call.
func paramsOf(in *peer.Inbound) []byte {
	params, err := wire.AppendParams(nil, in.Frame, changedCall(in))
	if err != nil {
		panic(err)
	}
	return params
}

// changes are the ways to change a request.
var changes = map[string]func(in *peer.Inbound){
	"Message":              func(in *peer.Inbound) { in.Message = changedCall(in) },
	"Params":               func(in *peer.Inbound) { in.Params = paramsOf(in) },
	"Params, and no Value": func(in *peer.Inbound) { in.Params, in.Value, in.Message = paramsOf(in), nil, nil },
	"member of the Message": func(in *peer.Inbound) {
		if call, ok := in.Message.(*mcp.CallToolRequest); ok {
			call.Arguments = changedCall(in).Arguments
		} else {
			in.Message = changedCall(in) // the transport has not decoded it
		}
	},
	"Value": func(in *peer.Inbound) {
		if in.Value != nil {
			in.Value = changedCall(in)
		} else {
			in.Message = changedCall(in) // the message was not sent in process
		}
	},
}

// echoing returns a server whose tool returns its argument.
func echoing(m peer.Middleware) *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "echo", Version: "1"}, &mcpserver.Options{Middleware: []peer.Middleware{m}, Logger: slog.New(slog.DiscardHandler)})
	mcpserver.AddTool(s, &mcp.Tool{Name: "echo"}, func(_ context.Context, _ *mcp.ServerSession, in struct{ Text string }) (string, error) {
		return in.Text, nil
	})
	return s
}

// overLegacySSE serves a server over the HTTP transport of 2024-11-05.
func overLegacySSE(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint {
	h := streamable.NewLegacySSEHandler(s, nil)
	listener := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		listener.Close()
	})
	return mcpclient.LegacySSE(listener.URL, nil)
}

// inProcess returns an endpoint in this process. Messages are encoded if strict is set.
func inProcess(s *mcpserver.Server, strict bool) mcpclient.Endpoint {
	return mcpclient.Dial("in process", func(_ context.Context, o *jsonrpc.Options) (mcpclient.Conn, error) {
		own := *o
		own.Strict = strict
		return s.InProcess(&own), nil
	})
}

// A handler gets the request as middleware has changed it, over each transport.
func TestMiddlewareChangesRequest(t *testing.T) {
	reached := map[string]func(*testing.T, *mcpserver.Server) mcpclient.Endpoint{
		"in process":         func(_ *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return inProcess(s, false) },
		"in process, strict": func(_ *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return inProcess(s, true) },
		"pipe":               overPipe,
		"HTTP":               func(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint { return overHTTP(t, s, nil) },
		"HTTP, no sessions": func(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint {
			return overHTTP(t, s, &streamable.Options{Stateless: true})
		},
		"legacy SSE": overLegacySSE,
	}
	for name, change := range changes {
		for way, apply := range map[string]func(*peer.Inbound) *peer.Inbound{
			"in place": func(in *peer.Inbound) *peer.Inbound { change(in); return in },
			"in a copy": func(in *peer.Inbound) *peer.Inbound {
				changed := *in
				change(&changed)
				return &changed
			},
		} {
			s := echoing(func(next peer.Handler) peer.Handler {
				return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
					if in.Method == mcp.MethodCallTool {
						in = apply(in)
					}
					return next.Handle(ctx, in)
				})
			})
			for transport, endpoint := range reached {
				for _, r := range mcp.Revisions {
					if transport == "legacy SSE" && r.Revision != mcp.Revision20241105 {
						continue
					}
					t.Run(name+"/"+way+"/"+transport+"/"+r.Revision.String(), func(t *testing.T) {
						c, err := mcpclient.Connect(t.Context(), endpoint(t, s), &mcpclient.Options{Revision: r.Revision})
						require.NoError(t, err)
						defer c.Close()
						for range 2 { // a request of a session, and the one after it
							text, err := mcpclient.CallTool[string](t.Context(), c, "echo", map[string]string{"Text": "sent"})
							require.NoError(t, err)
							require.Equal(t, "changed", text)
						}
					})
				}
			}
		}
	}
}

// A request of a session may come without the header MCP-Protocol-Version, since the session has a
// revision. The handler gets the changed request then, too.
func TestMiddlewareChangesRequestWithoutVersionHeader(t *testing.T) {
	for name, change := range changes {
		s := echoing(func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				if in.Method == mcp.MethodCallTool {
					change(in)
				}
				return next.Handle(ctx, in)
			})
		})
		h := streamable.NewHandler(s, &streamable.Options{JSONResponse: true})
		listener := httptest.NewServer(h)
		t.Cleanup(func() {
			h.Close()
			listener.Close()
		})
		for _, r := range mcp.Revisions {
			if !r.Handshake {
				continue // the header is required
			}
			t.Run(name+"/"+r.Revision.String(), func(t *testing.T) {
				p := &rawPeer{t: t, url: listener.URL}
				p.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + r.Revision.String() + `","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
				require.NotEmpty(t, p.session)
				p.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
				for range 2 {
					require.Contains(t, p.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"Text":"sent"}}}`), `"changed"`)
				}
			})
		}
	}
}

// rawPeer sends messages of a session over HTTP, without the header MCP-Protocol-Version.
type rawPeer struct {
	t            *testing.T
	url, session string
}

// post sends a message and returns the response.
func (p *rawPeer) post(message string) string {
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.url, strings.NewReader(message))
	require.NoError(p.t, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if p.session != "" {
		req.Header.Set("Mcp-Session-Id", p.session)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(p.t, err)
	defer res.Body.Close()
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		p.session = id
	}
	text, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	return string(text)
}
