package docs

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcpserver/schema"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
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

// ModelText returns the text of the result, in addition to the structured content.
func (o Out) ModelText() string { return fmt.Sprint(o.Seats, " seats are left") }

// migratedServer has the code in the tables about servers.
func migratedServer(ctx context.Context, m peer.Middleware, wrap func(*mcp.Tool, mcpserver.ToolHandler) mcpserver.ToolHandler, f func(context.Context, *mcp.ServerSession, mcpserver.Item) bool, name, uri string) error {
	info := mcp.Implementation{Name: "flights", Version: "1.0.0"}
	opts := &mcpserver.Options{
		Filter:                f,
		AllowUnknownArguments: true,
		Capabilities:          mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
		Outgoing:              []func(peer.Outbound) peer.Outbound{wrapOut},
	}
	server := mcpserver.New(info, opts)
	server.Use(m)
	server.WrapTools(wrap)

	tool := mcp.Tool{Name: name, InputSchema: []byte(`{"type":"object"}`)}
	h := func(ctx context.Context, s *mcp.ServerSession, in In) (Out, error) {
		out, err := seats(ctx, s, in.Day)
		if code, text := int64(-32029), "slow down"; err == errBusy {
			return Out{}, &peer.Error{Code: code, Message: text}
		}
		if err != nil {
			return Out{}, mcpserver.Errorf("%w", err)
		}
		return out, nil
	}
	mcpserver.AddTool(server, &tool, h)
	server.RemoveTools(name)
	conn := connection.FromContext(ctx)
	if err := mcpserver.AddSessionTool(server, conn, &tool, h); err != nil {
		return err
	}
	call := func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult(name), nil
	}
	server.AddRawTool(&tool, call)
	mcpserver.AddTool(server, &tool, func(context.Context, *mcp.ServerSession, In) (*mcp.CallToolResult, error) {
		result := mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.TextContent{Text: name}}}
		return &result, nil
	})

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
	begin := func(ctx context.Context, _ *mcp.InitializedNotification) error {
		connection.FromContext(ctx).OnClose(func(context.Context) error { return nil })
		return nil
	}
	mcpserver.HandleNotification(server, begin)
	rootsChanged := func(ctx context.Context, _ *mcp.RootsListChangedNotification) error {
		_, err := mcp.SessionFromContext(ctx).ListRoots(ctx)
		return err
	}
	mcpserver.HandleNotification(server, rootsChanged)
	own := func(_ context.Context, req *weightRequest) (*object[weight], error) {
		return &object[weight]{weight{1, req.Value.Unit}}, nil
	}
	mcpserver.Handle(server, own)
	if err := server.ResourceUpdated(ctx, uri); err != nil {
		return err
	}
	streamable.NewHandler(server, nil)
	getServer := func(*http.Request) *mcpserver.Server { return server }
	streamable.NewChoosingHandler(getServer, nil)
	streamable.NewChoosingLegacySSEHandler(getServer, nil)
	streamable.NewHandler(server, &streamable.Options{Stateless: true})
	newID := func(*http.Request) string { return rand.Text() }
	streamable.NewHandler(server, &streamable.Options{NewSessionID: newID})
	streamable.NewHandler(server, &streamable.Options{JSONResponse: true})
	streamable.NewLegacySSEHandler(server, nil)
	return server.ServeStdio(ctx)
}

// errBusy is an error of a handler that gets a code of its own.
var errBusy = errors.New("too many requests")

// wrapOut changes no message.
func wrapOut(next peer.Outbound) peer.Outbound { return next }

// migratedLogs has the code about logs of all messages.
func migratedLogs(server *mcpserver.Options, at *mcpclient.CommandEndpoint, show func(bool, []byte)) {
	*server = mcpserver.Options{Stdio: stdio.ServeOptions{Observe: show}}
	at.Start.Observe = show
}

// migratedOptions has the code in the table about options.
func migratedOptions(info mcp.Implementation, tool *mcp.Tool, text string, n int, logger *slog.Logger, d time.Duration, store streamable.EventStore) http.Handler {
	tool.Annotations = &mcp.ToolAnnotations{ReadOnlyHint: true}
	server := mcpserver.New(info, &mcpserver.Options{
		Instructions: text,
		PageSize:     n,
		Revisions:    []wire.Revision{mcp.Revision20251125},
		Logger:       logger,
	})
	handler := streamable.NewHandler(server, &streamable.Options{
		Hosts:              []string{"*"},
		Origins:            []string{"https://app.example.com"},
		SessionIdleTimeout: d,
		Events:             store,
		MaxBody:            10 << 20,
	})
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return mux
}

// migratedTransport serves one client over a transport of the program, with a tool of another
// server.
func migratedTransport(ctx context.Context, server *mcpserver.Server, conn jsonrpc.MessageConn, client *mcpclient.Client, tool *mcp.Tool) error {
	server.AddRawTool(tool, mcpserver.Proxy(client).CallTool)
	return server.Serve(ctx, conn)
}

// seats is a handler that uses all functions of a session.
func seats(ctx context.Context, s *mcp.ServerSession, day string) (Out, error) {
	fmt.Println(s.ClientInfo(), s.ClientCapabilities())
	later := s.With(peer.Standalone())
	fmt.Println(later)
	fmt.Println(connection.FromContext(ctx).SessionID(), connection.RequestFromContext(ctx), s.Transport().Header(), auth.CallerFromContext(ctx))
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

// migratedClient has the code in the tables about clients.
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

// migratedListener receives notifications.
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

// migratedAnswers returns the handlers of a client for questions.
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

// migratedAuth has the code in the table about authorization.
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
	headerFunc := func(context.Context) http.Header { return headers }
	at.HTTP.HeaderFunc = headerFunc
	return mux, at, nil
}

// results adapts a handler that makes its result.
func results[In any](h func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, any, error)) func(context.Context, *mcp.ServerSession, In) (*mcp.CallToolResult, error) {
	return func(ctx context.Context, _ *mcp.ServerSession, in In) (*mcp.CallToolResult, error) {
		req, _ := connection.RequestFromContext(ctx).(*mcp.CallToolRequest)
		res, _, err := h(ctx, req, in)
		return res, err
	}
}

// structured adapts a handler that returns structured content.
func structured[In, Out any](h func(context.Context, *mcp.CallToolRequest, In) (*mcp.CallToolResult, Out, error)) func(context.Context, *mcp.ServerSession, In) (Out, error) {
	return func(ctx context.Context, _ *mcp.ServerSession, in In) (Out, error) {
		req, _ := connection.RequestFromContext(ctx).(*mcp.CallToolRequest)
		_, out, err := h(ctx, req, in)
		return out, err
	}
}

// TestAdapters registers handlers with the signature of the official SDK.
func TestAdapters(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "flights", Version: "1.0.0"}, nil)
	tool := mcp.Tool{Name: "text"}
	find := func(_ context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		return mcp.TextResult(req.Name + " " + in.Day), nil, nil
	}
	mcpserver.AddTool(server, &tool, results(find))
	mcpserver.AddTool(server, &mcp.Tool{Name: "seats"}, structured(func(_ context.Context, req *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		return nil, Out{Seats: len(req.Name + in.Day)}, nil
	}))
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), nil)
	require.NoError(t, err)
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "text", In{Day: "Monday"})
	require.NoError(t, err)
	require.Equal(t, "text Monday", text)
	out, err := mcpclient.CallTool[Out](t.Context(), client, "seats", In{Day: "Monday"})
	require.NoError(t, err)
	require.Equal(t, Out{Seats: len("seatsMonday")}, out)
}

// find is the tool of testdata/migrated.
func find(_ context.Context, _ *mcp.ServerSession, in In) (Out, error) {
	if in.Day == "" {
		return Out{}, mcpserver.Errorf("which day?")
	}
	return Out{Seats: 3}, nil
}

// TestFind calls the function of a tool. It uses no session.
func TestFind(t *testing.T) {
	out, err := find(t.Context(), nil, In{Day: "Monday"})
	require.NoError(t, err)
	require.Equal(t, 3, out.Seats)
}

// TestSession calls a tool that uses its session.
func TestSession(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "flights", Version: "1.0.0"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "client"}, func(_ context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		return s.ClientInfo().Name, nil
	})
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), &mcpclient.Options{
		Info:     mcp.Implementation{Name: "test", Version: "1.0.0"},
		Revision: mcp.Revision20251125,
	})
	require.NoError(t, err)
	defer client.Close()
	name, err := mcpclient.CallTool[string](t.Context(), client, "client", nil)
	require.NoError(t, err)
	require.Equal(t, "test", name)
}

// TestPipe connects a client and a server with two pipes.
func TestPipe(t *testing.T) {
	server := weather(nil)
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	go server.ServeStreams(t.Context(), serverIn, serverOut)
	client, err := mcpclient.Connect(t.Context(), mcpclient.Streams(clientIn, clientOut), nil)
	require.NoError(t, err)
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "forecast", city{"Bern"})
	require.NoError(t, err)
	require.Equal(t, "sunny in Bern", text)
}

// revisions has the code about the revision type.
func revisions(s *mcp.ServerSession) bool {
	revision, known := mcp.ParseRevision("2025-11-25")
	return known && s.Revision() == revision && s.Revision().String() == "2025-11-25" && revision == mcp.Revision20251125
}

// hooked returns a middleware that calls before and after for each message.
func hooked(before func(method string), after func(method string, err error)) peer.Middleware {
	return func(next peer.Handler) peer.Handler {
		return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
			method := in.Method
			before(method)
			reply, err := next.Handle(ctx, in)
			after(method, err)
			return reply, err
		})
	}
}

var sessionID = connection.NewKey[string]("session id")

// idOf returns an id of the session, on every transport.
func idOf(ctx context.Context) string {
	return sessionID.Update(connection.FromContext(ctx).State(), func(id string) string { return cmp.Or(id, rand.Text()) })
}

func TestHooksAndSessionIDs(t *testing.T) {
	var before, after []string
	server := mcpserver.New(mcp.Implementation{Name: "flights", Version: "1.0.0"}, &mcpserver.Options{
		Middleware: []peer.Middleware{hooked(
			func(method string) {
				if method == mcp.MethodCallTool {
					before = append(before, method)
				}
			},
			func(method string, err error) {
				if method == mcp.MethodCallTool {
					after = append(after, method)
				}
			},
		)},
	})
	mcpserver.AddTool(server, &mcp.Tool{Name: "key"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		require.True(t, revisions(s))
		require.Empty(t, connection.FromContext(ctx).SessionID())
		return idOf(ctx), nil
	})
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), &mcpclient.Options{Revision: mcp.Revision20251125})
	require.NoError(t, err)
	defer client.Close()
	first, err := mcpclient.CallTool[string](t.Context(), client, "key", nil)
	require.NoError(t, err)
	require.Equal(t, []string{mcp.MethodCallTool}, before)
	require.Equal(t, before, after)
	second, err := mcpclient.CallTool[string](t.Context(), client, "key", nil)
	require.NoError(t, err)
	require.Equal(t, first, second)
	require.NotEmpty(t, first)
}

// migratedValues has the code in the list of differences.
func migratedValues(req *mcp.CallToolRequest, tool *mcp.Tool) (user string, s *jsonschema.Schema, err error) {
	user, _ = mcp.Get[string](req.Meta, "com.example/user")
	if err := tool.Meta.Set("com.example/user", "ada"); err != nil {
		return "", nil, err
	}
	s, err = schema.To[jsonschema.Schema](tool.InputSchema)
	return user, s, err
}

func TestMigratedValues(t *testing.T) {
	tool := &mcp.Tool{InputSchema: []byte(`{"type":"object"}`)}
	user, s, err := migratedValues(&mcp.CallToolRequest{}, tool)
	require.NoError(t, err)
	require.Empty(t, user)
	require.Equal(t, "object", s.Type)
	require.JSONEq(t, `"ada"`, string(tool.Meta["com.example/user"]))
}
