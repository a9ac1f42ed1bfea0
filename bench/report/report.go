// Package report shows what was measured: as a table, as a chart, and as JSON.
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

// A Table is the outcome of a run.
type Table struct {
	// Date, Go, Platform, CPUs and Rounds say how it came about.
	Date     string `json:"date"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
	CPUs     int    `json:"cpus"`
	Rounds   int    `json:"rounds"`
	// Peers are the columns, the floor first and our own next.
	Peers []Column `json:"peers"`
	// Rows are the workloads.
	Rows []*Row `json:"rows"`
}

// A Column is a peer.
type Column struct {
	// Name is its name.
	Name string `json:"name"`
	// Arguments says what it does to the arguments of a tool call.
	Arguments string `json:"arguments"`
}

// A Row is a workload with the medians of each peer.
type Row struct {
	// Workload is its name.
	Workload string `json:"workload"`
	// By is what peers are compared by.
	By workload.Metric `json:"by"`
	// Cells are the medians, by peer.
	Cells map[string]workload.Sample `json:"cells"`

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

// Add adds a sample of a peer.
func (r *Row) Add(name string, s workload.Sample) { r.samples[name] = append(r.samples[name], s) }

// Settle makes medians of the samples.
func (t *Table) Settle() {
	for _, r := range t.Rows {
		r.Cells = map[string]workload.Sample{}
		for name, list := range r.samples {
			r.Cells[name] = workload.Sample{
				Time:       median(list, func(s workload.Sample) float64 { return s.Time }),
				CPU:        median(list, func(s workload.Sample) float64 { return s.CPU }),
				Bytes:      median(list, func(s workload.Sample) float64 { return s.Bytes }),
				Allocs:     median(list, func(s workload.Sample) float64 { return s.Allocs }),
				Goroutines: median(list, func(s workload.Sample) float64 { return s.Goroutines }),
			}
		}
	}
}

func median(list []workload.Sample, of func(workload.Sample) float64) float64 {
	var values []float64
	for _, s := range list {
		values = append(values, of(s))
	}
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

// ReadJSON reads what WriteJSON wrote.
func ReadJSON(path string) (*Table, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := new(Table)
	return t, json.Unmarshal(data, t)
}

// ratio is how many times as much as our own a peer takes.
func (t *Table) ratio(r *Row, name string) (float64, bool) {
	ours, have := r.Cells[t.Peers[1].Name]
	theirs, has := r.Cells[name]
	if !have || !has || ours.By(r.By) <= 0 {
		return 0, false
	}
	return theirs.By(r.By) / ours.By(r.By), true
}
