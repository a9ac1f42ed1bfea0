package mcpclient_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

// cacheServer is a server whose lists and resources may be cached.
type cacheServer struct {
	*server
	ttl   int64
	scope mcp.CacheScope
	asked map[string]int
	hold  func() // called during a request of the list of tools
}

func newCacheServer(ttl int64, scope mcp.CacheScope) *cacheServer {
	s := &cacheServer{server: enableSubscriptions(newServer()), ttl: ttl, scope: scope, asked: map[string]int{}}
	mcp.HandleListTools(&s.mux, func(_ context.Context, req *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		page := ""
		if req.Cursor != nil {
			page = *req.Cursor
		}
		s.asked["tools"+page]++
		if s.hold != nil {
			s.hold()
		}
		switch page {
		case "":
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: fmt.Sprint("tool", s.asked["tools"])}}, NextCursor: new("2"), TTLMs: s.ttl, CacheScope: s.scope}, nil
		case "2":
			return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "last"}}, TTLMs: s.ttl, CacheScope: s.scope}, nil
		}
		return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "bad cursor"}
	})
	mcp.HandleListPrompts(&s.mux, func(context.Context, *mcp.ListPromptsRequest) (*mcp.ListPromptsResult, error) {
		s.asked["prompts"]++
		return &mcp.ListPromptsResult{TTLMs: s.ttl, CacheScope: s.scope}, nil
	})
	mcp.HandleListResources(&s.mux, func(context.Context, *mcp.ListResourcesRequest) (*mcp.ListResourcesResult, error) {
		s.asked["resources"]++
		return &mcp.ListResourcesResult{TTLMs: s.ttl, CacheScope: s.scope}, nil
	})
	mcp.HandleListResourceTemplates(&s.mux, func(context.Context, *mcp.ListResourceTemplatesRequest) (*mcp.ListResourceTemplatesResult, error) {
		s.asked["templates"]++
		return &mcp.ListResourceTemplatesResult{TTLMs: s.ttl, CacheScope: s.scope}, nil
	})
	mcp.HandleReadResource(&s.mux, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		s.asked[req.URI]++
		return &mcp.ReadResourceResult{
			Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, Text: "text"}},
			TTLMs:    s.ttl, CacheScope: s.scope,
		}, nil
	})
	return s
}

// fetch requests each list and resource once.
func fetch(t testing.TB, c mcp.ServerPeer) {
	t.Helper()
	for _, err := range c.ListToolsAll(t.Context(), nil) {
		require.NoError(t, err)
	}
	_, err := c.ListPrompts(t.Context(), &mcp.ListPromptsRequest{})
	require.NoError(t, err)
	_, err = c.ListResources(t.Context(), &mcp.ListResourcesRequest{})
	require.NoError(t, err)
	_, err = c.ListResourceTemplates(t.Context(), &mcp.ListResourceTemplatesRequest{})
	require.NoError(t, err)
	read(t, c, "a:1")
	read(t, c, "a:2")
}

func read(t testing.TB, c mcp.ServerPeer, uri string) *mcp.ReadResourceResult {
	t.Helper()
	res, err := c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: uri})
	require.NoError(t, err)
	return res
}

func TestCacheUsesTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCacheServer(5_000, mcp.CacheScopePublic)
		c := connect(t, mcpclient.InProcess(s), nil)
		once := map[string]int{"tools": 1, "tools2": 1, "prompts": 1, "resources": 1, "templates": 1, "a:1": 1, "a:2": 1}
		fetch(t, c.ServerPeer)
		time.Sleep(4_999 * time.Millisecond)
		fetch(t, c.ServerPeer)
		require.Equal(t, once, s.asked)
		time.Sleep(time.Millisecond)
		fetch(t, c.ServerPeer)
		for name := range once {
			require.Equal(t, 2, s.asked[name], name)
		}
		fetch(t, c.Uncached())
		fetch(t, c.Forward())
		require.Equal(t, 4, s.asked["a:1"])
		fetch(t, c.ServerPeer)
		require.Equal(t, 4, s.asked["a:1"], "uncached results are stored")
	})
}

func TestUncacheableResults(t *testing.T) {
	leaks.Check(t)
	for name, c := range map[string]struct {
		ttl  int64
		opts mcpclient.Options
	}{
		"no time":   {0, mcpclient.Options{}},
		"off":       {60_000, mcpclient.Options{Cache: mcpclient.CacheOptions{Off: true}}},
		"handshake": {60_000, mcpclient.Options{Mode: mcpclient.Handshake}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCacheServer(c.ttl, mcp.CacheScopePublic)
			client := connect(t, mcpclient.InProcess(s), &c.opts)
			fetch(t, client.ServerPeer)
			fetch(t, client.ServerPeer)
			require.Equal(t, map[string]int{"tools": 2, "tools2": 2, "prompts": 2, "resources": 2, "templates": 2, "a:1": 2, "a:2": 2}, s.asked)
		})
	}
}

func TestCacheMaxAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newCacheServer(1<<62, mcp.CacheScopePublic) // more than the maximum of time.Duration
		c := connect(t, mcpclient.InProcess(s), nil)
		read(t, c.ServerPeer, "a:1")
		time.Sleep(24*time.Hour - time.Second)
		read(t, c.ServerPeer, "a:1")
		require.Equal(t, 1, s.asked["a:1"])
		time.Sleep(time.Second)
		read(t, c.ServerPeer, "a:1")
		require.Equal(t, 2, s.asked["a:1"])
	})
}

func TestPrivateResultsAreCachedPerContext(t *testing.T) {
	leaks.Check(t)
	for scope, want := range map[mcp.CacheScope]int{mcp.CacheScopePrivate: 2, "": 2, mcp.CacheScopePublic: 1} {
		s := newCacheServer(60_000, scope)
		var who atomic.Value
		who.Store("ada")
		c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
			Cache: mcpclient.CacheOptions{Context: func() string { return who.Load().(string) }},
		})
		read(t, c.ServerPeer, "a:1")
		who.Store("bob")
		read(t, c.ServerPeer, "a:1")
		who.Store("ada")
		read(t, c.ServerPeer, "a:1")
		require.Equal(t, want, s.asked["a:1"], "scope %q", scope)
	}
}

func TestPrivateResultIsNotCachedIfContextChanges(t *testing.T) {
	leaks.Check(t)
	for scope, want := range map[mcp.CacheScope]int{mcp.CacheScopePrivate: 2, mcp.CacheScopePublic: 1} {
		s := newCacheServer(60_000, scope)
		var who atomic.Value
		who.Store("ada")
		c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{
			Cache: mcpclient.CacheOptions{Context: func() string { return who.Load().(string) }},
		})
		s.hold = func() { who.Store("bob") }
		_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
		require.NoError(t, err)
		s.hold = nil
		who.Store("ada")
		_, err = c.ListTools(t.Context(), &mcp.ListToolsRequest{})
		require.NoError(t, err)
		require.Equal(t, want, s.asked["tools"], "scope %q", scope)
	}
}

func TestResultOfLaterRoundIsNotCached(t *testing.T) {
	leaks.Check(t)
	for name, req := range map[string]*mcp.ReadResourceRequest{
		"state":   {URI: "a:1", RequestState: new("s")},
		"answers": {URI: "a:1", InputResponses: mcp.InputResponses{"q": &mcp.ElicitResult{Action: mcp.ElicitActionDecline}}},
	} {
		s := newCacheServer(60_000, mcp.CacheScopePublic)
		c := connect(t, mcpclient.InProcess(s), nil)
		for range 2 {
			_, err := c.ReadResource(t.Context(), req)
			require.NoError(t, err)
		}
		read(t, c.ServerPeer, "a:1")
		require.Equal(t, 3, s.asked["a:1"], name)
	}
}

func TestCachedResultsAreCopies(t *testing.T) {
	leaks.Check(t)
	s := newCacheServer(60_000, mcp.CacheScopePublic)
	c := connect(t, s.overPipe(t), nil)
	read(t, c.ServerPeer, "a:1").Contents[0].(*mcp.TextResourceContents).Text = "changed"
	read(t, c.ServerPeer, "a:1").Contents[0].(*mcp.TextResourceContents).Text = "changed again"
	require.Equal(t, "text", read(t, c.ServerPeer, "a:1").Contents[0].(*mcp.TextResourceContents).Text)
	require.Equal(t, 1, s.asked["a:1"])
}

func TestNotificationsInvalidateCache(t *testing.T) {
	leaks.Check(t)
	for name, c := range map[string]struct {
		note func(*stream) peer.Notification
		want map[string]int // requests after the notification
	}{
		"tools":     {func(st *stream) peer.Notification { return &mcp.ToolListChangedNotification{Meta: st.meta()} }, map[string]int{"tools": 1, "tools2": 1}},
		"prompts":   {func(st *stream) peer.Notification { return &mcp.PromptListChangedNotification{Meta: st.meta()} }, map[string]int{"prompts": 1}},
		"resources": {func(st *stream) peer.Notification { return &mcp.ResourceListChangedNotification{Meta: st.meta()} }, map[string]int{"resources": 1, "templates": 1}},
		"resource": {func(st *stream) peer.Notification {
			return &mcp.ResourceUpdatedNotification{URI: "a:1", Meta: st.meta()}
		}, map[string]int{"a:1": 1}},
		"part": {func(st *stream) peer.Notification {
			return &mcp.ResourceUpdatedNotification{URI: "a:2/x", Meta: st.meta()}
		}, map[string]int{"a:2": 1}},
		"sibling": {func(st *stream) peer.Notification {
			return &mcp.ResourceUpdatedNotification{URI: "a:22", Meta: st.meta()}
		}, map[string]int{}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newCacheServer(60_000, mcp.CacheScopePrivate)
			client := connect(t, s.overPipe(t), nil)
			sub, server := listen(t, client, s.server, mcp.SubscriptionFilter{
				ToolsListChanged: true, PromptsListChanged: true, ResourcesListChanged: true, ResourceSubscriptions: []string{"a:"},
			})
			fetch(t, client.ServerPeer)
			clear(s.asked)
			server.send(t, c.note(server))
			require.Len(t, received(t, sub, 1), 1)
			fetch(t, client.ServerPeer)
			require.Equal(t, c.want, s.asked)
		})
	}
}

func TestResultIsNotCachedIfItChangesDuringRequest(t *testing.T) {
	leaks.Check(t)
	s := newCacheServer(60_000, mcp.CacheScopePublic)
	c := connect(t, s.overPipe(t), nil)
	_, server := listen(t, c, s.server, mcp.SubscriptionFilter{ToolsListChanged: true})
	s.hold = func() { server.send(t, &mcp.ToolListChangedNotification{Meta: server.meta()}) }
	for want := range 2 {
		res, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint("tool", want+1), res.Tools[0].Name)
		s.hold = nil
	}
	_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{})
	require.NoError(t, err)
	require.Equal(t, 2, s.asked["tools"])
}

func TestInvalidCursorInvalidatesPages(t *testing.T) {
	leaks.Check(t)
	s := newCacheServer(60_000, mcp.CacheScopePublic)
	c := connect(t, mcpclient.InProcess(s), nil)
	fetch(t, c.ServerPeer)
	_, err := c.ListTools(t.Context(), &mcp.ListToolsRequest{Cursor: new("gone")})
	require.ErrorContains(t, err, "bad cursor")
	fetch(t, c.ServerPeer)
	require.Equal(t, 2, s.asked["tools"])
	require.Equal(t, 2, s.asked["tools2"])
	require.Equal(t, 1, s.asked["a:1"])
}

func TestCacheLimits(t *testing.T) {
	leaks.Check(t)
	s := newCacheServer(60_000, mcp.CacheScopePublic)
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Cache: mcpclient.CacheOptions{MaxEntries: 2}})
	for _, uri := range []string{"a:1", "a:2", "a:3", "a:3", "a:2"} {
		read(t, c.ServerPeer, uri)
	}
	require.Equal(t, map[string]int{"a:1": 1, "a:2": 1, "a:3": 1}, s.asked)
	read(t, c.ServerPeer, "a:1")
	require.Equal(t, 2, s.asked["a:1"])

	s = newCacheServer(60_000, mcp.CacheScopePublic)
	c = connect(t, mcpclient.InProcess(s), &mcpclient.Options{Cache: mcpclient.CacheOptions{MaxBytes: 100}})
	read(t, c.ServerPeer, "a:1")
	read(t, c.ServerPeer, "a:1")
	require.Equal(t, 2, s.asked["a:1"], "a result larger than a quarter of the cache is not stored")
}

// An invalid hint is ignored and does not fail the call.
func TestInvalidCacheHintsAreIgnored(t *testing.T) {
	leaks.Check(t)
	for name, hints := range map[string]string{
		"negative":   `"ttlMs":-1,"cacheScope":"public"`,
		"null":       `"ttlMs":null,"cacheScope":null`,
		"a fraction": `"ttlMs":1.5,"cacheScope":"public"`,
		"a string":   `"ttlMs":"60000","cacheScope":"public"`,
		"too large":  `"ttlMs":1e30,"cacheScope":"public"`,
		"missing":    `"x":1`,
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answer: func(m message) string {
				if m.Method == mcp.MethodDiscover {
					return ok(discovered)
				}
				return ok(`{"resultType":"complete","tools":[{"name":"t","inputSchema":{"type":"object"}}],` + hints + `}`)
			}}
			c := connect(t, s.endpoint(t), nil)
			for range 2 {
				require.Equal(t, []string{"t"}, names(t, c))
			}
			require.Equal(t, []string{mcp.MethodDiscover, mcp.MethodListTools, mcp.MethodListTools}, s.methods())
		})
	}
}

// A result without a valid scope is private.
func TestUnknownCacheScopeIsPrivate(t *testing.T) {
	leaks.Check(t)
	who := "ada"
	s := &script{answer: func(m message) string {
		if m.Method == mcp.MethodDiscover {
			return ok(discovered)
		}
		return ok(`{"resultType":"complete","tools":[],"ttlMs":60000,"cacheScope":"planet"}`)
	}}
	c := connect(t, s.endpoint(t), &mcpclient.Options{Cache: mcpclient.CacheOptions{Context: func() string { return who }}})
	for _, who = range []string{"ada", "ada", "bob", "bob"} {
		require.Empty(t, names(t, c))
	}
	require.Len(t, s.methods(), 1+2)
}

func TestNegativeCacheLimits(t *testing.T) {
	leaks.Check(t)
	s := newCacheServer(60_000, mcp.CacheScopePublic)
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Cache: mcpclient.CacheOptions{MaxEntries: -1, MaxBytes: -1, MaxAge: -1}})
	for range 2 {
		for i := range 2000 {
			read(t, c.ServerPeer, fmt.Sprint("a:", i))
		}
	}
	require.Equal(t, 1, s.asked["a:0"])
}
