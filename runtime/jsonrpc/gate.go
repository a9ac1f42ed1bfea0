package jsonrpc

import (
	"sync"
	"sync/atomic"
)

// gate is what everything goes through that a handler sends while it handles a
// message. It is shut when the handler returns; nothing that belongs to the
// message follows its answer. Most handlers send nothing: what it takes to wait for
// one that does is made when one does.
type gate struct{ path atomic.Pointer[path] }

// path is what leads through a gate.
//
// mu is held while something is being written: by one writer of reports, so
// that they leave in the order in which they were judged, by all others
// together. No other lock is taken under it but those of the way out, which in
// process is the caller's callback and the table that its clock is in.
type path struct {
	mu       sync.RWMutex
	shut     atomic.Bool
	reported bool
	last     float64
}

// nowhere is the path of every gate that was shut before anything went through.
var nowhere = func() *path {
	p := new(path)
	p.shut.Store(true)
	return p
}()

// use comes before anything goes through.
func (g *gate) use() *path {
	p := g.path.Load()
	if p == nil {
		if made := new(path); g.path.CompareAndSwap(nil, made) {
			return made
		}
		p = g.path.Load()
	}
	return p
}

// enter reports whether something may go out. If so, leave comes after it.
func (g *gate) enter() bool {
	p := g.use()
	p.mu.RLock()
	return p.admit()
}

// tryEnter is enter that does not wait: it is false, too, where that would have
// to.
func (g *gate) tryEnter() bool {
	p := g.use()
	return p.mu.TryRLock() && p.admit()
}

// admit is the rest of enter.
func (p *path) admit() bool {
	if p.shut.Load() {
		p.mu.RUnlock()
		return false
	}
	return true
}

func (g *gate) leave() { g.path.Load().mu.RUnlock() }

// open reports whether something may go out now.
func (g *gate) open() bool {
	p := g.path.Load()
	return p == nil || !p.shut.Load()
}

// report calls send unless the gate is shut or done does not go beyond what was
// reported before.
func (g *gate) report(done float64, send func() error) error {
	p := g.use()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shut.Load() || p.reported && done <= p.last {
		return nil
	}
	if err := send(); err != nil {
		return err
	}
	p.reported, p.last = true, done
	return nil
}

// shut waits for what is being written and lets nothing more through.
func (g *gate) shut() {
	if !g.path.CompareAndSwap(nil, nowhere) {
		p := g.path.Load()
		p.mu.Lock()
		p.shut.Store(true)
		p.mu.Unlock()
	}
}

// mute lets nothing more through and waits for nobody.
func (g *gate) mute() {
	if !g.path.CompareAndSwap(nil, nowhere) {
		g.path.Load().shut.Store(true)
	}
}
