package report

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/mcpwright/mcp/bench/workload"
)

// Print writes the table as text: the figures of this module, their ratio to the floor, and the ratios
// of the other peers to this module.
func (t *Table) Print(w io.Writer) {
	fmt.Fprintf(w, "medians of %d interleaved rounds, %s, %s, %d CPUs, %s\n\n", t.Rounds, t.Go, t.Platform, t.CPUs, t.Date)
	if len(t.Peers) < 2 {
		return
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := []string{"", "by", t.Peers[1].Name, "allocs", "kB", "of the floor"}
	for _, p := range t.Peers[2:] {
		head = append(head, p.Name)
	}
	fmt.Fprintln(tw, strings.Join(head, "\t")+"\t")
	for _, r := range t.Rows {
		fmt.Fprintln(tw, strings.Join(t.line(r), "\t")+"\t")
	}
	tw.Flush()
	fmt.Fprintln(w, "\nhandling of the arguments of a call:")
	for _, p := range t.Peers {
		fmt.Fprintf(w, "  %-20s %s\n", p.Name, p.Arguments)
	}
}

func (t *Table) line(r *Row) []string {
	line := []string{r.Workload, string(r.By)}
	ours, ok := r.Cells[t.Peers[1].Name]
	if ok {
		line = append(line, amount(r.By, ours.By(r.By)), fmt.Sprintf("%.0f", ours.Allocs), fmt.Sprintf("%.1f", ours.Bytes/1000))
	} else {
		line = append(line, "-", "-", "-")
	}
	floor := "-"
	if x, ok := t.ratio(r, t.Peers[0].Name); ok && x > 0 {
		floor = fmt.Sprintf("%.2fx", 1/x)
	}
	line = append(line, floor)
	for _, p := range t.Peers[2:] {
		cell := "-"
		if theirs, has := r.Cells[p.Name]; has && !ok {
			cell = amount(r.By, theirs.By(r.By))
		} else if x, ok := t.ratio(r, p.Name); ok {
			cell = fmt.Sprintf("%.1fx", x)
		}
		line = append(line, cell)
	}
	return line
}

// PrintCosts compares peers with others. The function without returns the name of the other peer, or ""
// for peers that are not compared.
func (t *Table) PrintCosts(w io.Writer, without func(name string) string) {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\n\tby\tpeer\tratio\tmore\tmore allocs\t")
	for _, r := range t.Rows {
		for _, p := range t.Peers {
			x := r.ratio(p.Name, without(p.Name))
			if x == 0 {
				continue
			}
			with, base := r.Cells[p.Name], r.Cells[without(p.Name)]
			fmt.Fprintf(tw, "%s\t%s\t%s\t%.2fx\t%s\t%.0f\t\n", r.Workload, r.By, p.Name, x,
				amount(r.By, with.By(r.By)-base.By(r.By)), with.Allocs-base.Allocs)
		}
	}
	tw.Flush()
}

// amount formats a figure with its unit.
func amount(m workload.Metric, v float64) string {
	switch {
	case m == workload.Bytes:
		return fmt.Sprintf("%.2f kB", v/1000)
	case v < 1e3:
		return fmt.Sprintf("%.0f ns", v)
	case v < 1e6:
		return fmt.Sprintf("%.2f µs", v/1e3)
	}
	return fmt.Sprintf("%.2f ms", v/1e6)
}
