package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestEventNotificationEqualsNotification(t *testing.T) {
	events := []mcpserver.Event{
		{Method: mcp.MethodToolListChanged}, {Method: mcp.MethodPromptListChanged}, {Method: mcp.MethodResourceListChanged},
		{Method: mcp.MethodResourceUpdated, URI: "x:\"ä\"\n"}, {Method: mcp.MethodResourceUpdated},
	}
	for _, meta := range []*mcp.NotificationMeta{nil, {SubscriptionID: wire.StringID("s")}} {
		for _, e := range events {
			r := mcpserver.NotificationOf(e, meta)
			for _, revision := range mcp.Revisions {
				for _, extra := range [][]wire.Entry{nil, {{Name: "com.example/a", Value: json.RawMessage("1")}}} {
					f := &wire.Frame{Revision: revision.Revision, Meta: extra}
					want, err := wire.AppendNotification(nil, f, e.Method, outbound.Original(r))
					require.NoError(t, err)
					have, err := wire.AppendNotification(nil, f, r.Method(), r)
					require.NoError(t, err)
					require.JSONEq(t, string(want), string(have), revision.Revision.String())
					if shared := outbound.EncodedIn(f, r); meta == nil && extra == nil {
						require.JSONEq(t, string(want), string(shared))
					} else {
						require.Nil(t, shared)
					}
				}
			}
		}
	}
}

func TestEventsArriveInOrder(t *testing.T) {
	for _, revision := range []string{"2025-06-18", modern} {
		t.Run(revision, func(t *testing.T) {
			s := stocked(&mcpserver.Options{Affects: func(changed, watched string) bool { return strings.HasPrefix(changed, watched) }})
			c := connect(t, s, revision)
			if !handshakes(revision) {
				c.listen(`{"resourceSubscriptions":["x:n1"]}`)
			} else {
				c.call("resources/subscribe", `{"uri":"x:n1"}`)
			}
			next := 0
			for _, burst := range []int{1, 500, 1, 1, 900, 1} {
				for i := range burst {
					require.NoError(t, s.ResourceUpdated(t.Context(), fmt.Sprintf("x:n1/%d", next+i)))
				}
				for range burst {
					var params struct{ URI string }
					require.NoError(t, json.Unmarshal(c.receive().Params, &params))
					require.Equal(t, fmt.Sprintf("x:n1/%d", next), params.URI)
					next++
				}
			}
		})
	}
}

func TestOpenStreamDoesNotDelayEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := stocked(nil)
		in, toServer := io.Pipe()
		fromServer, out := io.Pipe()
		served := make(chan error)
		start := time.Now()
		go func() { served <- s.ServeStreams(context.Background(), in, out) }() // ends with the input
		_, err := io.WriteString(toServer, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{},`+senderMeta+"}}\n")
		require.NoError(t, err)
		lines := bufio.NewScanner(fromServer)
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), "notifications/subscriptions/acknowledged")
		require.NoError(t, toServer.Close())
		require.True(t, lines.Scan())
		require.Contains(t, lines.Text(), `"result"`)
		require.False(t, lines.Scan())
		require.NoError(t, <-served)
		require.Zero(t, time.Since(start))
	})
}

// counting counts the notifications that it sends.
type counting struct {
	peer.Outbound
	sent *[]peer.Notification
}

func (w counting) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	*w.sent = append(*w.sent, n)
	return w.Outbound.Notify(ctx, n, opts...)
}

func TestOutgoingSeesEvents(t *testing.T) {
	for _, revision := range []string{"2025-11-25", modern} {
		t.Run(revision, func(t *testing.T) {
			var sent []peer.Notification
			s := stocked(&mcpserver.Options{Outgoing: []func(peer.Outbound) peer.Outbound{
				func(out peer.Outbound) peer.Outbound { return counting{out, &sent} },
			}})
			c := connect(t, s, revision)
			if !handshakes(revision) {
				c.listen(`{"toolsListChanged":true}`)
			}
			s.RemoveTools("n1")
			c.receive()
			require.IsType(t, &mcp.ToolListChangedNotification{}, sent[len(sent)-1])
		})
	}
}

// panicking panics at the first notification.
type panicking struct {
	peer.Outbound
	first *sync.Once
}

func (p panicking) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	p.first.Do(func() { panic("no way out") })
	return p.Outbound.Notify(ctx, n, opts...)
}

func TestPanicInOutgoingLosesOneNotification(t *testing.T) {
	var logged bytes.Buffer
	var first sync.Once
	s := stocked(&mcpserver.Options{
		Logger:   slog.New(slog.NewTextHandler(&logged, nil)),
		Outgoing: []func(peer.Outbound) peer.Outbound{func(out peer.Outbound) peer.Outbound { return panicking{out, &first} }},
	})
	c := connect(t, s, "2025-11-25")
	s.RemoveTools("n1")
	s.RemovePrompts("n1")
	require.Equal(t, "notifications/prompts/list_changed", c.receive().Method)
	require.Contains(t, logged.String(), `msg="notification panicked" method=notifications/tools/list_changed panic="no way out" stack=`)
}

func TestInProcessClientsReceiveEvents(t *testing.T) {
	s := stocked(nil)
	got := make(chan peer.Message, 1)
	client := s.InProcess(&jsonrpc.Options{Handler: peer.HandlerFunc(func(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
		got <- in.Value
		return peer.Reply{}, nil
	})})
	t.Cleanup(func() { client.Close() })
	initialize(t, client)
	_, err := peer.SendRequest(t.Context(), client, &mcp.SubscribeRequest{URI: "x:n1"})
	require.NoError(t, err)
	require.NoError(t, s.ResourceUpdated(t.Context(), "x:n1"))
	require.Equal(t, &mcp.ResourceUpdatedNotification{URI: "x:n1"}, <-got)
}

func TestClosedSessionReceivesNothing(t *testing.T) {
	s := stocked(nil)
	conn := connection.New(nil, nil)
	mcpserver.AddSession(s, conn)
	require.Equal(t, 1, mcpserver.SubscriberCount(s))
	conn.Close(t.Context())
	require.Zero(t, mcpserver.SubscriberCount(s))
	s.RemoveTools("n1")
}

func TestEndedSubscriptionsReceiveNothing(t *testing.T) {
	s := stocked(nil)
	var received [3][]string
	var conns [3]*jsonrpc.InProcessConn
	for i := range conns {
		conns[i] = s.InProcess(&jsonrpc.Options{InterceptNotification: func(in *peer.Inbound) bool {
			received[i] = append(received[i], in.Value.(*mcp.ResourceUpdatedNotification).URI)
			return true
		}})
		t.Cleanup(func() { require.NoError(t, conns[i].Close()) })
		initialize(t, conns[i])
		for mcpserver.SubscriberCount(s) == i { // the notification is handled in another goroutine
			runtime.Gosched()
		}
		for _, uri := range []string{"x:n2", "x:n1"} {
			_, err := peer.SendRequest(t.Context(), conns[i], &mcp.SubscribeRequest{URI: uri})
			require.NoError(t, err)
		}
		_, err := peer.SendRequest(t.Context(), conns[i], &mcp.SubscribeRequest{URI: "x:unknown"})
		require.Error(t, err)
	}
	require.Equal(t, 6, mcpserver.WatcherCount(s))
	_, err := peer.SendRequest(t.Context(), conns[1], &mcp.UnsubscribeRequest{URI: "x:n1"})
	require.NoError(t, err)
	for range 2 {
		for _, uri := range []string{"x:n1", "x:n2", "x:unknown"} {
			require.NoError(t, s.ResourceUpdated(t.Context(), uri))
		}
		require.NoError(t, conns[0].Close())
		for mcpserver.SubscriberCount(s) > 2 { // the session ends in another goroutine
			runtime.Gosched()
		}
		require.Equal(t, 3, mcpserver.WatcherCount(s))
	}
	require.Equal(t, [3][]string{{"x:n1", "x:n2"}, {"x:n2", "x:n2"}, {"x:n1", "x:n2", "x:n1", "x:n2"}}, received)
}

// Many subscribers are notified concurrently, and each of them in order.
func TestManySubscribersAreNotifiedInOrder(t *testing.T) {
	s := stocked(nil)
	received := make([][]string, 1000)
	for i := range received {
		conn := s.InProcess(&jsonrpc.Options{InterceptNotification: func(in *peer.Inbound) bool {
			var n mcp.ResourceUpdatedNotification
			if in.Method == n.Method() && in.Decode(nil, &n) == nil {
				received[i] = append(received[i], n.URI)
			}
			return true
		}})
		t.Cleanup(func() { require.NoError(t, conn.Close()) })
		_, err := peer.SendRequest(t.Context(), conn, &mcp.InitializeRequest{ProtocolVersion: "2025-11-25", ClientInfo: mcp.Implementation{Name: "c", Version: "1"}})
		require.NoError(t, err)
		require.NoError(t, conn.Notify(t.Context(), &mcp.InitializedNotification{}))
		for _, uri := range []string{"x:n1", "x:n2"}[:1+i%2] {
			_, err = peer.SendRequest(t.Context(), conn, &mcp.SubscribeRequest{URI: uri})
			require.NoError(t, err)
		}
	}
	var sent []string
	for range 10 {
		for _, uri := range []string{"x:n1", "x:n2"} {
			require.NoError(t, s.ResourceUpdated(t.Context(), uri))
			sent = append(sent, uri)
		}
	}
	for i, got := range received {
		want := sent
		if i%2 == 0 {
			want = slices.DeleteFunc(slices.Clone(sent), func(uri string) bool { return uri == "x:n2" })
		}
		require.Equal(t, want, got, i)
	}
}
