// Package report prints the results as a table, a chart and JSON.
package report

import (
	"encoding/json"
	"os"
	"runtime"
	"slices"
	"time"

	"github.com/mcpwright/mcp/bench/peer"
	"github.com/mcpwright/mcp/bench/workload"
)

// A Table has the results of a run.
type Table struct {
	// Date, Go, Platform, CPUs and Rounds describe the run.
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CPUs     int    `json:"cpus"`
	Rounds   int    `json:"rounds"`
	// Peers are the columns: the floor, this module, and the others.
	Peers []Column `json:"peers"`
	// Rows are the workloads.
	Rows []*Row `json:"rows"`
}

// A Column is a peer.
type Column struct {
	// Name is the name of the peer.
	Name string `json:"name"`
	// Arguments describes how the peer handles the arguments of a tool call.
	Arguments string `json:"arguments"`
}

// A Row is a workload with the medians of each peer.
type Row struct {
	// Workload is the name of the workload.
	Workload string `json:"workload"`
	// By is the metric that peers are compared by.
	By workload.Metric `json:"by"`
	// Cells are the medians, by peer.
	Cells map[string]workload.Sample `json:"cells"`
	// Ratios has the ratio of each peer to this module. A ratio is the median of the ratios of
	// each turn, because the machine changes more between turns.
	Ratios map[string]float64 `json:"ratios"`

	samples map[string][]workload.Sample
}

// New returns a table without figures.
func New(at time.Time, rounds int, peers []peer.Peer, workloads []workload.Workload) *Table {
	t := &Table{
		Date: at.Format(time.DateOnly), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		CPUs: runtime.NumCPU(), Rounds: rounds,
	}
	for _, p := range peers {
		t.Peers = append(t.Peers, Column{p.Name(), p.Work()})
	}
	for _, w := range workloads {
		t.Rows = append(t.Rows, &Row{Workload: w.Name, By: w.By, samples: map[string][]workload.Sample{}})
	}
	return t
}

// Add adds a sample of a peer. For all peers, the samples are added in the order of the turns.
func (r *Row) Add(name string, s workload.Sample) { r.samples[name] = append(r.samples[name], s) }

// ComputeMedians computes the cells and ratios of the rows from their samples.
func (t *Table) ComputeMedians() {
	for _, r := range t.Rows {
		r.Cells, r.Ratios = map[string]workload.Sample{}, map[string]float64{}
		for name, list := range r.samples {
			r.Cells[name] = workload.Sample{
				Time:       medianOf(list, func(s workload.Sample) float64 { return s.Time }),
				CPU:        medianOf(list, func(s workload.Sample) float64 { return s.CPU }),
				Bytes:      medianOf(list, func(s workload.Sample) float64 { return s.Bytes }),
				Allocs:     medianOf(list, func(s workload.Sample) float64 { return s.Allocs }),
				Goroutines: medianOf(list, func(s workload.Sample) float64 { return s.Goroutines }),
			}
			if x := r.ratio(name, t.ours()); x > 0 {
				r.Ratios[name] = x
			}
		}
	}
}

// ours returns the name of this module's peer, or "" if it was not measured.
func (t *Table) ours() string {
	if len(t.Peers) < 2 {
		return ""
	}
	return t.Peers[1].Name
}

// ratio compares the samples of a peer with those of another, turn by turn. It returns 0 if there is
// nothing to compare.
func (r *Row) ratio(name, with string) float64 {
	of, to := r.samples[name], r.samples[with]
	var list []float64
	for i := range min(len(of), len(to)) {
		if base := to[i].By(r.By); base > 0 {
			list = append(list, of[i].By(r.By)/base)
		}
	}
	if list == nil {
		return 0
	}
	return median(list)
}

func medianOf(list []workload.Sample, of func(workload.Sample) float64) float64 {
	var values []float64
	for _, s := range list {
		values = append(values, of(s))
	}
	return median(values)
}

func median(values []float64) float64 {
	slices.Sort(values)
	mid := len(values) / 2
	if len(values)%2 == 0 {
		return (values[mid-1] + values[mid]) / 2
	}
	return values[mid]
}

// WriteJSON writes the table to a file.
func (t *Table) WriteJSON(path string) error {
	data, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o644)
}

// ReadJSON reads a file that WriteJSON has written.
func ReadJSON(path string) (*Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := new(Table)
	return t, json.Unmarshal(data, t)
}

// ratio returns the ratio of a peer to this module.
func (t *Table) ratio(r *Row, name string) (float64, bool) {
	_, have := r.Cells[t.ours()]
	x, has := r.Ratios[name]
	return x, have && has
}
