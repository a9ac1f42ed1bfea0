package scale_test

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// subscribe subscribes to the resource, and opens the standalone stream.
func (s *session) subscribe(at int) *stream {
	a := s.post(at, `{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"`+resource+`"}}`)
	require.Equal(s.t, http.StatusOK, a.status, a.body)
	return s.get(at, "")
}

// requireAtOnce requires that f returns before time passes.
func requireAtOnce(t *testing.T, what string, f func()) {
	t.Helper()
	began := time.Now()
	f()
	require.Zero(t, time.Since(began), what)
}

func TestHangingEngineDelaysOnlyEvents(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s, other := f.open(0, "ann"), f.open(0, "bob")
		first := s.subscribe(0)
		replica := f.replicas[0]
		require.NoError(t, replica.server.ResourceUpdated(t.Context(), resource))
		id := first.next().id
		replica.engine.hangs.Store(true)
		updated := make(chan error, 1)
		go func() { updated <- replica.server.ResourceUpdated(t.Context(), resource) }()
		synctest.Wait()
		requireAtOnce(t, "a call", func() { s.requireServedBy(0, 0) })
		requireAtOnce(t, "a call through another replica", func() { s.requireServedBy(0, 1) })
		requireAtOnce(t, "a call of another session", func() { other.requireServedBy(0, 0) })
		var second *stream
		requireAtOnce(t, "a stream that replaces the first one", func() { second = s.get(0, id) })
		require.Equal(t, http.StatusOK, second.status)
		time.Sleep(10 * time.Second)
		require.NoError(t, <-updated)
		replica.engine.hangs.Store(false)
		require.NoError(t, replica.server.ResourceUpdated(t.Context(), resource))
		require.Contains(t, second.next().data, "resources/updated", "the stream goes on after the lost event")
	})
}

func TestShutdownWithHangingEngineDelaysNoRequest(t *testing.T) {
	run(t, 2, func(t *testing.T, f *fleet) {
		s, other := f.open(0, "ann"), f.open(0, "bob")
		s.subscribe(0)
		replica := f.replicas[0]
		busy := f.open(0, "cy")
		go busy.call(0, "wait", 0) // ends with proceed; Shutdown waits for it
		<-replica.waiting
		replica.engine.hangs.Store(true)
		go replica.server.ResourceUpdated(t.Context(), resource) // ends with the timeout of the engine
		synctest.Wait()
		done := make(chan error, 1)
		go func() { done <- replica.server.Shutdown(t.Context()) }()
		synctest.Wait()
		requireAtOnce(t, "a call of another session", func() {
			require.Equal(t, http.StatusServiceUnavailable, other.call(0, "where", 0).status)
		})
		close(replica.proceed)
		time.Sleep(time.Minute)
		require.NoError(t, <-done)
		replica.engine.hangs.Store(false)
	})
}
