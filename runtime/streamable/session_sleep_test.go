package streamable_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

// TestASessionThatSleptGoesOn lets a session sleep in between, with its stream
// open: ids of requests and events go on.
func TestASessionThatSleptGoesOn(t *testing.T) {
	tools := map[string]tool{"changed": changed, "ask": func(ctx ctx, s *mcp.ServerSession) (*mcp.CallToolResult, error) {
		_, err := s.ListRoots(ctx)
		return mcp.TextResult("asked"), err
	}}
	serveInBubble(t, tools, nil, func(t *testing.T, e *endpoint) {
		c := e.open("2025-11-25")
		standing := c.stream(http.MethodGet, "", c.headers()...)
		for i, id := range []string{"1", "2", "3"} {
			time.Sleep(time.Duration(i) * 5 * time.Second)
			asking := c.stream(http.MethodPost, callTool(1, "ask"), c.headers()...)
			question, _ := asking.data()
			require.Equal(t, `{"jsonrpc":"2.0","id":`+id+`,"method":"roots/list","params":{}}`, question)
			time.Sleep(5 * time.Second) // it does not sleep while somebody is asked
			require.Equal(t, http.StatusAccepted, c.post(`{"jsonrpc":"2.0","id":`+id+`,"result":{"roots":[]}}`).status)
			answer, _ := asking.data()
			require.Contains(t, answer, "asked")
			require.Contains(t, c.call("changed").body, "told")
			_, event := standing.data()
			require.Equal(t, "0-"+id, event)
		}
		standing.stop()
	})
}
