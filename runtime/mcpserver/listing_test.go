package mcpserver_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
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

// lists are the methods that list something, and where the list is.
var lists = []struct{ method, member string }{
	{"tools/list", "tools"},
	{"resources/list", "resources"},
	{"resources/templates/list", "resourceTemplates"},
	{"prompts/list", "prompts"},
}

func TestListsAreInTheOrderOfNamesAndPaged(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, stocked(&mcpserver.Options{PageSize: 3}), revision)
		for _, l := range lists {
			require.Len(t, c.call(l.method, `{}`)[l.member], 3)
			require.Equal(t, []string{"n0", "n1", "n2", "n3", "n4", "n5", "n6"}, listed(c, l.method, l.member, "name"))
		}
	})
}

func TestALimitMayBeLifted(t *testing.T) {
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

func TestACursorMeansTheSameAtEveryReplica(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		first, other := connect(t, stocked(&mcpserver.Options{PageSize: 3}), revision), stocked(&mcpserver.Options{PageSize: 3})
		other.RemoveTools("n2") // where the first page ends
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

func TestACursorThatIsNoneIsRefused(t *testing.T) {
	c := connect(t, stocked(&mcpserver.Options{PageSize: 3}), modern)
	other := c.call("prompts/list", `{}`)["nextCursor"].(string)
	for _, cursor := range []string{"", "x", "!", other, base64.StdEncoding.EncodeToString([]byte("tool"))} {
		c.refused("tools/list", fmt.Sprintf(`{"cursor":%q}`, cursor), mcp.CodeInvalidParams)
	}
}

func TestWhatACallerMayNotSeeDoesNotExist(t *testing.T) {
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

	told := func(uri string) string {
		return c.refused("completion/complete", fmt.Sprintf(`{"ref":{"type":"ref/resource","uri":%q},"argument":{"name":"a","value":""}}`, uri), mcp.CodeInvalidParams).Error.Message
	}
	require.Equal(t, strings.ReplaceAll(told("x:never"), "never", "n1"), told("x:n1"), "nothing tells that it is there")
}

func TestAnswersSayHowLongTheyAreFresh(t *testing.T) {
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

func TestAResourceThatAskedItsClientIsNotToBeKept(t *testing.T) {
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

func TestAStepThatComesAgainIsNotToBeKept(t *testing.T) {
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

func TestCacheHintsThatMakeNoSenseAreRefused(t *testing.T) {
	require.Panics(t, func() {
		mcpserver.New(info, &mcpserver.Options{CacheHints: map[string]mcpserver.CacheHint{"tools/call": {}}})
	})
	require.Panics(t, func() {
		mcpserver.New(info, &mcpserver.Options{CacheHints: map[string]mcpserver.CacheHint{"tools/list": {TTL: -1}}})
	})
}
