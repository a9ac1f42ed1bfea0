package mcpclient_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

// A child that dies takes the calls under way with it, and nothing else.
func TestACommandThatDiesIsStartedAnew(t *testing.T) {
	leaks.Check(t)
	eachEra(t, func(t *testing.T, r wire.Revision) {
		lists := make(chan string, 9)
		c := connect(t, child(t, "kit"), &mcpclient.Options{
			Revision: r, Restarts: 1, Logger: silent,
			OnToolListChanged: func(_ context.Context, n *mcp.ToolListChangedNotification) error {
				lists <- n.Method()
				return nil
			},
		})
		ctx, cancel := context.WithCancel(t.Context())
		changes, ended := make(chan string), make(chan struct{})
		go func() { // ends with ctx
			defer close(ended)
			for uri, err := range c.Watch(ctx, "note:1") {
				if err != nil {
					t.Error(err)
				}
				select {
				case changes <- uri:
				case <-ctx.Done():
				}
			}
		}()
		for watched := false; !watched; {
			require.Equal(t, "touched", says(t, c, "touch"))
			select {
			case <-changes:
				watched = true
			default:
			}
		}
		_, err := mcpclient.CallTool[string](t.Context(), c, "die", nil)
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.Equal(t, "note:1", <-changes, "nobody knows what was missed")
		require.Equal(t, mcp.MethodToolListChanged, <-lists)
		require.Equal(t, "grown", says(t, c, "grow"))
		require.Equal(t, mcp.MethodToolListChanged, <-lists)
		cancel()
		<-ended

		_, err = mcpclient.CallTool[string](t.Context(), c, "die", nil)
		require.ErrorAs(t, err, new(*peer.ClosedError))
		require.ErrorAs(t, c.Wait(), new(*stdio.ExitError), "once was agreed on")
	})
}

// A call that comes after the end of a child, and before anybody knows, was
// certainly not sent: it waits for the next child.
func TestACallThatFindsItsCommandDeadWaitsForTheNextOne(t *testing.T) {
	leaks.Check(t)
	eachEra(t, func(t *testing.T, r wire.Revision) {
		c := connect(t, child(t, "kit"), &mcpclient.Options{Revision: r, Restarts: -1, Logger: silent})
		for range 3 {
			_, err := mcpclient.CallTool[string](t.Context(), c, "die", nil)
			require.ErrorAs(t, err, new(*peer.ClosedError), "it was sent, and is not sent again")
			require.Equal(t, "touched", says(t, c, "touch"))
		}
	})
}

// The same over pipes that break, where each dial is another server.
func TestACallThatFindsItsPipeBrokenWaitsForTheNextOne(t *testing.T) {
	leaks.Check(t)
	eachEra(t, func(t *testing.T, r wire.Revision) {
		s := greeter(r)
		to := s.overPipe(t)
		c := connect(t, to, &mcpclient.Options{Revision: r, Restarts: 9, Logger: silent})
		for range 3 {
			broken := c.Connection()
			s.breakPipes()
			<-mcpclient.LinkOf(c).Done()
			greet(t, c)
			require.NotSame(t, broken, c.Connection())
		}
	})
}

func TestACallOfAServerThatEndsForGoodSaysSo(t *testing.T) {
	leaks.Check(t)
	c := connect(t, child(t, "kit"), &mcpclient.Options{Restarts: 1, Logger: silent})
	for range 2 {
		_, err := mcpclient.CallTool[string](t.Context(), c, "die", nil)
		require.ErrorAs(t, err, new(*peer.ClosedError))
	}
	_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.ErrorAs(t, err, new(*peer.ClosedError))
	require.ErrorAs(t, c.Wait(), new(*stdio.ExitError))
}
