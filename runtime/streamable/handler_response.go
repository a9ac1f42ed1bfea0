package streamable

import (
	"context"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
)

// response is the HTTP response to one POST. Whether it is one JSON document or
// a stream of events is settled by what comes first: the answer, or something
// that precedes it. It is safe for concurrent use.
type response struct {
	w         http.ResponseWriter
	handler   *Handler
	transport TransportContext // of the request
	session   *session         // nil outside sessions
	apart     *apart           // of a request that belongs to no session, or to one that lasts no longer

	mu     turn // held while something is written
	out    *eventWriter
	stream *stream // nil before there is one, and where nothing is kept
	phase  phase
	fails  bool // the session was to begin with it, and does not
	hasty  bool // nothing comes after the answer, not even the end of ServeHTTP

	// What follows is settled before the request is handled.
	takes   accepted
	opens   bool // the session begins with this response
	listens bool // the request is a subscription
	keeps   bool // the session keeps what becomes a stream
}

// apart is what a request has to itself that no session has for it: what ends its
// handling, and its pulse.
type apart struct {
	lazy.Context
	pulse pulse
}

// phase is how far a response has come.
type phase uint8

const (
	undecided phase = iota
	streaming
	parted // the stream goes on without this response
	over
)

// beat sends something without meaning: an answer that takes long becomes a
// stream. While something else is written the response is not silent, and a
// client that does not read is not to keep anybody waiting.
func (p *response) beat() {
	if !p.mu.TryLock() {
		return
	}
	defer p.mu.Unlock()
	if p.phase > streaming || !p.open() || p.phase != streaming {
		return
	}
	if err := p.out.comment(); err != nil {
		p.lose(err)
	}
}

// send sends a message that precedes the answer. The error is that of a message
// which got nowhere.
func (p *response) send(ctx context.Context, data []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == over || p.phase < parted && !p.open() {
		return jsonrpc.ErrNotWritten
	}
	return p.event(ctx, data)
}

// event sends a message on the stream that is open. The lock is held.
func (p *response) event(ctx context.Context, data []byte) error {
	id, kept := p.stream.keep(ctx, data)
	if p.phase == streaming {
		if err := p.out.message(id, data); err != nil {
			p.lose(err)
		} else {
			kept = true
		}
	}
	if !kept {
		return jsonrpc.ErrNotWritten
	}
	return nil
}

// open makes the response a stream. The lock is held.
func (p *response) open() bool {
	if p.phase == streaming {
		return true
	}
	if !p.takes.events {
		return false
	}
	if p.opens {
		p.announce()
	}
	p.out, p.phase = openEvents(p.w, &p.handler.opts), streaming
	p.w.WriteHeader(http.StatusOK)
	if p.keeps && p.stream == nil {
		p.stream = &stream{session: p.session, response: p}
	}
	if id, primed := p.stream.begin(p.out); primed {
		if err := p.out.prime(id, p.handler.opts.RetryInterval); err != nil {
			p.lose(err)
		}
	}
	return true
}

// announce names the session that begins with the response. From now on it can
// be found. The lock is held.
func (p *response) announce() {
	if !p.fails {
		p.handler.sessions.begin(p.session)
		p.w.Header()[headerSession] = []string{p.session.id}
	}
}

// answer sends what ends the response. The status is that of a JSON document.
func (p *response) answer(ctx context.Context, status int, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.phase {
	case undecided:
		if p.takes.json || status != http.StatusOK {
			if p.opens {
				p.announce()
			}
			if p.hasty || len(data) > mostHeld {
				p.writeNow(status, data)
			} else {
				writeJSON(p.w, status, p.handler.date.value(), data)
			}
		} else if p.open() {
			p.event(ctx, data)
		}
	case streaming, parted:
		p.event(ctx, data)
	}
	p.finish()
}

// end ends the response without an answer: as a stream where that can be, for
// which there is no coming back.
func (p *response) end() {
	p.mu.Lock()
	if p.phase == undecided {
		p.keeps, p.stream = false, nil
		p.open()
	}
	p.stream.giveUp()
	p.mu.Unlock()
	p.accept()
}

// accept ends the response where there is nothing to answer.
func (p *response) accept() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == undecided {
		p.w.WriteHeader(http.StatusAccepted)
	}
	p.finish()
}

// finish lets nothing more out. The lock is held.
func (p *response) finish() {
	if p.phase == over {
		return
	}
	p.phase = over
	if p.stream != nil {
		p.stream.end()
	}
}

// leave lets go of the HTTP response, which may not be touched any more. The
// stream, if there is one that the client can find again, goes on without it. It is
// false where there is nothing to go on: the client takes no streams.
func (p *response) leave() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase == undecided && !p.open() { // a client may have closed only its own half
		return false
	}
	p.detach()
	return true
}

// detach is leave. The lock is held.
func (p *response) detach() {
	if p.phase == over {
		return
	}
	p.phase, p.out = parted, nil
}

// lose deals with a client that cannot be written to. The lock is held.
func (p *response) lose(err error) {
	p.detach()
	if p.apart != nil && !p.apart.Detached {
		p.apart.Cancel(err)
	}
}

// part is [TransportContext.EndStream].
func (p *response) part(retry time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.phase > streaming || !p.stream.pollable() || !p.open() {
		return false
	}
	if p.phase == streaming {
		if err := p.out.retry(retry); err != nil {
			p.lose(err)
		}
	}
	p.detach()
	close(p.stream.parted)
	return true
}

// writeNow is writeJSON where net/http does not hold the response back until the
// end of ServeHTTP: it is long, or that does not come.
func (p *response) writeNow(status int, data []byte) {
	if len(data) > mostHeld && p.handler.opts.WriteTimeout > 0 { // it waits here for a client that does not read
		http.NewResponseController(p.w).SetWriteDeadline(time.Now().Add(p.handler.opts.WriteTimeout))
	}
	if p.hasty {
		defer push(p.w, len(data))()
	}
	writeJSON(p.w, status, p.handler.date.value(), data)
}

// hurry tells that the goroutine is about to end.
func (p *response) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hasty = true
}

// push prepares a response of a size for the end of its goroutine, and returns
// what sends it: net/http, which closes the connection then, would not.
func push(w http.ResponseWriter, size int) (flush func() error) {
	setLength(w.Header(), size)
	w.Header()["Connection"] = []string{"close"}
	return http.NewResponseController(w).Flush
}
