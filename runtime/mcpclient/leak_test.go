package mcpclient_test

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// noLeak fails the test if, at its end, a goroutine is left that this module
// started.
func noLeak(t *testing.T) {
	t.Helper()
	t.Cleanup(func() {
		require.Eventually(t, func() bool { return len(ours()) == 0 }, 10*time.Second, time.Millisecond, "%v", ours())
	})
}

// ours lists the goroutines that the code under test started.
func ours() []string {
	buf := make([]byte, 1<<20)
	var found []string
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		_, by, _ := strings.Cut(stack, "created by github.com/mcpwright/mcp/runtime/")
		for _, pkg := range []string{"mcpclient.", "streamable.", "stdio.", "dispatch.", "connection."} {
			if strings.HasPrefix(by, pkg) {
				found = append(found, stack)
			}
		}
	}
	return found
}
