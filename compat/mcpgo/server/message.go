package server

import (
	"context"
	"encoding/json"
	"reflect"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

type (
	// messageKey is the key of a context of [MCPServer.HandleMessage].
	messageKey struct{ server *MCPServer }
	// messageSession is the session in such a context, or nil.
	messageSession struct{ ClientSession }
)

// HandleMessage handles one message as a client of the revision 2025-11-25 that needs no initialize
// request, and returns its response, or nil for a notification. Tests use it. The session of the
// handler is the session in ctx, see [MCPServer.WithContext]. A panic of a handler is not recovered.
//
// The result of a [mcp.JSONRPCResponse] has a type of package mcp: *[mcp.CallToolResult] for a call
// of a tool, and values for other methods with hooks. Other results are a map[string]any.
func (s *MCPServer) HandleMessage(ctx context.Context, message json.RawMessage) mcp.JSONRPCMessage {
	dispatcher := s.kit.Dispatcher()
	m, frame, err := dispatcher.Read(message, kit.Revision20251125)
	switch {
	case !json.Valid(message):
		return mcp.NewJSONRPCError(mcp.RequestId{}, mcp.PARSE_ERROR, "Failed to parse message", nil)
	case err != nil:
		return mcp.NewJSONRPCError(mcp.RequestId{}, mcp.INVALID_REQUEST, err.Error(), nil)
	case m.Method == "":
		return nil // a response
	}
	in := &peer.Inbound{Method: m.Method, ID: m.ID, Params: m.Params}
	if message, ok := m.Into.(peer.Message); ok {
		in.Params, in.Message, in.Frame = nil, message, frame
	}
	conn := connection.NewForRequest(kit.Revision20251125, nil, nil, nil)
	if m.Method == string(mcp.MethodInitialize) {
		conn = connection.New(nil, nil)
	}
	defer conn.Close(ctx)
	ctx = context.WithValue(ctx, messageKey{s}, messageSession{ClientSessionFromContext(ctx)})
	reply, err := dispatcher.Serve(ctx, conn, in)
	if m.ID.IsZero() {
		return nil
	}
	id := mcp.NewRequestId(requestID(m.ID))
	if err == nil {
		var result any
		if result, err = decodeResult(m.Method, reply); err == nil {
			return mcp.NewJSONRPCResultResponse(id, result)
		}
	}
	sent := peer.AsError(err)
	if sent == nil {
		sent = &peer.Error{Code: mcp.INTERNAL_ERROR, Message: err.Error()}
	}
	details := mcp.NewJSONRPCError(id, int(sent.Code), sent.Message, nil)
	if sent.Data != nil {
		details.Error.Data = sent.Data
	}
	return details
}

// results contains a result of package mcp for each method that has one.
var results = map[string]any{
	string(mcp.MethodInitialize):             mcp.InitializeResult{},
	string(mcp.MethodPing):                   mcp.EmptyResult{},
	string(mcp.MethodSetLogLevel):            mcp.EmptyResult{},
	string(mcp.MethodResourcesList):          mcp.ListResourcesResult{},
	string(mcp.MethodResourcesTemplatesList): mcp.ListResourceTemplatesResult{},
	string(mcp.MethodResourcesRead):          mcp.ReadResourceResult{},
	string(mcp.MethodResourcesSubscribe):     mcp.EmptyResult{},
	string(mcp.MethodResourcesUnsubscribe):   mcp.EmptyResult{},
	string(mcp.MethodPromptsList):            mcp.ListPromptsResult{},
	string(mcp.MethodPromptsGet):             mcp.GetPromptResult{},
	string(mcp.MethodToolsList):              mcp.ListToolsResult{},
	string(mcp.MethodToolsCall):              &mcp.CallToolResult{},
}

// decodeResult returns a result as a value of the type in results.
func decodeResult(method string, reply peer.Reply) (any, error) {
	data, err := wire.Append(nil, reply.Frame, reply.Result)
	if err != nil {
		return nil, err
	}
	example, ok := results[method]
	if !ok {
		example = map[string]any{}
	}
	decoded := reflect.New(reflect.TypeOf(example))
	err = json.Unmarshal(data, decoded.Interface())
	return decoded.Elem().Interface(), err
}
