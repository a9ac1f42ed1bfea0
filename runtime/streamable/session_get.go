package streamable

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/streamable/internal/sse"
	"github.com/mcpwright/mcp/runtime/wire"
)

// serveSessionGet serves a GET request, which opens the standalone stream or resumes a
// stream after the event in the header Last-Event-ID.
func (h *Handler) serveSessionGet(w http.ResponseWriter, r *http.Request, revision wire.Revision) (started *follower, refused *refusal) {
	if !parseAccept(r.Header).events {
		return nil, refuse(http.StatusNotAcceptable, "Invalid request: Accept must include text/event-stream")
	}
	s, refused := h.findSession(r, revision)
	if refused != nil {
		return nil, refused
	}
	f := &follower{session: s, r: r}
	ids := r.Header[mcphttp.HeaderLastEvent]
	if refused := f.find(ids); refused != nil {
		s.endUse()
		return nil, refused
	}
	f.keepAlive.target = f
	if !h.inFlight.addStream(&f.keepAlive) {
		s.endUse()
		return nil, &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	defer func() {
		if started == nil { // the client is gone or refused, or a store has panicked
			f.end()
		}
	}()
	if len(ids) == 0 {
		refused = f.startAtUnsent()
	} else {
		refused = f.resume()
	}
	if refused == nil && s.isShared() && s.shared.releasing.Load() != nil {
		refused = &refusal{status: http.StatusServiceUnavailable, err: errSessionMoves}
	}
	if refused != nil {
		return nil, refused
	}
	f.out = newEventWriter(w, &h.opts)
	w.WriteHeader(http.StatusOK)
	if !f.writeStart() {
		return nil, nil
	}
	f.out.UseTimer() // from now on, so that an idle stream has none
	f.stop = context.AfterFunc(r.Context(), f.clientGone)
	return f, nil
}

// follower sends the events of a stream to a client.
type follower struct {
	session      *session
	stream       *stream // nil if the stream has ended
	number       uint64
	after        uint64         // number of the last event that the client has received
	shared       *sharedRequest // nil without [Options].Sharing, and for the standalone stream
	id           int            // of the claim of the stream, or 0
	next         [1]Event
	r            *http.Request
	out          *sse.Writer
	keepAlive    keepAlive
	stop         func() bool // ends the wait for the client to disconnect; nil before that
	gone         atomic.Bool // the client has disconnected; faster to load than the context
	keepAliveDue atomic.Bool // a keep-alive must be sent
	lost         bool        // the replica that handled the request is gone, and there is no response yet
}

// find finds the stream of the event with the id last, or the standalone stream without
// an id.
func (f *follower) find(last []string) *refusal {
	if len(last) > 0 {
		var ok bool
		var request string
		if f.number, f.after, request, ok = parseEventID(last[0]); !ok || !f.session.resumable() {
			return refuse(http.StatusBadRequest, "Invalid request: Last-Event-ID is unknown")
		}
		if request != "" {
			f.shared = &sharedRequest{suffix: request}
		}
	}
	if f.session.isFromLaterEpoch(f.number) {
		return &refusal{status: http.StatusServiceUnavailable, err: errSessionMoves}
	}
	f.stream = f.session.findStream(f.number)
	f.lost = f.stream == nil && f.shared != nil && f.session.isFromEarlierEpoch(f.number)
	return nil
}

// startAtUnsent begins to follow the standalone stream after the last event that was
// sent.
func (f *follower) startAtUnsent() *refusal {
	var ok bool
	if f.id, ok = f.stream.claim(false); !ok {
		return refuse(http.StatusConflict, "Invalid request: the session already has a standalone stream")
	}
	last, delivered := f.stream.position()
	f.after = delivered
	if events, _ := f.events(); len(events) > 0 {
		f.after = events[0].Seq - 1 // earlier events have been deleted without being sent
	} else {
		f.after = last
	}
	return nil
}

// resume follows a stream after an event, instead of the previous follower. If the
// request of the stream was cancelled and will have no response, the status 204 asks
// the client not to reconnect.
func (f *follower) resume() *refusal {
	events, complete := f.events()
	if f.lost && complete {
		return nil
	}
	if f.stream == nil && len(events) == 0 && f.session.isAbandoned(f.number) {
		return &refusal{status: http.StatusNoContent}
	}
	if !complete || f.stream == nil && len(events) == 0 {
		return refuse(http.StatusBadRequest, "Invalid request: events after Last-Event-ID are not stored any more")
	}
	if f.stream != nil {
		f.id, _ = f.stream.claim(true)
	}
	return nil
}

// end releases the stream and the session.
func (f *follower) end() {
	if f.stop != nil {
		f.stop()
		f.out.StopTimer()
	}
	if f.id > 0 {
		f.stream.release(f.id)
	}
	f.session.handler.inFlight.removeStream(&f.keepAlive)
	f.session.endUse()
}

// writeStart sends the position of the stream, or at least the headers.
func (f *follower) writeStart() (ok bool) {
	if f.session.writesStartEvents() {
		return f.out.WriteStart(eventID(f.number, f.after, f.shared.idSuffix()), f.session.handler.opts.RetryInterval) == nil
	}
	return f.out.Flush() == nil
}

// sendKeepAlive implements [keepAliveTarget].
func (f *follower) sendKeepAlive() {
	f.keepAliveDue.Store(true)
	f.wake()
}

// clientGone is called when the client has disconnected.
func (f *follower) clientGone() {
	f.gone.Store(true)
	f.wake()
}

// wake wakes the follower.
func (f *follower) wake() {
	if f.stream != nil {
		f.stream.wakeFollower()
	}
}

// events returns the stored events after the last one that the client has received.
// They are incomplete if some have been deleted.
func (f *follower) events() (events []Event, complete bool) {
	var seq uint64
	if f.stream != nil {
		if e, ok := f.stream.lastAfter(f.after); ok {
			f.next[0] = e
			return f.next[:], true
		}
		seq, _ = f.stream.position()
	}
	o := &f.session.handler.opts
	events, err := o.Events.After(f.r.Context(), f.session.id, f.number, f.after)
	if err != nil {
		o.Logger.WarnContext(f.r.Context(), "could not read stored events", "session", f.session.id, "error", err)
		return nil, false
	}
	if f.stream != nil { // an event that is being stored may be there already
		events = eventsUpTo(events, seq)
	}
	if len(events) == 0 {
		return nil, f.stream == nil || f.after == seq
	}
	return events, events[0].Seq == f.after+1
}

// eventsUpTo returns the events without those after a number.
func eventsUpTo(events []Event, seq uint64) []Event {
	for len(events) > 0 && events[len(events)-1].Seq > seq {
		events = events[:len(events)-1]
	}
	return events
}

// sendPending sends the stored events. It returns a channel that gets an element when there
// is more to do. The result is nil when the stream has ended, the client is gone, or
// another follower has claimed the stream.
func (f *follower) sendPending() (changed <-chan struct{}) {
	ended := true // also if a store panics
	defer func() {
		if ended {
			f.end()
		}
	}()
	for {
		var seq uint64
		streamEnded := true
		if f.stream != nil {
			if seq, streamEnded, changed = f.stream.state(f.id); changed == nil || f.gone.Load() {
				return nil
			}
		}
		n, ok := f.sendStored()
		switch {
		case !ok:
			return nil
		case n > 0 && (f.stream == nil || f.after < seq):
			continue
		case streamEnded && f.lost:
			f.sendOwnerLost()
			return nil
		case streamEnded || f.keepAliveDue.Swap(false) && f.out.WriteComment() != nil:
			return nil
		}
		ended = false
		return changed
	}
}

// sendStored sends the stored events and returns their number. It returns false if an
// event has been deleted or the client is gone.
func (f *follower) sendStored() (n int, ok bool) {
	events, complete := f.events()
	if !complete {
		f.session.handler.opts.Logger.Warn("stream ended: client is too slow", "session", f.session.id)
		return 0, false
	}
	for _, e := range events {
		var room [2*maxDigits + 1]byte
		id := room[:0]
		if f.session.resumable() {
			id = appendEventID(id, e.Stream, e.Seq, f.shared.idSuffix())
		}
		if e.Seq != f.after+1 || f.out.WriteMessage(id, e.Data) != nil {
			return 0, false
		}
		f.lost = f.lost && isRequestOrNotification(e.Data)
		if f.after = e.Seq; f.stream != nil {
			f.stream.markDelivered(e.Seq)
		}
	}
	return len(events), true
}
