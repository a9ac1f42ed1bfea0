package mcpclient_test

import (
	"context"
	"iter"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// The server must not hear that nobody watches after it heard that somebody does.
func TestAWatcherWhoComesWhileTheLastOneLeavesIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer()
		var told []string
		leaving := make(chan struct{})
		mcp.HandleSubscribe(&s.mux, func(context.Context, *mcp.SubscribeRequest) (*mcp.EmptyResult, error) {
			told = append(told, "+")
			return &mcp.EmptyResult{}, nil
		})
		mcp.HandleUnsubscribe(&s.mux, func(context.Context, *mcp.UnsubscribeRequest) (*mcp.EmptyResult, error) {
			<-leaving
			told = append(told, "-")
			return &mcp.EmptyResult{}, nil
		})
		c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Mode: mcpclient.Handshake})
		changes := make(chan string)
		watch := func() (stop context.CancelFunc) {
			ctx, cancel := context.WithCancel(t.Context())
			next, _ := iter.Pull2(c.Watch(ctx, "a:1"))
			go func() { // ends with ctx
				for uri, _, more := next(); more; uri, _, more = next() {
					changes <- uri
				}
			}()
			synctest.Wait()
			return cancel
		}
		first := watch()
		first()
		synctest.Wait()
		defer watch()()
		close(leaving)
		synctest.Wait()
		require.Equal(t, []string{"+", "-", "+"}, told)
		require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: "a:1"}))
		require.Equal(t, "a:1", <-changes)
	})
}

func TestAResourceThatOnlyBeginsAlikeIsNoPart(t *testing.T) {
	for watched, parts := range map[string][]string{
		"file:///a1":  {"file:///a1", "file:///a1/b", "file:///a1?b", "file:///a1#b"},
		"file:///a1/": {"file:///a1/", "file:///a1/b"},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer()
			subscribable(s)
			c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Mode: mcpclient.Handshake})
			var changes []string
			go func() { // ends with the client
				for uri := range c.Watch(t.Context(), watched) {
					changes = append(changes, uri)
				}
			}()
			synctest.Wait()
			for _, uri := range append([]string{"file:///a10", "file:///a", "file:///a1%20"}, parts...) {
				require.NoError(t, s.session().SendResourceUpdated(t.Context(), &mcp.ResourceUpdatedNotification{URI: uri}))
			}
			synctest.Wait()
			require.Equal(t, parts, changes)
			require.NoError(t, c.Close())
		})
	}
}
