package buffer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
)

func TestBuffersAreEmpty(t *testing.T) {
	for range 3 {
		b := buffer.New()
		require.Empty(t, b.Bytes)
		b.Bytes = append(b.Bytes, "message"...)
		b.Free()
	}
	large := buffer.New()
	large.Bytes = make([]byte, buffer.MaxPooled+1)
	large.Free()
	require.LessOrEqual(t, cap(buffer.New().Bytes), buffer.MaxPooled)
}

func TestReleaseFreesWithoutAllocation(t *testing.T) {
	b := buffer.New()
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = b.Release() }))
	b.Bytes = append(b.Bytes, "message"...)
	b.Release()()
	require.Empty(t, b.Bytes)
}
