package buffer_test

import (
	"math"
	"runtime"
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

func TestGrowUsesLargeBytesAgain(t *testing.T) {
	const size = 10 * buffer.MaxPooled
	response := make([]byte, size)
	least := uint64(math.MaxUint64)
	for range 20 { // the garbage collector may empty the pool
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b := buffer.New()
		b.Bytes = append(b.Bytes, "request"...)
		request := b.Bytes
		b.Grow(size)
		b.Bytes = append(b.Bytes, response...)
		require.Equal(t, "request", string(request))
		require.Equal(t, "request", string(b.Bytes[:len(request)]))
		b.Free()
		runtime.ReadMemStats(&after)
		least = min(least, after.TotalAlloc-before.TotalAlloc)
	}
	require.Less(t, least, uint64(size/2))
}
