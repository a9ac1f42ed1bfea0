package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// ourServer is this module's server. One server and one handler serve every revision.
func ourServer() *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: serverName, Version: "1"}, &mcpserver.Options{
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
	})
	ourTools(s)
	ourAsking(s)
	s.AddResource(&mcp.Resource{URI: noteURI, Name: "note"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return ourContents(noteText), nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "mem://page/{number}", Name: "page"},
		func(_ context.Context, _ *mcp.ReadResourceRequest, v mcpserver.Variables) (*mcp.ReadResourceResult, error) {
			return ourContents("page " + v.Get("number")), nil
		})
	type advice struct {
		Topic string `json:"topic"`
	}
	mcpserver.AddPrompt(s, &mcp.Prompt{Name: "advise"}, func(_ context.Context, _ *mcp.ServerSession, in advice) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: mcp.Text("Advise me on " + in.Topic)}}}, nil
	})
	s.AddPromptCompleter("advise", "topic", mcpserver.CompleteFrom("code", "tea", "tests"))
	return s
}

func ourContents(text string) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: text}}}
}

// ourTool adds a tool without arguments.
func ourTool(s *mcpserver.Server, name string, h func(context.Context, *mcp.ServerSession) (string, error)) {
	mcpserver.AddTool(s, &mcp.Tool{Name: name, Description: name}, func(ctx context.Context, session *mcp.ServerSession, _ nothing) (string, error) {
		return h(ctx, session)
	})
}

func ourTools(s *mcpserver.Server) {
	mcpserver.AddTool(s, &mcp.Tool{Name: "greet", Description: "greet"}, func(_ context.Context, _ *mcp.ServerSession, in greeting) (string, error) {
		return "Hello, " + in.Name, nil
	})
	ourTool(s, "fail", func(context.Context, *mcp.ServerSession) (string, error) { return "", mcpserver.Errorf("no such luck") })
	ourTool(s, "count", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		total := 3.0
		for i := range 3 {
			if err := session.ReportProgress(ctx, peer.Progress{Progress: float64(i + 1), Total: &total}); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	ourTool(s, "log", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		return "done", session.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: []byte(`"something happened"`)})
	})
	ourTool(s, "touch", func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		return "done", s.ResourceUpdated(ctx, noteURI)
	})
	ourTool(s, "wait", func(ctx context.Context, _ *mcp.ServerSession) (string, error) {
		<-ctx.Done()
		return "", context.Cause(ctx)
	})
}

// ourAsking adds the tools that send requests to the client. The code is the same for every revision.
func ourAsking(s *mcpserver.Server) {
	ourTool(s, "ask", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		name, err := ourName(ctx, session)
		return "Hello, " + name, err
	})
	ourTool(s, "sample", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		colour, err := ourColour(ctx, session)
		return "the model says " + colour, err
	})
	ourTool(s, "both", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		name, err := ourName(ctx, session)
		if err != nil {
			return "", err
		}
		colour, err := ourColour(ctx, session)
		return name + " likes " + colour, err
	})
	ourTool(s, "roots", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		res, err := session.ListRoots(ctx)
		if err != nil {
			return "", err
		}
		return res.Roots[0].URI, nil
	})
}

func ourName(ctx context.Context, session *mcp.ServerSession) (string, error) {
	type form struct {
		Name string `json:"name"`
	}
	schema, err := connection.FormOf[form]()
	if err != nil {
		return "", err
	}
	res, err := session.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Your name?", RequestedSchema: schema})
	if err != nil {
		return "", err
	}
	return fmt.Sprint(res.Content["name"]), nil
}

func ourColour(ctx context.Context, session *mcp.ServerSession) (string, error) {
	res, err := session.CreateMessage(ctx, &mcp.CreateMessageRequest{MaxTokens: 10, Messages: []mcp.SamplingMessage{
		{Role: mcp.RoleUser, Content: []mcp.SamplingMessageContentBlock{mcp.Text("Which colour?")}},
	}})
	if err != nil {
		return "", err
	}
	return res.Content[0].(*mcp.TextContent).Text, nil
}

func ourStdio(ctx context.Context) error { return ourServer().ServeStdio(ctx) }

// ourHandler returns a handler and its Shutdown, which fails the test if a request does not end.
func ourHandler(string) (http.Handler, func(context.Context) error) {
	s := ourServer()
	return streamable.NewHandler(s, nil), s.Shutdown
}
