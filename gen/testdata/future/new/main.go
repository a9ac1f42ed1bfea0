// Command new is a program for the future revision of the tests. It compiles only
// with the generated code for that revision. The tests validate each line
// "Definition JSON" with the schema of the revision.
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

var future = &wire.Frame{Revision: mcp.Revision20270301}

// loop encodes messages, decodes them, and calls the handlers of a mux.
type loop struct{ mux *peer.Mux }

func (l loop) Call(ctx context.Context, req peer.Message, res wire.Value, _ ...peer.CallOption) error {
	result, err := l.serve(ctx, req)
	if asks, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		result, err = asks.Result, nil
	}
	if err != nil {
		return err
	}
	data, err := wire.Append(nil, future, result)
	if err != nil {
		return err
	}
	return wire.Decode(data, future, res)
}

func (l loop) Notify(ctx context.Context, n peer.Notification, _ ...peer.CallOption) error {
	_, err := l.serve(ctx, n)
	return err
}

func (l loop) serve(ctx context.Context, m peer.Message) (wire.Value, error) {
	params, err := wire.AppendParams(nil, future, m)
	if err != nil {
		return nil, err
	}
	route, ok := l.mux.Route(m.Method())
	if !ok {
		return nil, &peer.Error{Code: mcp.CodeMethodNotFound, Message: m.Method()}
	}
	in := route.New()
	if err := wire.DecodeParams(params, future, in); err != nil {
		return nil, err
	}
	return route.Serve(ctx, in)
}

// The other methods of a session, which this program does not call.
func (l loop) Standalone() peer.Outbound                         { return l }
func (loop) Transport() peer.TransportContext                    { return nil }
func (loop) Revision() wire.Revision                             { return mcp.LatestRevision }
func (loop) ClientInfo() *mcp.Implementation                     { return nil }
func (loop) ClientCapabilities() *mcp.ClientCapabilities         { return nil }
func (loop) HasClientCapability(*mcp.ClientCapabilities) bool    { return true }
func (loop) Progress(ctx context.Context, p peer.Progress) error { return nil }

// server has the new handlers of servers, and client has the new handlers of clients.
type (
	server struct{}
	client struct{}
)

func (server) DescribeTool(_ context.Context, req *mcp.DescribeToolRequest) (*mcp.DescribeToolResult, error) {
	switch {
	case req.Name == "often":
		return nil, &mcp.QuotaExceededError{Limit: 3}
	case req.InputResponses == nil:
		return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: mcp.InputRequests{"where": &mcp.GetLocationRequest{Accuracy: 10}}}}
	}
	where := req.InputResponses["where"].(*mcp.GetLocationResult)
	calls := where.Latitude
	return &mcp.DescribeToolResult{Tool: tool(), CallsPerDay: &calls, Examples: []mcp.DescribeToolResultExamples{{Title: "first"}}}, nil
}

func (server) ListAgents(_ context.Context, req *mcp.ListAgentsRequest) (*mcp.ListAgentsResult, error) {
	if req.Cursor != nil {
		return &mcp.ListAgentsResult{Agents: []mcp.Agent{{Name: "after " + *req.Cursor}}}, nil
	}
	next := "one"
	return &mcp.ListAgentsResult{Agents: []mcp.Agent{{Name: "one", Skills: []string{"go"}}}, NextCursor: &next}, nil
}

func (server) Idle(context.Context, *mcp.IdleNotification) error {
	fmt.Println("client is idle")
	return nil
}

func (client) RequestApproval(_ context.Context, req *mcp.RequestApprovalRequest) (*mcp.RequestApprovalResult, error) {
	return &mcp.RequestApprovalResult{Approved: req.Risk == mcp.RequestApprovalRequestRiskLow}, nil
}

func (client) Heartbeat(context.Context, *mcp.HeartbeatRequest) (*mcp.EmptyResult, error) {
	return &mcp.EmptyResult{}, nil
}

func (client) GetLocation(context.Context, *mcp.GetLocationRequest) (*mcp.GetLocationResult, error) {
	return &mcp.GetLocationResult{Latitude: 48, Longitude: 11}, nil
}

func (client) Quota(_ context.Context, n *mcp.QuotaNotification) error {
	fmt.Println("quota left:", n.Left)
	return nil
}

// tool returns a tool with all new members.
func tool() mcp.Tool {
	limit, timeout := int64(5), int64(0)
	return mcp.Tool{Name: "t", Version: "2", TimeoutMs: &timeout, Limits: &mcp.ToolLimits{PerMinute: &limit},
		Fallback: &mcp.ResourceLink{Name: "f", URI: "x:f"}, Schedule: &mcp.OnceSchedule{At: "noon"},
		Schedules: []mcp.Schedule{&mcp.CronSchedule{Rule: "* *"}, &mcp.OnceSchedule{}}}
}

func main() {
	log.SetFlags(0)
	ctx := context.Background()
	s, c := loop{new(peer.Mux)}, loop{new(peer.Mux)}
	fmt.Println(mcp.HandleServer(s.mux, server{}), mcp.HandleClient(c.mux, client{}), "handlers")
	if err := errors.Join(asClient(ctx, mcp.ServerPeer{Outbound: s}), asServer(ctx, &mcp.ServerSession{SessionCore: c}, &mcp.ClientSession{SessionCore: s})); err != nil {
		log.Fatal(err)
	}
	documents()
	tables()
}

func asClient(ctx context.Context, view mcp.ServerPeer) error {
	_, err := view.DescribeTool(ctx, &mcp.DescribeToolRequest{Name: "t"})
	asked, ok := errors.AsType[*mcp.InputRequiredError](err)
	if !ok {
		return err
	}
	question := asked.Result.InputRequests["where"].(*mcp.GetLocationRequest)
	res, err := view.DescribeTool(ctx, &mcp.DescribeToolRequest{Name: "t",
		InputResponses: mcp.InputResponses{"where": &mcp.GetLocationResult{Latitude: question.Accuracy}}})
	if err != nil {
		return err
	}
	fmt.Println("described:", res.Tool.Version, *res.CallsPerDay, res.Tool.Schedule.(*mcp.OnceSchedule).At, res.Examples[0].Title)
	for agent, err := range view.ListAgentsAll(ctx, nil) {
		fmt.Println("agent", agent.Name, err)
	}
	_, err = view.DescribeTool(ctx, &mcp.DescribeToolRequest{Name: "often"})
	fmt.Println(err, mcp.ErrorFrom(peer.AsError(err)).(*mcp.QuotaExceededError).Limit)
	return view.Idle(ctx, &mcp.IdleNotification{})
}

func asServer(ctx context.Context, s *mcp.ServerSession, c *mcp.ClientSession) error {
	res, err := s.RequestApproval(ctx, &mcp.RequestApprovalRequest{Question: "?", Risk: mcp.RequestApprovalRequestRiskLow})
	if err != nil {
		return err
	}
	fmt.Println("approved:", res.Approved)
	return errors.Join(s.Heartbeat(ctx), s.SendQuota(ctx, &mcp.QuotaNotification{Left: 4}), c.SendIdle(ctx))
}

// documents prints the values that the tests validate.
func documents() {
	for _, d := range []struct {
		def   string
		value wire.Value
	}{
		{"Tool", &mcp.Tool{Name: "bare"}},
		{"CallToolResult", &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.VideoContent{Data: []byte{1}, MIMEType: "video/mp4"}}}},
		{"Resource", &mcp.Resource{Name: "r", URI: "x:r"}},
		{"GetLocationRequest", &mcp.GetLocationRequest{}},
		{"ListAgentsResult", &mcp.ListAgentsResult{}},
		{"Prompt", &mcp.Prompt{Name: "p", Schedules: map[string]mcp.Schedule{"a": &mcp.CronSchedule{}}}},
		{"ServerCapabilities", &mcp.ServerCapabilities{Agents: &mcp.ServerCapabilitiesAgents{ListChanged: true}}},
		{"RequestMetaObject", &mcp.RequestMeta{Region: "eu", ClientInfo: &mcp.Implementation{}, ClientCapabilities: &mcp.ClientCapabilities{}}},
		{"RequestApprovalResult", &mcp.RequestApprovalResult{}},
	} {
		data, err := wire.Append(nil, future, d.value)
		fmt.Println(d.def, string(data), err)
	}
	t := tool()
	for _, r := range []wire.Revision{mcp.Revision20260728, mcp.Revision20270301} {
		data, err := wire.Append(nil, &wire.Frame{Revision: r}, &t)
		fmt.Println(r, string(data), err)
	}
	for _, v := range []wire.Value{mcp.TextResult("x"), &mcp.CallToolResult{Content: []mcp.ContentBlock{&mcp.VideoContent{}}}, &mcp.CompleteRequest{},
		&mcp.LoggingMessageNotification{Level: mcp.LoggingLevelTrace, Data: json.RawMessage("1")}, &mcp.DescribeToolResult{}} {
		_, err := wire.Append(nil, &wire.Frame{Revision: mcp.Revision20260728}, v)
		_, now := wire.Append(nil, future, v)
		fmt.Printf("%T: %v; %v\n", v, err, now)
	}
}

func tables() {
	for _, name := range []string{mcp.MethodDescribeTool, mcp.MethodRequestApproval, mcp.MethodGetLocation, mcp.MethodIdle, mcp.MethodQuota, mcp.MethodListAgents, mcp.MethodComplete} {
		m, r := mcp.MethodByName(name), mcp.Revision20270301
		fmt.Println(name, m.FromClient.Has(r), m.FromServer.Has(r), m.Embedded.Has(r), m.MultiRoundTrip.Has(r), m.Cacheable.Has(r), m.Paged, m.Notification)
	}
}
