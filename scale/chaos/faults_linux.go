package chaos

import (
	"context"
	"fmt"
	"syscall"
	"time"
)

// fault is a kind of fault. Its function makes a fault and ends it.
type fault struct {
	name string
	make func(r *run, ctx context.Context, s *slot) error
}

var (
	killReplica = fault{"kill", func(r *run, ctx context.Context, s *slot) error {
		s.process.kill()
		r.wait(ctx, r.lease/2, 2*r.lease)
		return r.startReplica(s)
	}}
	pauseReplica = fault{"pause", func(r *run, ctx context.Context, s *slot) error {
		s.process.signal(syscall.SIGSTOP)
		r.wait(ctx, r.lease+r.lease/4, 2*r.lease)
		s.process.signal(syscall.SIGCONT)
		return nil
	}}
	shutDownReplica = fault{"shutdown", func(r *run, ctx context.Context, s *slot) error {
		if !s.process.shutDown(30 * time.Second) {
			return fmt.Errorf("%s did not shut down", s.name)
		}
		r.wait(ctx, 0, r.lease)
		return r.startReplica(s)
	}}
	cutPeers = fault{"cut between replicas", func(r *run, ctx context.Context, s *slot) error {
		r.cut(ctx, s.peers)
		return nil
	}}
	cutEngine = fault{cutFromEngine, func(r *run, ctx context.Context, s *slot) error {
		r.cut(ctx, []*link{s.toEngine})
		return nil
	}}
	cutClients = fault{"cut from the balancer", func(r *run, ctx context.Context, s *slot) error {
		r.cut(ctx, []*link{s.inbound})
		return nil
	}}
	breakConnections = fault{"broken connections of clients", func(r *run, _ context.Context, _ *slot) error {
		r.front.set(linkBreaks)
		r.front.set(linkWorks)
		return nil
	}}
	slowNetwork = fault{"slow network", func(r *run, ctx context.Context, s *slot) error {
		links := append([]*link{s.inbound, s.toEngine}, s.peers...)
		for _, l := range links {
			l.setDelay(50 * time.Millisecond)
		}
		r.wait(ctx, r.lease/2, 2*r.lease)
		for _, l := range links {
			l.setDelay(0)
		}
		return nil
	}}
	stopEngine = fault{"engine stopped", func(r *run, ctx context.Context, _ *slot) error {
		r.engine.pause(true)
		r.wait(ctx, r.lease/2, 5*time.Second)
		r.engine.pause(false)
		return nil
	}}
	killEngine = fault{"engine killed", func(r *run, _ context.Context, _ *slot) error { return r.engine.restart() }}
)

// injectFaults makes one fault after another until ctx ends, and ends them.
func (r *run) injectFaults(ctx context.Context) error {
	r.wait(ctx, r.lease+r.lease/2, 2*r.lease) // replicas take over only after a lease
	var order []int                           // of the faults, each once
	for ctx.Err() == nil {
		if len(order) == 0 {
			order = r.random.Perm(len(r.faults))
		}
		f, s := r.faults[order[0]], r.slots[r.random.IntN(len(r.slots))]
		order = order[1:]
		r.history.record(observation{Kind: failed, Replica: s.name, Text: f.name})
		r.counts[f.name]++
		if err := f.make(r, ctx, s); err != nil {
			return fmt.Errorf("fault %q: %w", f.name, err)
		}
		r.history.record(observation{Kind: healed, Replica: s.name, Text: f.name})
		r.wait(ctx, r.lease/4, r.lease)
	}
	return nil
}

// wait waits for a random time, or until ctx ends.
func (r *run) wait(ctx context.Context, least, most time.Duration) {
	d := least
	if most > least {
		d += time.Duration(r.random.Int64N(int64(most - least)))
	}
	_ = pause(ctx, int(d/time.Millisecond))
}

// cut cuts links for a while.
func (r *run) cut(ctx context.Context, links []*link) {
	state := []linkState{linkBreaks, linkSilent}[r.random.IntN(2)]
	for _, l := range links {
		l.set(state)
	}
	r.wait(ctx, r.lease/2, 2*r.lease)
	for _, l := range links {
		l.set(linkWorks)
	}
}
