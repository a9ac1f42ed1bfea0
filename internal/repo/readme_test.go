package repo

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

var update = flag.Bool("update", false, "rewrite the tables of the README")

// TestREADMETablesAreFresh makes the README's tables of what is there: of the
// generated tables of methods, and of what was measured last.
func TestREADMETablesAreFresh(t *testing.T) {
	path := filepath.Join(root, "README.md")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	text := string(data)
	text = between(t, text, "revisions", revisionTable())
	text = between(t, text, "bench", benchTable(t))
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		return
	}
	require.Equal(t, text, string(data), "run: go test -run TestREADME ./internal/repo -update")
}

// between replaces what stands between two marks.
func between(t *testing.T, text, name, table string) string {
	marks := regexp.MustCompile(`(?s)(<!-- ` + name + ` -->\n).*?(<!-- end -->)`)
	require.Regexp(t, marks, text)
	return marks.ReplaceAllStringFunc(text, func(old string) string {
		m := marks.FindStringSubmatch(old)
		return m[1] + "\n" + table + "\n" + m[2]
	})
}

// features are what users ask for, each with the method that stands for it.
var features = []struct{ name, method string }{
	{"tools", mcp.MethodCallTool}, {"resources", mcp.MethodReadResource}, {"prompts", mcp.MethodGetPrompt},
	{"completion", mcp.MethodComplete}, {"progress", mcp.MethodProgress}, {"log messages", mcp.MethodLoggingMessage},
	{"asking the client's model", mcp.MethodCreateMessage}, {"asking the user", mcp.MethodElicit}, {"roots", mcp.MethodListRoots},
	{"watching a resource", mcp.MethodSubscribe}, {"one stream for all changes", mcp.MethodSubscriptionsListen},
	{"discovery", mcp.MethodDiscover}, {"answers that may be kept", mcp.MethodListTools}, {"tasks: messages", mcp.MethodGetTask},
}

func revisionTable() string {
	head, rule, hand := "| |", "|---|", "| begins with |"
	for _, r := range mcp.Revisions {
		head += " " + r.Revision.String() + " |"
		rule += ":-:|"
		hand += map[bool]string{true: " handshake |", false: " – |"}[r.Handshake]
	}
	lines := []string{head, rule, hand}
	for _, f := range features {
		line := fmt.Sprintf("| %s, `%s` |", f.name, f.method)
		for _, r := range mcp.Revisions {
			line += " " + cell(f.name, mcp.MethodByName(f.method), r) + " |"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}

// cell says how a revision has a method.
func cell(feature string, m *peer.MethodInfo, r peer.RevisionInfo) string {
	switch {
	case strings.HasPrefix(feature, "answers"):
		return map[bool]string{true: "yes", false: "–"}[m.Cacheable.Has(r.Revision)]
	case m.Embedded.Has(r.Revision):
		return "in answers"
	case m.FromClient.Has(r.Revision) || m.FromServer.Has(r.Revision):
		return "yes"
	}
	return "–"
}

// measured is as much of docs/bench.json as the README shows.
type measured struct {
	Date, Go, Platform string
	CPUs, Rounds       int
	Peers              []struct{ Name, Arguments string }
	Rows               []struct {
		Workload, By string
		Cells        map[string]struct{ Ns, CPUNs, Bytes, Allocs float64 }
	}
}

// benchTable says how many times as much the others take.
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
		by := func(name string) float64 {
			c := row.Cells[name]
			return map[string]float64{"time": c.Ns, "cpu": c.CPUNs, "bytes": c.Bytes}[row.By]
		}
		base := by(m.Peers[ours].Name)
		line := fmt.Sprintf("| %s | %s |", row.Workload, amount(row.By, base))
		for i, p := range m.Peers {
			if x := by(p.Name); i != ours {
				line += " " + cmp.Or(times(x, base), "–") + " |"
			}
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + fmt.Sprintf("\n\n%s, %s, %s, %d CPUs, medians of %d interleaved rounds.\n", m.Date, m.Go, m.Platform, m.CPUs, m.Rounds)
}

func times(x, base float64) string {
	switch {
	case x <= 0 || base <= 0:
		return ""
	case x/base >= 10:
		return fmt.Sprintf("%.0fx", x/base)
	}
	return fmt.Sprintf("%.1fx", x/base)
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
