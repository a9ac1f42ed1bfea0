package dispatch

import (
	"sync"
	"sync/atomic"
)

// gate is what everything goes through that a handler sends while it handles a
// message. It is shut when the handler returns; nothing that belongs to the
// message follows its answer.
//
// mu is held while something is being written: by one writer of reports, so
// that they leave in the order in which they were judged, by all others
// together. No other lock is taken under it but those of the way out, which in
// process is the caller's callback and the table that its clock is in.
type gate struct {
	mu       sync.RWMutex
	stage    atomic.Int32
	reported bool
	last     float64
}

// The stages of a gate.
const (
	unused int32 = iota // there is nobody to wait for
	used
	shut
)

// enter reports whether something may go out. If so, leave comes after it.
func (g *gate) enter() bool {
	g.use()
	g.mu.RLock()
	return g.admit()
}

// tryEnter is enter that does not wait: it is false, too, where that would have
// to.
func (g *gate) tryEnter() bool {
	g.use()
	return g.mu.TryRLock() && g.admit()
}

// use comes before the lock is taken.
func (g *gate) use() { g.stage.CompareAndSwap(unused, used) }

// admit is the rest of enter.
func (g *gate) admit() bool {
	if g.stage.Load() == shut {
		g.mu.RUnlock()
		return false
	}
	return true
}

func (g *gate) leave() { g.mu.RUnlock() }

// open reports whether something may go out now.
func (g *gate) open() bool {
	if !g.enter() {
		return false
	}
	g.leave()
	return true
}

// report calls send unless the gate is shut or done does not go beyond what was
// reported before.
func (g *gate) report(done float64, send func() error) error {
	g.use()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.stage.Load() == shut || g.reported && done <= g.last {
		return nil
	}
	if err := send(); err != nil {
		return err
	}
	g.reported, g.last = true, done
	return nil
}

// shut waits for what is being written and lets nothing more through.
func (g *gate) shut() {
	if !g.stage.CompareAndSwap(unused, shut) {
		g.mu.Lock()
		g.stage.Store(shut)
		g.mu.Unlock()
	}
}

// mute lets nothing more through and waits for nobody.
func (g *gate) mute() { g.stage.Store(shut) }
