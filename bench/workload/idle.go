package workload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/httpload"
	"github.com/mcpwright/mcp/bench/peer"
)

// idle measures sessions without requests.
func idle() []Workload {
	return []Workload{
		{"10,000 sessions over HTTP that have just begun, each", Bytes, 10_000, sessions(false, 0)},
		{"10,000 idle sessions over HTTP, each", Bytes, 10_000, sessions(false, idleness)},
		{"10,000 idle sessions with a GET stream, each", Bytes, 10_000, sessions(true, idleness)},
	}
}

// idleness is the time without requests after which a session is idle. Servers may release memory that
// an idle session does not need.
const idleness = 3 * time.Second

func sessions(stream bool, quiet time.Duration) func(context.Context, peer.Peer) (*Subject, error) {
	return func(_ context.Context, p peer.Peer) (*Subject, error) {
		if p == peer.All()[0] && !stream {
			return nil, peer.ErrUnsupported // the floor has no sessions
		}
		c, err := child.HTTP(p.Name(), peer.Stateful)
		if err != nil {
			return nil, err
		}
		o := &opener{address: c.Address, stream: stream}
		return &Subject{
			Run:   func(n int) (Sample, error) { return kept(c, n, quiet, func() error { return o.open(n) }) },
			Close: func() { o.close(); _ = c.Close() },
		}, nil
	}
}

// kept measures the memory that a child still uses some time after do.
func kept(c *child.Child, n int, quiet time.Duration, do func() error) (Sample, error) {
	before, err := c.Stats(true)
	if err != nil {
		return Sample{}, err
	}
	start := time.Now()
	if err := do(); err != nil {
		return Sample{}, err
	}
	wall := time.Since(start)
	time.Sleep(quiet)
	after, err := c.Stats(true)
	per := float64(n)
	return Sample{
		Time:       float64(wall) / per,
		CPU:        float64(after.CPU-before.CPU) / per,
		Bytes:      (float64(after.Heap+after.Stacks) - float64(before.Heap+before.Stacks)) / per,
		Allocs:     (float64(after.Objects) - float64(before.Objects)) / per,
		Goroutines: float64(after.Goroutines-before.Goroutines) / per,
	}, err
}

// An opener opens sessions over one connection, and optionally a stream for each session. A session can
// also subscribe to a resource.
type opener struct {
	address   string
	stream    bool
	subscribe bool
	conns     []*httpload.Conn
	streams   []*httpload.Conn
	header    []string // of the last session
}

// call returns a request of the last session.
func (o *opener) call(body string) []byte { return httpload.Post(o.address, body, o.header...) }

func (o *opener) open(n int) error {
	c, err := o.dial()
	if err != nil {
		return err
	}
	for range n {
		if o.header, err = session(c, o.address, peer.Stateful); err != nil {
			return err
		}
		if !o.stream {
			continue
		}
		g, err := o.dial()
		if err != nil {
			return err
		}
		if err := g.Write(httpload.Get(o.address, o.header...)); err != nil {
			return err
		}
		if _, err := g.Header(); err != nil {
			return err
		}
		if g.Status != 200 {
			return fmt.Errorf("status %d of a GET stream", g.Status)
		}
		o.streams = append(o.streams, g)
		if !o.subscribe {
			continue
		}
		if body, err := c.Do(o.call(peer.Subscribe)); err != nil || c.Status != 200 {
			return errors.Join(err, fmt.Errorf("subscribe: status %d, body %s", c.Status, body))
		}
	}
	return nil
}

func (o *opener) dial() (*httpload.Conn, error) {
	c, err := httpload.Dial(o.address)
	if err == nil {
		o.conns = append(o.conns, c)
	}
	return c, err
}

func (o *opener) close() {
	for _, c := range o.conns {
		_ = c.Close()
	}
}
