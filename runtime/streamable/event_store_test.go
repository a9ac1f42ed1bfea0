package streamable_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/streamable"
)

// put appends an event of n bytes.
func put(t *testing.T, m *streamable.MemoryStore, session string, stream, seq uint64, n int) {
	t.Helper()
	require.NoError(t, m.Append(t.Context(), streamable.Event{Session: session, Stream: stream, Seq: seq, Data: make([]byte, n)}))
}

// seqs returns the numbers of the stored events of a stream after seq.
func seqs(t *testing.T, m *streamable.MemoryStore, session string, stream, seq uint64) (all []uint64) {
	t.Helper()
	events, err := m.After(t.Context(), session, stream, seq)
	require.NoError(t, err)
	for _, e := range events {
		require.Equal(t, session, e.Session)
		require.Equal(t, stream, e.Stream)
		all = append(all, e.Seq)
	}
	return all
}

func TestMemoryStoreSeparatesStreams(t *testing.T) {
	m := streamable.NewMemoryStore(nil)
	for seq := range uint64(3) {
		put(t, m, "a", 1, seq+1, 1)
		put(t, m, "a", 2, seq+1, 1)
		put(t, m, "b", 1, seq+1, 1)
	}
	require.Equal(t, []uint64{1, 2, 3}, seqs(t, m, "a", 1, 0))
	require.Equal(t, []uint64{3}, seqs(t, m, "a", 2, 2))
	require.Empty(t, seqs(t, m, "a", 1, 3))
	require.Empty(t, seqs(t, m, "a", 3, 0))
	require.Empty(t, seqs(t, m, "c", 1, 0))
	require.NoError(t, m.Forget(t.Context(), "a"))
	require.Empty(t, seqs(t, m, "a", 1, 0))
	require.Equal(t, []uint64{1, 2, 3}, seqs(t, m, "b", 1, 0))
	require.NoError(t, m.Forget(t.Context(), "a"))
}

func TestMemoryStoreDeletesOldestEvents(t *testing.T) {
	m := streamable.NewMemoryStore(&streamable.MemoryOptions{MaxEvents: 3})
	for seq := range uint64(5) {
		put(t, m, "a", 1, seq+1, 1)
	}
	require.Equal(t, []uint64{3, 4, 5}, seqs(t, m, "a", 1, 0))

	m = streamable.NewMemoryStore(&streamable.MemoryOptions{MaxBytes: 1000})
	for seq := range uint64(5) {
		put(t, m, "a", 1, seq+1, 200)
	}
	require.Equal(t, []uint64{3, 4, 5}, seqs(t, m, "a", 1, 0))
	err := m.Append(t.Context(), streamable.Event{Session: "a", Stream: 1, Seq: 6, Data: make([]byte, 1000)})
	require.ErrorIs(t, err, streamable.ErrEventTooLarge)
	require.Equal(t, []uint64{3, 4, 5}, seqs(t, m, "a", 1, 0))
}

func TestMemoryStoreLimitsTotalBytes(t *testing.T) {
	m := streamable.NewMemoryStore(&streamable.MemoryOptions{MaxTotal: 3000})
	for seq := range uint64(10) {
		put(t, m, "a", 1, seq+1, 900)
		put(t, m, "b", 1, seq+1, 900)
		require.LessOrEqual(t, len(seqs(t, m, "a", 1, 0))+len(seqs(t, m, "b", 1, 0)), 3)
	}
	require.NoError(t, m.Forget(t.Context(), "a"))
	require.NoError(t, m.Forget(t.Context(), "b"))
	for seq := range uint64(3) {
		put(t, m, "c", 1, seq+1, 900)
	}
	require.Len(t, seqs(t, m, "c", 1, 0), 3, "deleted events are not counted")
}

func TestMemoryStoreDeletesEventsOfLargestPrincipal(t *testing.T) {
	m := streamable.NewMemoryStore(&streamable.MemoryOptions{MaxTotal: 100_000})
	add := func(principal, session string, seq uint64, n int) {
		t.Helper()
		e := streamable.Event{Session: session, Principal: principal, Stream: 1, Seq: seq, Data: make([]byte, n)}
		require.NoError(t, m.Append(t.Context(), e))
	}
	for seq := range uint64(10) {
		add("victim", "v", seq+1, 1000)
		add("", "anonymous", seq+1, 1000)
	}
	for i := range 90 { // one principal with many sessions
		for seq := range uint64(10) {
			add("attacker", fmt.Sprint("a", i), seq+1, 1000)
		}
	}
	require.Len(t, seqs(t, m, "v", 1, 0), 10)
	require.Len(t, seqs(t, m, "anonymous", 1, 0), 10)
	for i := range 90 { // sessions without a principal
		for seq := range uint64(10) {
			add("", fmt.Sprint("b", i), seq+1, 100)
		}
	}
	require.NotEmpty(t, seqs(t, m, "b89", 1, 0))
	require.Contains(t, seqs(t, m, "v", 1, 0), uint64(10), "the latest events stay")
	add("large", "l", 1, 90_000)
	require.Len(t, seqs(t, m, "l", 1, 0), 1, "an event that was just stored stays")
	for i := range 90 {
		for _, name := range []string{"a", "b"} {
			require.NoError(t, m.Forget(t.Context(), fmt.Sprint(name, i)))
		}
	}
	for _, name := range []string{"v", "anonymous", "l"} {
		require.NoError(t, m.Forget(t.Context(), name))
	}
	for seq := range uint64(90) {
		add("again", "c", seq+1, 1000)
	}
	require.Len(t, seqs(t, m, "c", 1, 0), 90, "deleted events are not counted")
}

// brokenStore is a store whose Append fails.
type brokenStore struct{ *streamable.MemoryStore }

var errStore = errors.New("store is broken")

func (brokenStore) Append(context.Context, streamable.Event) error { return errStore }
func (brokenStore) Forget(context.Context, string) error           { return errStore }

func TestFailingStoreOnlyPreventsResumption(t *testing.T) {
	e := serve(t, map[string]tool{"logs": logs(2), "changed": changed}, &streamable.Options{Events: brokenStore{streamable.NewMemoryStore(nil)}})
	c := e.open("2025-11-25")
	require.Len(t, c.call("logs").events(), 3)
	require.Contains(t, c.call("changed").body, "notified")
	require.Equal(t, http.StatusBadRequest, e.send(http.MethodGet, "", append(c.headers(), "Last-Event-ID: 1-1")...).status)
	require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
}

// unreadableStore is a store whose After fails.
type unreadableStore struct{ *streamable.MemoryStore }

func (unreadableStore) After(context.Context, string, uint64, uint64) ([]streamable.Event, error) {
	return nil, errStore
}

func TestUnreadableStoreEndsStream(t *testing.T) {
	e := serve(t, map[string]tool{"changed": changed}, &streamable.Options{Events: unreadableStore{streamable.NewMemoryStore(nil)}})
	c := e.open("2025-11-25")
	c.call("changed")
	require.NotContains(t, e.send(http.MethodGet, "", c.headers()...).body, "changed")
}

func TestEventTooLargeForStoreIsSent(t *testing.T) {
	e := serve(t, map[string]tool{"logs": logs(1)}, &streamable.Options{Events: streamable.NewMemoryStore(&streamable.MemoryOptions{MaxBytes: 10})})
	a := e.open("2025-11-25").call("logs")
	require.Len(t, a.events(), 2)
	require.Equal(t, 1, strings.Count(a.body, "id: "), "only the start event has an id")
}

// panicking is a store that panics.
type panicking struct{ streamable.EventStore }

func (panicking) Append(context.Context, streamable.Event) error { panic("no store") }

func TestPanickingStoreAffectsOneRequest(t *testing.T) {
	for name, polling := range map[string]bool{"plain": false, "polling": true} {
		t.Run(name, func(t *testing.T) {
			e := serve(t, map[string]tool{"reports": reports(1)}, &streamable.Options{
				Polling: polling, Events: panicking{streamable.NewMemoryStore(nil)},
			})
			c := e.open("2025-11-25")
			res, err := e.client.Do(e.request(t.Context(), http.MethodPost, callTool(1, "reports"), c.headers()))
			if err == nil {
				_, _ = io.ReadAll(res.Body) // net/http decides how the response ends
				res.Body.Close()
			}
			require.Equal(t, http.StatusOK, c.call("echo").status)
		})
	}
}

// slowStore is a store whose Append is slow.
type slowStore struct {
	*streamable.MemoryStore
	asked, goOn, forgotten chan struct{}
}

func (s *slowStore) Append(ctx context.Context, e streamable.Event) error {
	if strings.Contains(string(e.Data), `"result"`) {
		close(s.asked)
		<-s.goOn
	}
	return s.MemoryStore.Append(ctx, e)
}

func (s *slowStore) Forget(ctx context.Context, session string) error {
	defer func() { s.forgotten <- struct{}{} }()
	return s.MemoryStore.Forget(ctx, session)
}

func TestEventsStoredDuringSessionEndAreDeleted(t *testing.T) {
	store := &slowStore{MemoryStore: streamable.NewMemoryStore(nil)}
	serveInBubble(t, map[string]tool{"logs": logs(1)}, &streamable.Options{Events: store}, func(t *testing.T, e *endpoint) {
		store.asked, store.goOn, store.forgotten = make(chan struct{}), make(chan struct{}), make(chan struct{}, 9)
		c := e.open("2025-11-25")
		l := c.stream(http.MethodPost, callTool(1, "logs"), c.headers()...)
		l.data()
		<-store.asked
		require.Equal(t, http.StatusNoContent, c.send(http.MethodDelete, "", c.headers()...).status)
		require.NotEmpty(t, store.forgotten, "the events are deleted again")
		close(store.goOn)
		answer, _ := l.data()
		require.Contains(t, answer, "logged")
		l.end()
		require.Empty(t, seqs(t, store.MemoryStore, c.id, 1, 0))
	})
}

func TestFollowedStreamKeepsEventsDespiteOtherSessions(t *testing.T) {
	store := streamable.NewMemoryStore(&streamable.MemoryOptions{MaxTotal: 20_000})
	e := serve(t, map[string]tool{"changed": changed, "logs": logs(60)}, &streamable.Options{Events: store})
	other := e.open("2025-11-25")
	other.call("logs")
	other.call("logs")
	other.call("logs")
	c := e.open("2025-11-25")
	l := e.stream(http.MethodGet, "", c.headers()...)
	for range 200 { // the race is lost only in some of the runs
		c.call("changed")
		l.data()
	}
}
