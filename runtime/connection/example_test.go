package connection_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// client is the channel to a client. It prints the messages that are sent.
type client struct{}

func (client) Call(_ context.Context, req peer.Message, res wire.Value, _ ...peer.CallOption) error {
	fmt.Println("client receives the request", req.Method())
	return wire.Unmarshal([]byte(`{"sky":"blue"}`), res)
}

func (client) Notify(_ context.Context, n peer.Notification, _ ...peer.CallOption) error {
	fmt.Println("client receives the notification", n.Method())
	return nil
}

func (client) Progress(_ context.Context, p peer.Progress) error {
	fmt.Println("client receives progress:", p.Progress, "of", *p.Total)
	return nil
}

// incoming returns a request as a transport passes it to a handler.
func incoming(method, params string) *peer.Inbound {
	return &peer.Inbound{
		Method: method, ID: wire.IntID(1), Params: []byte(params), Token: wire.IntToken(1),
		Transport: peer.NewTransportContext("example", true, nil, ""), Back: client{},
	}
}

// A program can send and handle requests that are not part of the protocol. Their types
// implement peer.Request and wire.Value; the example of jsonrpc.Conn.Call shows such types.
func Example_customRequest() {
	ctx := context.Background()
	conn := connection.NewForRequest(mcp.Revision20251125, nil, nil, &connection.Options{Outbound: client{}})

	res, err := peer.SendRequest(ctx, conn, &weatherRequest{Place: "Bern"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the sky is", res.Sky)

	var mux peer.Mux
	peer.Handle(&mux, func(_ context.Context, req *weatherRequest) (*weather, error) {
		return &weather{Sky: "grey over " + req.Place}, nil
	})
	dispatcher := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux})
	reply, err := dispatcher.Serve(ctx, conn, incoming("acme/weather", `{"place":"Basel"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Result.(*weather).Sky)

	// Output:
	// client receives the request acme/weather
	// the sky is blue
	// grey over Basel
}

// A handler reports the progress of its request. If the request has no progress token, nothing is
// sent.
func Example_progress() {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session := mcp.SessionFromContext(ctx)
		total := 2.0
		for step := range 2 {
			if err := session.ReportProgress(ctx, peer.Progress{Progress: float64(step + 1), Total: &total}); err != nil {
				return nil, err
			}
		}
		return mcp.TextResult("done"), nil
	})
	dispatcher := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux})
	conn := connection.NewForRequest(mcp.Revision20251125, nil, nil, nil)
	_, err := dispatcher.Serve(context.Background(), conn, incoming("tools/call", `{"name":"count"}`))
	fmt.Println(err)

	// Output:
	// client receives progress: 1 of 2
	// client receives progress: 2 of 2
	// <nil>
}

// The context of a handler ends when the request is canceled or the client disconnects. The
// functions of OnClose run nevertheless.
func Example_cancellation() {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		connection.FromContext(ctx).OnClose(func(ctx context.Context) error {
			fmt.Println("cleaned up, with time left:", ctx.Err() == nil)
			return nil
		})
		<-ctx.Done()
		return nil, context.Cause(ctx)
	})
	dispatcher := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux})
	conn := connection.NewForRequest(mcp.Revision20251125, nil, nil, nil)

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the client has gone"))
	_, err := dispatcher.Serve(ctx, conn, incoming("tools/call", `{"name":"wait"}`))
	fmt.Println(err)
	conn.Close(ctx)

	// Output:
	// the client has gone
	// cleaned up, with time left: true
}

// The form for a Go struct.
func ExampleFormOf() {
	type table struct {
		Name   string `json:"name" jsonschema:"For whom?" minLength:"1"`
		Guests int    `json:"guests" minimum:"1" maximum:"12" default:"2"`
		Window bool   `json:"window,omitempty"`
	}
	form, err := connection.FormOf[table]()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, field := range form.Properties {
		fmt.Printf("%s: %T\n", field.Name, field.Schema)
	}
	fmt.Println("required:", form.Required)

	// Output:
	// name: *mcp.StringSchema
	// guests: *mcp.NumberSchema
	// window: *mcp.BooleanSchema
	// required: [name guests]
}

// A program can store values in the state of a connection.
func ExampleKey() {
	var visits = connection.NewKey[int]("visits")

	conn := connection.New(nil, nil)
	for range 3 {
		visits.Update(conn.State(), func(n int) int { return n + 1 })
	}
	n, _ := visits.Get(conn.State())
	fmt.Println(n)

	// Output: 3
}
