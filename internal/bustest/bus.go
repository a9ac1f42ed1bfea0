// Package bustest tests implementations of [mcpserver.Bus] with real servers.
package bustest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// Events receives the events of a bus until the test ends. It returns when the subscription has begun.
func Events(t *testing.T, bus mcpserver.Bus) <-chan mcpserver.Event {
	events := make(chan mcpserver.Event, 1000)
	t.Cleanup(bus.Subscribe(func(e mcpserver.Event) { events <- e }))
	require.Equal(t, mcpserver.Event{Lost: true}, Next(t, events), "earlier events may be missing")
	return events
}

// Next returns the next event.
func Next(t *testing.T, events <-chan mcpserver.Event) mcpserver.Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(30 * time.Second):
		require.FailNow(t, "no event")
		return mcpserver.Event{}
	}
}

// Publish publishes an event about a resource with a number, and returns it.
func Publish(t *testing.T, bus mcpserver.Bus, number int) mcpserver.Event {
	t.Helper()
	e := mcpserver.Event{Method: mcp.MethodResourceUpdated, URI: fmt.Sprintf("test://%d", number)}
	require.NoError(t, bus.Publish(t.Context(), e))
	return e
}

// Run publishes events in two buses, and requires that both receive all of them in order. Then it cuts one off, with
// the function cut, and requires that it receives the events that it missed.
func Run(t *testing.T, one, two mcpserver.Bus, cut func(bool)) {
	before := Publish(t, one, 0)
	list := []<-chan mcpserver.Event{Events(t, one), Events(t, two)}
	want := []mcpserver.Event{{Method: mcp.MethodToolListChanged}}
	require.NoError(t, two.Publish(t.Context(), want[0]))
	for i := range 100 {
		bus := one
		if i%2 == 0 {
			bus = two
		}
		want = append(want, Publish(t, bus, i+1))
	}
	for _, events := range list {
		for _, e := range want {
			got := Next(t, events)
			require.NotEqual(t, before, got)
			require.Equal(t, e, got)
		}
	}
	cut(true)
	want = nil
	for i := range 10 {
		want = append(want, Publish(t, one, 200+i))
	}
	cut(false)
	for _, events := range list {
		for _, e := range want {
			require.Equal(t, e, Next(t, events))
		}
	}
}
