package mcpclient_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// inProcess is a server in this process. Programs use the server kit instead.
type inProcess struct{ mux *peer.Mux }

func (s inProcess) InProcess(client *jsonrpc.Options) *jsonrpc.InProcessConn {
	return pipe{connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:  s.mux,
		Info: mcp.Implementation{Name: "demo", Version: "1.0"},
		Capabilities: mcp.ServerCapabilities{
			Tools: &mcp.ToolsCapability{}, Resources: &mcp.ResourcesCapability{Subscribe: true},
		},
	}), nil)}.InProcess(client)
}

// pipe is the server side of an in-process connection.
type pipe struct{ *connection.Pipe }

func (p pipe) InProcess(client *jsonrpc.Options) *jsonrpc.InProcessConn {
	theirs, ours := jsonrpc.InProcessPair(client, &jsonrpc.Options{Handler: p.Pipe, Frame: p.Frame})
	p.Attach(ours, ours.InFlight())
	return theirs
}

// demo is a server with a tool for the weather.
var demo = func() inProcess {
	var mux peer.Mux
	mcp.HandleListTools(&mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: []mcp.Tool{{
			Name: "weather", Description: "returns the temperature",
			OutputSchema: json.RawMessage(`{"type":"object","required":["celsius"]}`),
		}}}, nil
	})
	mcp.HandleCallTool(&mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.ValueResult(map[string]float64{"celsius": 21.5})
	})
	return inProcess{&mux}
}()

// A client lists the tools of a server and calls one.
func Example() {
	ctx := context.Background()
	server := mcpclient.InProcess(demo) // or mcpclient.URL("http://127.0.0.1:8080/mcp"), or mcpclient.Command("weather")
	client, err := mcpclient.Connect(ctx, server, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(tool.Name, "-", tool.Description)
	}
	res, err := client.CallTool(ctx, &mcp.CallToolRequest{Name: "weather", Arguments: json.RawMessage(`{"city":"Bern"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(res.StructuredContent))

	// Output:
	// weather - returns the temperature
	// {"celsius":21.5}
}

// The arguments and the output of a tool are Go values. The output is validated by the tool's schema.
func ExampleCallTool() {
	type City struct {
		Name string `json:"city"`
	}
	type Weather struct {
		Celsius float64 `json:"celsius"`
	}
	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(demo), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	weather, err := mcpclient.CallTool[Weather](ctx, client, "weather", City{"Bern"})
	fmt.Println(weather.Celsius, err)

	// Output: 21.5 <nil>
}

// terminal asks the user on a terminal, one line for each field of a form. An empty line selects the
// default; "no" declines.
func terminal(in io.Reader, out io.Writer) func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	lines := bufio.NewScanner(in)
	return func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		form, ok := req.Params.(*mcp.ElicitRequestFormParams)
		if !ok {
			return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
		}
		fmt.Fprintln(out, "The server asks:", form.Message)
		answer := map[string]any{}
		for _, field := range form.RequestedSchema.Properties {
			fmt.Fprintf(out, "%s? ", field.Name)
			switch lines.Scan(); lines.Text() {
			case "":
			case "no":
				return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
			default:
				answer[field.Name] = lines.Text()
			}
		}
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: answer}, nil
	}
}

// A user answers input requests of a server on a terminal. The code is the same whether the server
// sends them as requests or in a result, as in this example.
func ExampleOptions_elicitation() {
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer, ok := req.InputResponses["table"].(*mcp.ElicitResult); ok {
			if answer.Action != mcp.ElicitActionAccept {
				return mcp.TextResult("nothing booked"), nil
			}
			return mcp.TextResult(fmt.Sprint("booked: ", answer.Content["place"], " at ", answer.Content["time"])), nil
		}
		question := &mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{
			Message: "Which table?",
			RequestedSchema: mcp.RequestedSchema{Properties: []mcp.FormField{
				{Name: "place", Schema: &mcp.UntitledSingleSelectEnumSchema{Enum: []string{"inside", "garden"}}},
				{Name: "time", Schema: &mcp.StringSchema{Default: new("19:00")}},
			}},
		}}
		return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: mcp.InputRequests{"table": question}}}
	})

	ctx := context.Background()
	keyboard := strings.NewReader("garden\n\n") // os.Stdin
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(inProcess{&mux}), &mcpclient.Options{
		OnElicit: terminal(keyboard, os.Stdout),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	text, err := mcpclient.CallTool[string](ctx, client, "book", nil)
	fmt.Println(text, err)

	// Output:
	// The server asks: Which table?
	// place? time? booked: garden at 19:00 <nil>
}

// A program watches a resource. The code is the same for all revisions; this server uses a handshake
// revision.
func ExampleClient_Watch() {
	var mux peer.Mux
	mcp.HandleSubscribe(&mux, func(ctx context.Context, req *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
		conn := connection.FromContext(ctx)
		return &mcp.EmptyResult{}, conn.SendResourceUpdated(ctx, &mcp.ResourceUpdatedNotification{URI: req.URI})
	})
	mcp.HandleUnsubscribe(&mux, func(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, nil
	})

	ctx := context.Background()
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(inProcess{&mux}), &mcpclient.Options{Mode: mcpclient.Handshake})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for uri, err := range client.Watch(ctx, "file:///etc/motd") {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println("changed:", uri) // client.ReadResource returns the new contents
		break
	}

	// Output: changed: file:///etc/motd
}

// A gateway forwards the requests of its own client to the upstream server, and the requests of the
// upstream server to its own client.
func ExampleClient_Forward() {
	var asking peer.Mux
	mcp.HandleCallTool(&asking, func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		answer, err := mcp.SessionFromContext(ctx).ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Really?"})
		if err != nil {
			return nil, err
		}
		return mcp.TextResult("the user says " + string(answer.Action)), nil
	})

	ctx := context.Background()
	var mux peer.Mux
	var user toUser // the way to the gateway's own client
	behind, err := mcpclient.Connect(ctx, mcpclient.InProcess(inProcess{&asking}), &mcpclient.Options{
		Mode:     mcpclient.Handshake,
		OnElicit: mcp.ClientPeer{Outbound: &user}.Elicit, // what the server behind asks
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer behind.Close()
	mcp.HandleServer(&mux, behind.Forward()) // what the client in front asks

	gateway := connection.NewPipe(connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux}), nil)
	user.pipe = gateway
	client, err := mcpclient.Connect(ctx, mcpclient.InProcess(pipe{gateway}), &mcpclient.Options{
		Mode: mcpclient.Handshake,
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println(mcpclient.CallTool[string](ctx, client, "delete", nil))

	// Output: the user says decline <nil>
}

// toUser sends messages to the client at the other end of a pipe.
type toUser struct{ pipe *connection.Pipe }

func (u *toUser) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	return u.pipe.Connection().Call(ctx, req, res, opts...)
}

func (u *toUser) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	return u.pipe.Connection().Notify(ctx, n, opts...)
}
