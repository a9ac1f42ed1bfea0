package apps_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

const document = "<!DOCTYPE html><title>Sales</title>"

var (
	info   = mcp.Implementation{Name: "sales", Version: "1.0.0"}
	files  = fstest.MapFS{"chart.html": {Data: []byte(document)}, "folder/other.html": {Data: []byte("<!-- a comment -->\n<!doctype HTML>")}}
	silent = slog.New(slog.DiscardHandler)
	chart  = apps.View{URI: "ui://sales/chart", File: "chart.html"}
)

type sale struct {
	Month string `json:"month"`
	Total int    `json:"total"`
}

func (s sale) ModelText() string { return fmt.Sprintf("%d in %s", s.Total, s.Month) }

func sales(_ context.Context, s *mcp.ServerSession, _ struct{}) (sale, error) {
	if apps.Supported(s) {
		return sale{"January", 12}, nil
	}
	return sale{"January (text only)", 12}, nil
}

// newServer returns a server with a view, a tool for the model and the view, and a tool for the
// view.
func newServer() *mcpserver.Server {
	server := mcpserver.New(info, &mcpserver.Options{Filter: apps.FilterTools("month"), Logger: silent})
	view := apps.AddView(server, files, chart)
	mcpserver.AddTool(server, view.Tool(&mcp.Tool{Name: "sales"}), sales)
	mcpserver.AddTool(server, view.Tool(&mcp.Tool{Name: "month"}, apps.ToolVisibilityApp), sales)
	mcpserver.AddTool(server, &mcp.Tool{Name: "plain"}, sales)
	return server
}

// connect connects a client that shows views, or that does not.
func connect(t *testing.T, to mcpclient.Endpoint, r wire.Revision, shows bool) *mcpclient.Client {
	opts := &mcpclient.Options{Revision: r, Logger: silent}
	if shows {
		apps.Declare(&opts.Capabilities)
	}
	c, err := mcpclient.Connect(t.Context(), to, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func toolsOf(t *testing.T, c *mcpclient.Client) map[string]*mcp.Tool {
	all := map[string]*mcp.Tool{}
	for tool, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
		all[tool.Name] = tool
	}
	return all
}

// each runs a test with a new server, over HTTP and in process, in each revision that has metadata of
// tools.
func each(t *testing.T, test func(t *testing.T, to mcpclient.Endpoint, r wire.Revision)) {
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		t.Run(r.String()+"/HTTP", func(t *testing.T) {
			ts := httptest.NewServer(streamable.NewHandler(newServer(), nil))
			t.Cleanup(ts.Close)
			test(t, mcpclient.URL(ts.URL), r)
		})
		t.Run(r.String()+"/in process", func(t *testing.T) { test(t, mcpclient.InProcess(newServer()), r) })
	}
}

func TestHostReadsToolsAndViews(t *testing.T) {
	each(t, func(t *testing.T, to mcpclient.Endpoint, r wire.Revision) {
		c := connect(t, to, r, true)
		tools := toolsOf(t, c)
		require.Len(t, tools, 3)
		require.Equal(t, chart.URI, apps.ViewURI(tools["sales"]))
		require.Equal(t, chart.URI, apps.ViewURI(tools["month"]))
		require.Empty(t, apps.ViewURI(tools["plain"]))
		for name, want := range map[string][2]bool{"sales": {true, true}, "month": {false, true}, "plain": {true, true}} {
			require.Equal(t, want[0], apps.VisibleTo(tools[name], apps.ToolVisibilityModel), name)
			require.Equal(t, want[1], apps.VisibleTo(tools[name], apps.ToolVisibilityApp), name)
		}
		d, err := apps.ReadView(t.Context(), c, chart.URI)
		require.NoError(t, err)
		require.Equal(t, &apps.Document{URI: chart.URI, HTML: document}, d)
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "month"})
		require.NoError(t, err)
		require.Equal(t, "12 in January", mcp.TextOf(res.Content))
		require.JSONEq(t, `{"month":"January","total":12}`, string(res.StructuredContent))
		require.NoError(t, apps.Check(t.Context(), c))
	})
}

func TestClientWithoutViewsGetsText(t *testing.T) {
	each(t, func(t *testing.T, to mcpclient.Endpoint, r wire.Revision) {
		c := connect(t, to, r, false)
		tools := toolsOf(t, c)
		require.Len(t, tools, 2)
		require.NotContains(t, tools, "month")
		res, err := c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "sales"})
		require.NoError(t, err)
		require.Equal(t, "12 in January (text only)", mcp.TextOf(res.Content))
		_, err = c.CallTool(t.Context(), &mcp.CallToolRequest{Name: "month"})
		require.ErrorContains(t, err, `Unknown tool: "month"`)
	})
}

func TestRevisionWithoutMetadataHasNoViews(t *testing.T) {
	c := connect(t, mcpclient.InProcess(newServer()), mcp.Revision20250326, true)
	require.NotContains(t, toolsOf(t, c), "month")
}

func TestSupportedReadsMediaTypes(t *testing.T) {
	object := func(text string) (m map[string]json.RawMessage) {
		require.NoError(t, json.Unmarshal([]byte(text), &m))
		return m
	}
	for _, x := range []struct {
		settings     string
		experimental bool
		want         bool
	}{
		{`{"mimeTypes":["text/html;profile=mcp-app"]}`, false, true},
		{`{"mimeTypes":["text/html;profile=mcp-app"]}`, true, true},
		{`{"mimeTypes":["image/png","text/html; profile=\"mcp-app\""]}`, false, true},
		{`{"mimeTypes":["text/html"]}`, false, false},
		{`{"mimeTypes":[]}`, false, false},
		{`{"mimeTypes":"text/html;profile=mcp-app"}`, false, false},
		{`{}`, false, false},
	} {
		t.Run(x.settings, func(t *testing.T) {
			opts := &mcpclient.Options{Logger: silent}
			declared := map[string]map[string]json.RawMessage{apps.Name: object(x.settings)}
			if x.experimental {
				opts.Capabilities.Experimental = declared
			} else {
				opts.Capabilities.Extensions = declared
			}
			c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newServer()), opts)
			require.NoError(t, err)
			defer c.Close()
			require.Equal(t, x.want, toolsOf(t, c)["month"] != nil)
		})
	}
}

func TestInvalidViewsAreRefused(t *testing.T) {
	for problem, v := range map[string]apps.View{
		`URI of a view must begin with "ui://"`:      {URI: "http://sales/chart", File: "chart.html"},
		`must begin with "ui://" and a name`:         {URI: "ui://", File: "chart.html"},
		`invalid URL escape`:                         {URI: "ui://%zz", File: "chart.html"},
		`open missing.html: file does not exist`:     {URI: "ui://a", File: "missing.html"},
		`open ../chart.html: file does not exist`:    {URI: "ui://a", File: "../chart.html"},
		`file "folder": not a regular file`:          {URI: "ui://a", File: "folder"},
		`document is not UTF-8`:                      {URI: "ui://a", File: "latin1.html"},
		`document has no "<!doctype html>"`:          {URI: "ui://a", File: "fragment.html"},
		`document has more than 2097152 bytes`:       {URI: "ui://a", File: "large.html"},
		`the server has a resource with this URI`:    {URI: "ui://taken", File: "chart.html"},
		`connectDomains: invalid origin "*"`:         {URI: "ui://a", File: "chart.html", Meta: apps.ResourceMeta{CSP: &apps.ResourceCSP{ConnectDomains: []string{"*"}}}},
		`resourceDomains: invalid origin "wss://a"`:  {URI: "ui://a", File: "chart.html", Meta: apps.ResourceMeta{CSP: &apps.ResourceCSP{ResourceDomains: []string{"wss://a"}}}},
		`frameDomains: invalid origin "https://a/b"`: {URI: "ui://a", File: "chart.html", Meta: apps.ResourceMeta{CSP: &apps.ResourceCSP{FrameDomains: []string{"https://a/b"}}}},
		`baseUriDomains: invalid origin "https:"`:    {URI: "ui://a", File: "chart.html", Meta: apps.ResourceMeta{CSP: &apps.ResourceCSP{BaseURIDomains: []string{"https:"}}}},
	} {
		t.Run(problem, func(t *testing.T) {
			server := mcpserver.New(info, &mcpserver.Options{Logger: silent})
			all := fstest.MapFS{
				"chart.html": files["chart.html"], "folder/other.html": files["folder/other.html"],
				"latin1.html": {Data: []byte(document + "\xe9")}, "fragment.html": {Data: []byte("<p>hello</p>")},
				"large.html": {Data: []byte(document + strings.Repeat(" ", 2<<20))},
			}
			apps.AddView(server, all, apps.View{URI: "ui://taken", File: "chart.html"})
			_, err := apps.TryAddView(server, all, v)
			require.ErrorContains(t, err, problem)
			var refused *mcpserver.RegistrationError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, mcpserver.Item{Kind: mcpserver.KindResource, Name: v.URI}, refused.Item)
			require.PanicsWithError(t, err.Error(), func() { apps.AddView(server, all, v) })
		})
	}
}

func TestInvalidToolsPanic(t *testing.T) {
	server := mcpserver.New(info, nil)
	view := apps.AddView(server, files, chart)
	linked := view.Tool(&mcp.Tool{Name: "a"})
	panics := func(text string, f func()) {
		t.Helper()
		require.PanicsWithError(t, `mcpserver: tool "a": `+text, f)
	}
	panics(`unknown visibility "host": want "model" or "app"`, func() { view.Tool(&mcp.Tool{Name: "a"}, "host") })
	panics(`metadata has the key "ui" already`, func() { view.Tool(linked) })
	panics(`metadata has the key "ui/resourceUri" already`, func() {
		view.Tool(&mcp.Tool{Name: "a", Meta: mcp.Meta{"ui/resourceUri": json.RawMessage(`"ui://b"`)}})
	})
	panics(`the server has no view "ui://none"`, func() { (&apps.View{URI: "ui://none"}).Tool(&mcp.Tool{Name: "a"}) })
	server.RemoveResources(chart.URI)
	panics(`the server has no view "ui://sales/chart"`, func() { view.Tool(&mcp.Tool{Name: "a"}) })
}

func TestToolKeepsItsMetadata(t *testing.T) {
	view := apps.AddView(mcpserver.New(info, nil), files, chart)
	tool := &mcp.Tool{Name: "a", Meta: mcp.Meta{"com.example/x": json.RawMessage(`1`)}}
	linked := view.Tool(tool, apps.ToolVisibilityModel)
	require.Equal(t, mcp.Meta{"com.example/x": json.RawMessage(`1`)}, tool.Meta)
	require.JSONEq(t, `{"resourceUri":"ui://sales/chart","visibility":["model"]}`, string(linked.Meta["ui"]))
	require.Contains(t, linked.Meta, "com.example/x")
}

func TestViewIsReadForEachRequest(t *testing.T) {
	dir := t.TempDir()
	write := func(text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "chart.html"), []byte(text), 0o600))
	}
	write(document)
	server := mcpserver.New(info, &mcpserver.Options{Logger: silent, ExposeErrors: true})
	apps.AddView(server, os.DirFS(dir), chart)
	c := connect(t, mcpclient.InProcess(server), wire.Revision{}, true)
	read := func() (string, error) {
		d, err := apps.ReadView(t.Context(), c, chart.URI)
		if err != nil {
			return "", err
		}
		return d.HTML, nil
	}
	text, err := read()
	require.NoError(t, err)
	require.Equal(t, document, text)
	write(document + "<p>changed</p>")
	text, err = read()
	require.NoError(t, err)
	require.Equal(t, document+"<p>changed</p>", text)
	write("<p>no longer a document</p>")
	_, err = read()
	require.ErrorContains(t, err, `file "chart.html": document has no "<!doctype html>" at its beginning`)
	require.NoError(t, os.Remove(filepath.Join(dir, "chart.html")))
	_, err = read()
	require.ErrorContains(t, err, "no such file")
}

// endless is a file without an end.
type endless struct{ fs.File }

func (endless) Open(string) (fs.File, error) {
	f, err := files.Open("chart.html")
	return endless{f}, err
}

func (endless) Read(b []byte) (int, error) {
	copy(b, strings.Repeat("<!doctype html>", len(b)/15+1))
	return len(b), nil
}

func TestEndlessFileIsRefused(t *testing.T) {
	_, err := apps.TryAddView(mcpserver.New(info, nil), endless{}, chart)
	require.ErrorContains(t, err, "document has more than 2097152 bytes")
}

func TestMetadataReachesHost(t *testing.T) {
	meta := apps.ResourceMeta{
		CSP:           &apps.ResourceCSP{ConnectDomains: []string{"https://api.example.com", "wss://api.example.com:8443"}, ResourceDomains: []string{"https://*.example.com"}},
		Permissions:   &apps.ResourcePermissions{Camera: map[string]json.RawMessage{}, ClipboardWrite: map[string]json.RawMessage{}},
		PrefersBorder: true,
	}
	server := mcpserver.New(info, nil)
	apps.AddView(server, files, apps.View{URI: chart.URI, File: "chart.html", Title: "Sales", Description: "A chart.", Meta: meta})
	c := connect(t, mcpclient.InProcess(server), wire.Revision{}, true)
	d, err := apps.ReadView(t.Context(), c, chart.URI)
	require.NoError(t, err)
	require.Equal(t, meta, d.Meta)
	require.Equal(t, "camera; clipboard-write", d.Allow())
	policy := strings.Split(d.Policy(), "; ")
	require.Contains(t, policy, "default-src 'none'")
	require.Contains(t, policy, "connect-src https://api.example.com wss://api.example.com:8443")
	require.Contains(t, policy, "script-src 'unsafe-inline' https://*.example.com")
	require.Contains(t, policy, "frame-src 'none'")
	list, err := c.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Resources, 1)
	r := list.Resources[0]
	require.Equal(t, []string{"chart", "Sales", "A chart.", apps.MIMEType}, []string{r.Name, r.Title, r.Description, r.MIMEType})
	require.JSONEq(t, `{"csp":{"connectDomains":["https://api.example.com","wss://api.example.com:8443"],"resourceDomains":["https://*.example.com"]},
		"permissions":{"camera":{},"clipboardWrite":{}},"prefersBorder":true}`, string(r.Meta["ui"]))
}

// hostile returns a client of a server that returns the given contents for each view.
func hostile(t *testing.T, listed mcp.Meta, contents ...mcp.ResourceContents) *mcpclient.Client {
	server := mcpserver.New(info, &mcpserver.Options{Logger: silent})
	server.AddResource(&mcp.Resource{URI: chart.URI, Meta: listed}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: contents}, nil
	})
	return connect(t, mcpclient.InProcess(server), wire.Revision{}, true)
}

func ui(text string) mcp.Meta { return mcp.Meta{"ui": json.RawMessage(text)} }

func TestHostileViewsAreRefused(t *testing.T) {
	html := func(meta mcp.Meta) mcp.ResourceContents {
		return &mcp.TextResourceContents{MIMEType: apps.MIMEType, Text: document, Meta: meta}
	}
	for problem, contents := range map[string][]mcp.ResourceContents{
		"server returned 0 contents, want 1":                       {},
		"server returned 2 contents, want 1":                       {html(nil), html(nil)},
		`media type "text/html", want "text/html;profile=mcp-app"`: {&mcp.TextResourceContents{MIMEType: "text/html", Text: document}},
		`document is not UTF-8`:                                    {&mcp.BlobResourceContents{MIMEType: apps.MIMEType, Blob: []byte("<!doctype html>\xff")}},
		"document has more than 2097152 bytes":                     {&mcp.BlobResourceContents{MIMEType: apps.MIMEType, Blob: make([]byte, 2<<20+1)}},
		`document has no "<!doctype html>"`:                        {&mcp.TextResourceContents{MIMEType: apps.MIMEType}},
		`invalid metadata "ui": 5`:                                 {html(ui(`5`))},
		`invalid metadata "ui": null`:                              {html(ui(`null`))},
		`invalid metadata "ui": {"csp":[]}`:                        {html(ui(`{"csp":[]}`))},
	} {
		t.Run(problem, func(t *testing.T) {
			_, err := apps.ReadView(t.Context(), hostile(t, nil, contents...), chart.URI)
			require.ErrorContains(t, err, `read view "ui://sales/chart": `)
			require.ErrorContains(t, err, problem)
		})
	}
	_, err := apps.ReadView(t.Context(), hostile(t, nil), "file:///etc/passwd")
	require.ErrorContains(t, err, `must begin with "ui://"`)
	_, err = apps.ReadView(t.Context(), hostile(t, nil), "ui://other")
	require.ErrorContains(t, err, "Resource not found")
}

func TestContentsMetadataPrecedesListedMetadata(t *testing.T) {
	contents := &mcp.BlobResourceContents{MIMEType: `text/html; profile="mcp-app"`, Blob: []byte(document)}
	d, err := apps.ReadView(t.Context(), hostile(t, ui(`{"domain":"listed"}`), contents), chart.URI)
	require.NoError(t, err)
	require.Equal(t, "listed", d.Meta.Domain)
	contents.Meta = ui(`{"domain":"contents"}`)
	d, err = apps.ReadView(t.Context(), hostile(t, ui(`{"domain":"listed"}`), contents), chart.URI)
	require.NoError(t, err)
	require.Equal(t, "contents", d.Meta.Domain)
}

func TestPolicyOmitsInvalidOrigins(t *testing.T) {
	for _, origin := range []string{
		"*", "https:", "https://", "https://*", "https://a b", "https://a;script-src *", "https://a,b", "https://a'", "https://a/", "https://a?q", "https://a#f",
		"https://user@a", "HTTPS://a", "javascript:alert(1)", "data:", "'unsafe-eval'", "https://a:*", "https://a.*.b", "https://ä", "https://a\nb", "",
	} {
		csp := &apps.ResourceCSP{ConnectDomains: []string{origin}, ResourceDomains: []string{origin}, FrameDomains: []string{origin}, BaseURIDomains: []string{origin}}
		require.Equal(t, (&apps.Document{}).Policy(), (&apps.Document{Meta: apps.ResourceMeta{CSP: csp}}).Policy(), "%q", origin)
	}
	for _, origin := range []string{"https://a", "http://localhost:8080", "https://*.example.com", "http://127.0.0.1:1", "http://[::1]:1"} {
		csp := &apps.ResourceCSP{ConnectDomains: []string{origin}}
		require.Contains(t, (&apps.Document{Meta: apps.ResourceMeta{CSP: csp}}).Policy(), "connect-src "+origin+";", "%q", origin)
	}
}

func TestInvalidToolMetadata(t *testing.T) {
	for text, want := range map[string]struct {
		uri                      string
		visibleToModel, toTheApp bool
	}{
		`{"resourceUri":"ui://a"}`:    {"ui://a", true, true},
		`{"resourceUri":"https://a"}`: {"", true, true},
		`{"visibility":[]}`:           {"", false, false},
		`{"visibility":["host"]}`:     {"", false, false},
		`{"visibility":["app"]}`:      {"", false, true},
		`{"visibility":"app"}`:        {"", false, false},
		`5`:                           {"", false, false},
		`null`:                        {"", true, true},
		`{"resourceUri":"ui://a","visibility":["app"],"more":1}`: {"ui://a", false, true},
	} {
		tool := &mcp.Tool{Meta: ui(text)}
		require.Equal(t, want.uri, apps.ViewURI(tool), text)
		require.Equal(t, want.visibleToModel, apps.VisibleTo(tool, apps.ToolVisibilityModel), text)
		require.Equal(t, want.toTheApp, apps.VisibleTo(tool, apps.ToolVisibilityApp), text)
	}
	require.Equal(t, "ui://a", apps.ViewURI(&mcp.Tool{Meta: mcp.Meta{"ui/resourceUri": json.RawMessage(`"ui://a"`)}}))
}

func TestCheckFindsErrors(t *testing.T) {
	for problem, meta := range map[string]mcp.Meta{
		`read view "ui://none": `:            ui(`{"resourceUri":"ui://none"}`),
		`URI of a view must begin with`:      ui(`{"resourceUri":"https://a"}`),
		`"visibility":["host"]}`:             ui(`{"resourceUri":"ui://sales/chart","visibility":["host"]}`),
		`invalid metadata "ui": 5`:           ui(`5`),
		`read view "ui://old": `:             {"ui/resourceUri": json.RawMessage(`"ui://old"`)},
		`connectDomains: invalid origin "*"`: ui(`{"resourceUri":"ui://origins"}`),
	} {
		t.Run(problem, func(t *testing.T) {
			server := newServer()
			server.AddResource(&mcp.Resource{URI: "ui://origins"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{MIMEType: apps.MIMEType, Text: document, Meta: ui(`{"csp":{"connectDomains":["*"]}}`)}}}, nil
			})
			for _, name := range []string{"first", "second"} {
				mcpserver.AddTool(server, &mcp.Tool{Name: name, Meta: meta}, sales)
			}
			err := apps.Check(t.Context(), connect(t, mcpclient.InProcess(server), wire.Revision{}, true))
			require.ErrorContains(t, err, `check apps: tool "first": `)
			require.ErrorContains(t, err, `check apps: tool "second": `)
			require.ErrorContains(t, err, problem)
		})
	}
}

func TestCheckReportsLostConnection(t *testing.T) {
	c := connect(t, mcpclient.InProcess(newServer()), wire.Revision{}, true)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("stopped"))
	require.ErrorContains(t, apps.Check(ctx, c), "check apps: list tools: ")
	_, err := apps.ReadView(ctx, c, chart.URI)
	require.ErrorContains(t, err, `read view "ui://sales/chart": `)
}

func TestFilterToolsHidesOnlyNamedTools(t *testing.T) {
	names := []string{"month"}
	filter := apps.FilterTools(names...)
	names[0] = "changed"
	server := mcpserver.New(info, &mcpserver.Options{Filter: filter})
	apps.AddView(server, files, apps.View{URI: "ui://month", File: "chart.html"})
	mcpserver.AddTool(server, &mcp.Tool{Name: "month"}, sales)
	mcpserver.AddTool(server, &mcp.Tool{Name: "changed"}, sales)
	c := connect(t, mcpclient.InProcess(server), wire.Revision{}, false)
	tools := toolsOf(t, c)
	require.NotContains(t, tools, "month")
	require.Contains(t, tools, "changed")
	list, err := c.ListResources(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, list.Resources, 1)
}
