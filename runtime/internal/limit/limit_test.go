package limit_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/limit"
)

func TestZeroAndNegativeLimits(t *testing.T) {
	require.Equal(t, 7, limit.Count(0, 7))
	require.Equal(t, 3, limit.Count(3, 7))
	require.Equal(t, time.Second, limit.Time(0, time.Second))
	require.Equal(t, time.Hour, limit.Time(time.Hour, time.Second))
	for _, none := range []int{-1, math.MinInt, math.MaxInt} {
		require.Positive(t, 4*limit.Count(none, 7))
	}
	for _, none := range []time.Duration{-1, math.MinInt64, math.MaxInt64} {
		now := time.Now()
		require.Greater(t, now.Add(limit.Time(none, time.Second)).Unix(), now.Unix())
	}
}
