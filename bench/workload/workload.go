// Package workload has what the SDKs are asked to do while they are measured.
package workload

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/peer"
)

// A Workload is one thing that every peer is measured at.
type Workload struct {
	// Name is how tables call it.
	Name string
	// By is what peers are compared by.
	By Metric
	// Size is how many operations a run has; 0 is as many as fit into the
	// time.
	Size int
	// Open sets a peer up. The error is peer.ErrUnsupported where the peer
	// has nothing for the workload.
	Open func(ctx context.Context, p peer.Peer) (*Subject, error)
}

// Metric is one column of what is measured.
type Metric string

const (
	// Time is the time from one operation to the next.
	Time Metric = "time"
	// CPU is the processor time of the process under test.
	CPU Metric = "cpu"
	// Bytes is the memory allocated, or kept where the operation is to exist.
	Bytes Metric = "bytes"
)

// A Subject is a peer set up for a workload.
type Subject struct {
	// Run does so many operations.
	Run func(n int) (Sample, error)
	// Apart tells that the peer works in a process of its own, where it does not
	// matter which others are set up.
	Apart bool
	// Close ends it.
	Close func()
}

// A Sample is the cost of one operation.
type Sample struct {
	// Time and CPU are in nanoseconds.
	Time float64 `json:"ns"`
	// CPU is zero where it was not measured.
	CPU float64 `json:"cpuNs,omitzero"`
	// Bytes and Allocs are what was allocated, or what is kept.
	Bytes float64 `json:"bytes"`
	// Allocs counts allocations, or objects kept.
	Allocs float64 `json:"allocs"`
	// Goroutines counts those that are kept.
	Goroutines float64 `json:"goroutines,omitzero"`
}

// By returns one metric of the sample.
func (s Sample) By(m Metric) float64 {
	switch m {
	case CPU:
		return s.CPU
	case Bytes:
		return s.Bytes
	}
	return s.Time
}

// All lists the workloads in the order of the table.
func All() []Workload {
	var all []Workload
	for _, list := range [][]Workload{pairs(), lines(), posts(), codecs(), idle(), fanout()} {
		all = append(all, list...)
	}
	return all
}

// used is the cost per operation of what happened between two looks.
func used(n int, wall time.Duration, before, after child.Stats) Sample {
	per := float64(n)
	return Sample{
		Time:   float64(wall) / per,
		CPU:    float64(after.CPU-before.CPU) / per,
		Bytes:  float64(after.Bytes-before.Bytes) / per,
		Allocs: float64(after.Allocs-before.Allocs) / per,
	}
}

// here measures what do does in this process.
func here(n int, do func() error) (Sample, error) {
	before, start := child.Self(), time.Now()
	err := do()
	wall := time.Since(start)
	return used(n, wall, before, child.Self()), err
}

// there measures what do makes a child do.
func there(c *child.Child, n int, do func() error) (Sample, error) {
	before, err := c.Stats(false)
	if err != nil {
		return Sample{}, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return Sample{}, err
	}
	wall := time.Since(start)
	after, err := c.Stats(false)
	return used(n, wall, before, after), err
}

// times does something n times, so many at a time, and stops at the first
// error.
func times(n, parallel int, do func() error) error {
	if parallel == 1 {
		for range n {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	}
	var begun atomic.Int64
	var failed atomic.Pointer[error]
	var wg sync.WaitGroup
	for range parallel {
		wg.Go(func() { // ends when n are done
			for failed.Load() == nil && begun.Add(1) <= int64(n) {
				if err := do(); err != nil {
					failed.CompareAndSwap(nil, &err)
				}
			}
		})
	}
	wg.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}
