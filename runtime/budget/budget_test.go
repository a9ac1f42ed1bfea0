package budget_test

import (
	"runtime/debug"
	"strconv"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/budget"
)

const mib = 1 << 20

func reserve(t *testing.T, b *budget.Budget, principal string, n int) *budget.Reservation {
	t.Helper()
	r, err := b.Reserve(principal, n)
	require.NoError(t, err)
	return r
}

func TestSmallThingsAreNotCounted(t *testing.T) {
	b := budget.New(&budget.Options{MaxBytes: 1})
	r, err := b.Reserve("alice", 16<<10)
	require.NoError(t, err)
	require.Nil(t, r)
	r.Release()
	require.Zero(t, b.Held())
}

func TestPrincipalHasLimit(t *testing.T) {
	b := budget.New(&budget.Options{MaxBytes: 16 * mib})
	r := reserve(t, b, "alice", 3*mib)
	_, err := b.Reserve("alice", 2*mib)
	require.ErrorIs(t, err, budget.ErrPrincipalExceeded, "a quarter of all")
	require.ErrorIs(t, r.Resize(5*mib), budget.ErrPrincipalExceeded)
	require.Equal(t, 3*mib, b.Held(), "refused bytes are not counted")
	require.Equal(t, 2, b.Refused())
	require.NoError(t, r.Resize(4*mib))
	reserve(t, b, "bob", 4*mib)
	r.Release()
	require.Equal(t, 4*mib, b.Held())
	reserve(t, b, "alice", 4*mib)
}

func TestPartIsReservedForOthers(t *testing.T) {
	b := budget.New(&budget.Options{MaxBytes: 16 * mib})
	reserve(t, b, "", 12*mib)
	_, err := b.Reserve("", mib)
	require.ErrorIs(t, err, budget.ErrExceeded)
	reserve(t, b, "alice", mib)
	_, err = b.Reserve("alice", mib)
	require.ErrorIs(t, err, budget.ErrExceeded, "little is held for alice no longer")
	for _, name := range []string{"bob", "carol", "dan"} {
		reserve(t, b, name, mib)
	}
	_, err = b.Reserve("eve", mib)
	require.ErrorIs(t, err, budget.ErrExceeded)
}

func TestReleaseTwice(t *testing.T) {
	b := budget.New(&budget.Options{MaxBytes: 16 * mib})
	r := reserve(t, b, "alice", mib)
	r.Release()
	r.Release()
	require.NoError(t, r.Resize(mib))
	require.Zero(t, b.Held())
}

func TestDefaultFollowsMemoryLimit(t *testing.T) {
	previous := debug.SetMemoryLimit(64 * mib)
	defer debug.SetMemoryLimit(previous)
	require.Equal(t, 16*mib, budget.New(nil).MaxBytes())
	require.Equal(t, 20*mib, budget.New(&budget.Options{MaxBytes: 20 * mib}).MaxBytes())
}

func TestExpectedResultFollowsResults(t *testing.T) {
	b := budget.New(nil)
	b.RecordResult("tools/call", "report", 1<<10)
	require.Zero(t, b.ExpectedResult("tools/call", "report"), "small results need no reservation")
	b.RecordResult("tools/call", "report", mib)
	require.Equal(t, mib, b.ExpectedResult("tools/call", "report"))
	require.Zero(t, b.ExpectedResult("tools/call", "other"))
	b.RecordResult("tools/call", "report", 1<<10)
	require.Equal(t, mib-mib/8, b.ExpectedResult("tools/call", "report"))
	for range 100 {
		b.RecordResult("tools/call", "report", 1<<10)
	}
	require.Zero(t, b.ExpectedResult("tools/call", "report"))
}

func TestExpectedResultsAreBounded(t *testing.T) {
	b := budget.New(nil)
	for i := range 3000 {
		b.RecordResult("resources/read", strconv.Itoa(i), mib)
	}
	known := 0
	for i := range 3000 {
		if b.ExpectedResult("resources/read", strconv.Itoa(i)) > 0 {
			known++
		}
	}
	require.LessOrEqual(t, known, 1024)
	require.Equal(t, mib, b.ExpectedResult("resources/read", "2999"))
}

func TestConcurrentUse(t *testing.T) {
	b := budget.New(&budget.Options{MaxBytes: mib})
	var all sync.WaitGroup
	for _, name := range []string{"", "alice", "bob"} {
		for range 4 {
			all.Go(func() { // ends after its rounds
				for range 1000 {
					if r, err := b.Reserve(name, 100<<10); err == nil {
						_ = r.Resize(200 << 10)
						r.Release()
					}
				}
			})
		}
	}
	all.Wait()
	require.Zero(t, b.Held())
}

func TestReserveAllocatesOnce(t *testing.T) {
	b := budget.New(nil)
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() {
		r, _ := b.Reserve("alice", mib)
		r.Release()
	}), 1.0)
}
