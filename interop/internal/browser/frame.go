package browser

import (
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Frame waits for a frame with a URL that has a process of its own, as sandboxed frames have, and
// returns the frame as a page.
func (p *Page) Frame(url string) *Page {
	p.t.Helper()
	for deadline := time.Now().Add(Timeout); ; time.Sleep(20 * time.Millisecond) {
		targets, err := chromedp.Targets(p.ctx)
		require.NoError(p.t, err)
		var urls []string
		for _, x := range targets {
			if x.Type == "iframe" && x.URL == url {
				ctx, cancel := chromedp.NewContext(p.ctx, chromedp.WithTargetID(x.TargetID))
				p.t.Cleanup(cancel)
				return &Page{t: p.t, ctx: ctx}
			}
			urls = append(urls, x.Type+" "+x.URL)
		}
		if time.Now().After(deadline) {
			p.t.Fatalf("no frame %q; there are %q", url, urls)
		}
	}
}
