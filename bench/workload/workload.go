// Package workload has the workloads that the SDKs are measured with.
package workload

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/peer"
)

// A Workload is a row of the table.
type Workload struct {
	// Name is the name in tables.
	Name string
	// By is the metric that peers are compared by.
	By Metric
	// Size is the number of operations of a run, or 0 for the number that fits into the time.
	Size int
	// Open sets up a peer. It returns peer.ErrUnsupported if the peer does not support the workload.
	Open func(ctx context.Context, p peer.Peer) (*Subject, error)
}

// Metric names a figure of a Sample.
type Metric string

const (
	// Time is the time from one operation to the next.
	Time Metric = "time"
	// CPU is the processor time of the process under test.
	CPU Metric = "cpu"
	// Bytes is the memory allocated, or the memory in use for workloads of idle sessions.
	Bytes Metric = "bytes"
)

// A Subject is a peer set up for a workload.
type Subject struct {
	// Run runs n operations.
	Run func(n int) (Sample, error)
	// Apart reports whether the peer runs in a process of its own, so that other peers may be set up at
	// the same time.
	Apart bool
	// Close ends the peer.
	Close func()
}

// A Sample is the cost of one operation.
type Sample struct {
	// Time and CPU are in nanoseconds.
	Time float64 `json:"ns"`
	// CPU is zero if it was not measured.
	CPU float64 `json:"cpuNs,omitzero"`
	// Bytes counts the bytes allocated, or in use.
	Bytes float64 `json:"bytes"`
	// Allocs counts allocations, or objects in use.
	Allocs float64 `json:"allocs"`
	// Goroutines counts the goroutines of idle sessions.
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
	for _, list := range [][]Workload{pairs(), lines(), posts(), codecs(), idle(), fanout(), starts()} {
		all = append(all, list...)
	}
	return all
}

// used returns the cost per operation between two measurements.
func used(n int, wall time.Duration, before, after child.Stats) Sample {
	per := float64(n)
	return Sample{
		Time:   float64(wall) / per,
		CPU:    float64(after.CPU-before.CPU) / per,
		Bytes:  float64(after.Bytes-before.Bytes) / per,
		Allocs: float64(after.Allocs-before.Allocs) / per,
	}
}

// measureHere measures do in this process.
func measureHere(n int, do func() error) (Sample, error) {
	before, start := child.Self(), time.Now()
	err := do()
	wall := time.Since(start)
	return used(n, wall, before, child.Self()), err
}

// measureChild measures the work of a child while do runs.
func measureChild(c *child.Child, n int, do func() error) (Sample, error) {
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

// repeat calls a function n times, with up to parallel concurrent calls, and stops at the first error.
func repeat(n, parallel int, do func() error) error {
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
		wg.Go(func() { // returns after the last call
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
