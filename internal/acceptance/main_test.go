package acceptance

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/mcpwright/mcp/internal/leaks"
)

// serving is the environment variable that makes this program a server.
const serving = "ACCEPTANCE_SERVE"

// TestMain runs a server if the variable serving is set, and the tests otherwise.
func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		if err := newServer(nil).ServeStdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaks.Main(m)
}
