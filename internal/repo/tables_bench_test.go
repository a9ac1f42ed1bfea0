package repo

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// measured is the part of docs/bench.json that docs/performance.md shows.
type measured struct {
	Date, Go, Platform string
	CPUs, Rounds       int
	Peers              []struct{ Name, Arguments string }
	Rows               []struct {
		Workload, By string
		Cells        map[string]struct{ Ns, CPUNs, Bytes, Allocs float64 }
		Ratios       map[string]float64
	}
}

// benchTable returns the results of the benchmarks: our figures, and how many times as much other
// SDKs take.
func benchTable(t *testing.T) string {
	data, err := os.ReadFile(filepath.Join(root, "docs", "bench.json"))
	require.NoError(t, err)
	var m measured
	require.NoError(t, json.Unmarshal(data, &m))
	const ours = 1 // after the floor
	lines := []string{fmt.Sprintf("| | %s |", m.Peers[ours].Name), "|---|--:|"}
	for i, p := range m.Peers {
		if i != ours {
			lines[0] += " " + p.Name + " |"
			lines[1] += "--:|"
		}
	}
	for _, row := range m.Rows {
		c := row.Cells[m.Peers[ours].Name]
		own := map[string]float64{"time": c.Ns, "cpu": c.CPUNs, "bytes": c.Bytes}[row.By]
		line := fmt.Sprintf("| %s | %s |", row.Workload, amount(row.By, own))
		for i, p := range m.Peers {
			if i != ours {
				line += " " + cmp.Or(times(row.Ratios[p.Name]), "–") + " |"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + fmt.Sprintf("\n\n%s, %s, %s, %d CPUs, medians of %d interleaved rounds.\n", m.Date, m.Go, m.Platform, m.CPUs, m.Rounds)
}

func times(x float64) string {
	switch {
	case x <= 0:
		return ""
	case x >= 10:
		return fmt.Sprintf("%.0fx", x)
	}
	return fmt.Sprintf("%.1fx", x)
}

func amount(by string, v float64) string {
	switch {
	case by == "bytes":
		return fmt.Sprintf("%.1f kB", v/1e3)
	case v < 1e3:
		return fmt.Sprintf("%.0f ns", v)
	case v < 1e6:
		return fmt.Sprintf("%.1f µs", v/1e3)
	}
	return fmt.Sprintf("%.2f ms", v/1e6)
}
