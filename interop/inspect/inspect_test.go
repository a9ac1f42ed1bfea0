// Package inspect tests the page of "mcpwright inspect" in a browser.
package inspect

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/interop/internal/browser"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// root is the folder of the repository.
const root = "../.."

var update = flag.Bool("update", false, "write the pictures of the docs")

// build builds the command, once for all tests, and returns its path.
func build(t *testing.T) string {
	path := filepath.Join(folder, "mcpwright")
	if _, err := os.Stat(path); err == nil {
		return path
	}
	work, err := filepath.Abs(filepath.Join(root, "go.work"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	cmd.Dir = filepath.Join(root, "cmd", "mcpwright")
	cmd.Env = append(cmd.Environ(), "GOWORK="+work)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return path
}

// start starts the page for the command of an MCP server, and returns its URL.
func start(t *testing.T, server ...string) string {
	return startPage(t, append([]string{"--"}, server...), serveVariable+"=1")
}

// startPage starts the page with the last arguments and variables of the environment.
func startPage(t *testing.T, args []string, env ...string) string {
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), build(t), append([]string{"inspect", "-open=false"}, args...)...)
	cmd.Env = append(cmd.Environ(), env...)
	cmd.Stderr = t.Output()
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		require.NoError(t, cmd.Process.Signal(os.Interrupt))
		require.NoError(t, cmd.Wait(), "an interrupted page exits with status 0")
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(line)
}

// kitchenPage opens the page of the test's own MCP server.
func kitchenPage(t *testing.T) *browser.Page {
	self, err := os.Executable()
	require.NoError(t, err)
	browser.Find(t)
	url := start(t, self) // before the browser, so that it ends after the browser
	p := browser.Open(t, 1200, 760)
	p.Go(url)
	p.WaitText("#sides", "2026-07-28 · stateless")
	p.WaitText("#list", "reserve")
	return p
}

// choose opens an entry of the list.
func choose(p *browser.Page, name string) {
	p.Click(fmt.Sprintf(`//nav//button[span[1]=%q]`, name))
	p.WaitText("#detail h2", "")
}

// call calls a tool without arguments.
func call(p *browser.Page, name string) {
	choose(p, name)
	p.Button("Call")
}

// picture writes a picture of the page for the docs, with -update.
func picture(t *testing.T, p *browser.Page, name string) {
	if !*update {
		return
	}
	decoded, err := png.Decode(bytes.NewReader(p.Screenshot()))
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewColors(decoded)))
	require.NoError(t, os.WriteFile(filepath.Join(root, "docs", name), out.Bytes(), 0o644))
}

// fewColors reduces a picture to its 256 most frequent colors, so that its file is small.
func fewColors(from image.Image) image.Image {
	counts := map[color.RGBA]int{}
	box := from.Bounds()
	at := func(x, y int) color.RGBA {
		return color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)
	}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	palette := mostFrequent(counts, 256)
	to := image.NewPaletted(box, palette)
	near := map[color.RGBA]uint8{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := at(x, y)
			i, ok := near[c]
			if !ok {
				i = uint8(palette.Index(c))
				near[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	return to
}

// mostFrequent returns the most frequent colors.
func mostFrequent(counts map[color.RGBA]int, n int) (list color.Palette) {
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	for _, c := range all[:min(n, len(all))] {
		list = append(list, c)
	}
	return list
}

func TestToolsAreCalledWithForms(t *testing.T) {
	p := kitchenPage(t)
	choose(p, "order")
	p.Type(`//label[contains(., "people")]/..//input`, "many")
	p.Button("Call")
	p.WaitText(".problem", "This is not a number.")
	require.False(t, browser.Value[bool](p, `Boolean(document.querySelector(".card"))`), "nothing is sent")
	p.Type(`//label[contains(., "dish")]/..//textarea`, "risotto")
	p.Type(`//label[contains(., "people")]/..//input`, "12")
	p.Click(`//label[contains(., "spicy")]/..//label[.="true"]`)
	p.Button("+ Add an item")
	p.Press("cheese")
	p.Click(`//label[contains(., "null")]/input`)
	p.Button("+ Add")
	p.Press("Main Street 1")
	p.Button("Call")
	p.WaitText(".card", "structured content")
	for _, text := range []string{`"dish": "risotto"`, `"people": 12`, `"size": "regular"`, `"spicy": true`, `"cheese"`, `"note": null`, `"street": "Main Street 1"`} {
		p.WaitText(".card .json", text)
	}

	p.Click(`//*[@aria-label="Kind of input"]/button[.="JSON"]`)
	p.Type(".raw textarea", `{"dish": "soup", "people": 2, "size": "small", "price": 12345678901234567890}`)
	p.Button("Call")
	p.WaitText(".card .json", `"price": 12345678901234567890`)
	p.Click(`//*[@aria-label="Kind of input"]/button[.="Form"]`)
	p.WaitText(".schema-form .hint", "The form cannot show these arguments.")
	p.Type(".raw textarea", `{"dish": `)
	p.Button("Call")
	p.WaitText(".raw .problem", "line 1, column 10: a value is missing")
}

func TestResultsAndResources(t *testing.T) {
	p := kitchenPage(t)
	call(p, "photo")
	p.WaitText(".card", "image/png, 160 × 160")
	p.Button("Read")
	p.WaitText("#detail h2", "menu")
	p.WaitText(".card", "risotto")
	p.Button("Subscribe")
	p.WaitText(".watch", "0 changes")
	p.WaitText("#wire", "notifications/subscriptions/acknowledged")
	p.Click("#tab-tools")
	choose(p, "add_dish")
	p.Type("#detail textarea", "pasta")
	p.Press("\r", browser.Ctrl)
	p.WaitText(".card", "pasta is on the menu.")
	p.Click("#tab-resources")
	choose(p, "menu")
	p.WaitText(".watch", "1 change")
	choose(p, "dish")
	p.Type("#detail textarea", "pa")
	p.WaitText(".proposals", "pasta")
	p.Button("pasta")
	p.Button("Read")
	p.WaitText(".card", `"price": "24 francs"`)
	p.Click("#tab-prompts")
	p.WaitText("#detail h2", "recipe")
	p.Type("#detail textarea", "soup")
	p.Button("Get the prompt")
	p.WaitText(".card .user", "How do I cook soup?")
}

func TestQuestionsAreAnswered(t *testing.T) {
	p := kitchenPage(t)
	call(p, "reserve")
	p.WaitText("dialog[open]", "For whom is the table?")
	p.Button("Accept")
	p.WaitText("dialog .problem", "A number is required.")
	p.Type("dialog textarea", "Ada")
	p.Type("dialog input[inputmode]", "4")
	p.Reload() // the question is still open
	p.WaitText("dialog[open]", "For whom is the table?")
	p.Type("dialog textarea", "Ada")
	p.Type("dialog input[inputmode]", "4")
	p.Press("\r", browser.Ctrl)
	p.Wait("!document.querySelector('dialog').open")
	choose(p, "reserve")
	p.WaitText(".card", "A table for 4 people is reserved for Ada.")

	call(p, "pay")
	p.WaitText("dialog[open]", "https://pay.example.com/orders/7")
	p.Button("Decline")
	p.WaitText(".card", "The guest has chosen: decline")
	p.Button("Call")
	p.WaitText("dialog[open]", "https://pay.example.com/orders/7")
	p.Press(browser.Escape)
	p.WaitText(".card", "The guest has chosen: cancel")

	call(p, "describe")
	p.WaitText("dialog[open]", "Describe the risotto.")
	p.Type("#sampling-text", "It is creamy.")
	p.Button("Send")
	p.WaitText(".card", "The model person has answered: It is creamy.")
	p.Button("Call")
	p.WaitText("dialog[open]", "Describe the risotto.")
	p.Button("Refuse")
	p.WaitText(".card.failed, .card .failed", "rejected")
}

func TestCancelAndTasks(t *testing.T) {
	p := kitchenPage(t)
	choose(p, "cook")
	p.Type("#detail input", "100000")
	p.Button("Call")
	p.WaitText(".card", "of 100000 · step ")
	p.Wait(`document.querySelector(".card progress").value > 0`)
	p.Button("Cancel")
	p.WaitText(".card", "Cancelled")
	p.Click("#tab-log")
	p.WaitText(".log", "cook: the guest has left")
	p.Click("#tab-tools")
	call(p, "bake")
	p.WaitText("#tab-tasks", "1")
	p.Click("#tab-tasks")
	p.WaitText(".card", "completed")
	p.Button("Poll")
	p.WaitText(".outputs .card", `"status": "completed"`)
}

func TestViolationsAreMarked(t *testing.T) {
	p := kitchenPage(t)
	call(p, "invalid")
	p.WaitText("#wire .bar", "1 violation")
	p.Button("1 violation")
	p.Wait(`[...document.querySelectorAll(".message")].filter(m => m.checkVisibility()).length === 1`)
	p.Button("1 violation")
	p.Click(".message.invalid")
	p.WaitText(".details .violation-list", "/result/content/0/text")
	p.WaitText(`.details [data-pointer="/result/content/0/text"].violation`, "expected string, but got number")
	picture(t, p, "inspect.png")
	p.Press(browser.Escape)
}

func TestBothKindsOfRevision(t *testing.T) {
	p := kitchenPage(t)
	p.Button("Compare revisions")
	p.WaitText("#sides", "2025-11-25 · handshake")
	call(p, "reserve")
	for n := range 2 {
		p.WaitText("dialog[open]", "For whom is the table?")
		p.Wait("document.querySelector('dialog textarea').value === ''")
		p.Type("dialog textarea", "Ada")
		p.Type("dialog input[inputmode]", "4")
		p.Button("Accept")
		p.Wait(fmt.Sprintf("document.querySelectorAll('.card.done').length === %d", n+1))
	}
	groups := browser.Value[[]string](p, `[...document.querySelectorAll(".group:last-child .column")].map(c => [...c.querySelectorAll(".method")].map(m => m.textContent).join(" "))`)
	require.Equal(t, []string{"tools/call tools/call tools/call tools/call", "tools/call elicitation/create elicitation/create tools/call"}, groups)
	p.Size(1440, 760)
	picture(t, p, "inspect-revisions.png")
	p.Size(1000, 760)
	require.LessOrEqual(t, browser.Value[int](p, "document.documentElement.scrollWidth"), 1000)
	p.Dark(true)
	require.NotEqual(t, "rgb(255, 255, 255)", browser.Value[string](p, `getComputedStyle(document.querySelector("header")).backgroundColor`))
}

func TestReconnectAfterTheServerDied(t *testing.T) {
	p := kitchenPage(t)
	call(p, "close")
	p.WaitText("#notices", "The server has ended: exit status 3")
	p.WaitText("#notices", "fatal: the kitchen is on fire")
	p.WaitText("#sides", "ended")
	p.Button("Connect again")
	p.WaitText("#sides", "stateless")
	p.Wait(`!document.querySelector("#notices").innerText.includes("exit status")`)
	call(p, "photo")
	p.WaitText(".card", "The dish of the day")
	call(p, "close")
	p.WaitText("#notices", "exit status 3")
	call(p, "photo") // connects again
	p.WaitText("#sides", "stateless")
	p.WaitText(".card", "The dish of the day")
}

func TestManyMessages(t *testing.T) {
	p := kitchenPage(t)
	choose(p, "cook")
	p.Type("#detail input", "10000")
	p.Type(`//label[contains(., "ms")]/..//input`, "0")
	p.Button("Call")
	p.WaitText(".card", "The dish is ready.")
	p.WaitText("#wire .hint", "earlier messages are not shown")
	require.LessOrEqual(t, browser.Value[int](p, `document.querySelectorAll(".message").length`), 1500)
	p.Click("#tab-server")
	p.Button("Disconnect")
	p.WaitText("#notices", "The connection is closed")
	p.Reload()
	p.WaitText("#notices", "The connection is closed")
	p.Button("Connect again")
	p.WaitText("#sides", "stateless")
}

// TestKeyboard uses the page without a mouse.
func TestKeyboard(t *testing.T) {
	p := kitchenPage(t)
	focused := func(want string) {
		t.Helper()
		p.Wait(fmt.Sprintf("document.activeElement.matches(%q)", want))
	}
	until := func(want string) { // presses Tab until an element has the focus
		t.Helper()
		for range 60 {
			if browser.Value[bool](p, fmt.Sprintf("document.activeElement.matches(%q)", want)) {
				return
			}
			p.Press("\t")
		}
		focused(want)
	}
	until("#tab-tools")
	p.Press(browser.Right)
	focused("#tab-resources")
	p.Press(browser.Left)
	p.Press("\r")
	until("#list li button")
	p.Press(browser.End)
	p.Press("\r")
	p.WaitText("#detail h2", "reserve")
	until("#detail .primary")
	p.Press("\r")
	p.WaitText("dialog[open]", "For whom")
	focused("dialog textarea")
	p.Press(browser.Escape)
	p.Wait("!document.querySelector('dialog').open")
	p.WaitText(".card", "The user closed the question without answering.")
	until(".message")
	p.Press(browser.Down)
	p.Press("\r")
	p.WaitText(".details", "Server → client: server/discover")
	require.Empty(t, browser.Value[string](p, `[...document.querySelectorAll("button, input, select, textarea")]
		.filter(e => e.checkVisibility() && !(e.textContent.trim() || e.ariaLabel || e.labels?.length)).map(e => e.outerHTML).join("\n")`), "controls without a label")
}

// TestServerOverHTTP uses a server at a URL that requires a token.
func TestServerOverHTTP(t *testing.T) {
	browser.Find(t)
	handler := streamable.NewHandler(newServer(), nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key-of-the-kitchen" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	url := startPage(t, []string{server.URL}, "MCPWRIGHT_TOKEN=key-of-the-kitchen")
	p := browser.Open(t, 1200, 760)
	p.Go(url)
	p.WaitText("#sides", "2026-07-28 · stateless")
	p.Button("Compare revisions")
	p.WaitText("#sides", "2025-11-25 · handshake")
	call(p, "photo")
	p.Wait("document.querySelectorAll('.card.done').length === 2")
	p.Button("Stop comparing")
	openView(t, p).WaitText("#plate", "1 × soup")
	call(p, "reserve")
	p.WaitText("dialog[open]", "For whom is the table?")
	p.Type("dialog textarea", "Ada")
	p.Type("dialog input[inputmode]", "4")
	p.Button("Accept")
	p.WaitText(".card", "A table for 4 people is reserved for Ada.")
	require.NotContains(t, p.Text(), "key-of-the-kitchen")
}

// TestEverythingServer uses a server that was written elsewhere.
func TestEverythingServer(t *testing.T) {
	browser.Find(t)
	module := filepath.Join(npm.Install(t, "../command/servers"), "node_modules", "@modelcontextprotocol", "server-everything", "dist", "index.js")
	url := start(t, "node", module)
	p := browser.Open(t, 1200, 760)
	p.Go(url)
	p.WaitText("#list", "echo")
	choose(p, "echo")
	p.Type("#detail textarea", "hello")
	p.Button("Call")
	p.WaitText(".card", "Echo: hello")
	call(p, "get-tiny-image")
	p.WaitText(".card", "image/png")
	require.Empty(t, browser.Value[string](p, `document.querySelector(".violations").textContent`))
}
