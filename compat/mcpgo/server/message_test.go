package server_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

func TestHandleMessage(t *testing.T) {
	var notified string
	s := server.NewMCPServer("test", "1.0.0", server.WithLogger(discard))
	s.AddTool(mcp.NewTool("echo"), echo)
	s.AddNotificationHandler("notifications/cancelled", func(_ context.Context, n mcp.JSONRPCNotification) { notified = n.Method })
	handle := func(ctx context.Context, message string) string {
		t.Helper()
		encoded, err := json.Marshal(s.HandleMessage(ctx, json.RawMessage(message)))
		check(t, err)
		return string(encoded)
	}
	for message, want := range map[string]string{
		`{"jsonrpc":"2.0","id":"a","method":"ping"}`:                                                          `{"jsonrpc":"2.0","id":"a","result":{}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"hi"}}}`:   `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"fail"}}}`: `{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"it failed"}}`,
		`{"jsonrpc":"2.0","id":1,"method":"absent"}`:                                                          `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found","data":"absent"}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`:                       `null`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                                                                `null`,
		`{`:                                                                                                   `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Failed to parse message"}}`,
	} {
		equal(t, handle(t.Context(), message), want)
	}
	equal(t, notified, "notifications/cancelled")

	initialize := s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`))
	equal(t, initialize.(mcp.JSONRPCResponse).Result.(mcp.InitializeResult).ServerInfo.Name, "test")
	list := s.HandleMessage(t.Context(), json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	equal(t, list.(mcp.JSONRPCResponse).Result.(mcp.ListToolsResult).Tools[0].Name, "echo")

	s.AddTool(mcp.NewTool("whoami"), whoami)
	ctx := s.WithContext(t.Context(), &ownSession{id: "own"})
	equal(t, handle(ctx, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}}`), `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"own"}]}}`)
}
