package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

func noRead(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{}, nil
}

func noTemplate(context.Context, *mcp.ReadResourceRequest, mcpserver.Variables) (*mcp.ReadResourceResult, error) {
	return &mcp.ReadResourceResult{}, nil
}

func noPrompt(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	return &mcp.GetPromptResult{}, nil
}

// stocked returns a server with seven items of each kind.
func stocked(opts *mcpserver.Options) *mcpserver.Server {
	s := mcpserver.New(info, opts)
	for _, i := range []int{3, 1, 5, 0, 6, 2, 4} {
		name := fmt.Sprintf("n%d", i)
		mcpserver.AddTool(s, &mcp.Tool{Name: name}, forecast)
		s.AddResource(&mcp.Resource{URI: "x:" + name, Name: name}, noRead)
		s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "y:{a}/" + name, Name: name}, noTemplate)
		s.AddRawPrompt(&mcp.Prompt{Name: name}, noPrompt)
	}
	return s
}

// lists are the list methods, and the names of the lists in their results.
var lists = []struct{ method, member string }{
	{"tools/list", "tools"},
	{"resources/list", "resources"},
	{"resources/templates/list", "resourceTemplates"},
	{"prompts/list", "prompts"},
}

func TestListsAreSortedAndPaged(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, stocked(&mcpserver.Options{PageSize: 3}), revision)
		for _, l := range lists {
			require.Len(t, c.call(l.method, `{}`)[l.member], 3)
			require.Equal(t, []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6"}, listed(c, l.method, l.member, "name"))
		}
	})
}

func TestNegativeLimitMeansNoLimit(t *testing.T) {
	for _, none := range []int{-1, math.MaxInt} {
		s := stocked(&mcpserver.Options{
			PageSize: none, MaxSubscriptionStreams: none, MaxSubscriptions: none,
			Filter: func(context.Context, *mcp.ServerSession, mcpserver.Item) bool { return true },
		})
		for i := range 2000 {
			mcpserver.AddTool(s, &mcp.Tool{Name: fmt.Sprint("more", i)}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) { return "", nil })
		}
		c := connect(t, s, modern)
		require.Len(t, c.call("tools/list", `{}`)["tools"], 2007)
		for range 2 {
			c.listen(`{"resourceSubscriptions":["x:n1","x:n2"]}`)
		}
	}
}

func TestCursorIsValidAtEveryReplica(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		first, other := connect(t, stocked(&mcpserver.Options{PageSize: 3}), revision), stocked(&mcpserver.Options{PageSize: 3})
		other.RemoveTools("n2") // the last item of the first page
		other.RemoveResources("x:n2")
		other.RemoveResourceTemplates("y:{a}/n2")
		other.RemovePrompts("n2")
		second := connect(t, other, revision)
		for _, l := range lists {
			cursor := first.call(l.method, `{}`)["nextCursor"]
			page := second.call(l.method, fmt.Sprintf(`{"cursor":%q}`, cursor))[l.member].([]any)
			require.Equal(t, "n3", page[0].(map[string]any)["name"], l.method)
		}
	})
}

func TestInvalidCursorIsRejected(t *testing.T) {
	c := connect(t, stocked(&mcpserver.Options{PageSize: 3}), modern)
	other := c.call("prompts/list", `{}`)["nextCursor"].(string)
	for _, cursor := range []string{"", "x", "!", other, base64.StdEncoding.EncodeToString([]byte("tool"))} {
		c.refused("tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor), mcp.CodeInvalidParams)
	}
}

func TestHiddenItemsDoNotExist(t *testing.T) {
	s := stocked(&mcpserver.Options{PageSize: 3, Filter: func(_ context.Context, s *mcp.ServerSession, item mcpserver.Item) bool {
		return s != nil && item.Name != "n1" && item.Name != "n4" && item.Name != "x:n1" && item.Name != "y:{a}/n1"
	}})
	s.AddPromptCompleter("n1", "a", mcpserver.CompleteFrom("x"))
	c := connect(t, s, modern)
	require.Equal(t, []string{"n0", "n2", "n3", "n5", "n6"}, listed(c, "tools/list", "tools", "name"))
	require.Equal(t, []string{"n0", "n2", "n3", "n5", "n6"}, listed(c, "prompts/list", "prompts", "name"))
	require.NotContains(t, listed(c, "resources/list", "resources", "uri"), "x:n1")
	require.NotContains(t, listed(c, "resources/templates/list", "resourceTemplates", "uriTemplate"), "y:{a}/n1")
	c.refused("tools/call", `{"name":"n1"}`, mcp.CodeInvalidParams)
	c.refused("prompts/get", `{"name":"n1"}`, mcp.CodeInvalidParams)
	c.refused("resources/read", `{"uri":"x:n1"}`, mcp.CodeInvalidParams)
	c.refused("resources/read", `{"uri":"y:b/n1"}`, mcp.CodeInvalidParams)
	c.refused("completion/complete", `{"ref":{"type":"ref/prompt","name":"n1"},"argument":{"name":"a","value":""}}`, mcp.CodeInvalidParams)
	c.call("resources/read", `{"uri":"x:n2"}`)

	report := func(uri string) string {
		return c.refused("completion/complete", fmt.Sprintf(`{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"a","value":""}}`, uri), mcp.CodeInvalidParams).Error.Message
	}
	require.Equal(t, strings.ReplaceAll(report("x:never"), "never", "n1"), report("x:n1"), "the reports must not differ")
}

func TestResponsesHaveCacheHints(t *testing.T) {
	hints := map[string]mcpserver.CacheHint{}
	for _, l := range lists {
		hints[l.method] = mcpserver.CacheHint{TTL: time.Minute, Public: true}
	}
	hints["resources/read"] = mcpserver.CacheHint{TTL: time.Second}
	hints["server/discover"] = mcpserver.CacheHint{TTL: time.Hour, Public: true}
	c := connect(t, stocked(&mcpserver.Options{CacheHints: hints}), modern)
	for _, l := range lists {
		res := c.call(l.method, `{}`)
		require.Equal(t, 60_000.0, res["ttlMs"])
		require.Equal(t, "public", res["cacheScope"])
	}
	res := c.call("resources/read", `{"uri":"x:n1"}`)
	require.Equal(t, 1000.0, res["ttlMs"])
	require.Equal(t, "private", res["cacheScope"])
	require.Equal(t, 3_600_000.0, c.call("server/discover", `{}`)["ttlMs"])

	seen := &mcpserver.Options{CacheHints: hints, Filter: func(context.Context, *mcp.ServerSession, mcpserver.Item) bool { return true }}
	require.Equal(t, "private", connect(t, stocked(seen), modern).call("tools/list", `{}`)["cacheScope"])

	plain := connect(t, stocked(nil), modern).call("tools/list", `{}`)
	require.Equal(t, 0.0, plain["ttlMs"])
	require.Equal(t, "private", plain["cacheScope"])
}

func TestResourceThatAskedIsNotCached(t *testing.T) {
	hints := map[string]mcpserver.CacheHint{"resources/read": {TTL: time.Minute, Public: true}}
	s := mcpserver.New(info, &mcpserver.Options{CacheHints: hints})
	s.AddResource(&mcp.Resource{URI: "x:mine", Name: "mine"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.InputResponses == nil {
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: mcp.InputRequests{"q": &mcp.ListRootsRequest{}}}}
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: "of one user"}}}, nil
	})
	s.AddResource(&mcp.Resource{URI: "x:all", Name: "all"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	c := connect(t, s, modern)
	const meta = `"_meta":{"io.modelcontextprotocol/clientCapabilities":{"roots":{}}}`
	require.Equal(t, "input_required", c.call("resources/read", `{"uri":"x:mine",`+meta+`}`)["resultType"])
	res := c.call("resources/read", `{"uri":"x:mine","inputResponses":{"q":{"roots":[]}},`+meta+`}`)
	require.Equal(t, 0.0, res["ttlMs"])
	require.Equal(t, "private", res["cacheScope"])
	res = c.call("resources/read", `{"uri":"x:all"}`)
	require.Equal(t, 60_000.0, res["ttlMs"])
	require.Equal(t, "public", res["cacheScope"])
}

func TestRepeatedRoundIsNotCached(t *testing.T) {
	hints := map[string]mcpserver.CacheHint{"resources/read": {TTL: time.Minute, Public: true}}
	s := mcpserver.New(info, &mcpserver.Options{CacheHints: hints})
	s.AddResource(&mcp.Resource{URI: "x:mine", Name: "mine"}, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.RequestState == nil {
			return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: new("s")}}
		}
		return &mcp.ReadResourceResult{}, nil
	})
	c := connect(t, s, modern)
	state := c.call("resources/read", `{"uri":"x:mine"}`)["requestState"]
	res := c.call("resources/read", fmt.Sprintf(`{"uri":"x:mine","requestState":%q}`, state))
	require.Equal(t, 0.0, res["ttlMs"])
	require.Equal(t, "private", res["cacheScope"])
}

func TestInvalidCacheHintsPanic(t *testing.T) {
	require.Panics(t, func() {
		mcpserver.New(info, &mcpserver.Options{CacheHints: map[string]mcpserver.CacheHint{"tools/call": {}}})
	})
	require.Panics(t, func() {
		mcpserver.New(info, &mcpserver.Options{CacheHints: map[string]mcpserver.CacheHint{"tools/list": {TTL: -1}}})
	})
}

// transparent is middleware that does nothing. With it, results are not encoded in advance.
func transparent(next peer.Handler) peer.Handler { return next }

// varied returns a server whose items have all members, and texts that must be escaped.
func varied(opts mcpserver.Options) *mcpserver.Server {
	opts.PageSize = 3
	opts.CacheHints = map[string]mcpserver.CacheHint{"tools/list": {TTL: time.Minute, Public: true}, "prompts/list": {TTL: time.Second}}
	s := stocked(&opts)
	meta := map[string]json.RawMessage{"com.example/a": json.RawMessage(`"\"tools\":[]"`)}
	icons := []mcp.Icon{{Src: "https://a.example/i.png", MIMEType: "image/png", Sizes: []string{"48x48"}, Theme: mcp.IconThemeDark}}
	s.AddResource(&mcp.Resource{
		URI: "x:a", Name: `"resources":[]`, Title: "ä\u2028", Icons: icons, Meta: meta, Size: new(int64(3)),
		Annotations: &mcp.Annotations{Audience: []mcp.Role{mcp.RoleUser}, LastModified: "2026-01-01T00:00:00Z"},
	}, noRead)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "a:{x}", Name: `"resourceTemplates":[]`, Icons: icons, Meta: meta}, noTemplate)
	s.AddRawPrompt(&mcp.Prompt{Name: "a", Title: `"prompts":[]`, Icons: icons, Meta: meta, Arguments: []mcp.PromptArgument{{Name: "x", Title: "X"}}}, noPrompt)
	for name, output := range map[string]string{"a": `{"type":"object"}`, "b": `{"type":"array"}`} {
		s.AddRawTool(&mcp.Tool{
			Name: name, Title: "A", Description: `"tools":[]`, Icons: icons, Meta: meta, OutputSchema: json.RawMessage(output),
			InputSchema: json.RawMessage("{\n  \"type\": \"object\",\n  \"x\": [1, 2.50]\n}"), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
		}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	}
	return s
}

// pages returns the results of a list method as JSON, page by page.
func pages(c *client, method string) (all []string) {
	params := `{}`
	for {
		m := c.ask(method, params)
		require.Nil(c.t, m.Error)
		all = append(all, string(m.Result))
		var res struct{ NextCursor string }
		require.NoError(c.t, json.Unmarshal(m.Result, &res))
		if res.NextCursor == "" {
			return all
		}
		params = fmt.Sprintf(`{"cursor":%q}`, res.NextCursor)
	}
}

func TestEncodedListEqualsList(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		before := connect(t, varied(mcpserver.Options{}), revision)
		now := connect(t, varied(mcpserver.Options{Middleware: []peer.Middleware{transparent}}), revision)
		for _, l := range lists {
			want := pages(now, l.method)
			require.Equal(t, want, pages(before, l.method), l.method)
			require.Greater(t, len(want), 2)
			if !handshakes(revision) {
				require.Contains(t, want[0], `"io.modelcontextprotocol/serverInfo":{"name":"test","version":"1"}`)
				require.Contains(t, want[0], `"ttlMs"`)
			}
		}
	})
}

func TestListIsEncodedInAnyForm(t *testing.T) {
	s := varied(mcpserver.Options{})
	in := &peer.Inbound{Method: mcp.MethodListTools, ID: wire.IntID(1), Params: json.RawMessage(`{` + senderMeta + `}`)}
	reply, err := s.Dispatcher().ServeStateless(t.Context(), in, nil)
	require.NoError(t, err)
	of := func(v wire.Value, f *wire.Frame) string {
		text, err := wire.Append([]byte("before"), f, v)
		require.NoError(t, err)
		return strings.TrimPrefix(string(text), "before")
	}
	for _, f := range []*wire.Frame{nil, {Meta: []wire.Entry{{Name: "com.example/b", Value: json.RawMessage("1")}}}, reply.Frame} {
		var res mcp.ListToolsResult
		require.NoError(t, wire.Decode([]byte(of(reply.Result, nil)), nil, &res))
		require.Equal(t, of(&res, f), of(reply.Result, f))
	}
}

func TestListHasCurrentRegistrations(t *testing.T) {
	s := stocked(nil)
	c := connect(t, s, "2025-06-18")
	names := func() []string { return listed(c, "prompts/list", "prompts", "name") }
	require.Len(t, names(), 7)
	s.RemovePrompts("n0", "n1", "n2", "n3", "n4")
	require.Equal(t, []string{"n5", "n6"}, names())
	s.AddRawPrompt(&mcp.Prompt{Name: "n5", Title: "another"}, noPrompt)
	require.Contains(t, pages(c, "prompts/list")[0], `"title":"another"`)
}

// TestConcurrentListsAreFilteredSeparately lists with different filters while items are
// registered.
func TestConcurrentListsAreFilteredSeparately(t *testing.T) {
	s := stocked(&mcpserver.Options{Filter: func(_ context.Context, s *mcp.ServerSession, item mcpserver.Item) bool {
		return strings.HasSuffix(item.Name, s.Transport().Principal()) || item.Name == "late"
	}})
	h := streamable.NewHandler(s, &streamable.Options{Principal: func(r *http.Request) string { return r.Header.Get("User") }})
	defer h.Close()
	var all sync.WaitGroup
	defer all.Wait()
	for i := range 7 {
		name := fmt.Sprintf("n%d", i)
		all.Go(func() {
			for range 20 {
				body := ofUser(h, name, post(modern, "prompts/list", "", `{}`))
				for j := range 7 {
					other := fmt.Sprintf("n%d", j)
					if strings.Contains(body, other) != (other == name) {
						t.Errorf("%s sees %s", name, body)
					}
				}
			}
		})
	}
	for range 20 {
		s.AddRawPrompt(&mcp.Prompt{Name: "late"}, noPrompt)
		s.RemovePrompts("late")
	}
}

func TestCursorContainsNoHiddenName(t *testing.T) {
	s := stocked(&mcpserver.Options{PageSize: 2, Filter: func(_ context.Context, _ *mcp.ServerSession, item mcpserver.Item) bool {
		return item.Name != "n2"
	}})
	c := connect(t, s, modern)
	cursor, ok := c.call("tools/list", `{}`)["nextCursor"].(string)
	require.True(t, ok)
	s.RemoveTools("n2")
	require.Equal(t, cursor, c.call("tools/list", `{}`)["nextCursor"])
}
