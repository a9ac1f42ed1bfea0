package streamable

import (
	"net/http"
	"time"
)

// serveSessionGet opens the stream of what belongs to no request, or goes on
// with one that the client lost.
func (h *Handler) serveSessionGet(w http.ResponseWriter, r *http.Request) *refusal {
	if !acceptedBy(r.Header).events {
		return refuse(http.StatusNotAcceptable, "Invalid request: the client has to accept text/event-stream")
	}
	s, no := h.findSession(r)
	if no != nil {
		return no
	}
	defer s.leave()
	if !h.work.join() {
		return &refusal{status: http.StatusServiceUnavailable, err: errClosing}
	}
	defer h.work.part()
	f := follow{session: s, stream: &s.alone, w: w, r: r}
	ids := r.Header[headerLastEvent]
	if len(ids) == 0 {
		return f.fresh()
	}
	return f.resume(ids[0])
}

// follow is a client that follows a stream.
type follow struct {
	session *session
	stream  *stream // nil for one on which nothing comes any more
	number  uint64
	after   uint64 // the last event that the client has
	turn    int    // at following the stream
	w       http.ResponseWriter
	r       *http.Request
}

// fresh follows the stream that belongs to no request from where it was left:
// what was never sent to anyone is still to come.
func (f *follow) fresh() *refusal {
	var ok bool
	if f.turn, ok = f.stream.claim(false); !ok {
		return refuse(http.StatusConflict, "Invalid request: the session has a stream already")
	}
	defer f.stream.release(f.turn)
	last, delivered := f.stream.position()
	f.after = delivered
	if events, _ := f.events(); len(events) > 0 {
		f.after = events[0].Seq - 1 // the ones before have been forgotten, unsent
	} else {
		f.after = last
	}
	f.run()
	return nil
}

// resume follows a stream from an event on. Whoever followed it before has lost
// it.
func (f *follow) resume(id string) *refusal {
	var ok bool
	if f.number, f.after, ok = parseEventID(id); !ok || !f.session.replays() {
		return refuse(http.StatusBadRequest, "Invalid request: there is no event with the id of Last-Event-ID")
	}
	f.stream = f.session.find(f.number)
	events, complete := f.events()
	if !complete || f.stream == nil && len(events) == 0 {
		return refuse(http.StatusBadRequest, "Invalid request: what came after Last-Event-ID is not there any more")
	}
	if f.stream != nil {
		f.turn, _ = f.stream.claim(true)
		defer f.stream.release(f.turn)
	}
	f.run()
	return nil
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

// run sends what is there and what comes, until the stream or the client ends,
// or another one follows the stream.
func (f *follow) run() {
	o := &f.session.handler.opts
	out := openEvents(f.w, o.WriteTimeout)
	f.w.WriteHeader(http.StatusOK)
	if f.session.primes() {
		if out.prime(eventID(f.number, f.after), o.Retry) != nil {
			return
		}
	} else if out.flush() != nil {
		return
	}
	silence := newSilence(o.KeepAlive)
	defer silence.Stop()
	for {
		changed, more := f.catchUp(out)
		if !more {
			return
		}
		select {
		case <-changed:
		case <-silence.C:
			if out.comment() != nil {
				return
			}
		case <-f.r.Context().Done():
			return
		}
	}
}

// catchUp sends all that is there. It returns what to wait for, and whether to.
func (f *follow) catchUp(out *eventWriter) (changed <-chan struct{}, more bool) {
	for {
		var seq uint64
		isOver := true
		if f.stream != nil {
			if seq, isOver, changed = f.stream.state(f.turn); changed == nil {
				return nil, false
			}
		}
		events, complete := f.events()
		if !complete {
			f.session.handler.opts.Logger.Warn("stream ended: the client was too slow", "session", f.session.id)
			return nil, false
		}
		for _, e := range events {
			id := ""
			if f.session.replays() {
				id = eventID(e.Stream, e.Seq)
			}
			if e.Seq != f.after+1 || out.message(id, e.Data) != nil {
				return nil, false
			}
			if f.after = e.Seq; f.stream != nil {
				f.stream.deliver(e.Seq)
			}
		}
		if len(events) == 0 || f.stream != nil && f.after >= seq {
			return changed, !isOver
		}
	}
}

// newSilence returns what ticks while a stream is silent, or never.
func newSilence(interval time.Duration) *time.Ticker {
	if interval > 0 {
		return time.NewTicker(interval)
	}
	t := time.NewTicker(time.Hour)
	t.Stop()
	return t
}
