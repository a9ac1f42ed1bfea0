package mcptest_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestMain fails when a goroutine of the package is left after all tests.
func TestMain(m *testing.M) {
	if os.Getenv(runAsServer) != "" {
		serveAsProgram()
		return
	}
	code := m.Run()
	if left := leftOver(); left != "" {
		fmt.Printf("goroutines are left:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// leftOver returns the stacks of other goroutines that are in the package, once
// those that are about to end have had the time to.
func leftOver() string {
	var left []string
	for deadline := time.Now().Add(5 * time.Second); time.Now().Before(deadline); runtime.Gosched() {
		left = nil
		buf := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "runtime/mcptest") && !strings.Contains(stack, "TestMain") {
				left = append(left, stack)
			}
		}
		if left == nil {
			return ""
		}
	}
	return strings.Join(left, "\n\n")
}
