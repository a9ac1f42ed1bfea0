package interop

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	mcpgoclient "github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// extension is declared by each client and each server, with settings.
const extension = "com.example/search"

var (
	settings    = map[string]any{extension: map[string]any{"fast": true}}
	rawSettings = map[string]map[string]json.RawMessage{extension: {"fast": json.RawMessage("true")}}
)

// TestOurServerReadsExtensionsOfOtherClients also tests that they read the server's.
func TestOurServerReadsExtensionsOfOtherClients(t *testing.T) {
	for name, connect := range map[string]func(t *testing.T, url, revision string) (extensions any, call func() error){
		"go-sdk": goExtensions, "mcp-go": mcpgoExtensions,
	} {
		for _, info := range mcp.Revisions {
			t.Run(name+"/"+info.Revision.String(), func(t *testing.T) {
				var declared map[string]map[string]json.RawMessage
				s := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, &mcpserver.Options{
					Extensions: map[string]json.RawMessage{extension: json.RawMessage(`{"fast":true}`)},
				})
				mcpserver.AddTool(s, &mcp.Tool{Name: "look"}, func(_ context.Context, c *mcp.ServerSession, _ struct{}) (string, error) {
					declared = c.ClientCapabilities().Extensions
					return "", nil
				})
				h := streamable.NewHandler(s, nil)
				listener := httptest.NewServer(h)
				defer listener.Close()
				defer h.Close()
				extensions, call := connect(t, listener.URL, info.Revision.String())
				require.Equal(t, settings, extensions)
				require.NoError(t, call())
				require.Equal(t, rawSettings, declared)
			})
		}
	}
}

func goExtensions(t *testing.T, url, revision string) (any, func() error) {
	c := gosdk.NewClient(&gosdk.Implementation{Name: "c", Version: "1"}, &gosdk.ClientOptions{
		Capabilities: &gosdk.ClientCapabilities{Extensions: settings},
	})
	session, err := c.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: url}, &gosdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { session.Close() })
	require.Equal(t, revision, session.InitializeResult().ProtocolVersion)
	return session.InitializeResult().Capabilities.Extensions, func() error {
		_, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "look"})
		return err
	}
}

func mcpgoExtensions(t *testing.T, url, revision string) (any, func() error) {
	to, err := transport.NewStreamableHTTP(url)
	require.NoError(t, err)
	c := mcpgoclient.NewClient(to)
	t.Cleanup(func() { c.Close() })
	require.NoError(t, c.Start(t.Context()))
	init := mcpgo.InitializeRequest{Params: mcpgo.InitializeParams{
		ProtocolVersion: revision, ClientInfo: mcpgo.Implementation{Name: "c", Version: "1"},
		Capabilities: mcpgo.ClientCapabilities{Extensions: settings},
	}}
	res, err := c.Initialize(t.Context(), init)
	require.NoError(t, err)
	require.Equal(t, revision, res.ProtocolVersion)
	return res.Capabilities.Extensions, func() error {
		_, err := c.CallTool(t.Context(), mcpgo.CallToolRequest{Params: mcpgo.CallToolParams{Name: "look"}})
		return err
	}
}

// TestOurClientReadsExtensionsOfOtherServers also tests that they read the client's.
func TestOurClientReadsExtensionsOfOtherServers(t *testing.T) {
	for name, serve := range map[string]func(t *testing.T, revision wire.Revision, declared *any) string{
		"go-sdk": goExtensionServer, "mcp-go": mcpgoExtensionServer,
	} {
		for _, info := range mcp.Revisions {
			t.Run(name+"/"+info.Revision.String(), func(t *testing.T) {
				var declared any
				c, err := mcpclient.Connect(t.Context(), mcpclient.URL(serve(t, info.Revision, &declared)), &mcpclient.Options{
					Capabilities: mcp.ClientCapabilities{Extensions: rawSettings}, Revision: info.Revision,
				})
				require.NoError(t, err)
				defer c.Close()
				require.Equal(t, rawSettings, c.ServerCapabilities().Extensions)
				_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "look"})
				require.NoError(t, err)
				require.Equal(t, settings, declared)
			})
		}
	}
}

func goExtensionServer(t *testing.T, r wire.Revision, declared *any) string {
	s := gosdk.NewServer(&gosdk.Implementation{Name: "s", Version: "1"}, &gosdk.ServerOptions{
		Capabilities: &gosdk.ServerCapabilities{Extensions: settings},
	})
	gosdk.AddTool(s, &gosdk.Tool{Name: "look"}, func(_ context.Context, req *gosdk.CallToolRequest, _ struct{}) (*gosdk.CallToolResult, any, error) {
		*declared = req.ClientCapabilities().Extensions
		return &gosdk.CallToolResult{}, nil, nil
	})
	stateless := &gosdk.StreamableHTTPOptions{Stateless: r == mcp.Revision20260728}
	listener := httptest.NewServer(gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return s }, stateless))
	t.Cleanup(listener.Close)
	return listener.URL
}

func mcpgoExtensionServer(t *testing.T, _ wire.Revision, declared *any) string {
	s := mcpgoserver.NewMCPServer("s", "1", mcpgoserver.WithExtensions(settings))
	s.AddTool(mcpgo.NewTool("look"), func(ctx context.Context, _ mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		session := mcpgoserver.ClientSessionFromContext(ctx).(mcpgoserver.SessionWithClientInfo)
		*declared = session.GetClientCapabilities().Extensions
		return mcpgo.NewToolResultText(""), nil
	})
	listener := httptest.NewServer(mcpgoserver.NewStreamableHTTPServer(s))
	t.Cleanup(listener.Close)
	return listener.URL
}
