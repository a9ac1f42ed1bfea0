package mcptest_test

import (
	"os"
	"testing"

	"github.com/mcpwright/mcp/internal/leaks"
)

// TestMain is a server where the environment says so.
func TestMain(m *testing.M) {
	if os.Getenv(runAsServer) != "" {
		serveAsProgram()
		return
	}
	leaks.Main(m)
}
