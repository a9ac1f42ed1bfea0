package mcpclient_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sides are the revisions of a gateway's client and of its upstream server.
var sides = []struct{ down, up wire.Revision }{
	{mcp.Revision20260728, mcp.Revision20251125},
	{mcp.Revision20251125, mcp.Revision20260728},
	{mcp.Revision20260728, mcp.Revision20260728},
	{mcp.Revision20250618, mcp.Revision20250326},
}

// gateway serves the features of upstream.
func gateway(upstream *mcpclient.Client) http.Handler {
	var mux peer.Mux
	mcp.HandleServer(&mux, upstream.Forward())
	return streamable.NewHandler(connection.NewDispatcher(&connection.DispatcherOptions{
		Mux: &mux, Info: mcp.Implementation{Name: "gateway", Version: "1"},
		Capabilities: *upstream.ServerCapabilities(), Logger: silent,
	}), &streamable.Options{Logger: silent})
}

func TestGatewayBetweenRevisions(t *testing.T) {
	leaks.Check(t)
	const unknown = `{"z":[1.0,1e2],"a":"\u00fc"}`
	for _, side := range sides {
		t.Run(side.down.String()+" to "+side.up.String(), func(t *testing.T) {
			s := newKit(nil)
			var met map[string]json.RawMessage
			s.AddRawTool(&mcp.Tool{Name: "mirror", InputSchema: json.RawMessage(`{"type":"object","x-kept":1.0}`)},
				func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
					met = req.Extra
					res := mcp.TextResult(string(req.Arguments))
					res.Extra = map[string]json.RawMessage{"x-back": json.RawMessage(unknown)}
					return res, nil
				})
			upstream := connect(t, validatedURL(t, kitHandler(s)), &mcpclient.Options{Revision: side.up})
			c := connect(t, validatedURL(t, gateway(upstream)), &mcpclient.Options{Revision: side.down})
			require.Equal(t, "gateway", c.ServerInfo().Name)

			res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{
				Name: "mirror", Arguments: json.RawMessage(`{"n":1.0}`),
				Extra: map[string]json.RawMessage{"x-there": json.RawMessage(unknown)},
			})
			require.NoError(t, err)
			require.Equal(t, `{"n":1.0}`, mcp.TextOf(res.Content))
			require.Equal(t, unknown, string(met["x-there"]))
			require.Equal(t, unknown, string(res.Extra["x-back"]))

			for tool, err := range c.Tools(t.Context()) {
				require.NoError(t, err)
				if tool.Name == "mirror" {
					require.Equal(t, `{"type":"object","x-kept":1.0}`, string(tool.InputSchema))
				}
			}
			require.Equal(t, "a note", read(t, c.ServerPeer, "note:1").Contents[0].(*mcp.TextResourceContents).Text)
			_, err = c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: "note:absent"})
			require.NotNil(t, peer.AsError(err), "%v", err)
			_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "absent"})
			require.Equal(t, int64(mcp.CodeInvalidParams), int64(peer.AsError(err).Code))
		})
	}
}

// Input requests and progress of the upstream server reach the client of the gateway, in each
// combination of revisions.
func TestGatewayForwardsInputRequests(t *testing.T) {
	leaks.Check(t)
	backend := newKit(nil)
	upstream := connect(t, validatedURL(t, kitHandler(backend)), &mcpclient.Options{
		Revision: mcp.Revision20260728, Capabilities: mcp.ClientCapabilities{
			Elicitation: &mcp.ElicitationCapability{}, Sampling: &mcp.SamplingCapability{}, Roots: &mcp.RootsCapability{},
		},
	})
	front := mcpserver.New(mcp.Implementation{Name: "gateway", Version: "1"}, &mcpserver.Options{Logger: silent})
	to := mcpserver.Proxy(upstream)
	for _, tool := range []string{"ask", "consult", "report"} {
		front.AddRawTool(&mcp.Tool{Name: tool}, to.CallTool)
	}
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String(), func(t *testing.T) {
			c := connect(t, validatedURL(t, kitHandler(front)), handlerOptions(mcpclient.Options{Revision: r}))
			require.Equal(t, "accept Ada true", callText(t, c, "ask"))
			require.Equal(t, "blue in file:///project", callText(t, c, "consult"))
			var steps []float64
			require.Equal(t, "reported", callText(t, c, "report", peer.OnProgress(func(p peer.Progress) { steps = append(steps, p.Progress) })))
			require.Equal(t, []float64{1, 2, 3}, steps)
		})
	}
}

// oddNames are names of tools that break the rules for names.
var oddNames = []string{"files/read", "read file", " padded ", "größe", "two\nlines", "=?base64?eA==?=", strings.Repeat("long", 100)}

func TestGatewayForwardsToolsWithAnyName(t *testing.T) {
	leaks.Check(t)
	backend := mcpserver.New(mcp.Implementation{Name: "backend", Version: "1"}, &mcpserver.Options{Logger: silent})
	for _, name := range oddNames {
		backend.AddRawTool(&mcp.Tool{Name: name}, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			said, err := consults(ctx, mcp.SessionFromContext(ctx))
			return mcp.TextResult(req.Name + ": " + said), err
		})
	}
	upstream := connect(t, validatedURL(t, kitHandler(backend)), &mcpclient.Options{
		Revision: mcp.Revision20260728, Capabilities: mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}, Roots: &mcp.RootsCapability{}},
	})
	front := mcpserver.New(mcp.Implementation{Name: "gateway", Version: "1"}, &mcpserver.Options{Logger: silent, PageSize: 2})
	to := mcpserver.Proxy(upstream)
	for tool, err := range upstream.Tools(t.Context()) {
		require.NoError(t, err)
		front.AddRawTool(tool, to.CallTool)
	}
	for _, r := range []wire.Revision{mcp.Revision20250326, mcp.Revision20251125, mcp.Revision20260728} {
		for _, to := range []mcpclient.Endpoint{validatedURL(t, kitHandler(front)), validatedPipe(t, front), mcpclient.InProcess(front)} {
			c := connect(t, to, handlerOptions(mcpclient.Options{Revision: r}))
			require.ElementsMatch(t, oddNames, names(t, c))
			for _, name := range oddNames {
				require.Equal(t, name+": blue in file:///project", callText(t, c, name))
			}
		}
	}
}

// An upstream server in a handshake revision sends input requests as requests. Their handler finds the
// session of the call.
func TestGatewayForwardsRequestsOfHandshakeServer(t *testing.T) {
	leaks.Check(t)
	backend := newKit(nil)
	for name, to := range map[string]mcpclient.Endpoint{
		"in process": mcpclient.InProcess(backend), "http": validatedURL(t, kitHandler(backend)),
	} {
		for _, up := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125} {
			upstream := connect(t, to, &mcpclient.Options{
				Logger:   slog.New(slog.NewTextHandler(failOnError{t}, &slog.HandlerOptions{Level: slog.LevelError})),
				Revision: up, OnElicit: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					return peer.SendRequest(ctx, mcp.SessionFromContext(ctx), req)
				},
			})
			front := mcpserver.New(mcp.Implementation{Name: "gateway", Version: "1"}, &mcpserver.Options{Logger: silent})
			server := mcpserver.Proxy(upstream)
			front.AddRawTool(&mcp.Tool{Name: "ask"}, server.CallTool)
			for _, down := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
				t.Run(name+" "+down.String()+" to "+up.String(), func(t *testing.T) {
					c := connect(t, validatedURL(t, kitHandler(front)), handlerOptions(mcpclient.Options{Revision: down}))
					require.Equal(t, "accept Ada true", callText(t, c, "ask"))
				})
			}
		}
	}
}

// failOnError fails a test if an error is logged.
type failOnError struct{ t *testing.T }

func (a failOnError) Write(line []byte) (int, error) {
	a.t.Errorf("logged: %s", line)
	return len(line), nil
}

// A forwarded subscription would wait for an acknowledgement with another id.
func TestForwardRejectsSubscriptions(t *testing.T) {
	upstream := connect(t, validatedURL(t, kitHandler(newKit(nil))), nil)
	_, err := upstream.Forward().SubscriptionsListen(t.Context(), &mcp.SubscriptionsListenRequest{})
	require.Equal(t, int64(mcp.CodeMethodNotFound), peer.AsError(err).Code)
}
