package brokenpipe_test

import (
	"errors"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/brokenpipe"
)

func TestIs(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	require.NoError(t, r.Close())
	_, err = w.Write([]byte("x"))
	require.Error(t, err)
	if runtime.GOOS != "plan9" {
		require.True(t, brokenpipe.Is(err))
	}
	require.False(t, brokenpipe.Is(errors.New("other")))
	require.False(t, brokenpipe.Is(nil))
}
