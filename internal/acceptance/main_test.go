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

// attacked is the value of serving for the server of TestMemoryUnderAttack.
const attacked = "attacked"

// serveAttacked is the server of TestMemoryUnderAttack. It is nil where that test cannot run.
var serveAttacked func() error

// TestMain runs a server if the variable serving is set, and the tests otherwise.
func TestMain(m *testing.M) {
	if mode := os.Getenv(serving); mode != "" {
		serve := func() error { return newServer(nil).ServeStdio(context.Background()) }
		if mode == attacked {
			serve = serveAttacked
		}
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaks.Main(m)
}
