package mcptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
)

// newKernel makes the server that the tests test: it has a tool that greets, one
// that asks the user for a name, one that asks for ever, and one that says so
// and then waits.
func newKernel(waits chan<- bool) *connection.Dispatcher {
	mux := new(peer.Mux)
	mcp.HandleListTools(mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
	})
	mcp.HandleCallTool(mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Name == "wait" {
			waits <- true
			<-ctx.Done()
			waits <- false
			return nil, context.Cause(ctx)
		}
		return callTool(ctx, req)
	})
	mcp.HandleGetPrompt(mux, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if req.RequestState == nil {
			return nil, againPlease
		}
		return &mcp.GetPromptResult{Description: *req.RequestState}, nil
	})
	mcp.HandleReadResource(mux, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.RequestState == nil {
			return nil, againPlease
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, Text: *req.RequestState}}}, nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:  mux,
		Info: mcp.Implementation{Name: "greeter", Version: "2"},
		Capabilities: mcp.ServerCapabilities{
			Tools:     &mcp.ToolsCapability{},
			Prompts:   &mcp.PromptsCapability{},
			Resources: &mcp.ResourcesCapability{},
			Logging:   mcp.JSONObject{},
		},
	})
}

// againPlease asks for nothing but to be asked again.
var againPlease = func() error {
	state := "again"
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: &state}}
}()

func callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch req.Name {
	case "greet":
		return mcp.TextResult("hello"), nil
	case "ask":
		return ask(ctx, req)
	case "ask for ever":
		return nil, againPlease
	}
	return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "no such tool"}
}

// ask greets the user by name, in both eras.
func ask(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	question := &mcp.ElicitRequestFormParams{Message: "Your name?", RequestedSchema: mcp.RequestedSchema{}}
	if answer, ok := req.InputResponses["name"].(*mcp.ElicitResult); ok {
		return mcp.TextResult(fmt.Sprint("hello ", answer.Content["name"])), nil
	}
	session := mcp.SessionFromContext(ctx)
	if r, _ := mcp.ParseRevision(session.Revision().String()); !mcp.Revisions[r.Index()].Handshake {
		return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{
			InputRequests: mcp.InputRequests{"name": &mcp.ElicitRequest{Params: question}},
		}}
	}
	answer, err := session.ElicitForm(ctx, question)
	if err != nil {
		return nil, err
	}
	return mcp.TextResult(fmt.Sprint("hello ", answer.Content["name"])), nil
}

// serveFunc makes a server of a function.
type serveFunc func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error

func (f serveFunc) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return f(ctx, in, out)
}

// greeter is a good server.
func greeter() mcptest.Server {
	return mcptest.InProcess(func() peer.Handler { return connection.NewPipe(newKernel(nil), nil) })
}

// mutilated is a server of which each line is changed.
func mutilated(s mcptest.Server, change func(line string) string) mcptest.Server {
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		r, w := io.Pipe()
		var all sync.WaitGroup
		all.Go(func() {
			lines := bufio.NewScanner(r)
			for lines.Scan() {
				fmt.Fprintln(out, change(lines.Text()))
			}
			out.Close()
		})
		defer all.Wait()
		return s.ServeStreams(ctx, in, w)
	})
}

// replacing changes a piece of each line.
func replacing(old, new string) func(string) string {
	return func(line string) string { return strings.ReplaceAll(line, old, new) }
}
