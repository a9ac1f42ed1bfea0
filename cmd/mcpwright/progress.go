package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/terminal"
	"github.com/mcpwright/mcp/runtime/peer"
)

// progressBar shows the progress of a call in one line of a terminal.
type progressBar struct {
	out   *terminal.Output
	mu    sync.Mutex
	shown bool
}

// barWidth is the number of characters of a full bar.
const barWidth = 24

// show replaces the line.
func (b *progressBar) show(p peer.Progress) {
	text := fmt.Sprintf("%v", p.Progress)
	if p.Total != nil && *p.Total > 0 {
		done := int(min(max(p.Progress / *p.Total, 0), 1) * barWidth)
		text = "[" + strings.Repeat("=", done) + strings.Repeat(" ", barWidth-done) + "] " + fmt.Sprintf("%v/%v", p.Progress, *p.Total)
	}
	if p.Message != "" {
		text += "  " + p.Message
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shown = true
	b.out.Control("\r\x1b[K" + b.out.Line(text))
}

// clear removes the line.
func (b *progressBar) clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		b.out.Control("\r\x1b[K")
		b.shown = false
	}
}
