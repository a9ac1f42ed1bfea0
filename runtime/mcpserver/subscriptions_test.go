package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// change adds and removes one item of each kind.
func change(s *mcpserver.Server) {
	mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
	s.RemoveTools("new")
	s.AddRawPrompt(&mcp.Prompt{Name: "new"}, noPrompt)
	s.RemovePrompts("new")
	s.AddResource(&mcp.Resource{URI: "x:new", Name: "new"}, noRead)
	s.RemoveResources("x:new")
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "z:{a}", Name: "new"}, noTemplate)
	s.RemoveResourceTemplates("z:{a}")
}

// notices reads notifications until each of the methods has arrived once.
func (c *client) notices(methods ...string) map[string]message {
	c.t.Helper()
	seen := map[string]message{}
	for len(seen) < len(methods) {
		m := c.receive()
		require.Empty(c.t, m.ID, "%s %s", m.Result, m.Method)
		require.Contains(c.t, methods, m.Method)
		seen[m.Method] = m
	}
	return seen
}

var listChanges = []string{
	"notifications/tools/list_changed", "notifications/prompts/list_changed", "notifications/resources/list_changed",
}

func TestSessionsAreNotifiedOfChanges(t *testing.T) {
	for _, revision := range revisions[:4] {
		t.Run(revision, func(t *testing.T) {
			s := stocked(nil)
			c := connect(t, s, revision)
			change(s)
			for _, m := range c.notices(listChanges...) {
				require.Empty(t, m.Params)
			}
		})
	}
}

func TestSessionIsNotNotifiedBeforeInitialized(t *testing.T) {
	s := stocked(nil)
	c := dial(t, s, "2025-11-25")
	c.call("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}`)
	change(s)
	id := c.start("ping", `{}`)
	require.Equal(t, fmt.Sprint(id), string(c.receive().ID))
}

func TestSessionIsNotifiedOfSubscribedResources(t *testing.T) {
	s := stocked(nil)
	c := connect(t, s, "2025-06-18")
	require.Empty(t, c.call("resources/subscribe", `{"uri":"x:n1"}`))
	c.call("resources/subscribe", `{"uri":"x:n2"}`)
	require.Empty(t, c.call("resources/unsubscribe", `{"uri":"x:n2"}`))
	c.refused("resources/subscribe", `{"uri":"x:never"}`, -32002)
	require.NoError(t, s.ResourceUpdated(t.Context(), "x:n2"))
	require.NoError(t, s.ResourceUpdated(t.Context(), "x:n1"))
	m := c.receive()
	require.Equal(t, "notifications/resources/updated", m.Method)
	require.JSONEq(t, `{"uri":"x:n1"}`, string(m.Params))
}

func TestSubscriptionsMustBeDeclared(t *testing.T) {
	opts := &mcpserver.Options{Capabilities: mcp.ServerCapabilities{Resources: &mcp.ResourcesCapability{}}}
	s := mcpserver.New(info, opts)
	s.AddResource(&mcp.Resource{URI: "x:a", Name: "a"}, noRead)
	c := connect(t, s, "2025-06-18")
	c.refused("resources/subscribe", `{"uri":"x:a"}`, mcp.CodeMethodNotFound)
	c.refused("resources/unsubscribe", `{"uri":"x:a"}`, mcp.CodeMethodNotFound)
	s.AddResource(&mcp.Resource{URI: "x:b", Name: "b"}, noRead)
	id := c.start("ping", `{}`)
	require.Equal(t, fmt.Sprint(id), string(c.receive().ID), "no list change was declared")
	l := connect(t, s, modern)
	l.refused("subscriptions/listen", `{"notifications":{"resourcesListChanged":true,"resourceSubscriptions":["x:a"]}}`, mcp.CodeInvalidParams)
}

// listen opens a stream, and returns its id and the acknowledged filter.
func (c *client) listen(filter string) (id int, honoured string) {
	c.t.Helper()
	id = c.start("subscriptions/listen", fmt.Sprintf(`{"notifications":%s}`, filter))
	m := c.receive()
	require.Equal(c.t, "notifications/subscriptions/acknowledged", m.Method, "%+v", m.Error)
	require.Equal(c.t, fmt.Sprint(id), c.subscription(m.Params))
	var params struct{ Notifications json.RawMessage }
	require.NoError(c.t, json.Unmarshal(m.Params, &params))
	return id, string(params.Notifications)
}

// subscription returns the id of the stream that a message belongs to.
func (c *client) subscription(params json.RawMessage) string {
	c.t.Helper()
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	require.NoError(c.t, json.Unmarshal(params, &p))
	return string(p.Meta["io.modelcontextprotocol/subscriptionId"])
}

func TestStreamIsNotified(t *testing.T) {
	s := stocked(nil)
	c := connect(t, s, modern)
	id, honoured := c.listen(`{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:n1","x:n1","x:never","y:a/n1"],"com.example/more":true}`)
	require.JSONEq(t, `{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["x:n1","y:a/n1"]}`, honoured)
	change(s)
	require.NoError(t, s.ResourceUpdated(t.Context(), "x:n2"))
	require.NoError(t, s.ResourceUpdated(t.Context(), "y:a/n1"))
	for _, m := range c.notices(append(listChanges, "notifications/resources/updated")...) {
		require.Equal(t, fmt.Sprint(id), c.subscription(m.Params))
		if m.Method == "notifications/resources/updated" {
			require.Contains(t, string(m.Params), `"uri":"y:a/n1"`)
		}
	}
}

func TestStreamFilterIsReducedToDeclared(t *testing.T) {
	s := stocked(nil)
	c := connect(t, s, modern)
	_, honoured := c.listen(`{"promptsListChanged":true}`)
	require.JSONEq(t, `{"promptsListChanged":true}`, honoured)
	mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
	s.AddRawPrompt(&mcp.Prompt{Name: "new"}, noPrompt)
	require.Equal(t, "notifications/prompts/list_changed", c.receive().Method)
}

func TestStreamThatWouldSendNothingEnds(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResource(&mcp.Resource{URI: "x:a"}, noRead)
	c := connect(t, s, modern)
	for filter, want := range map[string]string{
		`{"toolsListChanged":true}`:                            `the server does not send "notifications/tools/list_changed"`,
		`{"resourceSubscriptions":["x:never"]}`:                `there is no resource "x:never" that can be watched`,
		`{"promptsListChanged":true,"com.example/more":["a"]}`: `the server does not send "notifications/prompts/list_changed"; the server does not support "com.example/more"`,
		`{"resourceSubscriptions":["1","2","3","4","5","6","7","8","9","` + strings.Repeat("x", 5000) + `"]}`: `"8" that can be watched; and 2 more`,
	} {
		m := c.refused("subscriptions/listen", `{"notifications":`+filter+`}`, mcp.CodeInvalidParams)
		require.Contains(t, m.Error.Message, "Nothing to subscribe to: ")
		require.Contains(t, m.Error.Message, want)
		require.Less(t, len(m.Error.Message), 1000)
	}
	id, honoured := c.listen(`{}`)
	require.JSONEq(t, `{}`, honoured)
	m := c.receive()
	require.Equal(t, fmt.Sprint(id), string(m.ID))
	require.Nil(t, m.Error)
}

func TestStreamIsNotifiedOfRequestedKind(t *testing.T) {
	kinds := []struct {
		filter, method string
		happen         func(*mcpserver.Server)
	}{
		{`{"toolsListChanged":true}`, "notifications/tools/list_changed", func(s *mcpserver.Server) { s.RemoveTools("n0") }},
		{`{"promptsListChanged":true}`, "notifications/prompts/list_changed", func(s *mcpserver.Server) { s.RemovePrompts("n0") }},
		{`{"resourcesListChanged":true}`, "notifications/resources/list_changed", func(s *mcpserver.Server) { s.RemoveResources("x:n0") }},
		{`{"resourceSubscriptions":["x:n1"]}`, "notifications/resources/updated", func(s *mcpserver.Server) {
			require.NoError(t, s.ResourceUpdated(t.Context(), "x:n1"))
		}},
	}
	for i, wanted := range kinds {
		s := stocked(nil)
		c := connect(t, s, modern)
		_, honoured := c.listen(wanted.filter)
		require.JSONEq(t, wanted.filter, honoured)
		for j, other := range kinds {
			if j != i {
				other.happen(s)
			}
		}
		wanted.happen(s)
		require.Equal(t, wanted.method, c.receive().Method)
	}
}

func TestStreamsOfOneClientAreIndependent(t *testing.T) {
	s := stocked(nil)
	c := connect(t, s, modern)
	first, _ := c.listen(`{"toolsListChanged":true}`)
	second, _ := c.listen(`{"toolsListChanged":true}`)
	mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
	got := []string{c.subscription(c.receive().Params), c.subscription(c.receive().Params)}
	require.ElementsMatch(t, []string{fmt.Sprint(first), fmt.Sprint(second)}, got)

	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, first))
	c.call("tools/list", `{}`)
	s.RemoveTools("new")
	require.Equal(t, fmt.Sprint(second), c.subscription(c.receive().Params))
}

func TestAffectsNotifiesOtherSubscribers(t *testing.T) {
	s := stocked(&mcpserver.Options{Affects: func(changed, watched string) bool { return strings.HasPrefix(changed, watched+"/") }})
	session := connect(t, s, "2025-11-25")
	session.call("resources/subscribe", `{"uri":"x:n1"}`)
	stream := connect(t, s, modern)
	stream.listen(`{"resourceSubscriptions":["x:n1"]}`)
	for _, uri := range []string{"x:n2/part", "x:n1/part"} {
		require.NoError(t, s.ResourceUpdated(t.Context(), uri))
	}
	require.Contains(t, string(session.receive().Params), "x:n1/part")
	require.Contains(t, string(stream.receive().Params), "x:n1/part")
}

func TestSubscriptionLimits(t *testing.T) {
	s := stocked(&mcpserver.Options{MaxSubscriptionStreams: 1, MaxSubscriptions: 2})
	c := connect(t, s, modern)
	c.refused("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x:n1","x:n2","x:n3"]}}`, mcp.CodeInternal)
	id, _ := c.listen(`{"toolsListChanged":true}`)
	m := c.refused("subscriptions/listen", `{"notifications":{"toolsListChanged":true}}`, mcp.CodeInternal)
	require.Contains(t, m.Error.Message, "Too many")
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
	for { // the stream is removed when its handler has returned
		c.ids++
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, c.ids))
		if m := c.receive(); m.Error == nil {
			require.Equal(t, "notifications/subscriptions/acknowledged", m.Method)
			break
		}
	}
}

func TestSlowClientLosesItsStream(t *testing.T) {
	s := stocked(&mcpserver.Options{Affects: func(changed, watched string) bool { return watched == "x:n1" }})
	slow, quick := connect(t, s, modern), connect(t, s, modern)
	id, _ := slow.listen(`{"resourceSubscriptions":["x:n1"]}`)
	quick.listen(`{"toolsListChanged":true}`)
	for i := range 40_000 { // more than the pipe, its buffers and the queue hold
		require.NoError(t, s.ResourceUpdated(t.Context(), fmt.Sprintf("x:%s%d", strings.Repeat("n", 200), i)))
	}
	mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
	require.Equal(t, "notifications/tools/list_changed", quick.receive().Method)
	for {
		m := slow.receive()
		if m.Method == "" {
			require.Equal(t, fmt.Sprint(id), string(m.ID))
			require.Contains(t, m.Error.Message, "are queued")
			break
		}
	}
	slow.listen(`{"toolsListChanged":true}`)
}

// held blocks notifications until it is released.
type held struct {
	peer.Outbound
	reached chan<- struct{}
	release <-chan struct{}
}

func (h held) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	h.reached <- struct{}{}
	<-h.release
	return h.Outbound.Notify(ctx, n, opts...)
}

func TestEqualEventsAreQueuedOnce(t *testing.T) {
	reached, release := make(chan struct{}, 10), make(chan struct{})
	s := stocked(&mcpserver.Options{Outgoing: []func(peer.Outbound) peer.Outbound{
		func(out peer.Outbound) peer.Outbound { return held{out, reached, release} },
	}})
	c := connect(t, s, "2025-11-25")
	s.RemoveTools("n0")
	<-reached // the following events are queued
	for i := range 500 {
		mcpserver.AddTool(s, &mcp.Tool{Name: fmt.Sprintf("more%d", i)}, forecast)
	}
	close(release)
	require.Equal(t, "notifications/tools/list_changed", c.receive().Method)
	require.Equal(t, "notifications/tools/list_changed", c.receive().Method)
	id := c.start("ping", `{}`)
	require.Equal(t, fmt.Sprint(id), string(c.receive().ID), "all that waited was one")
}

func TestMaxQueuedEvents(t *testing.T) {
	for _, revision := range []string{"2025-11-25", modern} {
		reached, release := make(chan struct{}, 10), make(chan struct{})
		var log bytes.Buffer
		s := stocked(&mcpserver.Options{
			MaxQueuedEvents: 2,
			Logger:          slog.New(slog.NewTextHandler(&log, nil)),
			Affects:         func(changed, watched string) bool { return strings.HasPrefix(changed, watched) },
			Outgoing: []func(peer.Outbound) peer.Outbound{
				func(out peer.Outbound) peer.Outbound { return held{out, reached, release} },
			},
		})
		c := connect(t, s, revision)
		if handshakes(revision) {
			c.call("resources/subscribe", `{"uri":"x:n1"}`)
		} else {
			c.start("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["x:n1"]}}`)
			<-reached
			release <- struct{}{}
			require.Equal(t, "notifications/subscriptions/acknowledged", c.receive().Method)
		}
		for i := range 4 {
			require.NoError(t, s.ResourceUpdated(t.Context(), fmt.Sprint("x:n1/", i)))
			if i == 0 {
				<-reached // the following events are queued
			}
		}
		close(release)
		require.Contains(t, string(c.receive().Params), "x:n1/0")
		if !handshakes(revision) {
			require.Contains(t, c.receive().Error.Message, "more than 2 notifications are queued")
			continue
		}
		require.Contains(t, string(c.receive().Params), "x:n1/1")
		require.Contains(t, string(c.receive().Params), "x:n1/2")
		id := c.start("ping", `{}`)
		require.Equal(t, fmt.Sprint(id), string(c.receive().ID), "there was no room for another")
		require.Contains(t, log.String(), "event queue of session is full")
	}
}

// bus connects two servers in one process.
type bus struct {
	mu   sync.Mutex
	subs map[int]func(mcpserver.Event)
	next int
	err  error
}

func (b *bus) Publish(_ context.Context, e mcpserver.Event) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, f := range b.subs {
		f(e)
	}
	return b.err
}

func (b *bus) Subscribe(f func(mcpserver.Event)) func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[int]func(mcpserver.Event){}
	}
	b.next++
	id := b.next
	b.subs[id] = f
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, id)
	}
}

func TestBusCarriesEventsToReplicas(t *testing.T) {
	shared := new(bus)
	one, two := stocked(&mcpserver.Options{Bus: shared}), stocked(&mcpserver.Options{Bus: shared})
	first, second := connect(t, one, modern), connect(t, two, "2025-11-25")
	first.listen(`{"resourceSubscriptions":["x:n1"]}`)
	second.call("resources/subscribe", `{"uri":"x:n1"}`)
	require.NoError(t, two.ResourceUpdated(t.Context(), "x:n1"))
	require.Equal(t, "notifications/resources/updated", first.receive().Method)
	require.Equal(t, "notifications/resources/updated", second.receive().Method)
	require.NoError(t, one.Shutdown(t.Context()))
	require.Len(t, shared.subs, 1)
	shared.err = context.Canceled
	require.Error(t, two.ResourceUpdated(t.Context(), "x:n1"))
	two.RemoveTools("n1") // logs the error
}

func TestGapOfBusNotifiesOfEverythingThatIsWatched(t *testing.T) {
	shared := new(bus)
	s := stocked(&mcpserver.Options{Bus: shared, MaxQueuedEvents: 1})
	session, stream, idle := connect(t, s, "2025-11-25"), connect(t, s, modern), connect(t, s, modern)
	session.call("resources/subscribe", `{"uri":"x:n1"}`)
	stream.listen(`{"promptsListChanged":true,"resourceSubscriptions":["x:n1","x:n2"]}`)
	idle.listen(`{"toolsListChanged":true}`)
	require.NoError(t, shared.Publish(t.Context(), mcpserver.Event{Lost: true}))
	require.Equal(t, []string{
		"notifications/prompts/list_changed", "notifications/resources/list_changed",
		"notifications/resources/updated x:n1", "notifications/tools/list_changed",
	}, received(session, 4))
	require.Equal(t, []string{
		"notifications/prompts/list_changed", "notifications/resources/updated x:n1", "notifications/resources/updated x:n2",
	}, received(stream, 3))
	require.Equal(t, []string{"notifications/tools/list_changed"}, received(idle, 1))
	require.NoError(t, s.ResourceUpdated(t.Context(), "x:n1"))
	require.Equal(t, []string{"notifications/resources/updated x:n1"}, received(stream, 1), "nothing was sent twice")
}

// received returns the next n notifications, sorted, with the URIs of resources.
func received(c *client, n int) []string {
	var list []string
	for range n {
		m := c.receive()
		var params struct{ URI string }
		if len(m.Params) > 0 {
			require.NoError(c.t, json.Unmarshal(m.Params, &params))
		}
		list = append(list, strings.TrimSpace(m.Method+" "+params.URI))
	}
	slices.Sort(list)
	return list
}

func TestServerDoesNotSubscribeToBusAfterShutdown(t *testing.T) {
	shared := new(bus)
	s := stocked(&mcpserver.Options{Bus: shared})
	require.NoError(t, s.Shutdown(t.Context()))
	streamable.NewHandler(s, nil)
	require.Empty(t, shared.subs, "nobody would end that")
}

func TestUnknownEventsAreIgnored(t *testing.T) {
	shared := new(bus)
	s := stocked(&mcpserver.Options{Bus: shared})
	session, stream := connect(t, s, "2025-11-25"), connect(t, s, modern)
	stream.listen(`{"toolsListChanged":true}`)
	require.NoError(t, shared.Publish(t.Context(), mcpserver.Event{Method: "notifications/unknown"}))
	mcpserver.AddTool(s, &mcp.Tool{Name: "new"}, forecast)
	require.Equal(t, "notifications/tools/list_changed", session.receive().Method)
	require.Equal(t, "notifications/tools/list_changed", stream.receive().Method)
}
