package acceptance

import (
	"context"
	"fmt"
	"os"
	"testing"

	"github.com/mcpwright/mcp/internal/leaks"
)

// serving is the variable by which this program knows that it is to be a server.
const serving = "ACCEPTANCE_SERVE"

// TestMain is a server where the environment says so.
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
