package mcpclient_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

func TestAClientSpeaksTheNewestRevisionThatTheServerDoes(t *testing.T) {
	leaks.Check(t)
	for _, want := range mcp.Revisions {
		s := greeter(want.Revision)
		for way, to := range s.ways(t) {
			t.Run(want.Revision.String()+" "+way, func(t *testing.T) {
				c := connect(t, to, nil)
				require.Equal(t, want.Revision.String(), c.Revision().String())
				require.Equal(t, !want.Handshake, c.NoHandshake())
				require.Equal(t, "stand-in", c.ServerInfo().Name)
				require.Equal(t, "be kind", c.Instructions())
				require.NotNil(t, c.ServerCapabilities().Tools)

				res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{
					Name: "greet", Arguments: json.RawMessage(`{"name":"gopher"}`),
				})
				require.NoError(t, err)
				require.Equal(t, "hello gopher", mcp.TextOf(res.Content))

				text, err := mcpclient.CallTool[string](t.Context(), c, "greet", map[string]string{"name": "Go"})
				require.NoError(t, err)
				require.Equal(t, "hello Go", text)
			})
		}
	}
}
