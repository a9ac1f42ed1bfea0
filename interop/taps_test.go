package interop

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	mcpgoserver "github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

type hello struct {
	Name string `json:"name"`
}

// newGoSDKServer returns a server of the official SDK. Its tool returns text for an audience.
func newGoSDKServer(audience gosdk.Role) *gosdk.Server {
	server := gosdk.NewServer(&gosdk.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	gosdk.AddTool(server, &gosdk.Tool{Name: "greet"}, func(_ context.Context, _ *gosdk.CallToolRequest, in hello) (*gosdk.CallToolResult, any, error) {
		text := &gosdk.TextContent{Text: "Hello, " + in.Name, Annotations: &gosdk.Annotations{Audience: []gosdk.Role{audience}}}
		return &gosdk.CallToolResult{Content: []gosdk.Content{text}}, nil, nil
	})
	return server
}

// TestGoSDKServer validates all messages between a client and a server of the official SDK.
func TestGoSDKServer(t *testing.T) {
	server := newGoSDKServer("user")
	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return server }, nil)
	endpoint := httptest.NewServer(mcptest.TapHandler(mcptest.Fail(t), handler))
	defer endpoint.Close()

	client := gosdk.NewClient(&gosdk.Implementation{Name: "tester", Version: "1.0.0"}, nil)
	session, err := client.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: endpoint.URL}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	res, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "greet", Arguments: hello{"Ada"}})
	if err != nil {
		t.Fatal(err)
	}
	if text := res.Content[0].(*gosdk.TextContent).Text; text != "Hello, Ada" {
		t.Errorf("greet = %q", text)
	}
}

func TestTapsReportInvalidMessagesOfOtherSDKs(t *testing.T) {
	server := newGoSDKServer("nobody")
	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return server }, nil)
	for name, tap := range map[string]func(report func(*mcptest.Violation)) (http.Handler, *http.Client){
		"the server": func(report func(*mcptest.Violation)) (http.Handler, *http.Client) {
			return mcptest.TapHandler(report, handler), &http.Client{Transport: &http.Transport{}}
		},
		"the client": func(report func(*mcptest.Violation)) (http.Handler, *http.Client) {
			return handler, &http.Client{Transport: mcptest.TapTransport(report, &http.Transport{})}
		},
	} {
		t.Run(name, func(t *testing.T) {
			found := make(chan *mcptest.Violation, 10)
			tapped, own := tap(func(v *mcptest.Violation) { found <- v })
			endpoint := httptest.NewServer(tapped)
			defer endpoint.Close()
			client := gosdk.NewClient(&gosdk.Implementation{Name: "tester", Version: "1.0.0"}, nil)
			session, err := client.Connect(t.Context(), &gosdk.StreamableClientTransport{Endpoint: endpoint.URL, HTTPClient: own}, nil)
			require.NoError(t, err)
			defer session.Close()
			_, err = session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "greet", Arguments: hello{"Ada"}})
			require.NoError(t, err, "the client does not validate the result")
			require.Len(t, found, 1)
			v := <-found
			require.Equal(t, "tools/call", v.Method)
			require.Equal(t, "/result/content/0/annotations/audience/0", v.Pointer)
			require.Contains(t, v.Error(), `2025-11-25: the server's response to "tools/call": /result/content/0/annotations/audience/0: value must be one of "assistant", "user"`)
		})
	}
}

// TestGoSDKServerInEachRevision calls a tool of the official SDK in each revision, with the client of mcptest.
func TestGoSDKServerInEachRevision(t *testing.T) {
	server := newGoSDKServer("user")
	handler := gosdk.NewStreamableHTTPHandler(func(*http.Request) *gosdk.Server { return server }, &gosdk.StreamableHTTPOptions{Stateless: true})
	mcptest.Run(t, mcptest.HTTP(handler), func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet", Arguments: []byte(`{"name":"Ada"}`)})
		if err != nil {
			t.Fatal(err)
		}
		if text := mcp.TextOf(res.Content); text != "Hello, Ada" {
			t.Errorf("greet = %q", text)
		}
	})
}

// TestMCPGoServer validates all messages of a server of mcp-go on a pipe.
func TestMCPGoServer(t *testing.T) {
	server := mcpgoserver.NewMCPServer("greeter", "1.0.0")
	server.AddTool(mcpgo.NewTool("greet", mcpgo.WithString("name")), func(_ context.Context, req mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return mcpgo.NewToolResultText("Hello, " + req.GetString("name", "")), nil
	})
	clientEnd, serverEnd := net.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- mcpgoserver.NewStdioServer(server).Listen(ctx, serverEnd, serverEnd) }() // returns when the pipe is closed
	defer func() {
		cancel()
		serverEnd.Close()
		<-served
	}()

	pipe := mcptest.TapPipe(mcptest.Fail(t), clientEnd, mcptest.FromClient)
	client, err := mcpclient.Connect(t.Context(), mcpclient.Streams(pipe, pipe), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "greet", hello{"Ada"})
	if err != nil || text != "Hello, Ada" {
		t.Errorf("greet = %q, %v", text, err)
	}
}
