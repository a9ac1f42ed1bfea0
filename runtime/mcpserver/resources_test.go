package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// returnVariables returns a handler that returns the variables of its template as JSON.
func returnVariables(name string) mcpserver.ResourceTemplateHandler {
	return func(_ context.Context, _ *mcp.ReadResourceRequest, vars mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		text, err := json.Marshal(map[string]any{name: vars})
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: string(text)}}}, err
	}
}

// read reads a resource and returns the text of its first contents.
func read(c *client, uri string) string {
	res := c.call("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))
	return res["contents"].([]any)[0].(map[string]any)["text"].(string)
}

func TestResourceInEveryRevision(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResource(&mcp.Resource{URI: "test:a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
			&mcp.TextResourceContents{Text: "hi"}, &mcp.BlobResourceContents{Blob: []byte("x")}, &mcp.TextResourceContents{URI: "test:b"},
		}}, nil
	})
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, s, revision)
		parts := c.call("resources/read", `{"uri":"test:a"}`)["contents"].([]any)
		require.Equal(t, map[string]any{"uri": "test:a", "text": "hi"}, parts[0])
		require.Equal(t, map[string]any{"uri": "test:a", "blob": "eA=="}, parts[1])
		require.Equal(t, "test:b", parts[2].(map[string]any)["uri"])
	})
}

func TestContentsGetMIMETypeOfResource(t *testing.T) {
	s := mcpserver.New(info, nil)
	own := &mcp.TextResourceContents{Text: "{}", MIMEType: "application/json"}
	contents := []mcp.ResourceContents{
		&mcp.TextResourceContents{Text: "hi"}, &mcp.TextResourceContents{URI: "test:a"}, own,
		&mcp.BlobResourceContents{}, &mcp.TextResourceContents{URI: "test:another"},
	}
	s.AddResource(&mcp.Resource{URI: "test:a", Name: "a", MIMEType: "text/plain"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: contents}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test:b/{x}", Name: "b", MIMEType: "text/csv"}, returnVariables("b"))
	inEveryRevision(t, func(t *testing.T, revision string) {
		c := connect(t, s, revision)
		types := func(uri string) (types []any) {
			for _, part := range c.call("resources/read", fmt.Sprintf(`{"uri":%q}`, uri))["contents"].([]any) {
				types = append(types, part.(map[string]any)["mimeType"])
			}
			return types
		}
		require.Equal(t, []any{"text/plain", "text/plain", "application/json", "text/plain", nil}, types("test:a"))
		require.Equal(t, []any{"text/csv"}, types("test:b/1"))
	})
	require.Empty(t, own.URI, "what a handler returns is not changed")
}

func TestMissingResourceHasCodeOfRevision(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResource(&mcp.Resource{URI: "test:gone", Name: "a"}, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, mcpserver.NotFound(req.URI)
	})
	inEveryRevision(t, func(t *testing.T, revision string) {
		code := int64(-32002)
		if !handshakes(revision) {
			code = mcp.CodeInvalidParams
		}
		c := connect(t, s, revision)
		for _, uri := range []string{"test:gone", "test:never"} {
			m := c.refused("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), code)
			require.JSONEq(t, fmt.Sprintf(`{"uri":%q}`, uri), string(m.Error.Data))
		}
	})
}

func TestReadErrorIsNotSent(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResource(&mcp.Resource{URI: "test:a", Name: "a"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, errors.New("hunter2")
	})
	s.AddResource(&mcp.Resource{URI: "test:b", Name: "b"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, nil
	})
	c := connect(t, s, modern)
	for _, uri := range []string{"test:a", "test:b"} {
		m := c.refused("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), mcp.CodeInternal)
		require.NotContains(t, m.Error.Message, "hunter2")
	}
}

func TestTemplateReadsMatchingURIs(t *testing.T) {
	s := mcpserver.New(info, nil)
	for _, template := range []string{
		"file:///{+path}", "file:///fixed/{name}.txt", "user://{id}/posts/{post}", "search:q{?words,page}", "list:/a{/parts*}", "short:{id:3}", "two:{a,b}", "tags:{tags*}", "frag:x{#at}", "semi:x{;k,v}", "dot:x{.e}",
		"files:{/dirs*,file}", "first:{head,rest*}", "both:{a*,b*}", "mid:{a,list*,z}", "rfc:{/list*,path:4}", "more:{+a*,b}",
	} {
		s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: template, Name: "t"}, returnVariables(template))
	}
	s.AddResource(&mcp.Resource{URI: "file:///fixed/one.txt", Name: "one"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: "one itself"}}}, nil
	})
	c := connect(t, s, modern)
	for uri, want := range map[string]string{
		"file:///a/b%20c.md":            `{"file:///{+path}":{"path":["a/b c.md"]}}`,
		"file:///fixed/two.txt":         `{"file:///fixed/{name}.txt":{"name":["two"]}}`,
		"file:///fixed/one.txt":         `one itself`,
		"user://7/posts/hello":          `{"user://{id}/posts/{post}":{"id":["7"],"post":["hello"]}}`,
		"search:q?words=a%2Cb&page=2":   `{"search:q{?words,page}":{"words":["a,b"],"page":["2"]}}`,
		"search:q?page=2":               `{"search:q{?words,page}":{"page":["2"]}}`,
		"search:q":                      `{"search:q{?words,page}":{}}`,
		"list:/a/b/c":                   `{"list:/a{/parts*}":{"parts":["b","c"]}}`,
		"short:abc":                     `{"short:{id:3}":{"id":["abc"]}}`,
		"two:x,y":                       `{"two:{a,b}":{"a":["x"],"b":["y"]}}`,
		"tags:x,y,z":                    `{"tags:{tags*}":{"tags":["x","y","z"]}}`,
		"frag:x#top/1":                  `{"frag:x{#at}":{"at":["top/1"]}}`,
		"semi:x;v=1;k":                  `{"semi:x{;k,v}":{"v":["1"],"k":[""]}}`,
		"dot:x.json":                    `{"dot:x{.e}":{"e":["json"]}}`,
		"file:///..a/b..":               `{"file:///{+path}":{"path":["..a/b.."]}}`,
		"file:///.a/b./...c":            `{"file:///{+path}":{"path":[".a/b./...c"]}}`,
		"file:///100%25/%E2%82%AC":      `{"file:///{+path}":{"path":["100%/€"]}}`,
		"user://%C3%BC/posts/a%20b":     `{"user://{id}/posts/{post}":{"id":["ü"],"post":["a b"]}}`,
		"files:/readme":                 `{"files:{/dirs*,file}":{"dirs":["readme"]}}`,
		"files:/usr/readme":             `{"files:{/dirs*,file}":{"dirs":["usr"],"file":["readme"]}}`,
		"files:/usr/share/doc/readme":   `{"files:{/dirs*,file}":{"dirs":["usr","share","doc"],"file":["readme"]}}`,
		"first:1,2,3":                   `{"first:{head,rest*}":{"head":["1"],"rest":["2","3"]}}`,
		"both:1,2,3":                    `{"both:{a*,b*}":{"a":["1"],"b":["2","3"]}}`,
		"mid:1,2,3,4":                   `{"mid:{a,list*,z}":{"a":["1"],"list":["2","3"],"z":["4"]}}`,
		"mid:1,2":                       `{"mid:{a,list*,z}":{"a":["1"],"list":["2"]}}`,
		"rfc:/red/green/blue/%2Ffoo":    `{"rfc:{/list*,path:4}":{"list":["red","green","blue"],"path":["/foo"]}}`,
		"more:a/1,b,c":                  `{"more:{+a*,b}":{"a":["a/1","b"],"b":["c"]}}`,
		"file:///fixed/deeper/than.txt": `{"file:///{+path}":{"path":["fixed/deeper/than.txt"]}}`,
	} {
		if got := read(c, uri); strings.HasPrefix(want, "{") {
			require.JSONEq(t, want, got, uri)
		} else {
			require.Equal(t, want, got, uri)
		}
	}
	for _, uri := range []string{"short:abcd", "user://7/posts", "two:a,b,c", "rfc:/a/b/c/defgh", "file:///a b", "file:///%zz", "nothing:x", ""} {
		c.refused("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), mcp.CodeInvalidParams)
	}
}

func TestInvalidTemplatesAreRefused(t *testing.T) {
	s := mcpserver.New(info, nil)
	for template, want := range map[string]string{
		"x:{a":        `expression "{a" has no closing brace`,
		"x:a}":        `invalid character in "x:a}"`,
		"x:a b":       `invalid character in "x:a b"`,
		"x:%4":        `invalid character in "x:%4"`,
		"x:{}":        `expression "{}": it has no variable`,
		"x:{+}":       `expression "{+}": invalid name of a variable: ""`,
		"x:{!a}":      `expression "{!a}": operator "!" is reserved`,
		"x:{a,}":      `invalid name of a variable: ""`,
		"x:{a-b}":     `invalid name of a variable: "a-b"`,
		"x:{.a..b}":   `invalid name of a variable: "a..b"`,
		"x:{a:}":      `length "" is not a number`,
		"x:{a:0}":     `length "0" is not a number`,
		"x:{a:+1}":    `length "+1" is not a number`,
		"x:{a:10000}": `length "10000" is not a number`,
		"x:{a:3*}":    `invalid name of a variable: "a:3"`,
	} {
		err := s.TryAddResourceTemplate(&mcp.ResourceTemplate{URITemplate: template}, noTemplate)
		require.ErrorContains(t, err, want, template)
	}
	for _, template := range []string{"", "x:{a.b_1,%41*}", "x:{&a:9999}", "x:{ü}~-'", "x:{a}{a}"} {
		require.NoError(t, s.TryAddResourceTemplate(&mcp.ResourceTemplate{URITemplate: template}, noTemplate), template)
	}
}

func TestTraversalMatchesNoTemplate(t *testing.T) {
	hostile := []string{
		"file:///../etc/passwd", "file:///a/../../etc/passwd", "file:///a/..", "file:///%2e%2e/etc", "file:///%2E%2E%2Fetc",
		"file:///a%2f..%2f..%2fetc", "file:///%252e%252e%252fetc", "file:///%25252e%25252e%25252fetc", "file:///..%5cetc", "file:///a%5c..%5cetc",
		"file:///a%00.txt", "file:///..%252f%25zz", "file:///..%20/x", "file:///%20../x", "file:///..%09/x", "file:///.../x", "file:///./x",
		"file:///%c0%ae%c0%ae/x", "file:///%25c0%25ae/x", "file:///" + "%" + strings.Repeat("25", 9) + "41",
		"two:..%2fetc", "two:%2e.%2fetc", "two:.%2e/etc", "pair:/../etc", "pair:/..%2fetc", "list:/a/../b", "list:/a/./b", "ask:x?at=../x", "ask:x?at=.",
	}
	s := mcpserver.New(info, nil)
	for _, template := range []string{"file:///{+path}", "two:{a}.{b}", "pair:/{+a}..{+b}", "list:{/parts*}", "ask:x{?at}"} {
		s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: template, Name: "files"}, returnVariables("files"))
	}
	c := connect(t, s, modern)
	for _, uri := range hostile {
		c.refused("resources/read", fmt.Sprintf(`{"uri":%q}`, uri), mcp.CodeInvalidParams)
	}
	free := mcpserver.New(info, &mcpserver.Options{AllowTraversal: true})
	free.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "file:///{+path}", Name: "files"}, returnVariables("files"))
	require.JSONEq(t, `{"files":{"path":["../etc"]}}`, read(connect(t, free, modern), "file:///../etc"))
}

func TestLongURIIsMatchedInLinearTime(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "x:{+a*}{+b*}{+c*}y", Name: "worst"}, returnVariables("worst"))
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "z:{a}", Name: "plain"}, returnVariables("plain"))
	c := connect(t, s, modern)
	c.refused("resources/read", fmt.Sprintf(`{"uri":%q}`, "x:"+strings.Repeat("a,", 4000)+"z"), mcp.CodeInvalidParams)
	c.call("resources/read", fmt.Sprintf(`{"uri":%q}`, "z:"+strings.Repeat("a", 8190)))
	c.refused("resources/read", fmt.Sprintf(`{"uri":%q}`, "z:"+strings.Repeat("a", 8191)), mcp.CodeInvalidParams)
}

func TestInvalidResourcesPanic(t *testing.T) {
	s := mcpserver.New(info, nil)
	bad := map[string]json.RawMessage{"a": json.RawMessage(`{`)}
	require.Error(t, panicked(func() { s.AddResource(&mcp.Resource{URI: "a:b", Name: "a", Meta: bad}, noRead) }))
	require.ErrorContains(t, panicked(func() { s.AddResource(&mcp.Resource{URI: "a:b", Name: "a"}, nil) }), "handler is nil")
}

func TestResourceMayHaveAnyURI(t *testing.T) {
	for uri, suits := range map[string]bool{
		"file:///my%20notes": true, "x:a": true, "git+ssh://u@[::1]:7/a;b=(c)?d='e'&f#g": true, "urn:a:b-c_d.e~f!$*,": true,
		"/terraform/style-guide": false, "rel/ative": false, ":": false, "file:///my notes": false, "x:ä": false, "x:100%": false,
		"x:%zz": false, `x:"a"`: false, "x:{a}": false, "x:%4": false,
	} {
		var log strings.Builder
		s := mcpserver.New(info, &mcpserver.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		s.AddResource(&mcp.Resource{URI: uri}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: "found"}}}, nil
		})
		require.Equal(t, !suits, strings.Contains(log.String(), "some clients reject the URI"), uri)
		c := connect(t, s, modern)
		require.Equal(t, []string{uri}, listed(c, "resources/list", "resources", "name"), "the URI is the name")
		require.Contains(t, fmt.Sprint(c.call("resources/read", fmt.Sprintf(`{"uri":%s}`, must(json.Marshal(uri))))), "found", uri)
	}
}

func TestTemplateMayHaveNoVariables(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "x:fixed"}, returnVariables("it"))
	c := connect(t, s, modern)
	require.Equal(t, []string{"x:fixed"}, listed(c, "resources/templates/list", "resourceTemplates", "name"))
	require.JSONEq(t, `{"it":{}}`, read(c, "x:fixed"))
	c.refused("resources/read", `{"uri":"x:fixed2"}`, mcp.CodeInvalidParams)
}

func TestAbsentVariablesAreEmpty(t *testing.T) {
	vars := mcpserver.Variables{"a": {"x", "y"}}
	require.Equal(t, "x", vars.Get("a"))
	require.Empty(t, vars.Get("b"))
}

func TestNonASCIILiteralMatchesItsExpansion(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "n", URITemplate: "file:///bücher/{name}"}, func(_ context.Context, _ *mcp.ReadResourceRequest, v mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: v.Get("name")}}}, nil
	})
	u := newUser(s, mcp.Revision20251125, nil)
	defer u.Close()
	for _, uri := range []string{"file:///b%C3%BCcher/x", "file:///bücher/x"} {
		_, err := mcp.ServerPeer{Outbound: u}.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: uri})
		require.NoError(t, err, uri)
	}
}

func TestUnknownQueryVariableDoesNotMatch(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResourceTemplate(&mcp.ResourceTemplate{Name: "n", URITemplate: "search:x{?q}"}, func(_ context.Context, _ *mcp.ReadResourceRequest, v mcpserver.Variables) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{Text: v.Get("q")}}}, nil
	})
	u := newUser(s, mcp.Revision20251125, nil)
	defer u.Close()
	for _, uri := range []string{"search:x?z=1", "search:x?%71=1"} {
		_, err := mcp.ServerPeer{Outbound: u}.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: uri})
		require.Error(t, err, uri)
	}
}

func TestHasResource(t *testing.T) {
	s := mcpserver.New(info, nil)
	s.AddResource(&mcp.Resource{URI: "x:1"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "x:{v}"}, noTemplate)
	require.True(t, s.HasResource("x:1"))
	require.False(t, s.HasResource("x:2"))
	s.RemoveResources("x:1")
	require.False(t, s.HasResource("x:1"))
}
