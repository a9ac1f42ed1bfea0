package connection_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestSetClientKeepsCapabilities(t *testing.T) {
	conn := connection.New(nil, nil)
	conn.State().SetClient(new(mcp.Implementation), allCapabilities())
	require.True(t, conn.InitializeAccepted())
	conn.State().SetClient(nil, nil)
	require.Nil(t, conn.ClientInfo())
	require.True(t, conn.HasClientCapability(&mcp.ClientCapabilities{Sampling: &mcp.SamplingCapability{}}))
}

func TestNewState(t *testing.T) {
	s := connection.New(nil, nil).State()
	require.Nil(t, s.ClientCapabilities())
	require.Nil(t, s.ClientInfo())
	require.Nil(t, s.ServerCapabilities())
	require.False(t, s.InitializeProcessed())
	require.False(t, s.Initialized())
	require.Empty(t, s.LogLevel())
	require.Empty(t, s.Subscriptions())
	require.Equal(t, mcp.LatestHandshakeRevision, s.Revision())
	require.False(t, s.InFlight().Cancel(wire.IntID(1)))
	require.Empty(t, s.InFlight().IDs())
}

func TestSubscriptions(t *testing.T) {
	s := connection.New(nil, nil).State()
	require.True(t, s.Subscribe("b:"))
	require.True(t, s.Subscribe("a:"))
	require.False(t, s.Subscribe("b:"))
	require.Equal(t, []string{"a:", "b:"}, s.Subscriptions())
	s.Unsubscribe("b:")
	require.False(t, s.Subscribed("b:"))
	require.True(t, s.Subscribed("a:"))
	require.False(t, connection.New(nil, nil).State().Subscribed("a:"))
}

func TestObserveSubscriptions(t *testing.T) {
	s := connection.New(nil, nil).State()
	s.Subscribe("a:")
	var calls []string
	record := func(name string) func(string, bool) {
		return func(uri string, subscribed bool) { calls = append(calls, fmt.Sprint(name, " ", uri, " ", subscribed)) }
	}
	called := func() []string {
		last := calls
		calls = nil
		return last
	}
	s.ObserveSubscriptions(record("first"))
	require.Equal(t, []string{"first a: true"}, called())
	s.Subscribe("b:")
	s.Subscribe("b:")
	s.Unsubscribe("a:")
	s.Unsubscribe("a:")
	require.Equal(t, []string{"first b: true", "first a: false"}, called())
	s.ObserveSubscriptions(record("second"))
	require.Equal(t, []string{"first b: false", "second b: true"}, called())
	s.ObserveSubscriptions(nil)
	s.Subscribe("c:")
	require.Equal(t, []string{"second b: false"}, called())
}

func TestKey(t *testing.T) {
	visits, other := connection.NewKey[int]("visits"), connection.NewKey[int]("visits")
	s := connection.New(nil, nil).State()
	_, has := visits.Get(s)
	require.False(t, has)
	visits.Set(s, 3)
	require.Equal(t, 4, visits.Update(s, func(n int) int { return n + 1 }))
	n, has := visits.Get(s)
	require.True(t, has)
	require.Equal(t, 4, n)
	_, has = other.Get(s)
	require.False(t, has, "keys with equal names are different")
	visits.Delete(s)
	_, has = visits.Get(s)
	require.False(t, has)
	require.Equal(t, "visits", visits.String())
}

// fakeInFlight counts the canceled requests.
type fakeInFlight struct {
	mu        sync.Mutex
	cancelled map[wire.RequestID]int
}

func (tb *fakeInFlight) Cancel(id wire.RequestID) bool {
	tb.mu.Lock()
	defer tb.mu.Unlock()
	tb.cancelled[id]++
	return true
}

func (tb *fakeInFlight) IDs() []wire.RequestID { return nil }

func TestConnectionsShareNoState(t *testing.T) {
	visits := connection.NewKey[int]("visits")
	tables := []*fakeInFlight{{cancelled: map[wire.RequestID]int{}}, {cancelled: map[wire.RequestID]int{}}}
	var conns []*connection.Connection
	for i := range tables {
		conns = append(conns, connection.New(nil, &connection.Options{InFlight: tables[i]}))
	}
	var wg sync.WaitGroup
	for i, conn := range conns {
		s := conn.State()
		for range 4 {
			wg.Go(func() {
				for id := range int64(50) {
					uri := fmt.Sprintf("%d:%d", i, id)
					s.Subscribe(uri)
					s.SetLogLevel(mcp.LoggingLevel([]string{"error", "debug"}[i]))
					s.SetClient(&mcp.Implementation{Name: fmt.Sprint(i)}, nil)
					visits.Update(s, func(n int) int { return n + i })
					if i == 0 {
						s.InFlight().Cancel(wire.IntID(id))
						s.SetInitialized()
					}
					_, _, _ = conn.Initialized(), conn.InitializeAccepted(), s.Subscribed(uri)
				}
			})
		}
	}
	wg.Wait()
	require.Len(t, tables[0].cancelled, 50)
	require.Empty(t, tables[1].cancelled)
	for i, conn := range conns {
		s := conn.State()
		require.Len(t, s.Subscriptions(), 50)
		require.Equal(t, fmt.Sprint(i), s.ClientInfo().Name)
		require.Equal(t, i == 0, s.Initialized())
		n, _ := visits.Get(s)
		require.Equal(t, i*200, n)
	}
	require.Equal(t, mcp.LoggingLevelError, conns[0].State().LogLevel())
	require.Equal(t, mcp.LoggingLevelDebug, conns[1].State().LogLevel())
}
