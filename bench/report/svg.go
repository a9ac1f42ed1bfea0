package report

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"os"
	"strings"

	"github.com/mcpwright/mcp/bench/workload"
)

// The chart has a group of bars for each of these workloads. A group has a bar for each peer in its
// default configuration.
var (
	charted = []string{
		"client and server over a pipe, one call at a time",
		"client and server in one process",
		"stdio server, 2025-11-25, one call at a time",
		"stdio server, 2025-11-25, 64 calls in flight",
		"HTTP server, 2025-11-25 with sessions, connections: 16",
		"HTTP server, 2026-07-28, connections: 16",
		"question to the user inside a call, over a pipe",
		"read 100 tools",
	}
	colours = map[string]string{"floor": "#9aa5b1", "mcpwright": "#1f6feb", "mcp-go": "#d29922", "go-sdk": "#cf5c36"}
)

const (
	width, labels, bars     = 860, 16, 640
	bar, gap, group, legend = 15, 3, 26, 74
)

// WriteSVG draws the chart into a file.
func (t *Table) WriteSVG(path string) error { return os.WriteFile(path, t.svg(), 0o644) }

func (t *Table) svg() []byte {
	var body bytes.Buffer
	y := legend
	for _, r := range t.Rows {
		for _, name := range charted {
			if name == r.Workload {
				y = t.group(&body, r, y)
			}
		}
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" role="img">`+"\n", width, y)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", width, y)
	text(&b, labels, 24, "#1f2328", 15, "One tools/call, or what the line says: shorter is better")
	x := labels
	for _, p := range t.Peers {
		if colours[p.Name] == "" {
			continue
		}
		fmt.Fprintf(&b, `<rect x="%d" y="40" width="12" height="12" fill="%s"/>`+"\n", x, colours[p.Name])
		text(&b, x+17, 50, "#59636e", 12, p.Name)
		x += 40 + 8*len(p.Name)
	}
	text(&b, x+10, 50, "#59636e", 11, fmt.Sprintf("medians of %d rounds, %s, %s, %d CPUs, %s", t.Rounds, t.Go, t.Platform, t.CPUs, t.Date))
	b.Write(body.Bytes())
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// group draws the bars of a workload, scaled to the longest bar, and returns the position of the next
// group.
func (t *Table) group(b *bytes.Buffer, r *Row, y int) int {
	longest := 0.0
	for name := range colours {
		longest = max(longest, r.Cells[name].By(r.By))
	}
	title := r.Workload
	if r.By == workload.CPU {
		title += " (the server's processor time)"
	}
	text(b, labels, y+12, "#1f2328", 12, title)
	y += bar + gap + 1
	for _, p := range t.Peers {
		cell, ok := r.Cells[p.Name]
		if !ok || colours[p.Name] == "" || longest == 0 {
			continue
		}
		long := max(2, int(bars*cell.By(r.By)/longest))
		fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" rx="2" fill="%s"/>`+"\n", labels, y, long, bar, colours[p.Name])
		text(b, labels+long+6, y+12, "#1f2328", 11, t.caption(r, p.Name))
		y += bar + gap
	}
	return y + group - bar
}

// caption returns the figure of a peer and, for other peers, the ratio to this module.
func (t *Table) caption(r *Row, name string) string {
	figure := amount(r.By, r.Cells[name].By(r.By))
	if x, ok := t.ratio(r, name); ok && x > 1.05 {
		figure += fmt.Sprintf(" (%.1fx)", x)
	}
	return figure
}

func text(b *bytes.Buffer, x, y int, colour string, size int, s string) {
	var escaped strings.Builder
	_ = xml.EscapeText(&escaped, []byte(s)) // writing to a Builder cannot fail
	fmt.Fprintf(b, `<text x="%d" y="%d" fill="%s" font-size="%d">%s</text>`+"\n", x, y, colour, size, escaped.String())
}
