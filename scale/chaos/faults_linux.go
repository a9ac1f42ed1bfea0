package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// scope is the part of a run that a fault affects. Two faults of one scope are not made together.
type scope int

const (
	ofReplica scope = iota // a replica and its links
	ofEngine               // the engine
)

// fault is a kind of fault. Its function makes a fault and ends it.
type fault struct {
	name  string
	scope scope
	// alone is whether replicas may be without the engine meanwhile, although other replicas have it.
	alone bool
	make  func(in *injector, ctx context.Context, s *slot) error
}

var (
	killReplica = fault{"kill", ofReplica, false, func(in *injector, ctx context.Context, s *slot) error {
		s.process.kill()
		in.wait(ctx, in.lease/2, 2*in.lease)
		return in.startReplica(s)
	}}
	pauseReplica = fault{paused, ofReplica, false, func(in *injector, ctx context.Context, s *slot) error {
		s.process.signal(syscall.SIGSTOP)
		in.wait(ctx, in.lease+in.lease/4, 2*in.lease)
		s.process.signal(syscall.SIGCONT)
		return nil
	}}
	shutDownReplica = fault{"shutdown", ofReplica, false, func(in *injector, ctx context.Context, s *slot) error {
		if !s.process.shutDown(30 * time.Second) {
			return fmt.Errorf("%s did not shut down", s.name)
		}
		in.wait(ctx, 0, in.lease)
		return in.startReplica(s)
	}}
	cutPeers = fault{"cut between replicas", ofReplica, false, func(in *injector, ctx context.Context, s *slot) error {
		in.cut(ctx, s.peers)
		return nil
	}}
	cutEngine = fault{"cut from the engine", ofReplica, true, func(in *injector, ctx context.Context, s *slot) error {
		in.cut(ctx, s.toEngine)
		return nil
	}}
	loseResponses = fault{"responses of the engine lost", ofReplica, true, func(in *injector, ctx context.Context, s *slot) error {
		for _, l := range s.toEngine {
			l.loseEach(2 + in.random.IntN(20))
		}
		in.wait(ctx, in.lease/2, 2*in.lease)
		for _, l := range s.toEngine {
			l.loseEach(0)
		}
		return nil
	}}
	cutClients = fault{"cut from the balancer", ofReplica, false, func(in *injector, ctx context.Context, s *slot) error {
		in.cut(ctx, []*link{s.inbound})
		return nil
	}}
	breakConnections = fault{"broken connections of clients", ofReplica, false, func(in *injector, _ context.Context, _ *slot) error {
		in.front.set(linkBreaks)
		in.front.set(linkWorks)
		return nil
	}}
	slowNetwork = fault{"slow network", ofReplica, false, func(in *injector, ctx context.Context, s *slot) error {
		links := append(append([]*link{s.inbound}, s.toEngine...), s.peers...)
		for _, l := range links {
			l.setDelay(50 * time.Millisecond)
		}
		in.wait(ctx, in.lease/2, 2*in.lease)
		for _, l := range links {
			l.setDelay(0)
		}
		return nil
	}}
	stopEngine = fault{"engine stopped", ofEngine, false, func(in *injector, ctx context.Context, _ *slot) error {
		node := in.random.IntN(in.engine.nodes())
		in.engine.pause(node, true)
		in.wait(ctx, in.lease/2, max(in.lease, 5*time.Second))
		in.engine.pause(node, false)
		return nil
	}}
	killEngine = fault{"engine killed", ofEngine, false, func(in *injector, ctx context.Context, _ *slot) error {
		node := in.random.IntN(in.engine.nodes())
		in.engine.kill(node)
		if in.engine.nodes() > 1 {
			in.wait(ctx, in.lease/2, 2*in.lease)
		}
		return in.engine.start(node)
	}}
	fillEngine = fault{"engine full", ofEngine, false, func(in *injector, ctx context.Context, _ *slot) error {
		if err := in.setFull(true); err != nil {
			return err
		}
		in.wait(ctx, in.lease/2, 2*in.lease)
		return in.setFull(false)
	}}
)

// setFull makes the engine full, or ends that. Other faults of its nodes end before, but the nodes may elect a
// leader at the moment.
func (in *injector) setFull(full bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for {
		attempt, end := context.WithTimeout(ctx, 5*time.Second) // the server may be stopped, and not respond
		err := in.engine.fill(attempt, full)
		end()
		if err == nil || ctx.Err() != nil {
			return err
		}
		_ = pause(ctx, 200)
	}
}

// injector makes one fault after another. A run has several of them.
type injector struct {
	*run
	random *rand.Rand
}

// inject makes faults until ctx ends, and ends them.
func (in *injector) inject(ctx context.Context) error {
	in.wait(ctx, in.lease+in.lease/2, 2*in.lease) // replicas take over only after a lease
	var order []int                               // of the faults, each once
	for ctx.Err() == nil {
		if len(order) == 0 {
			order = in.random.Perm(len(in.faults))
		}
		f := in.faults[order[0]]
		order = order[1:]
		s, end := in.begin(f)
		if end == nil { // another injector has a fault of this scope
			_ = pause(ctx, 100)
			continue
		}
		err := f.make(in, ctx, s)
		end()
		if err != nil {
			return fmt.Errorf("fault %q: %w", f.name, err)
		}
		in.wait(ctx, in.lease/4, in.lease)
	}
	return nil
}

// begin reserves the scope of a fault, and records its begin. The function end records its end. It is nil if the
// scope is not free.
func (in *injector) begin(f fault) (s *slot, end func()) {
	busy := &in.engineBusy
	o := observation{Kind: failed, Text: f.name, Alone: f.alone}
	if f.scope == ofReplica {
		s = in.slots[in.random.IntN(len(in.slots))]
		o.Replica, busy = s.name, &s.busy
	}
	// In an engine of several nodes, some replicas may reach a leader before others do.
	if in.replicated && (f.scope == ofEngine || in.embedded) {
		o.Replica, o.Alone = "", true
	}
	if !busy.TryLock() {
		return nil, nil
	}
	in.count(f.name)
	in.history.record(o)
	o.Kind = healed
	return s, func() {
		in.history.record(o)
		busy.Unlock()
	}
}

// wait waits for a random time, or until ctx ends.
func (in *injector) wait(ctx context.Context, least, most time.Duration) {
	d := least
	if most > least {
		d += time.Duration(in.random.Int64N(int64(most - least)))
	}
	_ = pause(ctx, int(d/time.Millisecond))
}

// cut cuts links for a while.
func (in *injector) cut(ctx context.Context, links []*link) {
	state := []linkState{linkBreaks, linkSilent}[in.random.IntN(2)]
	for _, l := range links {
		l.set(state)
	}
	in.wait(ctx, in.lease/2, 2*in.lease)
	for _, l := range links {
		l.set(linkWorks)
	}
}
