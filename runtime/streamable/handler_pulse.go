package streamable

import "time"

// clock tells how long it has been running. That costs less than the time of day.
type clock struct{ begun time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() time.Duration { return time.Since(c.begun) }

// pulse makes a stream, or what may become one, show every now and then that it
// is alive.
type pulse struct {
	of            beater
	before, after *pulse // in the queue
	due           time.Duration
}

// beater is what has a pulse.
type beater interface {
	// beat is called in a goroutine of its own.
	beat()
}

// queue has pulses in the order in which they are due. Nearly all leave it long
// before.
type queue struct{ first, last *pulse }

// push puts a pulse at the end.
func (q *queue) push(p *pulse) {
	p.before, p.after = q.last, nil
	if q.last == nil {
		q.first = p
	} else {
		q.last.after = p
	}
	q.last = p
}

// drop takes a pulse out.
func (q *queue) drop(p *pulse) {
	if p.before == nil {
		q.first = p.after
	} else {
		p.before.after = p.after
	}
	if p.after == nil {
		q.last = p.before
	} else {
		p.after.before = p.before
	}
}

// await puts a pulse at the end of the queue, and sees to it that somebody looks
// when it is due. One timer is enough for all, for they wait equally long. The
// lock is held.
func (w *work) await(p *pulse) {
	w.open.push(p)
	rate := w.opts.KeepAlive
	if rate < 0 {
		return
	}
	p.due = w.clock.now() + rate
	switch {
	case w.beats:
	case w.timer == nil:
		w.timer = time.AfterFunc(rate, w.beat)
	default:
		w.timer.Reset(rate)
	}
	w.beats = true
}

// beat has all beat that are due, and comes back for the others.
func (w *work) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.now()
	for p := w.open.first; p != nil && p.due <= now; p = w.open.first {
		w.open.drop(p)
		w.await(p)
		go p.of.beat() // ends when the client has taken what is sent
	}
	if w.beats = w.open.first != nil; w.beats {
		w.timer.Reset(w.open.first.due - now)
	}
}
