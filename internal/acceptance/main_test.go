package acceptance

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// serving is the variable by which this program knows that it is to be a server.
const serving = "ACCEPTANCE_SERVE"

// TestMain is a server where the environment says so. Otherwise it runs the
// tests, and fails when one of them leaves a goroutine behind.
func TestMain(m *testing.M) {
	if os.Getenv(serving) != "" {
		if err := newServer(nil).ServeStdio(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	deadline := time.Now().Add(10 * time.Second)
	for left := ours(); len(left) > 0; left = ours() {
		if time.Now().After(deadline) {
			fmt.Fprintf(os.Stderr, "goroutines were left behind:\n\n%s\n", strings.Join(left, "\n\n"))
			os.Exit(1)
		}
		runtime.Gosched()
	}
	os.Exit(code)
}

// ours returns the goroutines, but for this one, that run code of this module.
func ours() []string {
	buf := make([]byte, 1<<20)
	var found []string
	for i, stack := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if i > 0 && strings.Contains(stack, "mcpwright/mcp/") {
			found = append(found, stack)
		}
	}
	return found
}
