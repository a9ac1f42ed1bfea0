package streamable

import "time"

// clock tells how long it has been running. That costs less than the time of day.
type clock struct{ begun time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() time.Duration { return time.Since(c.begun) }

// pulse makes a stream, or what may become one, show every now and then that it
// is alive. Requests of a session have none: it sees to them, see [session.beat].
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
// before. It is a ring, of which one pulse is nobody's.
type queue struct{ ends pulse }

func (q *queue) init() { q.ends.before, q.ends.after = &q.ends, &q.ends }

// first is the pulse that is due first, nil where there is none.
func (q *queue) first() *pulse { return q.next(&q.ends) }

// next is the pulse after p, nil where there is none.
func (q *queue) next(p *pulse) *pulse {
	if p.after == &q.ends {
		return nil
	}
	return p.after
}

// push puts a pulse at the end.
func (q *queue) push(p *pulse) {
	p.before, p.after = q.ends.before, &q.ends
	p.before.after, q.ends.before = p, p
}

// drop takes a pulse out.
func (q *queue) drop(p *pulse) { p.before.after, p.after.before = p.after, p.before }

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
	if !w.beats {
		w.wake(rate)
	}
}

// wake has somebody look after a while. The lock is held.
func (w *work) wake(after time.Duration) {
	w.beats = true
	if w.timer == nil {
		w.timer = time.AfterFunc(after, w.beat)
	} else {
		w.timer.Reset(after)
	}
}

// beat has all beat that are due, and comes back for the others.
func (w *work) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.now()
	for p := w.open.first(); p != nil && p.due <= now; p = w.open.first() {
		w.open.drop(p)
		w.await(p)
		go p.of.beat() // ends when the client has taken what is sent
	}
	w.beats = false
	if p := w.open.first(); p != nil {
		w.wake(p.due - now)
	}
}
