package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// newGateway returns a dispatcher that forwards all requests to one server.
func newGateway(upstream *mcpclient.Client) *connection.Dispatcher {
	var mux peer.Mux
	mcp.HandleServer(&mux, upstream.Forward())
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "gateway", Version: "1.0.0"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
	})
}

// serveGateway serves over HTTP, and then on standard input and output.
func serveGateway(ctx context.Context, mux *http.ServeMux, dispatcher *connection.Dispatcher) error {
	mux.Handle("/mcp", streamable.NewHandler(dispatcher, nil))

	return stdio.Serve(ctx, connection.NewPipe(dispatcher, nil), nil)
}

// gateway is a server for clients in this process.
type gateway struct{ dispatcher *connection.Dispatcher }

// InProcess connects a client.
func (g gateway) InProcess(opts *jsonrpc.Options) *jsonrpc.InProcessConn {
	pipe := connection.NewPipe(g.dispatcher, nil)
	client, server := jsonrpc.InProcessPair(opts, &jsonrpc.Options{Handler: pipe, Frame: pipe.Frame})
	pipe.Attach(server, server.InFlight())
	return client
}

func Example_gateway() {
	ctx := context.Background()
	upstream, err := mcpclient.Connect(ctx, mcpclient.InProcess(weather(nil)), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer upstream.Close()

	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(gateway{newGateway(upstream)}), &mcpclient.Options{Revision: mcp.Revision20250326})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	text, err := mcpclient.CallTool[string](ctx, client, "forecast", city{"Bern"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(text, "from", upstream.Revision().String(), "to", client.Revision().String())
	// Output: sunny in Bern from 2026-07-28 to 2025-03-26
}

// join adds the tools of a server to a gateway, with a prefix.
func join(ctx context.Context, gateway *mcpserver.Server, prefix string, upstream *mcpclient.Client) error {
	to := mcpserver.Proxy(upstream)
	for tool, err := range upstream.Tools(ctx) {
		if err != nil {
			return err
		}
		renamed, name := *tool, tool.Name
		renamed.Name = prefix + name
		call := func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			forwarded := *req
			forwarded.Name = name
			return to.CallTool(ctx, &forwarded)
		}
		if err := gateway.TryAddRawTool(&renamed, call); err != nil {
			return err
		}
	}
	return nil
}

// The gateway has the tools of two servers.
func Example_gatewayOfSeveral() {
	ctx := context.Background()
	joined := mcpserver.New(mcp.Implementation{Name: "gateway", Version: "1.0.0"}, nil)
	for prefix, server := range map[string]*mcpserver.Server{"weather_": weather(nil), "work_": builder()} {
		upstream, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), nil)
		if err != nil {
			log.Fatal(err)
		}
		defer upstream.Close()
		if err := join(ctx, joined, prefix, upstream); err != nil {
			log.Fatal(err)
		}
	}
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(joined), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(tool.Name)
	}
	fmt.Println(mcpclient.CallTool[string](ctx, client, "weather_forecast", city{"Bern"}))
	// Output:
	// weather_forecast
	// work_build
	// sunny in Bern <nil>
}

// passLogs forwards a call, and the log messages about it.
func passLogs(ctx context.Context, upstream *mcpclient.Client, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	session := mcp.SessionFromContext(ctx)
	pass := func(n *mcp.LoggingMessageNotification) { _ = session.SendLogMessage(ctx, n) }
	return upstream.Forward().With(mcpclient.OnLog("", pass)).CallTool(ctx, req)
}

func Example_gatewayLogs() {
	ctx := context.Background()
	upstream, err := mcpclient.Connect(ctx, mcpclient.InProcess(builder()), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer upstream.Close()

	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return passLogs(ctx, upstream, req)
	})
	dispatcher := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux, Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}, Logging: map[string]json.RawMessage{}}})
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(gateway{dispatcher}), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	show := func(n *mcp.LoggingMessageNotification) { fmt.Println(n.Level, string(n.Data)) }
	if _, err := client.With(mcpclient.OnLog("", show)).CallTool(ctx, &mcp.CallToolRequest{Name: "build"}); err != nil {
		log.Fatal(err)
	}
	// Output: warning "no tests"
}
