package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/bench/peer"
	"github.com/mcpwright/mcp/bench/workload"
)

// table returns a table of invented figures: the n-th peer takes n microseconds.
func table() *Table {
	t := New(time.Date(2026, 8, 1, 0, 0, 0, 0, time.UTC), 3, peer.All(), workload.All())
	for _, r := range t.Rows {
		for i, p := range t.Peers {
			for _, off := range []float64{0, -500, 7000} {
				v := float64(i+1)*1000 + off
				r.Add(p.Name, workload.Sample{Time: v, CPU: v, Bytes: v, Allocs: float64(i)})
			}
		}
	}
	t.ComputeMedians()
	return t
}

func TestMediansAreShown(t *testing.T) {
	tab := table()
	require.Equal(t, workload.Sample{Time: 2000, CPU: 2000, Bytes: 2000, Allocs: 1}, tab.Rows[0].Cells[tab.Peers[1].Name])
	require.Equal(t, 2.5, median([]float64{4, 1}))

	var out bytes.Buffer
	tab.Print(&out)
	require.Regexp(t, `one call at a time +time +2\.00 µs +1 +2\.0 +2\.00x +1\.5x`, out.String())
	require.Contains(t, out.String(), "validated against the inferred schema")
}

// TestRatiosCompareTheSameTurn uses figures of a machine that becomes slower with each turn.
func TestRatiosCompareTheSameTurn(t *testing.T) {
	tab := New(time.Now(), 1, peer.All(), workload.All()[:1])
	for slow := 1.0; slow < 100; slow *= 3 {
		tab.Rows[0].Add(tab.Peers[0].Name, workload.Sample{Time: slow})
		tab.Rows[0].Add(tab.Peers[1].Name, workload.Sample{Time: 2 * slow})
	}
	tab.Rows[0].Add(tab.Peers[0].Name, workload.Sample{Time: 1}) // from the last turn
	tab.ComputeMedians()
	require.Equal(t, map[string]float64{tab.Peers[0].Name: 0.5, tab.Peers[1].Name: 1}, tab.Rows[0].Ratios)
}

func TestRowsWithoutOursShowFigures(t *testing.T) {
	tab := table()
	delete(tab.Rows[0].Cells, tab.Peers[1].Name)
	var out bytes.Buffer
	tab.Print(&out)
	require.Regexp(t, `one call at a time +time +- +- +- +- +3\.00 µs`, out.String())
}

func TestTableInJSON(t *testing.T) {
	tab, path := table(), filepath.Join(t.TempDir(), "bench.json")
	require.NoError(t, tab.WriteJSON(path))
	again, err := ReadJSON(path)
	require.NoError(t, err)
	for _, r := range tab.Rows {
		r.samples = nil
	}
	require.Equal(t, tab, again)
	_, err = ReadJSON(filepath.Join(t.TempDir(), "absent"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestChartIsWellFormed also checks that every workload of the chart exists.
func TestChartIsWellFormed(t *testing.T) {
	tab, path := table(), filepath.Join(t.TempDir(), "bench.svg")
	require.NoError(t, tab.WriteSVG(path))
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	titles := 0
	for dec := xml.NewDecoder(bytes.NewReader(data)); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if text, ok := token.(xml.CharData); ok {
			for _, name := range charted {
				if bytes.HasPrefix(text, []byte(name)) {
					titles++
				}
			}
		}
	}
	require.Equal(t, len(charted), titles)
}

func TestAmountsHaveUnits(t *testing.T) {
	for want, v := range map[string]float64{"7 ns": 7, "7.00 µs": 7e3, "7.00 ms": 7e6} {
		require.Equal(t, want, amount(workload.Time, v))
	}
	require.Equal(t, "7.00 kB", amount(workload.Bytes, 7e3))
}
