package streamable

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"
)

// stream is a sequence of events of a session, whichever HTTP responses carry
// it: that of the POST it belongs to, and those of the GETs that come for the
// rest. A nil stream keeps nothing.
type stream struct {
	session  *session
	response *response     // of the POST that began it, nil for the one of no request
	out      *eventWriter  // to the response, set before the stream can be found
	parted   chan struct{} // closed when its handler ends the response early, nil where it cannot

	mu        sync.Mutex // taken after the response's
	number    uint64
	begun     bool
	isOver    bool
	seq       uint64 // of the last event
	delivered uint64 // of the last event that was sent to anyone
	changed   chan struct{}
	turn      int  // counts who has followed the stream
	followed  bool // by the one whose turn it is
}

// begin begins the stream, and tells the id of its start where the client is to
// be told.
func (st *stream) begin(out *eventWriter) (id string, primed bool) {
	if st == nil {
		return "", false
	}
	st.out = out
	number := st.session.open(st)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.number, st.begun = number, true
	return eventID(number, 0), st.session.primes()
}

// pollable tells whether the stream may go on without its response.
func (st *stream) pollable() bool { return st != nil && st.parted != nil && st.session.primes() }

// keep keeps a message and returns the id of its event.
func (st *stream) keep(ctx context.Context, data []byte) (id string, kept bool) {
	if st == nil {
		return "", false
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.isOver || !st.begun || st.session.forgotten.Load() {
		return "", false // nobody knows of the stream, or will come for more
	}
	st.seq++
	e := Event{Session: st.session.id, Stream: st.number, Seq: st.seq, Data: bytes.Clone(data)}
	o := &st.session.handler.opts
	if err := o.Events.Append(ctx, e); err != nil {
		o.Logger.WarnContext(ctx, "event could not be kept", "session", e.Session, "error", err)
		if st.number == 0 {
			st.seq-- // it reaches nobody; elsewhere the gap tells that something is missing
		}
		return "", false
	}
	if st.session.forgotten.Load() { // perhaps too early for this one
		st.session.forget(context.WithoutCancel(ctx))
		return "", false
	}
	st.wake()
	return eventID(e.Stream, e.Seq), true
}

// end tells that nothing comes any more.
func (st *stream) end() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.isOver {
		return
	}
	st.isOver = true
	st.wake()
	if st.number != 0 {
		st.session.close(st.number)
	}
}

// giveUp tells that no answer will be on the stream.
func (st *stream) giveUp() {
	if st == nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.begun {
		st.session.giveUp(st.number)
	}
}

// wake wakes the follower. The lock is held.
func (st *stream) wake() {
	if st.changed != nil {
		close(st.changed)
		st.changed = nil
	}
}

// rouse makes the follower look whether there is something to do.
func (st *stream) rouse() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.wake()
}

// state tells a follower where the stream is, and what to wait for until it
// changes: nothing where somebody else follows it now.
func (st *stream) state(turn int) (seq uint64, isOver bool, changed <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.turn != turn {
		return 0, true, nil
	}
	if st.changed == nil {
		st.changed = make(chan struct{})
	}
	return st.seq, st.isOver, st.changed
}

// claim makes the caller the one who follows the stream. Another one before has
// to go, or else the claim fails.
func (st *stream) claim(takeOver bool) (turn int, ok bool) {
	if st.response != nil {
		st.out.abandon()
		st.response.leave() // which is sent to one client at a time
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.followed && !takeOver {
		return 0, false
	}
	st.turn++
	st.followed = true
	st.wake()
	return st.turn, true
}

// release takes back a claim.
func (st *stream) release(turn int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.turn == turn {
		st.followed = false
	}
}

// position tells the numbers of the last event, and of the last that was sent to
// anyone.
func (st *stream) position() (last, delivered uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.seq, st.delivered
}

// deliver notes what has been sent.
func (st *stream) deliver(seq uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.delivered = max(st.delivered, seq)
}

// eventID names an event. It is unique in its session.
func eventID(stream, seq uint64) string {
	return strconv.FormatUint(stream, 10) + "-" + strconv.FormatUint(seq, 10)
}

// parseEventID reads what eventID writes.
func parseEventID(id string) (stream, seq uint64, ok bool) {
	a, b, _ := strings.Cut(id, "-")
	stream, errA := strconv.ParseUint(a, 10, 64)
	seq, errB := strconv.ParseUint(b, 10, 64)
	return stream, seq, errA == nil && errB == nil && eventID(stream, seq) == id
}
