package mcpotel_test

import (
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDashboardNamesTheHistograms(t *testing.T) {
	data, err := os.ReadFile("../docs/grafana.json")
	require.NoError(t, err)
	require.True(t, json.Valid(data))
	names := make(map[string]bool)
	for _, name := range regexp.MustCompile(`mcp_\w+_seconds`).FindAllString(string(data), -1) {
		names[name] = true
	}
	require.Equal(t, map[string]bool{ // as Prometheus writes the names of the conventions
		"mcp_client_operation_duration_seconds": true, "mcp_server_operation_duration_seconds": true,
		"mcp_client_session_duration_seconds": true, "mcp_server_session_duration_seconds": true,
	}, names)
}
