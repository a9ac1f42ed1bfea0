package docs

import (
	"context"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

type city struct {
	City string `json:"city" jsonschema:"the name of the city"`
}

// weather returns the server that the tests of the pages use.
func weather(opts *mcpserver.Options) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, opts)
	mcpserver.AddTool(server, &mcp.Tool{Name: "forecast"}, func(_ context.Context, _ *mcp.ServerSession, in city) (string, error) {
		return "sunny in " + in.City, nil
	})
	return server
}

// serveAllRevisions serves clients of all revisions at one URL.
func serveAllRevisions(ctx context.Context) error {
	server := weather(nil)
	return streamable.ListenAndServe(ctx, "localhost:8080", server, nil)
}

// Connect selects the newest revision that both sides support.
func Example_negotiated() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(weather(nil)), nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(client.Revision().String(), client.NoHandshake())
	// Output: 2026-07-28 true
}

var calls = connection.NewKey[int]("calls")

func count(ctx context.Context) int {
	return calls.Update(connection.FromContext(ctx).State(), func(n int) int { return n + 1 })
}

// A value lasts as long as the connection: for a session, or for a request.
func Example_values() {
	ctx := context.Background()
	server := mcpserver.New(mcp.Implementation{Name: "counter", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "count"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (int, error) {
		return count(ctx), nil
	})
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		client, err := mcpclient.Connect(ctx, mcpclient.InProcess(server), &mcpclient.Options{Revision: r})
		if err != nil {
			log.Fatal(err)
		}
		first, _ := mcpclient.CallTool[int](ctx, client, "count", nil)
		second, err := mcpclient.CallTool[int](ctx, client, "count", nil)
		fmt.Println(r, first, second, err)
		client.Close()
	}
	// Output:
	// 2025-11-25 1 2 <nil>
	// 2026-07-28 1 1 <nil>
}

// The option Revision selects a revision.
func Example_pinned() {
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(weather(nil)), &mcpclient.Options{Revision: mcp.Revision20250618})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	fmt.Println(client.Revision().String(), client.NoHandshake())
	// Output: 2025-06-18 false
}

// A server may support some revisions only.
func Example_served() {
	server := weather(&mcpserver.Options{Revisions: []wire.Revision{mcp.Revision20251125, mcp.Revision20260728}})
	_, err := mcpclient.Connect(context.Background(), mcpclient.InProcess(server), &mcpclient.Options{Revision: mcp.Revision20241105})
	fmt.Println(err != nil)
	// Output: true
}

// The generated tables contain the revisions of each method.
func Example_tables() {
	elicit := mcp.MethodByName(mcp.MethodElicit)
	for _, r := range mcp.Revisions {
		switch {
		case elicit.FromServer.Has(r.Revision):
			fmt.Println(r.Revision, "request of the server")
		case elicit.Embedded.Has(r.Revision):
			fmt.Println(r.Revision, "part of a result")
		}
	}
	// Output:
	// 2025-06-18 request of the server
	// 2025-11-25 request of the server
	// 2026-07-28 part of a result
}

// logSessions logs the begin and the end of each session.
func logSessions(server *mcpserver.Server) {
	mcpserver.HandleNotification(server, func(ctx context.Context, _ *mcp.InitializedNotification) error {
		client := connection.FromContext(ctx)
		log.Print("session begins: ", client.ClientInfo().Name, " ", client.SessionID())
		client.OnClose(func(context.Context) error {
			log.Print("session ends: ", client.SessionID())
			return nil
		})
		return nil
	})
}
