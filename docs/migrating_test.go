package docs

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// In and Out are the types of a tool.
type (
	In struct {
		Day string `json:"day"`
	}
	Out struct {
		Seats int `json:"seats"`
	}
)

// ModelText is the text beside the structured content.
func (o Out) ModelText() string { return fmt.Sprint(o.Seats, " seats are left") }

// migratedServer is the server's half of the table for those who come from
// elsewhere.
func migratedServer(ctx context.Context, m peer.Middleware, f func(context.Context, *mcp.ServerSession, mcpserver.Item) bool, name, uri string) error {
	info := mcp.Implementation{Name: "flights", Version: "1.0.0"}
	opts := &mcpserver.Options{
		Middleware:            []peer.Middleware{m},
		Filter:                f,
		AllowUnknownArguments: true,
		Capabilities:          mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
	}
	server := mcpserver.New(info, opts)

	tool := mcp.Tool{Name: name, InputSchema: []byte(`{"type":"object"}`)}
	h := func(ctx context.Context, s *mcp.ServerSession, in In) (Out, error) {
		out, err := seats(ctx, s, in.Day)
		if err != nil {
			return Out{}, err
		}
		return out, nil
	}
	mcpserver.AddTool(server, &tool, h)
	server.RemoveTools(name)
	call := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult(name), nil
	}
	server.AddRawTool(&tool, call)

	resource := mcp.Resource{Name: name, URI: uri}
	read := func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, mcpserver.NotFound(uri)
	}
	server.AddResource(&resource, read)
	template := mcp.ResourceTemplate{Name: name, URITemplate: uri + "/{id}"}
	readTemplate := func(_ context.Context, req *mcp.ReadResourceRequest, v mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return nil, mcpserver.NotFound(req.URI + v["id"][0])
	}
	server.AddResourceTemplate(&template, readTemplate)
	prompt := mcp.Prompt{Name: name}
	compose := func(_ context.Context, _ *mcp.ServerSession, in In) (*mcp.GetPromptResult, error) {
		return nil, fmt.Errorf("nothing on %s", in.Day)
	}
	mcpserver.AddPrompt(server, &prompt, compose)
	complete := mcpserver.CompleteFrom("Monday", "Tuesday")
	server.AddPromptCompleter(name, "day", complete)
	begun := func(ctx context.Context, _ *mcp.InitializedNotification) error {
		connection.FromContext(ctx).OnClose(func(context.Context) error { return nil })
		return nil
	}
	mcpserver.HandleNotification(server, begun)
	moved := func(ctx context.Context, _ *mcp.RootsListChangedNotification) error {
		_, err := mcp.SessionFromContext(ctx).ListRoots(ctx)
		return err
	}
	mcpserver.HandleNotification(server, moved)
	own := func(_ context.Context, req *weightRequest) (*object[weight], error) {
		return &object[weight]{weight{1, req.Value.Unit}}, nil
	}
	mcpserver.Handle(server, own)
	if err := server.ResourceUpdated(ctx, uri); err != nil {
		return err
	}
	server.Handler(nil)
	server.Handler(&streamable.Options{Stateless: true})
	server.LegacySSEHandler(nil)
	return server.ServeStdio(ctx)
}

// seats is a handler that does all that a handler can.
func seats(ctx context.Context, s *mcp.ServerSession, day string) (Out, error) {
	fmt.Println(connection.FromContext(ctx).SessionID(), s.Transport().Header(), auth.CallerFromContext(ctx))
	visit := mcp.ElicitRequestURLParams{Message: "Log in.", URL: "https://example.com/login"}
	if _, err := s.ElicitURL(ctx, &visit); err != nil {
		return Out{}, err
	}
	form := mcp.ElicitRequestFormParams{Message: "Sure?"}
	if _, err := s.ElicitForm(ctx, &form); err != nil {
		return Out{}, err
	}
	message := mcp.CreateMessageRequest{MaxTokens: 10}
	if _, err := s.CreateMessage(ctx, &message); err != nil {
		return Out{}, err
	}
	if err := s.ReportProgress(ctx, peer.Progress{Progress: 1, Total: new(3.0)}); err != nil {
		return Out{}, err
	}
	n := mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: json.RawMessage(`"looked up"`)}
	if err := s.SendLogMessage(ctx, &n); err != nil {
		return Out{}, err
	}
	return Out{}, mcpserver.Errorf("no flight on %s", day)
}

// migratedClient is the client's half.
func migratedClient(ctx context.Context, server *mcpserver.Server, path, url, name string, args ...string) error {
	var endpoint mcpclient.Endpoint = mcpclient.InProcess(server)
	if path != "" {
		endpoint = mcpclient.Command(path, args...)
	}
	if url != "" {
		endpoint = mcpclient.LegacySSE(url, nil)
	}
	client, err := mcpclient.Connect(ctx, endpoint, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	for tool, err := range client.Tools(ctx) {
		fmt.Println(tool, err)
	}
	request, in := mcp.CallToolRequest{Name: name}, In{Day: "Monday"}
	res, err := client.CallTool(ctx, &request)
	if err != nil {
		return err
	}
	var block mcp.ContentBlock = &mcp.TextContent{}
	if text, ok := block.(*mcp.TextContent); ok && len(res.Content) > 0 {
		fmt.Println(text.Text)
	}
	out, err := mcpclient.CallTool[Out](ctx, client, name, in)
	fmt.Println(out.Seats)
	return err
}

// migratedListener is what a client hears between calls and during them.
func migratedListener(ctx context.Context, client *mcpclient.Client, headers http.Header, uri string) error {
	show := func(p peer.Progress) { fmt.Println(p.Progress) }
	client.With(peer.WithHeader(headers))
	client.With(peer.OnProgress(show))
	for uri, err := range client.Watch(ctx, uri) {
		fmt.Println(uri, err)
	}
	<-client.Done()
	return client.Err()
}

// migratedAnswers is what a client says when it is asked.
func migratedAnswers() *mcpclient.Options {
	elicit := func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
	}
	sample := func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return nil, mcpclient.ErrRejected
	}
	roots := []mcp.Root{{URI: "file:///flights"}}
	opts := &mcpclient.Options{OnElicit: elicit, OnCreateMessage: sample, Roots: roots}
	opts.KeepAlive = time.Minute
	return opts
}

// migratedAuth is the half that protects a server, and the half that gets in.
func migratedAuth(guard *auth.Guard, handler http.Handler, url string, opts *auth.TransportOptions) (http.Handler, mcpclient.Endpoint, error) {
	mux := http.NewServeMux()
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(handler))
	transport, err := auth.NewTransport(url, opts)
	if err != nil {
		return nil, nil, err
	}
	at := mcpclient.URL(url)
	at.HTTP.HTTPClient = &http.Client{Transport: transport}
	headers := http.Header{"X-Day": {"Monday"}}
	at.HTTP.Header = headers
	return mux, at, nil
}
