package leaks

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestGoroutineOfTheModuleCounts(t *testing.T) {
	begun, end := make(chan struct{}), make(chan struct{})
	go func() { // returns at the end of the test
		close(begun)
		<-end
	}()
	defer close(end)
	<-begun
	var found []string
	for i, stack := range strings.Split(stacks(), "\n\n") {
		if i > 0 && started(stack) {
			found = append(found, stack)
		}
	}
	require.Len(t, found, 1)
	require.Contains(t, found[0], t.Name())
}

func TestGoroutineOfATestDoesNotCount(t *testing.T) {
	const stack = "goroutine 7 [select]:\nmain.f()\n\t/f.go:1\ncreated by github.com/mcpwright/mcp/runtime/"
	require.True(t, started(stack+"dispatch.(*Conn).request in goroutine 3\n\t/conn.go:1"))
	require.False(t, started(stack+"dispatch_test.TestThis in goroutine 3\n\t/conn_test.go:1"))
	require.False(t, started("goroutine 7 [select]:\nmain.f()\n\t/f.go:1\ncreated by testing.(*T).Run in goroutine 1"))
}

// TestNoLeak checks that await returns at once if no goroutine counts.
func TestNoLeak(t *testing.T) {
	Check(t)
	require.Empty(t, await(func(stack string) bool { return strings.Contains(stack, "no such function") }))
}
