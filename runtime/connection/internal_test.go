package connection

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

func TestEveryCapabilityOfTheMethodTableIsKnown(t *testing.T) {
	all := []string{
		"completions", "logging", "prompts", "prompts.listChanged", "resources", "resources.listChanged",
		"resources.subscribe", "tools", "tools.listChanged", "tasks", "tasks.cancel", "tasks.list",
	}
	for _, m := range mcp.Methods {
		if m.Capability == "" {
			continue
		}
		server := slices.Contains(all, m.Capability)
		require.True(t, server || clientNeeds(m.Capability) != nil, m.Capability)
		if server {
			require.False(t, serverDeclares(&mcp.ServerCapabilities{}, m.Capability), m.Capability)
		}
		if m.FromServer != 0 && !m.Notification {
			require.NotNil(t, clientNeeds(m.Capability), m.Capability)
		}
	}
}

func TestEveryMessageOfTheProtocolCanBeJudged(t *testing.T) {
	for _, m := range mcp.Methods {
		_, server := serverSurface.Route(m.Name)
		_, client := clientSurface.Route(m.Name)
		require.Equal(t, m.FromClient != 0, server, m.Name)
		require.Equal(t, m.FromServer != 0 || m.Embedded != 0, client, m.Name)
	}
}

func TestLevelsAreInOrderOfSeverity(t *testing.T) {
	require.Equal(t, []mcp.LoggingLevel{
		"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
	}, levels)
}
