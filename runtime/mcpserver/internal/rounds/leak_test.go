package rounds_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
)

// TestMain fails when a goroutine of the package is left after all tests.
func TestMain(m *testing.M) {
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
	for range 10_000 {
		left = nil
		buf := make([]byte, 1<<20)
		for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
			if strings.Contains(stack, "internal/rounds") && !strings.Contains(stack, "TestMain") {
				left = append(left, stack)
			}
		}
		if left == nil {
			return ""
		}
		runtime.Gosched()
	}
	return strings.Join(left, "\n\n")
}
