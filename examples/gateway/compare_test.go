package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// everything returns a server that uses every feature that a gateway can forward.
func everything() *mcpserver.Server {
	info := mcp.Implementation{
		Name: "everything", Title: "Everything", Version: "1.2.3", WebsiteURL: "https://example.com",
		Icons: []mcp.Icon{{Src: "https://example.com/icon.png", MIMEType: "image/png", Sizes: []string{"48x48"}}},
	}
	s := mcpserver.New(info, &mcpserver.Options{Instructions: "Call echo first.", Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}}})
	raw := func(name string, input, output string, result func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) {
		t := &mcp.Tool{Name: name, Title: "Tool " + name, Description: "The tool " + name, InputSchema: json.RawMessage(input)}
		t.Annotations = &mcp.ToolAnnotations{Extra: map[string]json.RawMessage{"readOnlyHint": json.RawMessage("false")}}
		if output != "" {
			t.OutputSchema = json.RawMessage(output)
		}
		s.AddRawTool(t, result)
	}
	content := func(blocks ...mcp.ContentBlock) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: blocks}, nil
		}
	}
	structured := func(text string) func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			res := mcp.TextResult(text)
			res.StructuredContent = json.RawMessage(text)
			return res, nil
		}
	}
	raw("echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, "", func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.TextResult(string(req.Arguments)), nil
	})
	raw("image", `{"type":"object"}`, "", content(&mcp.ImageContent{Data: []byte("png"), MIMEType: "image/png"}))
	raw("audio", `{"type":"object"}`, "", content(&mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"}))
	raw("link", `{"type":"object"}`, "", content(&mcp.ResourceLink{URI: "note:1", Name: "note", Title: "The note"}))
	raw("embedded", `{"type":"object"}`, "", content(&mcp.EmbeddedResource{Resource: &mcp.TextResourceContents{URI: "note:1", Text: "a note"}}))
	raw("object", `{"type":"object"}`, `{"type":"object","properties":{"hasMore":{"type":"boolean"}}}`, structured(`{"hasMore":false,"count":0}`))
	raw("list", `{"type":"object"}`, `{"type":"array","items":{"type":"integer"}}`, structured(`[1,2,3]`))
	raw("number", `{"type":"object"}`, `{"type":"number"}`, structured(`1.50`))
	raw("fails", `{"type":"object"}`, "", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, mcpserver.Errorf("no such flight")
	})
	raw("breaks", `{"type":"object"}`, "", func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return nil, &peer.Error{Code: -32050, Message: "broken", Data: json.RawMessage(`{"a":0}`)}
	})
	raw("reports", `{"type":"object"}`, "", func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session := mcp.SessionFromContext(ctx)
		for i := range 2 {
			if err := session.ReportProgress(ctx, peer.Progress{Progress: float64(i + 1), Message: "step"}); err != nil {
				return nil, err
			}
		}
		return mcp.TextResult("reported"), session.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelWarning, Data: json.RawMessage(`"careful"`)})
	})
	s.AddRawPrompt(&mcp.Prompt{Name: "greet", Title: "Greet", Description: "Greets", Arguments: []mcp.PromptArgument{{Name: "name", Required: true}, {Name: "style", Extra: map[string]json.RawMessage{"required": json.RawMessage("false")}}}},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Description: "d", Messages: []mcp.PromptMessage{
				{Role: mcp.RoleUser, Content: mcp.Text("Greet " + req.Arguments["name"])},
				{Role: mcp.RoleAssistant, Content: &mcp.ResourceLink{URI: "note:1", Name: "note"}},
				{Role: mcp.RoleUser, Content: &mcp.AudioContent{Data: []byte("wav"), MIMEType: "audio/wav"}},
			}}, nil
		})
	read := func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, MIMEType: "text/plain", Text: "a note"}}}, nil
	}
	s.AddResource(&mcp.Resource{URI: "note:1", Name: "note", Title: "Note", MIMEType: "text/plain"}, read)
	s.AddResource(&mcp.Resource{URI: "blob:1", Name: "blob"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.BlobResourceContents{URI: "blob:1", Blob: []byte{0, 1}}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "note:{id}", Name: "notes"}, func(ctx context.Context, req *mcp.ReadResourceRequest, _ mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return read(ctx, req)
	})
	s.AddPromptCompleter("greet", "name", mcpserver.CompleteFrom("Ada", "Alan", "Grace"))
	return s
}

// request sends a request and returns its result.
type request func(context.Context, *mcptest.Conn) (wire.Value, error)

func of[R wire.Value](req peer.Request[R]) request {
	return func(ctx context.Context, c *mcptest.Conn) (wire.Value, error) {
		keepFalse := func(o *peer.CallOptions) { o.Frame = &wire.Frame{Revision: c.Revision(), KeepFalse: true} }
		return peer.SendRequest(ctx, c, req, keepFalse)
	}
}

// requests are sent to a server directly and through the gateway.
func requests(handshake bool) map[string]request {
	call := func(name, arguments string) request {
		return of(&mcp.CallToolRequest{Name: name, Arguments: json.RawMessage(arguments)})
	}
	cursor := "bad"
	all := map[string]request{
		"tools":               of(&mcp.ListToolsRequest{}),
		"tools, bad cursor":   of(&mcp.ListToolsRequest{Cursor: &cursor}),
		"prompts":             of(&mcp.ListPromptsRequest{}),
		"resources":           of(&mcp.ListResourcesRequest{}),
		"templates":           of(&mcp.ListResourceTemplatesRequest{}),
		"echo":                call("echo", `{"text":"a","n":1.0}`),
		"echo without text":   call("echo", `{}`),
		"image":               call("image", `{}`),
		"audio":               call("audio", `{}`),
		"link":                call("link", `{}`),
		"embedded":            call("embedded", `{}`),
		"object":              call("object", `{}`),
		"list":                call("list", `{}`),
		"number":              call("number", `{}`),
		"fails":               call("fails", `{}`),
		"breaks":              call("breaks", `{}`),
		"reports":             call("reports", `{}`),
		"unknown tool":        call("unknown", `{}`),
		"prompt":              of(&mcp.GetPromptRequest{Name: "greet", Arguments: map[string]string{"name": "Ada"}}),
		"prompt without name": of(&mcp.GetPromptRequest{Name: "greet"}),
		"unknown prompt":      of(&mcp.GetPromptRequest{Name: "unknown"}),
		"note":                of(&mcp.ReadResourceRequest{URI: "note:1"}),
		"blob":                of(&mcp.ReadResourceRequest{URI: "blob:1"}),
		"note of template":    of(&mcp.ReadResourceRequest{URI: "note:7"}),
		"unknown resource":    of(&mcp.ReadResourceRequest{URI: "other:1"}),
		"completion":          of(&mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: "greet"}, Argument: mcp.CompletionArgument{Name: "name", Value: "A"}}),
		"unknown completion":  of(&mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: "greet"}, Argument: mcp.CompletionArgument{Name: "other"}}),
	}
	if handshake {
		all["ping"] = of(&mcp.PingRequest{})
		all["log level"] = of(&mcp.SetLevelRequest{Level: mcp.LoggingLevelWarning})
		all["subscribe"] = of(&mcp.SubscribeRequest{URI: "note:1"})
		all["unsubscribe"] = of(&mcp.UnsubscribeRequest{URI: "note:1"})
		all["subscribe to nothing"] = of(&mcp.SubscribeRequest{URI: "other:1"})
	} else {
		all["discover"] = of(&mcp.DiscoverRequest{})
	}
	return all
}

// response returns the response to a request as a text, which contains the JSON of the result.
func response(t *testing.T, c *mcptest.Conn, send request) string {
	res, err := send(t.Context(), c)
	if e := peer.AsError(err); e != nil {
		return fmt.Sprintf("error %d: %s %s", e.Code, e.Message, e.Data)
	}
	require.NoError(t, err)
	data, err := wire.Append(nil, &wire.Frame{Revision: c.Revision()}, res)
	require.NoError(t, err)
	return string(data)
}

// differences lists the responses that the gateway changes, by the revisions of both sides and the
// request, with the reason.
var differences = map[string]string{
	"2026-07-28 to 2025-11-25/tools":    "the upstream server sends no output schemas other than objects in its revision",
	"2026-07-28 to 2025-11-25/list":     "the upstream server sends no structured content other than objects in its revision",
	"2026-07-28 to 2025-11-25/number":   "the upstream server sends no structured content other than objects in its revision",
	"2026-07-28 to 2025-11-25/discover": "the upstream server has no subscriptions in its revision",
	"2024-11-05 to 2026-07-28/breaks":   "the upstream server sends this code only in handshake revisions",
	"2025-03-26 to 2026-07-28/breaks":   "the upstream server sends this code only in handshake revisions",
	"2025-06-18 to 2026-07-28/breaks":   "the upstream server sends this code only in handshake revisions",
	"2025-11-25 to 2026-07-28/breaks":   "the upstream server sends this code only in handshake revisions",
}

func TestGatewayRespondsLikeItsServer(t *testing.T) {
	server := everything()
	listener := httptest.NewServer(streamable.NewHandler(server, nil))
	t.Cleanup(listener.Close)
	for _, up := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		upstream, err := mcpclient.Connect(t.Context(), mcpclient.URL(listener.URL), &mcpclient.Options{Revision: up})
		require.NoError(t, err)
		defer upstream.Close()
		gateway := newGateway(upstream, new(sessions))
		defer gateway.Close()
		for _, down := range mcp.Revisions {
			direct := mcptest.Connect(t, mcptest.HTTP(streamable.NewHandler(server, nil)), down.Revision)
			through := mcptest.Connect(t, mcptest.HTTP(gateway), down.Revision)
			require.Equal(t, direct.ServerInfo(), through.ServerInfo())
			require.Contains(t, response(t, through, of(&mcp.ListPromptsRequest{})), `"required":false`)
			for name, req := range requests(down.Revision != mcp.Revision20260728) {
				name := fmt.Sprintf("%v to %v/%s", down.Revision, up, name)
				t.Run(name, func(t *testing.T) {
					want, have := response(t, direct, req), response(t, through, req)
					if reason := differences[name]; reason != "" {
						require.NotEqual(t, want, have, "not a difference any more: %s", reason)
						return
					}
					require.Equal(t, want, have)
				})
			}
		}
	}
}

func TestGatewayForwardsNotifications(t *testing.T) {
	server := everything()
	for _, up := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		for _, down := range mcp.Revisions {
			t.Run(fmt.Sprintf("%v to %v", down.Revision, up), func(t *testing.T) {
				client := connect(t, server, &mcpclient.Options{Revision: up}, &mcpclient.Options{Revision: down.Revision})
				reports, logs := 0, make(chan mcp.LoggingLevel, 1)
				_, err := client.With(
					peer.OnProgress(func(peer.Progress) { reports++ }),
					mcpclient.OnLog("", func(n *mcp.LoggingMessageNotification) { logs <- n.Level }),
				).CallTool(t.Context(), &mcp.CallToolRequest{Name: "reports"})
				require.NoError(t, err)
				require.Equal(t, 2, reports)
				require.Equal(t, mcp.LoggingLevelWarning, <-logs)

				if down.Revision == mcp.Revision20260728 && up != down.Revision {
					return // the gateway has no subscriptions then
				}
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				updated := make(chan string)
				go func() { // ends with ctx
					for uri, err := range client.Watch(ctx, "note:1") {
						if err == nil {
							updated <- uri
						}
					}
				}()
				for done := false; !done; { // until the client has subscribed
					require.NoError(t, server.ResourceUpdated(ctx, "note:1"))
					select {
					case uri := <-updated:
						require.Equal(t, "note:1", uri)
						done = true
					case <-time.After(5 * time.Millisecond):
					}
				}
			})
		}
	}
}

func TestGatewayNamesQuestionsThatItCannotForward(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "asks", Version: "1"}, nil)
	mcpserver.AddTool(server, &mcp.Tool{Name: "ask"}, func(ctx context.Context, session *mcp.ServerSession, _ any) (string, error) {
		_, err := session.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: "Who?"})
		return "", err
	})
	up := &mcpclient.Options{Revision: mcp.Revision20260728, Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}}}
	client := connect(t, server, up, &mcpclient.Options{Revision: mcp.Revision20251125})
	_, err := client.CallTool(t.Context(), &mcp.CallToolRequest{Name: "ask"})
	require.ErrorContains(t, err, "The request needs input of the client (elicitation/create), but the server cannot ask for it in revision 2025-11-25")
}
