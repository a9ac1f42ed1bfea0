package streamable

import (
	"bytes"
	"context"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/streamable/internal/sse"
)

// stream is a sequence of numbered events of a session. The events are sent on the HTTP
// response to the POST request that began the stream, or on responses to the GET
// requests that resume it. A nil stream stores nothing.
type stream struct {
	session  *session
	response *response      // to the POST request; nil for the standalone stream
	out      *sse.Writer    // of the response; set before the stream is added to the session
	shared   *sharedRequest // nil without [Options].Sharing, and for the standalone stream
	detached chan struct{}  // closed when a handler ends the HTTP response early; nil if it cannot

	storing writeLock // locked after the lock of the response; held while an event is stored, which may take long
	log     *eventLog // of the session, if events are stored in memory; nil before the first one; guarded by storing

	mu        sync.Mutex // locked after storing; guards the fields below
	number    uint64
	opened    bool
	ended     bool
	lastSeq   uint64        // number of the last event
	last      []byte        // data of the last event if it is short and stored in memory, or nil: its follower need not look for it
	delivered uint64        // number of the last event that was sent
	changed   chan struct{} // has an element if the follower has more to do; nil if there is none
	follower  int           // id of the last follower
	followed  bool          // the last follower has not ended
}

// open adds the stream to its session. It returns the id of the start of the stream,
// and whether that must be sent to the client.
func (st *stream) open(out *sse.Writer) (id string, hasStartEvent bool) {
	if st == nil {
		return "", false
	}
	st.out = out
	number := st.session.addStream(st)
	st.mu.Lock()
	defer st.mu.Unlock()
	st.number, st.opened = number, true
	return eventID(number, 0, st.shared.idSuffix()), st.session.writesStartEvents()
}

// canDetach reports whether the stream can continue without its HTTP response.
func (st *stream) canDetach() bool {
	return st != nil && st.detached != nil && st.session.writesStartEvents()
}

// store stores a message and returns the id of its event. The id is empty for the standalone stream,
// whose follower makes it. Data is copied, unless it never changes.
func (st *stream) store(ctx context.Context, data []byte, unchanging bool) (id string, stored bool) {
	if st == nil {
		return "", false
	}
	st.storing.Lock()
	defer st.storing.Unlock()
	e, ok := st.nextEvent()
	if !ok {
		return "", false // the client does not know the stream, or cannot resume it
	}
	if e.Data = data; !unchanging {
		e.Data = bytes.Clone(data)
	}
	o := &st.session.handler.opts
	memory, inMemory := o.Events.(*MemoryStore)
	var err error
	if inMemory {
		st.log, err = memory.appendTo(st.log, &e)
	} else {
		err = o.Events.Append(ctx, e)
	}
	if err != nil {
		o.Logger.WarnContext(ctx, "could not store event", "session", e.Session, "error", err)
		if e.Stream != 0 {
			// A gap shows that a message is missing. On the standalone stream, the client does
			// not get the message, and the next one has its number.
			st.skip(e.Seq)
		}
		return "", false
	}
	if st.session.eventsDeleted.Load() { // the events may have been deleted before this one was stored
		st.session.deleteEvents(context.WithoutCancel(ctx))
		return "", false
	}
	var last []byte
	if inMemory && len(data) <= maxLast {
		last = e.Data
	}
	if st.advance(e.Seq, last); e.Stream == 0 {
		return "", true
	}
	return eventID(e.Stream, e.Seq, st.shared.idSuffix()), true
}

// nextEvent returns the next event of the stream, without its data. It returns false if no event
// can be stored. The caller holds storing, so that no other event has the number.
func (st *stream) nextEvent() (e Event, ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended || !st.opened || st.session.eventsDeleted.Load() {
		return e, false
	}
	return Event{Session: st.session.id, Principal: st.session.principal, Stream: st.number, Seq: st.lastSeq + 1}, true
}

// skip sets the number of the last event, which was not stored.
func (st *stream) skip(seq uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.lastSeq, st.last = seq, nil
}

// advance sets the number of the last event, and its data or nil. It wakes the follower.
func (st *stream) advance(seq uint64, last []byte) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.lastSeq, st.last = seq, last
	st.notify()
}

// maxLast limits the bytes of an event that a stream keeps in addition to the event store.
const maxLast = 4 << 10

// lastAfter returns the last event if it follows the event with a number, and if the stream
// keeps it.
func (st *stream) lastAfter(seq uint64) (e Event, ok bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return Event{Stream: st.number, Seq: st.lastSeq, Data: st.last}, st.lastSeq == seq+1 && st.last != nil
}

// end ends the stream: no more events are stored. It waits for an event that is being stored.
func (st *stream) end() {
	st.storing.Lock()
	defer st.storing.Unlock()
	st.endNow()
}

// endNow is like end, but does not wait. The follower does not send an event that is being stored.
func (st *stream) endNow() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.ended {
		return
	}
	st.ended, st.last = true, nil
	st.notify()
	if st.number != 0 {
		st.session.removeStream(st.number)
	}
}

// abandon records that the stream ends without a response.
func (st *stream) abandon() {
	if st == nil {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.opened {
		st.session.abandonStream(st.number)
	}
}

// notify wakes the follower. The caller holds the lock.
func (st *stream) notify() {
	select {
	case st.changed <- struct{}{}:
	default:
	}
}

// wakeFollower wakes the follower.
func (st *stream) wakeFollower() {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.notify()
}

// state returns the number of the last event, whether the stream has ended, and a
// channel that gets an element at the next change, and possibly without one. The channel
// is nil if there is a newer follower.
func (st *stream) state(followerID int) (seq uint64, streamEnded bool, changed <-chan struct{}) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.follower != followerID {
		return 0, true, nil
	}
	return st.lastSeq, st.ended, st.changed
}

// claim makes the caller the follower of the stream. If there is another follower,
// claim fails unless replace is true.
func (st *stream) claim(replace bool) (followerID int, ok bool) {
	if st.response != nil {
		st.out.Abandon()
		st.response.tryDetach() // a stream is sent on one HTTP response at a time
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.followed && !replace {
		return 0, false
	}
	st.follower++
	st.followed = true
	st.notify() // the previous follower ends
	st.changed = make(chan struct{}, 1)
	return st.follower, true
}

// release ends a claim.
func (st *stream) release(followerID int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.follower == followerID {
		st.followed, st.changed = false, nil
	}
}

// position returns the number of the last event and the number of the last event that
// was sent.
func (st *stream) position() (last, delivered uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.lastSeq, st.delivered
}

// markDelivered records that events up to a number were sent.
func (st *stream) markDelivered(seq uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.delivered = max(st.delivered, seq)
}

// eventID returns the id of an event. It is unique in its session. The request is the result of
// [sharedRequest.idSuffix].
func eventID(stream, seq uint64, request string) string {
	var room [2*maxDigits + 1]byte
	return string(appendEventID(room[:0], stream, seq, request))
}

// maxDigits is the length of the longest number.
const maxDigits = 20

// appendEventID appends the result of eventID.
func appendEventID(b []byte, stream, seq uint64, request string) []byte {
	b = append(strconv.AppendUint(b, stream, 10), '-')
	b = strconv.AppendUint(b, seq, 10)
	if request != "" {
		b = append(append(b, '.'), request...)
	}
	return b
}

// parseEventID parses an id of eventID.
func parseEventID(id string) (stream, seq uint64, request string, ok bool) {
	numbers, request, _ := strings.Cut(id, ".")
	a, b, _ := strings.Cut(numbers, "-")
	stream, errA := strconv.ParseUint(a, 10, 64)
	seq, errB := strconv.ParseUint(b, 10, 64)
	return stream, seq, request, errA == nil && errB == nil && eventID(stream, seq, request) == id
}
