package mcptest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/stdio"
)

// runAsServer is set in the environment of a test program that is to be a
// server, to what it shall do.
const runAsServer = "MCPTEST_SERVE"

func serveAsProgram() {
	fmt.Fprintln(os.Stderr, "good morning")
	if os.Getenv(runAsServer) == "fail" {
		os.Exit(3)
	}
	if err := stdio.Serve(context.Background(), connection.NewPipe(newKernel(nil), nil), nil); err != nil {
		os.Exit(1)
	}
}

func TestAProgramPassesInEveryRevision(t *testing.T) {
	t.Setenv(runAsServer, "serve")
	t.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector waits a second for itself
	var stderr strings.Builder
	mcptest.Run(t, mcptest.Command(&stderr, os.Args[0]), func(t *testing.T, c *mcptest.Conn) {
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "greet"})
		require.NoError(t, err)
		require.Equal(t, mcp.TextResult("hello").Content, res.Content)
	})
	require.Equal(t, strings.Repeat("good morning\n", len(mcp.Revisions)), stderr.String())
}

func TestAProgramThatFailsFailsTheTest(t *testing.T) {
	t.Setenv(runAsServer, "fail")
	failures := failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.Command(nil, os.Args[0]), "2025-11-25") })
	require.Contains(t, strings.Join(failures, "\n"), "exit status 3")
	failures = failuresOf(func(t mcptest.TB) { mcptest.Connect(t, mcptest.Command(nil, "/no/such/program"), "2025-11-25") })
	require.Contains(t, strings.Join(failures, "\n"), "/no/such/program")
}
