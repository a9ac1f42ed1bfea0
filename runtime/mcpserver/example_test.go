package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// A server with one tool, started by its client as a child process.
func Example() {
	type Input struct {
		Name string `json:"name" jsonschema:"who is greeted"`
	}
	server := mcpserver.New(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "greet", Description: "Greets somebody."},
		func(_ context.Context, _ *mcp.ServerSession, in Input) (string, error) {
			return "Hello, " + in.Name + "!", nil
		})
	if err := server.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// The same server over HTTP, for clients of every revision.
func Example_http() {
	server := mcpserver.New(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	http.Handle("/mcp", streamable.NewHandler(server, nil))
	log.Fatal(http.ListenAndServe("localhost:8080", nil))
}

// A tool whose arguments have limits and defaults, and whose result has a schema.
func ExampleAddTool() {
	type Input struct {
		City string `json:"city" jsonschema:"the name of the city"`
		Days int    `json:"days,omitempty" minimum:"1" maximum:"7" default:"1"`
		Unit string `json:"unit,omitempty" enum:"celsius,fahrenheit" default:"celsius"`
	}
	type Forecast struct {
		Degrees []float64 `json:"degrees"`
		Unit    string    `json:"unit"`
	}
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "forecast", Description: "Tells the weather."},
		func(_ context.Context, _ *mcp.ServerSession, in Input) (Forecast, error) {
			if in.City == "Atlantis" {
				return Forecast{}, mcpserver.Errorf("Nobody knows where %s is. Ask the user for another city.", in.City)
			}
			return Forecast{Degrees: make([]float64, in.Days), Unit: in.Unit}, nil
		})

	client := inProcess(server, nil)
	defer client.Close()
	fmt.Println(call(client, "forecast", `{"city": "Oslo", "days": 2}`))
	fmt.Println(call(client, "forecast", `{"city": "Atlantis"}`))
	fmt.Println(call(client, "forecast", `{"city": "Oslo", "days": 8}`))
	// Output:
	// {"degrees":[0,0],"unit":"celsius"}
	// Nobody knows where Atlantis is. Ask the user for another city.
	// The arguments do not match the tool's input schema. Fix the arguments and call the tool again.
	// - /days: must be <= 7 but found 8
}

// A tool that asks the user before it acts.
func ExampleAddTool_elicitation() {
	type Booking struct {
		Guests int `json:"guests" minimum:"1" maximum:"12"`
	}
	server := mcpserver.New(mcp.Implementation{Name: "waiter", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "book", Description: "Books a table."},
		func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
			booking, err := mcpserver.Elicit[Booking](ctx, s, "How many are you?")
			if _, declined := errors.AsType[*mcpserver.DeclinedError](err); declined {
				return "Then not.", nil
			}
			if err != nil {
				return "", err
			}
			return fmt.Sprintf("A table for %d is booked.", booking.Guests), nil
		})

	var user peer.Mux // handles the questions of the server
	mcp.HandleElicit(&user, func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		fmt.Println(req.Params.(*mcp.ElicitRequestFormParams).Message)
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"guests": int64(4)}}, nil
	})
	client := inProcess(server, &user)
	defer client.Close()
	fmt.Println(call(client, "book", `{}`))
	// Output:
	// How many are you?
	// A table for 4 is booked.
}

// A function that logs how long each tool takes.
func ExampleServer_WrapTools() {
	server := mcpserver.New(mcp.Implementation{Name: "greeter", Version: "1.0.0"}, nil)
	server.WrapTools(func(t *mcp.Tool, next mcpserver.ToolHandler) mcpserver.ToolHandler {
		return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			begun := time.Now()
			res, err := next(ctx, req)
			log.Print(t.Name, ": ", time.Since(begun), ", failed: ", err != nil || res.IsError)
			return res, err
		}
	})
}

// Files of a folder as resources. The client chooses the file name: the template rejects "..",
// and os.Root rejects links that leave the folder.
func ExampleServer_AddResourceTemplate() {
	name, err := os.MkdirTemp("", "files")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(name)
	folder, err := os.OpenRoot(name)
	if err != nil {
		log.Fatal(err)
	}
	defer folder.Close()
	if err := folder.WriteFile("notes.txt", []byte("buy milk"), 0o600); err != nil {
		log.Fatal(err)
	}
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1.0.0"}, nil)
	server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "files", URITemplate: "file:///{+path}"},
		func(_ context.Context, req *mcp.ReadResourceRequest, vars mcpserver.Variables) (*mcp.ReadResourceResult, error) {
			data, err := folder.ReadFile(filepath.FromSlash(vars.Get("path")))
			if err != nil {
				return nil, mcpserver.NotFound(req.URI)
			}
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: string(data)}}}, nil
		})
	server.AddTemplateCompleter("file:///{+path}", "path", mcpserver.CompleteFrom("notes.txt", "todo.txt"))

	client := inProcess(server, nil)
	defer client.Close()
	for _, uri := range []string{"file:///notes.txt", "file:///../notes.txt"} {
		res, err := peer.SendRequest(context.Background(), client, &mcp.ReadResourceRequest{URI: uri})
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(res.Contents[0].(*mcp.TextResourceContents).Text)
	}
	// Output:
	// buy milk
	// Resource not found (code -32002)
}

// inProcess returns the client's end of a connection to a server, after the handshake. user
// handles the questions of the server; it may be nil.
func inProcess(server *mcpserver.Server, user *peer.Mux) *jsonrpc.InProcessConn {
	ctx := context.Background()
	client := connection.New(nil, &connection.Options{Client: true})
	opts := &jsonrpc.Options{Strict: true, Frame: client.Frame}
	if user != nil {
		opts.Handler = connection.NewDispatcher(&connection.DispatcherOptions{Mux: user}).Handler(client)
	}
	channel := server.InProcess(opts)
	must(peer.SendRequest(ctx, channel, &mcp.InitializeRequest{
		ProtocolVersion: mcp.LatestHandshakeRevision.String(),
		ClientInfo:      mcp.Implementation{Name: "example", Version: "1"},
		Capabilities:    mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}},
	}))
	if err := channel.Notify(ctx, &mcp.InitializedNotification{}); err != nil {
		log.Fatal(err)
	}
	return channel
}

// call calls a tool and returns the text of its result.
func call(client *jsonrpc.InProcessConn, name, arguments string) string {
	res := must(peer.SendRequest(context.Background(), client, &mcp.CallToolRequest{Name: name, Arguments: []byte(arguments)}))
	return res.Content[0].(*mcp.TextContent).Text
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
