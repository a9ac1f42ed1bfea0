package mcpclient_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// listen opens a subscription that the server acknowledges, and returns both ends.
func listen(t testing.TB, c *mcpclient.Client, s *server, f mcp.SubscriptionFilter) (*mcpclient.Subscription, *stream) {
	t.Helper()
	ends := make(chan *stream, 1)
	go func() { // ends when the server has received the request
		st := <-s.opened
		st.ack(t)
		ends <- st
	}()
	sub, err := c.Listen(t.Context(), f)
	require.NoError(t, err)
	return sub, <-ends
}

// received returns the next n notifications.
func received(t testing.TB, sub *mcpclient.Subscription, n int) (got []string) {
	t.Helper()
	for note, err := range sub.All() {
		require.NoError(t, err)
		text := note.Method()
		if u, ok := note.(*mcp.ResourceUpdatedNotification); ok {
			text = u.URI
		}
		if got = append(got, text); len(got) == n {
			break
		}
	}
	return got
}

func TestSubscriptionOrder(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	for way, to := range s.ways(t) {
		t.Run(way, func(t *testing.T) {
			c := connect(t, to, nil)
			filter := mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"file:///a"}}
			sub, server := listen(t, c, s, filter)
			require.Equal(t, filter, sub.Filter())
			server.ack(t) // a second acknowledgement is ignored
			server.updated(t, "file:///a")
			server.send(t, &mcp.ToolListChangedNotification{Meta: server.meta()})
			server.send(t, &mcp.PromptListChangedNotification{Meta: server.meta()})
			server.send(t, &mcp.ResourceListChangedNotification{Meta: server.meta()})
			server.updated(t, "file:///a/b")
			require.Equal(t, []string{
				"file:///a", "notifications/tools/list_changed", "notifications/prompts/list_changed",
				"notifications/resources/list_changed", "file:///a/b",
			}, received(t, sub, 5))

			require.NoError(t, sub.Close())
			<-server.ctx.Done()
			require.NoError(t, sub.Err())
			require.Empty(t, received(t, sub, 1), "no notification after the end")
		})
	}
}

func TestSubscriptionsAreSeparate(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	c := connect(t, s.overPipe(t), nil)
	one, oneServer := listen(t, c, s, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:1"}})
	two, twoServer := listen(t, c, s, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:2"}})
	require.NotEqual(t, oneServer.id, twoServer.id)
	twoServer.updated(t, "a:2")
	oneServer.updated(t, "a:1")
	twoServer.send(t, &mcp.ToolListChangedNotification{Meta: twoServer.meta()}) // not in the filter
	twoServer.updated(t, "a:2/x")
	require.Equal(t, []string{"a:1"}, received(t, one, 1))
	require.Equal(t, []string{"a:2", "a:2/x"}, received(t, two, 2))
}

func TestServerEndsSubscription(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	for way, to := range s.ways(t) {
		t.Run(way, func(t *testing.T) {
			c := connect(t, to, nil)
			sub, server := listen(t, c, s, mcp.SubscriptionFilter{ToolsListChanged: true})
			server.send(t, &mcp.ToolListChangedNotification{Meta: server.meta()})
			server.finish <- nil
			<-sub.Done()
			require.NoError(t, sub.Err())
			require.Equal(t, []string{"notifications/tools/list_changed"}, received(t, sub, 2), "notifications before the end are received")
		})
	}
}

func TestLostSubscription(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	lost := func(t *testing.T, c *mcpclient.Client, lose func(*stream)) error {
		sub, server := listen(t, c, s, mcp.SubscriptionFilter{ToolsListChanged: true})
		lose(server)
		<-sub.Done()
		for _, err := range sub.All() {
			require.Equal(t, sub.Err(), err)
		}
		return sub.Err()
	}
	c := connect(t, s.overPipe(t), nil)
	t.Run("by an error", func(t *testing.T) {
		err := lost(t, c, func(st *stream) { st.finish <- &peer.Error{Code: -7, Message: "full"} })
		require.ErrorContains(t, err, "full")
	})
	t.Run("cancelled by the server", func(t *testing.T) {
		err := lost(t, c, func(st *stream) {
			st.send(t, &mcp.CancelledNotification{RequestID: st.id, Reason: "tired"})
		})
		require.ErrorContains(t, err, `cancelled the subscription: "tired"`)
	})
	t.Run("with the connection", func(t *testing.T) {
		other, err := mcpclient.Connect(t.Context(), s.overPipe(t), nil)
		require.NoError(t, err)
		err = lost(t, other, func(*stream) { other.Close() })
		require.ErrorAs(t, err, new(*peer.ClosedError))
	})
}

func TestSlowConsumer(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	c := connect(t, s.overPipe(t), nil)
	sub, server := listen(t, c, s, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:"}})
	calm, calmServer := listen(t, c, s, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"b:"}})
	for range 3000 {
		calmServer.updated(t, "b:same")
	}
	for i := range 1025 {
		server.updated(t, fmt.Sprint("a:", i))
	}
	<-sub.Done()
	require.ErrorIs(t, sub.Err(), mcpclient.ErrSlowConsumer)
	require.Equal(t, []string{"b:same"}, received(t, calm, 1), "equal notifications are merged")
	calmServer.updated(t, "b:next")
	require.Equal(t, []string{"b:next"}, received(t, calm, 1))
}

func TestQueuedChangesAreMerged(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	c := connect(t, mcpclient.InProcess(s), nil)
	sub, server := listen(t, c, s, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:"}})
	for _, many := range []int{3, 40, 3} {
		var all []string
		for i := range many {
			all = append(all, fmt.Sprint("a:", i))
		}
		for range 2 {
			for _, uri := range all {
				server.updated(t, uri)
			}
		}
		server.updated(t, "a:last")
		require.Equal(t, append(all, "a:last"), received(t, sub, many+1))
	}
}

func TestListenTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := enableSubscriptions(newServer())
		c := connect(t, mcpclient.InProcess(s), nil)
		begun := time.Now()
		_, err := c.Listen(t.Context(), mcp.SubscriptionFilter{})
		require.ErrorAs(t, err, new(*peer.TimeoutError))
		require.Equal(t, time.Minute, time.Since(begun))
		<-(<-s.opened).ctx.Done()

		// After its acknowledgement a subscription may be idle for any time.
		sub, server := listen(t, c, s, mcp.SubscriptionFilter{ToolsListChanged: true})
		time.Sleep(24 * time.Hour)
		server.send(t, &mcp.ToolListChangedNotification{Meta: server.meta()})
		require.Len(t, received(t, sub, 1), 1)
		require.NoError(t, sub.Close())
	})
}

func TestRejectedSubscription(t *testing.T) {
	leaks.Check(t)
	c := connect(t, mcpclient.InProcess(newServer()), nil)
	_, err := c.Listen(t.Context(), mcp.SubscriptionFilter{})
	require.ErrorContains(t, err, "Method not found")

	c = connect(t, mcpclient.InProcess(newServer()), &mcpclient.Options{Mode: mcpclient.Handshake})
	_, err = c.Listen(t.Context(), mcp.SubscriptionFilter{})
	require.ErrorAs(t, err, new(*connection.UnsupportedError))

	s := enableSubscriptions(newServer())
	c, err = mcpclient.Connect(t.Context(), mcpclient.InProcess(s), nil)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	_, err = c.Listen(t.Context(), mcp.SubscriptionFilter{})
	require.ErrorAs(t, err, new(*peer.ClosedError))
}

func TestSubscriptionEndsBeforeAcknowledgement(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	c := connect(t, s.overPipe(t), nil)
	go func() { (<-s.opened).finish <- nil }() // ends when the server has received the request
	sub, err := c.Listen(t.Context(), mcp.SubscriptionFilter{})
	require.NoError(t, err)
	require.Empty(t, sub.Filter())
	require.Empty(t, received(t, sub, 1))
}

func TestContextEndsBeforeAcknowledgement(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	c := connect(t, s.overPipe(t), nil)
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("why")
	go func() { // ends when the server has received the request
		<-s.opened
		cancel(why)
	}()
	_, err := c.Listen(ctx, mcp.SubscriptionFilter{})
	require.ErrorIs(t, err, why)
}

func TestContextEndsSubscription(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	c := connect(t, s.overPipe(t), nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { // ends when the subscription has been cancelled
		st := <-s.opened
		st.ack(t)
		cancel()
	}()
	sub, err := c.Listen(ctx, mcp.SubscriptionFilter{})
	if err == nil { // the acknowledgement came first
		<-sub.Done()
		require.NoError(t, sub.Err())
	}
}

func TestHandlersOfChanges(t *testing.T) {
	leaks.Check(t)
	for _, r := range mcp.Revisions {
		s := enableSubscriptions(newServer())
		for way, to := range s.ways(t) {
			t.Run(r.Revision.String()+" "+way, func(t *testing.T) {
				heard := make(chan string, 9)
				opts := &mcpclient.Options{
					Revision: r.Revision,
					OnToolListChanged: func(_ context.Context, n *mcp.ToolListChangedNotification) error {
						heard <- n.Method()
						return nil
					},
					OnPromptListChanged: func(_ context.Context, n *mcp.PromptListChangedNotification) error {
						heard <- n.Method()
						return nil
					},
					OnResourceListChanged: func(_ context.Context, n *mcp.ResourceListChangedNotification) error {
						heard <- n.Method()
						return nil
					},
				}
				var server peer.Outbound
				var meta *mcp.NotificationMeta
				if r.Handshake {
					connect(t, to, opts)
					server = s.session()
				} else {
					agreed := make(chan *stream, 1)
					go func() { // ends when the server has received the request
						st := <-s.opened
						st.ack(t)
						agreed <- st
					}()
					connect(t, to, opts)
					st := <-agreed
					require.Equal(t, mcp.SubscriptionFilter{ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true}, st.filter)
					server, meta = st.session, st.meta()
				}
				for _, n := range []peer.Notification{
					&mcp.ToolListChangedNotification{Meta: meta},
					&mcp.ResourceListChangedNotification{Meta: meta},
					&mcp.PromptListChangedNotification{Meta: meta},
				} {
					require.NoError(t, server.Notify(t.Context(), n))
					require.Equal(t, n.Method(), <-heard)
				}
			})
		}
	}
}

func TestCustomSubscription(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	heard := make(chan string, 1)
	c := connect(t, s.overPipe(t), &mcpclient.Options{Handlers: func(mux *peer.Mux) {
		mcp.HandleResourceUpdated(mux, func(_ context.Context, n *mcp.ResourceUpdatedNotification) error {
			heard <- n.URI
			return nil
		})
	}})
	go func() { // ends when the server has received the request
		st := <-s.opened
		st.ack(t)
		st.updated(t, "a:1")
		st.finish <- nil
	}()
	_, err := c.SubscriptionsListen(t.Context(), &mcp.SubscriptionsListenRequest{
		Notifications: mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:1"}},
	})
	require.NoError(t, err)
	require.Equal(t, "a:1", <-heard)
}

func TestLateNotificationIsDropped(t *testing.T) {
	leaks.Check(t)
	s := enableSubscriptions(newServer())
	heard := make(chan string, 2)
	c := connect(t, s.overPipe(t), &mcpclient.Options{Handlers: func(mux *peer.Mux) {
		mcp.HandleResourceUpdated(mux, func(_ context.Context, n *mcp.ResourceUpdatedNotification) error {
			heard <- n.URI
			return nil
		})
	}})
	sub, _ := listen(t, c, s, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:1"}})
	require.NoError(t, sub.Close())
	other, server := listen(t, c, s, mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:2"}})
	server.send(t, &mcp.ResourceUpdatedNotification{URI: "a:1", Meta: &mcp.NotificationMeta{SubscriptionID: wire.StringID("listen-1")}})
	server.updated(t, "a:2")
	require.Equal(t, []string{"a:2"}, received(t, other, 1))
	server.send(t, &mcp.ResourceUpdatedNotification{URI: "a:3"})
	require.Equal(t, "a:3", <-heard, "the late notification is dropped")
}

// scripted responds to subscriptions with the given lines.
func scripted(lines string) *script {
	return &script{answer: func(m message) string {
		switch m.Method {
		case mcp.MethodDiscover:
			return ok(discovered)
		case mcp.MethodSubscriptionsListen:
			return lines
		}
		return ""
	}}
}

func TestServerCancelsSubscriptionBeforeAcknowledgement(t *testing.T) {
	leaks.Check(t)
	s := scripted(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":$ID,"reason":"tired"}}`)
	c := connect(t, s.endpoint(t), nil)
	_, err := c.Listen(t.Context(), mcp.SubscriptionFilter{})
	require.ErrorContains(t, err, `cancelled the subscription: "tired"`)
}

// Other notifications with the id of a subscription are not among its events.
func TestSubscriptionReceivesOnlyChanges(t *testing.T) {
	leaks.Check(t)
	meta := `"_meta":{"io.modelcontextprotocol/subscriptionId":$ID}`
	s := scripted(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"notifications":{"resourceSubscriptions":["a:1"]},` + meta + `}}
{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1,` + meta + `}}
{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"x","progress":1,` + meta + `}}
{"jsonrpc":"2.0","method":"com.example/other","params":{` + meta + `}}
{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"a:1",` + meta + `}}`)
	c := connect(t, s.endpoint(t), nil)
	sub, err := c.Listen(t.Context(), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"a:1"}})
	require.NoError(t, err)
	require.Equal(t, []string{"a:1"}, received(t, sub, 1))
}
