// Package apps shows a view of the example of MCP Apps in a browser, in a host page with the package
// ext-apps.
package apps

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/internal/browser"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// root is the folder of the repository.
const root = "../.."

var update = flag.Bool("update", false, "write the picture of the docs")

// startExample starts the example, and returns its URL.
func startExample(t *testing.T) *url.URL {
	path := filepath.Join(t.TempDir(), "apps")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./examples/apps")
	build.Dir = root
	build.Env = append(build.Environ(), "GOWORK=off")
	out, err := build.CombinedOutput()
	require.NoError(t, err, "%s", out)
	cmd := exec.Command(path, "-addr", "127.0.0.1:0")
	cmd.Stderr = t.Output()
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Kill())
		_ = cmd.Wait() // reports the signal
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	u, err := url.Parse(strings.TrimSpace(line))
	require.NoError(t, err)
	return u
}

// bundle returns the script of the host.
func bundle(t *testing.T) []byte {
	dir := npm.Install(t, "host", "host.mjs")
	cmd := exec.CommandContext(t.Context(), filepath.Join(dir, "node_modules", ".bin", "esbuild"), "host.mjs", "--bundle", "--format=esm")
	cmd.Dir = dir
	cmd.Stderr = t.Output()
	script, err := cmd.Output()
	require.NoError(t, err)
	return script
}

// startHost serves the page of the host. It forwards MCP to the server, because the server accepts no
// other origin.
func startHost(t *testing.T, server *url.URL) string {
	script := bundle(t)
	page, err := os.ReadFile("host/index.html")
	require.NoError(t, err)
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) { w.Write(page) })
	mux.HandleFunc("/host.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript")
		w.Write(script)
	})
	mux.HandleFunc("/favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.Handle("/mcp", &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(server)
		r.Out.URL.Path = server.Path
		r.Out.Header.Del("Origin")
	}})
	return serve(t, mux)
}

// startSandbox serves the frame around a view, with the policy of the view.
func startSandbox(t *testing.T, server *url.URL) string {
	opts := new(mcpclient.Options)
	apps.Declare(&opts.Capabilities)
	client, err := mcpclient.Connect(t.Context(), mcpclient.URL(server.String()), opts)
	require.NoError(t, err)
	t.Cleanup(func() { client.Close() })
	require.NoError(t, apps.Check(t.Context(), client))
	page, err := os.ReadFile("host/sandbox.html")
	require.NoError(t, err)
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		view, err := apps.ReadView(r.Context(), client, r.URL.Query().Get("uri"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Security-Policy", view.Policy())
		w.Write(page)
	}))
}

func serve(t *testing.T, h http.Handler) string {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// shown is the result of the function "show" of the host.
type shown struct {
	Tools, ModelTools []string
	Text              string
	App               struct{ Name, Version string }
}

func TestViewOfExampleInHost(t *testing.T) {
	needPrograms(t)
	server := startExample(t)
	sandbox, host := startSandbox(t, server), startHost(t, server)

	p := browser.Open(t, 768, 460)
	p.Go(host + "/")
	p.Wait("globalThis.show")
	s := browser.Value[shown](p, fmt.Sprintf("show(%q, 'sales', {year: 2026})", sandbox))
	require.Equal(t, []string{"sales", "sales_of_month"}, s.Tools)
	require.Equal(t, []string{"sales"}, s.ModelTools, "tools for the view are hidden from the model")
	require.Contains(t, s.Text, "Sales of 2026: Jan ")
	require.Equal(t, "sales-chart", s.App.Name)

	view := p.Frame("about:srcdoc")
	view.WaitText("#title", "Sales of 2026")
	bars := "document.querySelectorAll('rect').length"
	require.Equal(t, 12, browser.Value[int](view, bars))
	year := browser.Value[string](view, "document.getElementById('chart').innerHTML")
	p.Wait("document.querySelector('iframe').offsetHeight > 200")
	if picture := p.Screenshot(); *update {
		require.NoError(t, os.WriteFile(filepath.Join(root, "docs", "apps.png"), picture, 0o644))
	}

	view.Click("[role=button]:nth-of-type(3)")
	view.WaitText("#title", "Sales of March 2026")
	require.Equal(t, 4, browser.Value[int](view, bars))
	require.NotEqual(t, year, browser.Value[string](view, "document.getElementById('chart').innerHTML"))
	view.Button("Back to the year")
	view.WaitText("#title", "Sales of 2026")
	require.Equal(t, year, browser.Value[string](view, "document.getElementById('chart').innerHTML"))

	log := browser.Value[[]string](p, "log")
	order := []string{"> ui/initialize", "> ui/notifications/initialized", "< ui/notifications/tool-input", "< ui/notifications/tool-result", "> tools/call"}
	for _, method := range log {
		if len(order) > 0 && method == order[0] {
			order = order[1:]
		}
	}
	require.Empty(t, order, "messages in this order are missing in %v", log)
	require.Contains(t, log, "> ui/notifications/size-changed")
	requireBlocked(t, view)
}

// TestViewOfPage shows the view in the page about apps.
func TestViewOfPage(t *testing.T) {
	needPrograms(t)
	server := mcpserver.New(mcp.Implementation{Name: "dice", Version: "1.0.0"}, nil)
	dice := apps.AddView(server, os.DirFS(filepath.Join(root, "docs", "testdata", "apps")), apps.View{URI: "ui://dice/roll", File: "dice.html"})
	numbers := 0
	mcpserver.AddTool(server, dice.Tool(&mcp.Tool{Name: "roll"}), func(context.Context, *mcp.ServerSession, struct{}) (map[string]int, error) {
		numbers++
		return map[string]int{"number": numbers}, nil
	})
	at, err := url.Parse(serve(t, streamable.NewHandler(server, nil)))
	require.NoError(t, err)
	p := browser.Open(t, 768, 460)
	p.Go(startHost(t, at) + "/")
	p.Wait("globalThis.show")
	s := browser.Value[shown](p, fmt.Sprintf("show(%q, 'roll', {})", startSandbox(t, at)))
	require.Equal(t, []string{"roll"}, s.ModelTools)
	view := p.Frame("about:srcdoc")
	view.WaitText("p", "You rolled 1")
	view.Button("Roll again")
	view.WaitText("p", "You rolled 2")
}

// needPrograms skips a test without a browser or npm.
func needPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("-short starts no browser")
	}
	browser.Find(t)
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skip("npm is not installed (package \"npm\" of most systems)")
	}
}

// requireBlocked requires that a view reaches no other origin.
func requireBlocked(t *testing.T, view *browser.Page) {
	var reached atomic.Int32
	foreign := serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	blocked := browser.Value[[]string](view, fmt.Sprintf(`(async () => {
		const blocked = [], foreign = %q;
		document.addEventListener("securitypolicyviolation", event => blocked.push(event.effectiveDirective));
		await fetch(foreign).catch(() => {});
		for (const name of ["img", "script", "iframe"]) {
			const e = document.createElement(name);
			const done = new Promise((resolve, reject) => {
				e.onload = e.onerror = resolve;
				setTimeout(() => reject(new Error(name + " has no event")), 20000);
			});
			e.src = foreign;
			document.body.append(e);
			await done;
		}
		return blocked.sort();
	})()`, foreign))
	require.Equal(t, []string{"connect-src", "frame-src", "img-src", "script-src-elem"}, blocked)
	require.Zero(t, reached.Load(), "requests reached another origin")
	res, err := http.Get(foreign)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, int32(1), reached.Load(), "the other origin can be reached without the policy")
}
