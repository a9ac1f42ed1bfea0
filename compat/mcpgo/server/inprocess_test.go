package server_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

// answers responds to all questions.
type answers struct{}

func (answers) CreateMessage(context.Context, mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	return &mcp.CreateMessageResult{Model: "m"}, nil
}

func (answers) Elicit(context.Context, mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: mcp.ElicitationResponseActionDecline}}, nil
}

func (answers) ListRoots(context.Context, mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: "file:///work"}}}, nil
}

var (
	_ server.SessionWithLogging    = (*server.InProcessSession)(nil)
	_ server.SessionWithClientInfo = (*server.InProcessSession)(nil)
)

func TestInProcessSession(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0", server.WithLogging())
	s.AddTool(mcp.NewTool("ask"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session := server.ClientSessionFromContext(ctx).(*server.InProcessSession)
		message, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{})
		if err != nil {
			return nil, err
		}
		response, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{})
		if err != nil {
			return nil, err
		}
		roots, err := s.RequestRoots(ctx, mcp.ListRootsRequest{})
		if err != nil {
			return nil, err
		}
		text := fmt.Sprint(session.SessionID(), " ", session.GetClientInfo().Name, " ", message.Model, " ", response.Action, " ", roots.Roots[0].URI)
		return mcp.NewToolResultText(text), s.SendNotificationToClient(ctx, "notifications/message", map[string]any{"data": "asked"})
	})
	session := server.NewInProcessSessionWithHandlers("1", answers{}, answers{}, answers{})
	equal(t, session.Initialized(), false)
	session.Initialize()
	session.SetClientInfo(mcp.Implementation{Name: "me"})
	session.SetClientCapabilities(mcp.ClientCapabilities{Sampling: &struct{}{}})
	session.SetProtocolVersion(mcp.LATEST_PROTOCOL_VERSION)
	equal(t, session.GetClientCapabilities().Sampling != nil, true)
	equal(t, session.ProtocolVersion(), mcp.LATEST_PROTOCOL_VERSION)
	check(t, s.RegisterSession(t.Context(), session))
	ctx := s.WithContext(t.Context(), session)
	response := s.HandleMessage(ctx, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask"}}`)).(mcp.JSONRPCResponse)
	equal(t, response.Result.(*mcp.CallToolResult).Content[0].(mcp.TextContent).Text, "1 me m decline file:///work")
	equal(t, (<-session.ClientNotifications()).Params.AdditionalFields["data"], any("asked"))

	equal(t, session.GetLogLevel(), mcp.LoggingLevelError)
	session.SetLogLevel(mcp.LoggingLevelInfo)
	check(t, s.SendLogMessageToSpecificClient("1", mcp.NewLoggingMessageNotification(mcp.LoggingLevelInfo, "", "logged")))
	equal(t, (<-session.ClientNotifications()).Params.AdditionalFields["data"], any("logged"))

	plain := server.NewInProcessSession(s.GenerateInProcessSessionID(), nil)
	equal(t, strings.HasPrefix(plain.SessionID(), "inprocess-"), true)
	ctx = s.WithContext(t.Context(), plain)
	_, err := s.RequestSampling(ctx, mcp.CreateMessageRequest{})
	equal(t, fmt.Sprint(err), "session does not support sampling")
	_, err = s.RequestElicitation(ctx, mcp.ElicitationRequest{})
	equal(t, err, server.ErrElicitationNotSupported)
	_, err = s.RequestRoots(ctx, mcp.ListRootsRequest{})
	equal(t, err, server.ErrRootsNotSupported)
}
