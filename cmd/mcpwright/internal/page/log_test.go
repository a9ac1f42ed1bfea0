package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogIsBounded(t *testing.T) {
	l := newLog()
	l.add(&entry{key: "state", kind: "state", keep: true}, 1)
	detail := []byte(strings.Repeat("x", 1<<20))
	var first int64
	for i := range 200 {
		seq := l.add(&entry{kind: "wire", detail: detail}, i)
		if i == 0 {
			first = seq
		}
	}
	require.LessOrEqual(t, l.bytes, maxBytes)
	require.Nil(t, l.detail(first))
	list, gap, _ := l.after(0, 1000)
	require.True(t, gap)
	require.Equal(t, "state", list[0].kind, "entries that are kept are not removed")
	require.Equal(t, len(detail), len(l.detail(l.last)))
	_, gap, _ = l.after(l.last-1, 1000)
	require.False(t, gap)

	for i := range 3 * maxEntries {
		l.add(&entry{kind: "wire"}, i)
	}
	require.LessOrEqual(t, l.alive, maxEntries)
	require.Greater(t, l.alive, maxEntries/2)
	require.Less(t, len(l.entries), 3*maxEntries)
}

func TestLogReplacesEntriesWithTheSameKey(t *testing.T) {
	l := newLog()
	for i := range 10_000 {
		l.add(&entry{key: fmt.Sprint("progress ", i%2), kind: "progress"}, i)
	}
	list, gap, more := l.after(0, 10)
	require.False(t, gap, "a replaced entry is not missed")
	require.Len(t, list, 2)
	require.Equal(t, "9998", string(list[0].data))
	require.Less(t, len(l.entries), 300)
	select {
	case <-more:
		require.Fail(t, "there is no new entry")
	default:
	}
	l.add(&entry{kind: "wire"}, 1)
	<-more
	list, _, _ = l.after(list[1].seq, 10)
	require.Len(t, list, 1)
}
