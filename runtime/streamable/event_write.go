package streamable

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// eventWriter writes events to one HTTP response. It is for one goroutine at a
// time, except for abandon.
type eventWriter struct {
	w       http.ResponseWriter
	timeout time.Duration // of a write, negative is none
	held    func()        // is told when events cannot be made to leave

	mu        sync.Mutex // held for moments, not while something is written
	writing   bool       // the response is still there, then
	abandoned bool       // nobody waits for the client any more
}

// openEvents begins a stream of events as the response to a request.
func openEvents(w http.ResponseWriter, opts *Options) *eventWriter {
	h := w.Header()
	h[headerContentType] = valueEvents
	h["Cache-Control"] = valueNoCache
	h["X-Accel-Buffering"] = valueNo // a proxy is to pass events on as they come
	return &eventWriter{w: w, timeout: opts.WriteTimeout, held: opts.held}
}

// message writes a message as an event. The id may be empty.
func (o *eventWriter) message(id string, data []byte) error {
	buf := buffer.New()
	defer buf.Free()
	if id != "" {
		buf.Bytes = append(append(append(buf.Bytes, "id: "...), id...), '\n')
	}
	buf.Bytes = append(buf.Bytes, "event: message\ndata: "...)
	at := len(buf.Bytes)
	buf.Bytes = append(buf.Bytes, data...)
	wire.Unbreak(buf.Bytes[at:])
	buf.Bytes = append(buf.Bytes, "\n\n"...)
	return o.write(buf.Bytes)
}

// named writes an event that has a name of its own.
func (o *eventWriter) named(name, data string) error {
	return o.write([]byte("event: " + name + "\ndata: " + data + "\n\n"))
}

// prime writes an event that says nothing but where the stream is, and when to
// come back for the rest of it.
func (o *eventWriter) prime(id string, retry time.Duration) error {
	return o.write([]byte("id: " + id + "\nretry: " + millis(retry) + "\ndata:\n\n"))
}

// retry tells when to come back.
func (o *eventWriter) retry(d time.Duration) error {
	return o.write([]byte("retry: " + millis(d) + "\n\n"))
}

func millis(d time.Duration) string { return strconv.FormatInt(max(d, 0).Milliseconds(), 10) }

// comment writes what keeps a silent stream alive.
func (o *eventWriter) comment() error { return o.write([]byte(":\n\n")) }

// write writes all of b, and sees to it that it leaves. The deadline is that of
// this write: over HTTP/2 it would end the stream even if nothing is being written
// any more, and elsewhere the end of the stream could not be.
func (o *eventWriter) write(b []byte) error {
	if err := o.enter(); err != nil {
		return err
	}
	return o.exit(o.writeNow(b))
}

// enter begins a write.
func (o *eventWriter) enter() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned {
		return errAbandoned
	}
	if o.timeout >= 0 {
		if err := o.deadline(time.Now().Add(o.timeout)); err != nil {
			return err
		}
	}
	o.writing = true
	return nil
}

// exit ends a write that had this outcome.
func (o *eventWriter) exit(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = false
	switch {
	case err != nil:
		return err
	case o.abandoned:
		return errAbandoned
	case o.timeout < 0:
		return nil
	}
	return o.deadline(time.Time{})
}

// abandon ends a write that is going on, and lets no other one begin.
func (o *eventWriter) abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned = true; o.writing {
		_ = o.deadline(longAgo) // where it cannot be, the write has its time
	}
}

var (
	errAbandoned = errors.New("the stream goes on elsewhere")
	longAgo      = time.Unix(1, 0)
)

func (o *eventWriter) writeNow(b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.flush()
}

// deadline sets one, unless the ResponseWriter of a middleware cannot.
func (o *eventWriter) deadline(t time.Time) error {
	err := http.NewResponseController(o.w).SetWriteDeadline(t)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// flush makes what was written leave. Where the ResponseWriter of a middleware
// cannot, it leaves when it may.
func (o *eventWriter) flush() error {
	err := http.NewResponseController(o.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		o.held()
		return nil
	}
	return err
}
