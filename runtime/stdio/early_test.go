//go:build unix

package stdio_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/stretchr/testify/require"
)

// It is all read before anything of it is handled.
func TestWhatIsWrittenBeforeTheFirstRequestIsHandledBeforeIt(t *testing.T) {
	const (
		confirm  = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
		changed  = `{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}` + "\n"
		call     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x"}}` + "\n"
		answered = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"1 change"}]}}` + "\n"
	)
	for range 100 {
		changes := 0
		var mux peer.Mux
		mcp.HandleRootsListChanged(&mux, func(context.Context, *mcp.RootsListChangedNotification) error {
			changes++
			return nil
		})
		mcp.HandleCallTool(&mux, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult(fmt.Sprintf("%d change", changes)), nil
		})
		k := connection.NewDispatcher(&connection.DispatcherOptions{Mux: &mux, Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}}})
		c := serve(t, t.Context(), connection.NewPipe(k, nil), nil)
		_, err := fmt.Fprint(c, confirm+changed+call)
		require.NoError(t, err)
		require.Equal(t, answered, c.answer(t))
		c.in.Close()
		require.NoError(t, <-c.ended)
	}
}
