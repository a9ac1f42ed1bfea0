package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
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

// unnoticed is a middleware that does nothing, but might: answers are made for it
// to look at, not for the wire.
func unnoticed(next peer.Handler) peer.Handler { return next }

// motley returns a server whose items have every member that lists have, and
// texts that would break what takes them for something else.
func motley(opts mcpserver.Options) *mcpserver.Server {
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

// pages are the results of a list, page by page, as they are on the wire.
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

func TestAListReadsTheSameWrittenBeforeOrNow(t *testing.T) {
	inEveryRevision(t, func(t *testing.T, revision string) {
		before := connect(t, motley(mcpserver.Options{}), revision)
		now := connect(t, motley(mcpserver.Options{Middleware: []peer.Middleware{unnoticed}}), revision)
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

func TestAListIsWrittenInAnyFormThatIsAskedFor(t *testing.T) {
	s := motley(mcpserver.Options{})
	in := &peer.Inbound{Method: mcp.MethodListTools, ID: wire.IntID(1), Params: json.RawMessage(`{` + envelope + `}`)}
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

func TestAListSaysWhatIsRegisteredNow(t *testing.T) {
	s := stocked(nil)
	c := connect(t, s, "2025-06-18")
	names := func() []string { return listed(c, "prompts/list", "prompts", "name") }
	require.Len(t, names(), 7)
	s.RemovePrompts("n0", "n1", "n2", "n3", "n4")
	require.Equal(t, []string{"n5", "n6"}, names())
	s.AddRawPrompt(&mcp.Prompt{Name: "n5", Title: "another"}, noPrompt)
	require.Contains(t, pages(c, "prompts/list")[0], `"title":"another"`)
}

// TestCallersWhoListAtOnceSeeTheirOwn has the callers of different views read and
// somebody register meanwhile.
func TestCallersWhoListAtOnceSeeTheirOwn(t *testing.T) {
	s := stocked(&mcpserver.Options{Filter: func(_ context.Context, s *mcp.ServerSession, item mcpserver.Item) bool {
		return strings.HasSuffix(item.Name, s.Transport().Principal()) || item.Name == "late"
	}})
	h := s.Handler(&streamable.Options{Principal: func(r *http.Request) string { return r.Header.Get("User") }})
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

func TestACursorNamesNothingThatItsCallerMayNotSee(t *testing.T) {
	s := stocked(&mcpserver.Options{PageSize: 2, Filter: func(_ context.Context, _ *mcp.ServerSession, item mcpserver.Item) bool {
		return item.Name != "n2"
	}})
	c := connect(t, s, modern)
	cursor, ok := c.call("tools/list", `{}`)["nextCursor"].(string)
	require.True(t, ok)
	s.RemoveTools("n2")
	require.Equal(t, cursor, c.call("tools/list", `{}`)["nextCursor"])
}
