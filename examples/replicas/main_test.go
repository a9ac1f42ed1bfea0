package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain runs a replica if the variables of one are set, and the tests otherwise.
func TestMain(m *testing.M) {
	if os.Getenv(envName) == "" {
		os.Exit(m.Run())
	}
	if err := serveReplica(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// TestAnotherReplicaContinues kills the replica that answers, as users of the example do.
func TestAnotherReplicaContinues(t *testing.T) {
	in, out := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { // ends with cancel
		defer out.Close()
		ended <- supervise(ctx, "127.0.0.1:0", out)
	}()
	lines := bufio.NewScanner(in)
	pids := map[string]int{}
	// answered reads lines until a replica other than one has answered, and returns its number.
	answered := func(other string) string {
		for lines.Scan() {
			words := strings.Fields(lines.Text())
			switch {
			case words[0] == "replica" && words[2] == "runs;":
				pid, err := strconv.Atoi(words[len(words)-1])
				require.NoError(t, err)
				pids[words[1]] = pid
			case words[0] == "call" && words[2] == "hello" && words[len(words)-1] != other:
				return words[len(words)-1]
			}
		}
		require.Fail(t, "the program has ended")
		return ""
	}
	first := answered("")
	require.Contains(t, pids, first)
	require.NoError(t, syscall.Kill(pids[first], syscall.SIGKILL))
	answered(first)
	cancel()
	_, _ = io.Copy(io.Discard, in)
	require.NoError(t, <-ended)
}
