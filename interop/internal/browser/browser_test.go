package browser_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/interop/internal/browser"
)

// TestClickOfElementThatMoves clicks a button that moves after its place was looked up. Another element is
// then at that place.
func TestClickOfElementThatMoves(t *testing.T) {
	p := browser.Open(t, 400, 300)
	p.Go(`data:text/html,<p style="margin:0;height:0"></p><button>press</button>`)
	require.True(t, browser.Value[bool](p, `
		globalThis.clicks = [];
		const button = document.querySelector("button"), above = document.querySelector("p");
		let looks = 0;
		button.getBoundingClientRect = function() {
			const box = Element.prototype.getBoundingClientRect.call(this);
			if (++looks == 2) above.style.height = "90px";
			return box;
		};
		for (const e of [above, button]) e.addEventListener("click", () => clicks.push(e.tagName));
		true`))
	p.Click("button")
	require.Equal(t, []string{"BUTTON"}, browser.Value[[]string](p, "clicks"))
}
