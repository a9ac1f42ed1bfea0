//go:build unix

package stdio_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/stretchr/testify/require"
)

// shared is what serves several clients at once. Its tool "look" tells what
// there is to know about the client that calls it.
func shared(release <-chan struct{}) *connection.Dispatcher {
	visits := connection.NewKey[int]("visits")
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		state := connection.FromContext(ctx).State()
		n := visits.Update(state, func(n int) int { return n + 1 })
		if req.Name == "look" {
			return mcp.TextResult(fmt.Sprintf("level %q, subscriptions %v, %d in flight, visit %d",
				state.LogLevel(), state.Subscriptions(), len(state.InFlight().IDs()), n)), nil
		}
		select {
		case <-release:
			return mcp.TextResult("released"), nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	})
	mcp.HandleSubscribe(&mux, func(context.Context, *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
		return &mcp.EmptyResult{}, nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux: &mux, Info: mcp.Implementation{Name: "shared", Version: "1"},
		Capabilities: mcp.ServerCapabilities{
			Logging: map[string]json.RawMessage{}, Tools: &mcp.ToolsCapability{}, Resources: &mcp.ResourcesCapability{Subscribe: true},
		},
	})
}

func TestTwoClientsOfOneServerMayUseTheSameIDs(t *testing.T) {
	const (
		hello  = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`
		call   = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}`
		cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
		level  = `{"jsonrpc":"2.0","id":2,"method":"logging/setLevel","params":{"level":"error"}}`
		follow = `{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"a:b"}}`
	)
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		kernel := shared(release)
		say := func(c *client, text string) {
			_, err := fmt.Fprintln(c, text)
			require.NoError(t, err)
			synctest.Wait()
		}
		var clients []*client
		for range 2 {
			c := serve(t, t.Context(), connection.NewPipe(kernel, nil), nil)
			say(c, hello)
			c.answer(t)
			say(c, fmt.Sprintf(call, 1, "wait"))
			clients = append(clients, c)
		}
		one, two := clients[0], clients[1]
		say(one, level)
		one.answer(t)
		say(one, follow)
		one.answer(t)
		say(one, cancel)

		say(one, fmt.Sprintf(call, 4, "look"))
		require.Contains(t, one.answer(t), `level \"error\", subscriptions [a:b], 1 in flight, visit 2`)
		say(two, fmt.Sprintf(call, 2, "look"))
		require.Contains(t, two.answer(t), `level \"\", subscriptions [], 2 in flight, visit 2`)
		close(release)
		require.Contains(t, two.answer(t), `"id":1,"result":{"content":[{"type":"text","text":"released"}]}`)
		for _, c := range clients {
			c.in.Close()
			require.NoError(t, <-c.ended)
			require.Empty(t, c.answers, "the cancelled one is not answered")
		}
	})
}
