// Package browser runs tests of pages in headless Chromium.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// Timeout limits the wait for a change of a page.
const Timeout = 30 * time.Second

// Keys for [Page.Press].
const (
	Escape = kb.Escape
	Left   = kb.ArrowLeft
	Right  = kb.ArrowRight
	Down   = kb.ArrowDown
	End    = kb.End
)

// Ctrl is an option of [Page.Press].
var Ctrl = chromedp.KeyModifiers(kb.ModifierCtrl)

// names are the names of the program in the packages of systems.
var names = []string{"chromium", "chromium-browser", "google-chrome", "chrome"}

// Page is a page in a browser. Its methods fail the test if something is wrong.
type Page struct {
	t        *testing.T
	ctx      context.Context
	expected atomic.Pointer[string] // a part of errors on the console that the test expects
}

// Open starts a browser with an empty page of a size. It skips the test if Chromium is not installed.
// The test fails if the page writes an error to its console.
func Open(t *testing.T, width, height int64) *Page {
	t.Helper()
	opts := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(Find(t)), chromedp.Flag("font-render-hinting", "none"), chromedp.Flag("hide-scrollbars", true))
	if os.Geteuid() == 0 {
		opts = append(opts, chromedp.NoSandbox) // Chromium refuses to run as root with it
	}
	ctx, stop := chromedp.NewExecAllocator(context.WithoutCancel(t.Context()), opts...)
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		within, done := context.WithTimeout(ctx, Timeout)
		defer done()
		_ = chromedp.Cancel(within) // the browser is killed below
		cancel()
		stop()
	})
	p := &Page{t: t, ctx: ctx}
	p.do(chromedp.EmulateViewport(width, height))
	messages := chromedp.Console(ctx)
	go func() { // ends with the browser
		for m, err := range messages {
			if err != nil {
				return
			}
			if expected := p.expected.Load(); expected != nil && strings.Contains(fmt.Sprint(m), *expected) {
				continue
			}
			if m.IsException() || m.Type == "error" {
				t.Errorf("the page reports: %s", m)
			}
		}
	}()
	return p
}

// Expect allows errors on the console that contain a text.
func (p *Page) Expect(text string) { p.expected.Store(&text) }

// Find returns the path of Chromium. It skips the test if Chromium is not installed.
func Find(t *testing.T) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("Chromium is not installed (package \"chromium\" of most systems)")
	return ""
}

func (p *Page) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, Timeout)
	defer cancel()
	if p.ctx == ctx || chromedp.FromContext(p.ctx).Browser == nil {
		ctx = p.ctx // the first action starts the browser, which ends with the context
	}
	if err := chromedp.Do(ctx, steps...); err != nil {
		p.t.Fatalf("%v\nthe page shows:\n%s", err, p.Text())
	}
}

// Go opens a URL.
func (p *Page) Go(url string) {
	p.t.Helper()
	p.do(chromedp.Navigate(url))
}

// Reload loads the page again.
func (p *Page) Reload() {
	p.t.Helper()
	p.do(chromedp.Reload())
}

// place is the JavaScript of a function that returns the middle of the first visible element that a
// CSS selector or an XPath selects, or null.
const place = `(selector => {
	const found = []
	if (selector.startsWith("//")) {
		const all = document.evaluate(selector, document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null)
		for (let i = 0; i < all.snapshotLength; i++) found.push(all.snapshotItem(i))
	} else {
		found.push(...document.querySelectorAll(selector))
	}
	const element = found.find(e => e.checkVisibility() && !e.disabled)
	if (!element) return null
	element.scrollIntoView({ block: "nearest" })
	guardClick(element)
	const box = element.getBoundingClientRect()
	return [box.x + box.width / 2, box.y + box.height / 2]
})(%q)`

// guardClick is the JavaScript of a function that stops the next click, unless it reaches an element. The
// element may have moved after its place was looked up.
const guardClick = `globalThis.guardClick = element => {
	globalThis.endGuard?.()
	let reached, stop = new AbortController()
	globalThis.endGuard = () => { stop.abort(); return reached }
	for (const type of ["pointerdown", "mousedown", "pointerup", "mouseup", "click"]) {
		addEventListener(type, e => {
			if (type === "pointerdown") reached = e.composedPath().includes(element)
			if (!reached) { e.preventDefault(); e.stopImmediatePropagation() }
		}, { capture: true, signal: stop.signal })
	}
};`

// Click clicks the first visible element that a CSS selector or an XPath selects. If the element moves at
// that moment, it clicks again.
func (p *Page) Click(selector string) {
	p.t.Helper()
	Value[bool](p, guardClick+" true")
	middle := fmt.Sprintf(place, selector)
	for deadline := time.Now().Add(Timeout); ; {
		p.Wait(middle)
		at := Value[[]float64](p, middle)
		if at == nil {
			continue // the element has gone again
		}
		p.do(chromedp.MouseClickXY(at[0], at[1]))
		reached, err := chromedp.Run(p.ctx, chromedp.Evaluate[bool]("globalThis.endGuard ? endGuard() === true : true"))
		if err != nil || reached { // the click may have left the page
			return
		}
		require.Less(p.t, time.Now(), deadline, "%s does not stay at its place", selector)
	}
}

// Button clicks the button with a text.
func (p *Page) Button(text string) {
	p.t.Helper()
	p.Click(fmt.Sprintf(`//button[normalize-space(.)=%q]`, text))
}

// Type replaces the text of an input.
func (p *Page) Type(selector, text string) {
	p.t.Helper()
	p.Click(selector)
	p.Press("a", Ctrl)
	p.Press(text)
}

// Press presses keys of the keyboard.
func (p *Page) Press(keys string, opts ...chromedp.KeyOption) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys, opts...))
}

// Value returns the value of a JavaScript expression.
func Value[T any](p *Page, expression string) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	require.NoError(p.t, err, "evaluate %s", expression)
	return v
}

// Wait waits until a JavaScript expression is true.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	for deadline := time.Now().Add(Timeout); !Value[bool](p, "Boolean("+expression+")"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("timeout: %s\nthe page shows:\n%s", expression, p.Text())
		}
	}
}

// WaitText waits until an element has a text.
func (p *Page) WaitText(selector, text string) {
	p.t.Helper()
	p.Wait(fmt.Sprintf("[...document.querySelectorAll(%q)].some(e => e.innerText.includes(%q))", selector, text))
}

// Text returns the text of the page.
func (p *Page) Text() string {
	text, err := chromedp.Run(p.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// Dark makes the page dark or light.
func (p *Page) Dark(dark bool) {
	p.t.Helper()
	scheme := map[bool]string{true: "dark", false: "light"}[dark]
	_, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}})
	require.NoError(p.t, err)
}

// Size changes the size of the page.
func (p *Page) Size(width, height int64) {
	p.t.Helper()
	p.do(chromedp.EmulateViewport(width, height))
}

// Screenshot returns a picture of the page, in PNG.
func (p *Page) Screenshot() []byte {
	p.t.Helper()
	picture, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	require.NoError(p.t, err)
	return picture
}
