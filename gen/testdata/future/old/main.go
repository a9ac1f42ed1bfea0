// Command old is a program from before the future revision of the tests. With the
// generated code for that revision, it must compile and print the same.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// server calls handlers in the same process.
type server struct{ mux peer.Mux }

func (s *server) Call(ctx context.Context, req peer.Message, res wire.Value, _ ...peer.CallOption) error {
	route, ok := s.mux.Route(req.Method())
	if !ok {
		return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "method not found"}
	}
	result, err := route.Serve(ctx, req)
	if err != nil {
		return err
	}
	data, err := wire.Append(nil, &wire.Frame{Revision: mcp.Revision20260728}, result)
	if err != nil {
		return err
	}
	return wire.Decode(data, &wire.Frame{Revision: mcp.Revision20260728}, res)
}

func (s *server) Notify(ctx context.Context, n peer.Notification, _ ...peer.CallOption) error {
	if route, ok := s.mux.Route(n.Method()); ok {
		_, err := route.Serve(ctx, n)
		return err
	}
	return nil
}

// tools implements a few handlers by name.
type tools struct{}

func (tools) CallTool(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if req.Name != "greet" {
		return nil, &mcp.UnsupportedProtocolVersionError{Requested: req.Name, Supported: []string{mcp.LatestHandshakeRevision.String()}}
	}
	return &mcp.CallToolResult{Content: []mcp.ContentBlock{
		mcp.Text("hello"), mcp.Image([]byte{1}, "image/png"), mcp.Audio([]byte{2}, "audio/wav"),
		&mcp.ResourceLink{Name: "link", URI: "x:y"},
		&mcp.EmbeddedResource{Resource: &mcp.TextResourceContents{URI: "x:z", Text: "inside"}},
	}}, nil
}

func (tools) ListTools(_ context.Context, req *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	hint := false
	tool := mcp.Tool{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`), Annotations: &mcp.ToolAnnotations{DestructiveHint: &hint}}
	if req.Cursor == nil {
		next := ""
		return &mcp.ListToolsResult{Tools: []mcp.Tool{tool}, NextCursor: &next}, nil
	}
	tool.Name = "second"
	return &mcp.ListToolsResult{Tools: []mcp.Tool{tool}, CacheScope: mcp.CacheScopePublic}, nil
}

func (tools) Cancelled(_ context.Context, n *mcp.CancelledNotification) error {
	fmt.Println("cancelled:", n.Reason)
	return nil
}

func main() {
	log.SetFlags(0)
	s := new(server)
	fmt.Println(mcp.HandleServer(&s.mux, tools{}), "handlers")
	mcp.HandleComplete(&s.mux, func(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
		ref := req.Ref.(*mcp.PromptReference)
		return &mcp.CompleteResult{Completion: mcp.Completion{Values: []string{ref.Name + req.Argument.Value}}}, nil
	})
	if err := calls(context.Background(), mcp.ServerPeer{Outbound: s}); err != nil {
		log.Fatal(err)
	}
	values()
	names()
}

// calls sends requests to the server.
func calls(ctx context.Context, view mcp.ServerPeer) error {
	res, err := view.CallTool(ctx, &mcp.CallToolRequest{Name: "greet", Arguments: json.RawMessage(`{"a":1}`)})
	if err != nil {
		return err
	}
	for _, block := range res.Content {
		show(block)
	}
	for tool, err := range view.ListToolsAll(ctx, nil) {
		if err != nil {
			return err
		}
		fmt.Println("tool", tool.Name, *tool.Annotations.DestructiveHint)
	}
	_, err = view.CallTool(ctx, &mcp.CallToolRequest{Name: "other"})
	if wrong, ok := errors.AsType[*mcp.UnsupportedProtocolVersionError](err); ok {
		fmt.Println(wrong.Requested, peer.AsError(err).Code)
	}
	_, err = peer.SendRequest(ctx, view, &mcp.PingRequest{})
	fmt.Println(err)
	return view.Cancelled(ctx, &mcp.CancelledNotification{RequestID: wire.IntID(7), Reason: "late"})
}

func show(block mcp.ContentBlock) {
	switch block := block.(type) {
	case *mcp.TextContent:
		fmt.Println("text", block.Text)
	case *mcp.ImageContent:
		fmt.Println("image", block.MIMEType, len(block.Data))
	case *mcp.AudioContent:
		fmt.Println("audio", block.MIMEType)
	case *mcp.ResourceLink:
		fmt.Println("link", block.URI)
	case *mcp.EmbeddedResource:
		fmt.Println("resource", block.Resource.(*mcp.TextResourceContents).Text)
	case *mcp.UnknownContentBlock:
		fmt.Println("unknown", string(block.Raw))
	}
}

// values encodes values of many types for the revisions up to 2026-07-28.
func values() {
	temperature, tokens := 0.5, int64(100)
	form := &mcp.ElicitRequestFormParams{Message: "who?", RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: "name", Schema: &mcp.StringSchema{Format: mcp.StringFormatEmail}}, {Name: "sure", Schema: &mcp.BooleanSchema{}}},
	}}
	for _, v := range []wire.Value{
		&mcp.InitializeRequest{ProtocolVersion: mcp.LatestHandshakeRevision.String(), ClientInfo: mcp.Implementation{Name: "old", Version: "1"},
			Capabilities: mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}, Elicitation: &mcp.ElicitationCapability{}}},
		&mcp.CreateMessageRequest{MaxTokens: tokens, Temperature: &temperature, ModelPreferences: &mcp.ModelPreferences{Hints: []mcp.ModelHint{{Name: "m"}}},
			Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: []mcp.SamplingMessageContentBlock{mcp.Text("hi")}}}},
		&mcp.ElicitRequest{Params: form},
		&mcp.InputRequiredResult{InputRequests: mcp.InputRequests{"a": &mcp.ElicitRequest{Params: form}}},
		&mcp.LoggingMessageNotification{Level: mcp.LoggingLevelWarning, Data: json.RawMessage(`"x"`)},
		&mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.BlobResourceContents{URI: "x:b", Blob: []byte{3}}}},
		&mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleAssistant, Content: mcp.Text("p")}}},
		&mcp.Task{TaskID: "t", Status: mcp.TaskStatusWorking},
		&mcp.Resource{Name: "r", URI: "x:r", Meta: mcp.MetaObject{"k": json.RawMessage(`1`)}},
	} {
		for _, r := range mcp.Revisions[:5] {
			data, err := wire.Append(nil, &wire.Frame{Revision: r.Revision}, v)
			fmt.Println(r.Revision, string(data), err)
		}
	}
}

// names uses tables, constants and sessions.
func names() {
	info := mcp.MethodByName(mcp.MethodCallTool)
	fmt.Println(info.Name, info.NameMember, info.MultiRoundTrip.Has(mcp.Revision20260728), mcp.MethodByName("x") == nil)
	r, ok := mcp.ParseRevision("2025-06-18")
	fmt.Println(r, ok, mcp.Revisions[r.Index()].Handshake)
	fmt.Println(mcp.ErrorFrom(&peer.Error{Code: mcp.CodeMissingRequiredClientCapability, Data: json.RawMessage(`{"requiredCapabilities":{"roots":{}}}`)}))
	block, err := mcp.UnmarshalContentBlock([]byte(`{"type":"text","text":"t","later":1}`))
	fmt.Println(block.(*mcp.TextContent).Text, err)
	fmt.Println(mcp.SessionFromContext(context.Background()) == nil)
	var _ = session
	var _ mcp.CallToolHandler = mcp.ServerPeer{}
	var _ mcp.ElicitHandler = mcp.ClientPeer{}
}

// session is only compiled, because it needs a runtime.
func session(ctx context.Context, s *mcp.ServerSession, c *mcp.ClientSession) error {
	if _, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{}); err != nil {
		return err
	}
	if _, err := s.ElicitURL(ctx, &mcp.ElicitRequestURLParams{}); err != nil {
		return err
	}
	res, err := s.CreateMessage(ctx, &mcp.CreateMessageRequest{})
	if err != nil || res.StopReason != mcp.StopReasonEndTurn {
		return err
	}
	var _ mcp.Role = res.Role
	roots, err := s.ListRoots(ctx)
	if err != nil || len(roots.Roots) == 0 || roots.Roots[0].URI == "" {
		return err
	}
	return errors.Join(s.Ping(ctx), s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{}), s.SendToolListChanged(ctx),
		s.SendResourceUpdated(ctx, &mcp.ResourceUpdatedNotification{}), s.ReportProgress(ctx, peer.Progress{}),
		s.With(peer.Standalone()).SendElicitComplete(ctx, &mcp.ElicitationCompleteNotification{}), c.Ping(ctx), c.SendInitialized(ctx))
}
