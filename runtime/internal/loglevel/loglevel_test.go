package loglevel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

func TestLevelsAreInOrderOfSeverity(t *testing.T) {
	require.Equal(t, []mcp.LoggingLevel{
		"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency",
	}, levels)
	require.True(t, Below("debug", "info"))
	require.False(t, Below("info", "info"))
	require.False(t, Below("loud", "info"))
	require.Zero(t, Of("loud"))
	require.Equal(t, mcp.LoggingLevelError, Of(mcp.LoggingLevelError).Level())
	require.Empty(t, Of("").Level())
}
