package mcptest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
)

// recorder is a test that records its failures.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// forecast returns a server with a tool of which the input is In.
func forecast[In any](description string) *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1.0.0"}, &mcpserver.Options{Instructions: "Ask for a city."})
	mcpserver.AddTool(s, &mcp.Tool{Name: "forecast", Description: description}, func(context.Context, *mcp.ServerSession, In) (string, error) {
		return "sunny", nil
	})
	return s
}

type place struct {
	City string `json:"city,omitempty"`
}

type requiredPlace struct {
	City string `json:"city"`
}

func TestContract(t *testing.T) {
	file := filepath.Join(t.TempDir(), "testdata", "mcp.lock.json")
	check := func(s mcptest.Server) string {
		r := &recorder{TB: t}
		mcptest.Contract(r, s, file)
		return strings.Join(r.failures, "\n")
	}
	require.Contains(t, check(forecast[place]("")), "does not exist: run the test with MCPTEST_UPDATE=1")
	t.Run("write", func(t *testing.T) {
		t.Setenv(mcptest.UpdateContracts, "1")
		mcptest.Contract(t, forecast[place](""), file)
	})
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), `"instructions": "Ask for a city."`)
	require.Empty(t, check(forecast[place]("")))
	require.Contains(t, check(forecast[requiredPlace]("")), "breaking       tool forecast argument city: required: no → yes\n")
	require.Contains(t, check(forecast[place]("The weather")), "informational  tool forecast: description: none → \"The weather\"\n")
	require.NoError(t, os.WriteFile(file, []byte("{"), 0o600))
	require.Contains(t, check(forecast[place]("")), "read "+file)
}
