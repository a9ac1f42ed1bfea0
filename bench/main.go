// Command bench measures SDKs of the Model Context Protocol side by side.
//
//	go run . [-run 'HTTP|pipe'] [-rounds 6] [-time 300ms] [-out ../docs]
//	go run . -telemetry
//
// The peers run each workload in turn, several times, so that disturbances of the machine affect all
// of them. Servers that run in their own processes take turns of a few milliseconds. The table shows
// medians. Each peer runs the same handler and sends the same bytes. The driver of a server is not
// part of any SDK. Logging and compression are off.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"time"

	"github.com/mcpwright/mcp/bench/child"
	"github.com/mcpwright/mcp/bench/peer"
	"github.com/mcpwright/mcp/bench/report"
	"github.com/mcpwright/mcp/bench/workload"
)

func main() {
	child.Main()
	var o options
	run, only := flag.String("run", "", "the workloads, as a regular expression"), flag.String("peers", "", "the peers, as a regular expression")
	flag.IntVar(&o.rounds, "rounds", 6, "how often each workload is run")
	flag.DurationVar(&o.time, "time", 300*time.Millisecond, "how long a run takes")
	flag.BoolVar(&o.telemetry, "telemetry", false, "measure what telemetry costs instead")
	out := flag.String("out", "", "write bench.json and bench.svg into this folder")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := o.choose(*run, *only)
	if err == nil {
		err = o.measureAndReport(ctx, *out)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	telemetry bool
	rounds    int
	time      time.Duration
	workloads []workload.Workload
	peers     []peer.Peer
}

// choose keeps the selected workloads and peers. The floor is always measured.
func (o *options) choose(run, only string) error {
	which, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	who, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	workloads, peers := workload.All(), peer.All()
	if o.telemetry {
		workloads, peers = workload.Telemetry(), peer.Traced()
	}
	for _, w := range workloads {
		if which.MatchString(w.Name) {
			o.workloads = append(o.workloads, w)
		}
	}
	for i, p := range peers {
		if i == 0 || who.MatchString(p.Name()) {
			o.peers = append(o.peers, p)
		}
	}
	return nil
}

func (o *options) measureAndReport(ctx context.Context, out string) error {
	t := report.New(time.Now(), o.rounds, o.peers, o.workloads)
	r := runner{time: o.time, sizes: map[string]int{}}
	for round := range o.rounds {
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, o.rounds)
		for i, w := range o.workloads {
			if err := r.measure(ctx, w, o.peers, t.Rows[i].Add); err != nil {
				return err
			}
		}
	}
	t.ComputeMedians()
	t.Print(os.Stdout)
	if o.telemetry {
		t.PrintCosts(os.Stdout, peer.WithoutTelemetry)
	}
	if out == "" {
		return nil
	}
	return errors.Join(t.WriteJSON(filepath.Join(out, "bench.json")), t.WriteSVG(filepath.Join(out, "bench.svg")))
}

// A runner runs workloads. It stores how many operations fit into the time.
type runner struct {
	time  time.Duration
	sizes map[string]int
}

const (
	timeout     = 5 * time.Minute // of one workload with all peers
	turns       = 6               // number of turns of each peer with its own process
	warmupTurns = 3               // number of turns until the memory of a peer no longer grows
)

// A contender is a peer set up for a workload.
type contender struct {
	name string
	*workload.Subject
	size int // number of operations of a turn
}

// measure runs a workload with all peers and adds the costs to the table. Peers that run in their own
// processes take turns. Other peers are set up one after another, because they share a heap.
func (r *runner) measure(ctx context.Context, w workload.Workload, peers []peer.Peer, add func(name string, s workload.Sample)) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var all []contender
	defer func() {
		for _, c := range all {
			c.Close()
		}
	}()
	for _, p := range peers {
		c, err := r.open(ctx, w, p)
		switch {
		case errors.Is(err, peer.ErrUnsupported):
			continue
		case err == nil && c.Apart:
			all = append(all, c)
			continue
		case err == nil:
			err = c.take(add)
			c.Close()
		}
		if err != nil {
			return fmt.Errorf("%s, %s: %w", w.Name, p.Name(), err)
		}
	}
	for range turns {
		for _, c := range all {
			if err := c.take(add); err != nil {
				return fmt.Errorf("%s, %s: %w", w.Name, c.name, err)
			}
		}
	}
	return nil
}

// open sets up a peer and warms it up.
func (r *runner) open(ctx context.Context, w workload.Workload, p peer.Peer) (contender, error) {
	s, err := w.Open(ctx, p)
	if err != nil {
		return contender{}, err
	}
	c := contender{p.Name(), s, w.Size}
	if c.size == 0 {
		c.size, err = r.size(w.Name+c.name, s)
	}
	if err != nil {
		c.Close()
	}
	return c, err
}

// take runs one turn.
func (c contender) take(add func(name string, s workload.Sample)) error {
	s, err := c.Run(c.size)
	if err == nil {
		add(c.name, s)
	}
	return err
}

// size warms a subject up and returns the number of operations of a turn.
func (r *runner) size(key string, s *workload.Subject) (int, error) {
	if n := r.sizes[key]; n > 0 {
		_, err := s.Run(warmupTurns * n)
		return n, err
	}
	whole := float64(r.time)
	if s.Apart {
		whole /= turns
	}
	for n := 1; ; n *= 4 {
		got, err := s.Run(n)
		if err != nil {
			return 0, err
		}
		if float64(n)*got.Time > float64(r.time)/8 {
			r.sizes[key] = max(1, int(whole/got.Time))
			return r.sizes[key], nil
		}
	}
}
