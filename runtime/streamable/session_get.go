package streamable

import (
	"context"
	"net/http"
	"sync/atomic"

	"github.com/mcpwright/mcp/runtime/wire"
)

// serveSessionGet opens the stream of what belongs to no request, or goes on
// with one that the client lost.
func (h *Handler) serveSessionGet(w http.ResponseWriter, r *http.Request, revision wire.Revision) (begun *follow, no *refusal) {
	if !acceptedBy(r.Header).events {
		return nil, refuse(http.StatusNotAcceptable, "Invalid request: this is an endpoint of the Model Context Protocol, whose clients accept text/event-stream")
	}
	s, no := h.findSession(r, revision)
	if no != nil {
		return nil, no
	}
	f := &follow{session: s, r: r}
	ids := r.Header[headerLastEvent]
	if no := f.find(ids); no != nil {
		s.leave()
		return nil, no
	}
	f.pulse.of = f
	if !h.work.join(&f.pulse) {
		s.leave()
		return nil, &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	defer func() {
		if begun == nil { // the client has gone or is refused, or a store has panicked
			f.end()
		}
	}()
	if len(ids) == 0 {
		no = f.fresh()
	} else {
		no = f.resume()
	}
	if no != nil {
		return nil, no
	}
	f.out = openEvents(w, &h.opts)
	w.WriteHeader(http.StatusOK)
	if !f.begin() {
		return nil, nil
	}
	f.stop = context.AfterFunc(r.Context(), f.rouse)
	return f, nil
}

// follow is a client that follows a stream.
type follow struct {
	session *session
	stream  *stream // nil for one on which nothing comes any more
	number  uint64
	after   uint64 // the last event that the client has
	turn    int    // at following the stream, 0 before
	r       *http.Request
	out     *eventWriter
	pulse   pulse
	stop    func() bool // ends the watch on the client, nil before
	silent  atomic.Bool // for so long that the client has to be told
}

// find finds the stream: the one that belongs to no request, or that of the last
// event that the client has.
func (f *follow) find(last []string) *refusal {
	if len(last) > 0 {
		var ok bool
		if f.number, f.after, ok = parseEventID(last[0]); !ok || !f.session.replays() {
			return refuse(http.StatusBadRequest, "Invalid request: there is no event with the id of Last-Event-ID")
		}
	}
	f.stream = f.session.find(f.number)
	return nil
}

// fresh follows the stream that belongs to no request from where it was left:
// what was never sent to anyone is still to come.
func (f *follow) fresh() *refusal {
	var ok bool
	if f.turn, ok = f.stream.claim(false); !ok {
		return refuse(http.StatusConflict, "Invalid request: the session has a stream already")
	}
	last, delivered := f.stream.position()
	f.after = delivered
	if events, _ := f.events(); len(events) > 0 {
		f.after = events[0].Seq - 1 // the ones before have been forgotten, unsent
	} else {
		f.after = last
	}
	return nil
}

// resume follows a stream from an event on. Whoever followed it before has lost
// it. A client that waits for an answer although it has cancelled its request is
// told, as browsers are, not to come again.
func (f *follow) resume() *refusal {
	events, complete := f.events()
	if f.stream == nil && len(events) == 0 && f.session.gaveUp(f.number) {
		return &refusal{status: http.StatusNoContent}
	}
	if !complete || f.stream == nil && len(events) == 0 {
		return refuse(http.StatusBadRequest, "Invalid request: what came after Last-Event-ID is not there any more")
	}
	if f.stream != nil {
		f.turn, _ = f.stream.claim(true)
	}
	return nil
}

// end gives back what the client held.
func (f *follow) end() {
	if f.stop != nil {
		f.stop()
	}
	if f.turn > 0 {
		f.stream.release(f.turn)
	}
	f.session.handler.work.part(&f.pulse)
	f.session.leave()
}

// begin tells the client where the stream is, or at least that there is one.
func (f *follow) begin() (ok bool) {
	if f.session.primes() {
		return f.out.prime(eventID(f.number, f.after), f.session.handler.opts.RetryInterval) == nil
	}
	return f.out.flush() == nil
}

// beat implements [beater].
func (f *follow) beat() {
	f.silent.Store(true)
	f.rouse()
}

// rouse makes whoever follows the stream look what there is to do.
func (f *follow) rouse() {
	if f.stream != nil {
		f.stream.rouse()
	}
}

// events returns what has come after the last event that the client has. It is
// incomplete where some of that is gone.
func (f *follow) events() (events []Event, complete bool) {
	var seq uint64
	if f.stream != nil {
		seq, _ = f.stream.position()
	}
	o := &f.session.handler.opts
	events, err := o.Events.After(f.r.Context(), f.session.id, f.number, f.after)
	if err != nil {
		o.Logger.WarnContext(f.r.Context(), "events could not be read", "session", f.session.id, "error", err)
		return nil, false
	}
	if len(events) == 0 {
		return nil, f.stream == nil || f.after == seq
	}
	return events, events[0].Seq == f.after+1
}

// catchUp sends all that is there. It returns what is closed when there is more
// to do, nil at the end: of the stream, of the client, or because somebody else
// follows the stream now.
func (f *follow) catchUp() (changed <-chan struct{}) {
	ended := true // also where it panics
	defer func() {
		if ended {
			f.end()
		}
	}()
	for {
		var seq uint64
		isOver := true
		if f.stream != nil {
			if seq, isOver, changed = f.stream.state(f.turn); changed == nil || f.r.Context().Err() != nil {
				return nil
			}
		}
		n, ok := f.send()
		switch {
		case !ok:
			return nil
		case n > 0 && (f.stream == nil || f.after < seq):
			continue
		case isOver || f.silent.Swap(false) && f.out.comment() != nil:
			return nil
		}
		ended = false
		return changed
	}
}

// send sends the events that are there, and tells how many. It is not ok where
// one of them is gone, or the client.
func (f *follow) send() (n int, ok bool) {
	events, complete := f.events()
	if !complete {
		f.session.handler.opts.Logger.Warn("stream ended: the client was too slow", "session", f.session.id)
		return 0, false
	}
	for _, e := range events {
		id := ""
		if f.session.replays() {
			id = eventID(e.Stream, e.Seq)
		}
		if e.Seq != f.after+1 || f.out.message(id, e.Data) != nil {
			return 0, false
		}
		if f.after = e.Seq; f.stream != nil {
			f.stream.deliver(e.Seq)
		}
	}
	return len(events), true
}
