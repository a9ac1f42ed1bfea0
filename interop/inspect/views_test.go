package inspect

import (
	"context"
	"embed"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/internal/browser"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/apps"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

//go:embed view.html
var viewFiles embed.FS

// plate is the input and the result of a tool with a view.
type plate struct {
	Dish   string `json:"dish"`
	Number int    `json:"number,omitempty"`
}

// addView adds tools with a view, and a tool that views may not call.
func (k *kitchen) addView() {
	view := apps.AddView(k.server, viewFiles, apps.View{URI: "ui://kitchen/plate", File: "view.html", Meta: apps.ResourceMeta{PrefersBorder: true}})
	var plates atomic.Int32
	mcpserver.AddTool(k.server, view.Tool(&mcp.Tool{Name: "plate", Description: "Shows a plate."}), func(_ context.Context, _ *mcp.ServerSession, in plate) (*plate, error) {
		return &plate{in.Dish, int(plates.Add(1))}, nil
	})
	mcpserver.AddTool(k.server, view.Tool(&mcp.Tool{Name: "price", Description: "Is hidden from views."}, apps.ToolVisibilityModel), func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "24 francs", nil
	})
}

// openView calls the tool with a view for the first time, and returns its frame.
func openView(t *testing.T, p *browser.Page) *browser.Page {
	t.Helper()
	choose(p, "plate")
	p.Type("#detail textarea", "soup")
	p.Button("Call")
	p.Wait(`document.querySelector("iframe")`)
	view := p.Frame(browser.Value[string](p, `document.querySelector("iframe").src`))
	view.WaitText("#plate", "× soup")
	return view
}

func TestViewsOfApps(t *testing.T) {
	p := kitchenPage(t)
	view := openView(t, p)
	view.WaitText("#plate", "1 × soup")
	view.WaitText("#input", `{"dish":"soup"}`)
	p.Wait(`document.querySelector(".app iframe").offsetHeight !== 240`)
	require.Equal(t, "light", browser.Value[string](view, "document.documentElement.dataset.theme"))
	require.NotEmpty(t, browser.Value[string](view, `document.documentElement.style.getPropertyValue("--color-text-primary")`))
	p.Dark(true)
	view.Wait(`document.documentElement.dataset.theme === "dark"`)
	p.Dark(false)

	view.Button("Order the same again")
	view.WaitText("#plate", "2 × soup")
	require.Equal(t, 1, browser.Value[int](p, `document.querySelectorAll(".app iframe").length`), "calls of the view do not replace it")
	view.Button("Call a tool of the model")
	view.WaitText("#state", `failed: -32602 tool "price" is not visible to views`)
	view.Button("Say thanks")
	view.WaitText("#state", "{}")
	p.WaitText(".view-message", "Thank you, <b>cook</b>")
	view.Button("Open the recipe")
	p.WaitText(".view-link", "https://recipes.example.com/soup")
	p.Button("Refuse")
	view.WaitText("#state", `{"isError":true}`)
	p.WaitText(".traffic", "Messages of the view (")
	picture(t, p, "inspect-app.png")

	// The page waits for the view, and then removes it.
	choose(p, "photo")
	p.Wait(`document.querySelectorAll("#detail iframe").length === 0`)
	p.WaitText("#detail h2", "photo")
}

// TestViewsAreIsolated attacks the page from a view.
func TestViewsAreIsolated(t *testing.T) {
	var reached atomic.Int32
	foreign := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reached.Add(1)
		w.Header().Set("Access-Control-Allow-Origin", "*")
	}))
	t.Cleanup(foreign.Close)
	p := kitchenPage(t)
	view := openView(t, p)
	page := browser.Value[string](p, "location.origin")
	frame := browser.Value[string](p, `document.querySelector(".app iframe").src`)
	require.NotEqual(t, page, strings.TrimSuffix(frame, mustParse(t, frame).Path), "another origin")
	require.Equal(t, "null", browser.Value[string](view, "origin"))

	tries := browser.Value[map[string]string](view, fmt.Sprintf(`(async () => {
		const results = {}, page = %q, foreign = %q;
		const attempt = async (name, f) => {
			try { results[name] = "allowed: " + String(await f()); } catch (error) { results[name] = "blocked"; }
		};
		await attempt("document of the page", () => parent.document.title);
		await attempt("address of the page", () => parent.location.href);
		await attempt("token in the top window", () => top.location.hash);
		await attempt("storage", () => localStorage.length);
		await attempt("cookies", () => document.cookie);
		await attempt("fetch of the page", () => fetch(page + "/"));
		await attempt("request to the page", () => fetch(page + "/api/events", {mode: "no-cors"}));
		await attempt("fetch of another origin", () => fetch(foreign));
		await attempt("leaving with the page", () => { top.location = foreign; });
		await attempt("window", () => { if (window.open(foreign)) return "opened"; throw new Error(); });
		for (const name of ["img", "script", "iframe"]) {
			const e = document.createElement(name);
			const done = new Promise((resolve, reject) => { e.onload = () => resolve("loaded"); e.onerror = reject; setTimeout(reject, 2000); });
			e.src = name === "iframe" ? page + "/" : foreign;
			document.body.append(e);
			if (name !== "iframe") await attempt(name, () => done);
		}
		return results;
	})()`, page, foreign.URL))
	for name, result := range tries {
		require.Equal(t, "blocked", result, name)
	}
	require.Len(t, tries, 12)
	require.Zero(t, reached.Load(), "requests reached another origin")

	for _, leave := range []string{
		"location.href = foreign",
		`const form = document.createElement("form"); form.action = foreign; document.body.append(form); form.submit()`,
		`const meta = document.createElement("meta"); meta.httpEquiv = "refresh"; meta.content = "0; url=" + foreign; document.head.append(meta)`,
	} {
		requireStays(t, foreign.URL, leave)
		require.Zero(t, reached.Load(), "the frame left for another origin with %s", leave)
	}
	res, err := http.Get(foreign.URL)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, int32(1), reached.Load(), "the other origin can be reached")

	// The documents have a policy of their own if they are opened without the page.
	res, err = http.Get(frame)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	policy := res.Header.Get("Content-Security-Policy")
	require.Contains(t, policy, "sandbox allow-scripts")
	require.NotContains(t, policy, "allow-same-origin")
	require.Contains(t, policy, "frame-ancestors "+page)
}

// requireStays requires that the policy of the page stops a frame that leaves for another origin.
func requireStays(t *testing.T, foreign, leave string) {
	t.Helper()
	p := kitchenPage(t)
	view := openView(t, p)
	p.Expect("frame-src")
	require.True(t, browser.Value[bool](p, `globalThis.blocked = new Promise((resolve, reject) => {
		addEventListener("securitypolicyviolation", e => resolve([e.effectiveDirective, e.blockedURI, location.origin]), {once: true});
		setTimeout(() => reject(new Error("nothing was blocked")), 20000);
	}), true`))
	page := browser.Value[string](p, "location.origin")
	require.True(t, browser.Value[bool](view, fmt.Sprintf("const foreign = %q; setTimeout(() => { %s }, 0); true", foreign, leave)))
	blocked := browser.Value[[]string](p, "blocked")
	require.Equal(t, "frame-src", blocked[0], leave)
	require.Contains(t, blocked[1], foreign)
	require.Equal(t, page, blocked[2])
}

func mustParse(t *testing.T, text string) *url.URL {
	u, err := url.Parse(text)
	require.NoError(t, err)
	return u
}

// TestViewOfBudgetServer shows a view that was written elsewhere, with the official SDK for views.
func TestViewOfBudgetServer(t *testing.T) {
	browser.Find(t)
	module := filepath.Join(npm.Install(t, "../command/servers"), "node_modules", "@modelcontextprotocol", "server-budget-allocator", "dist", "index.js")
	page := start(t, "node", module, "--stdio")
	p := browser.Open(t, 1200, 760)
	p.Go(page)
	p.WaitText("#list", "get-budget-data")
	call(p, "get-budget-data")
	p.Wait(`document.querySelector(".app iframe")`)
	view := p.Frame(browser.Value[string](p, `document.querySelector(".app iframe").src`))
	view.WaitText("body", "Marketing") // from the result
	p.WaitText(".traffic", "Messages of the view (")
	p.Click(".traffic summary")
	for _, message := range []string{"← ui/initialize", "← ui/notifications/initialized", "→ ui/notifications/tool-input", "→ ui/notifications/tool-result", "← ui/notifications/size-changed"} {
		p.WaitText(".traffic .lines", message)
	}
}

// TestViewsWithTheKeyboard moves the focus into a view, uses the view, and moves the focus out again.
func TestViewsWithTheKeyboard(t *testing.T) {
	p := kitchenPage(t)
	view := openView(t, p)
	inside := func() bool { return browser.Value[bool](p, `document.activeElement.matches("iframe")`) }
	focus := func() string { // the elements of the page and of the view that have the focus
		index := `String([...document.querySelectorAll("*")].indexOf(document.activeElement))`
		return browser.Value[string](p, index) + " " + browser.Value[string](view, index)
	}
	untilInside := func(want bool) { // presses Tab
		t.Helper()
		for range 60 {
			if inside() == want {
				return
			}
			before := focus()
			p.Press("\t")
			for end := time.Now().Add(time.Second); focus() == before && time.Now().Before(end); { // a busy browser is late
				time.Sleep(10 * time.Millisecond)
			}
		}
		require.Equal(t, want, inside())
	}
	untilInside(true)
	view.Wait(`document.activeElement.textContent.includes("Order the same again")`)
	p.Press("\r")
	view.WaitText("#plate", "2 × soup")
	untilInside(false)
	require.True(t, browser.Value[bool](p, `document.activeElement !== document.body`), "the focus is on the page")
}
