// Package leaks finds the goroutines that tests leave behind.
//
//	func TestMain(m *testing.M) { leaks.Main(m) }
package leaks

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

const (
	module = "github.com/mcpwright/mcp/"
	// timeout is the time that goroutines have to end.
	timeout = 10 * time.Second
)

// Main runs the tests of a package. It fails if a goroutine still runs code of this module afterwards.
func Main(m *testing.M) {
	code := m.Run()
	if left := await(func(stack string) bool { return strings.Contains(stack, module) }); left != "" {
		fmt.Fprintf(os.Stderr, "goroutines were left behind:\n\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// Check fails the test if a goroutine that this module started, and not a test, still runs at the end of
// the test. It does not work in parallel tests.
func Check(t testing.TB) {
	t.Helper()
	t.Cleanup(func() {
		if left := await(started); left != "" {
			t.Errorf("goroutines were left behind:\n\n%s", left)
		}
	})
}

// started reports whether the module itself, and not a test, started a goroutine.
func started(stack string) bool {
	_, by, ok := strings.Cut(stack, "created by "+module)
	by, _, _ = strings.Cut(by, "\n")
	return ok && !strings.Contains(by, "_test.")
}

// await returns the stacks of other goroutines for which counts returns true. It waits for them to end
// until the timeout.
func await(counts func(stack string) bool) string {
	for deadline := time.Now().Add(timeout); ; runtime.Gosched() {
		var left []string
		for i, stack := range strings.Split(stacks(), "\n\n") {
			if i > 0 && counts(stack) { // the first is this goroutine
				left = append(left, stack)
			}
		}
		if left == nil || time.Now().After(deadline) {
			return strings.Join(left, "\n\n")
		}
	}
}

// stacks returns the stacks of all goroutines, its caller's first.
func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return string(buf[:n])
		}
	}
}
