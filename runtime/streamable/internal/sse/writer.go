package sse

import (
	"errors"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Writer writes events to one HTTP response. Only one goroutine may use it at a time,
// except for [Writer.Abandon].
type Writer struct {
	w         http.ResponseWriter
	timeout   time.Duration // of a write; negative means none
	unflushed func()        // called if the response cannot be flushed

	mu        sync.Mutex // held briefly, never during a write
	writing   bool       // a write is in progress, so the response still exists
	abandoned bool       // the client uses another response
	useTimer  bool       // a timer limits writes, and not a deadline for each
	expired   bool       // the timer has set a deadline in the past
	timer     *time.Timer
	began     time.Duration // when the write in progress began, since start; set if useTimer is true
}

// start is the zero of the clock for writes. Reading the time since then is faster than time.Now.
var start = time.Now()

// Header values that responses share.
var (
	noCache     = []string{"no-cache"}
	noBuffering = []string{"no"}
)

// NewWriter sets the headers of a response that is a stream of events. A negative
// timeout of writes means none. Unflushed is called for each write after which the
// response could not be flushed.
func NewWriter(w http.ResponseWriter, timeout time.Duration, unflushed func()) *Writer {
	h := w.Header()
	h[mcphttp.HeaderContentType] = mcphttp.ValueEvents
	h["Cache-Control"] = noCache
	h["X-Accel-Buffering"] = noBuffering // proxies must forward events immediately
	return &Writer{w: w, timeout: timeout, unflushed: unflushed}
}

// WriteMessage writes a message as an event. The id may be empty.
func (o *Writer) WriteMessage(id, data []byte) error {
	buf := buffer.New()
	defer buf.Free()
	if len(id) > 0 {
		buf.Bytes = append(append(append(buf.Bytes, "id: "...), id...), '\n')
	}
	buf.Bytes = append(buf.Bytes, "event: message\ndata: "...)
	at := len(buf.Bytes)
	buf.Bytes = append(buf.Bytes, data...)
	wire.Unbreak(buf.Bytes[at:])
	buf.Bytes = append(buf.Bytes, "\n\n"...)
	return o.write(buf.Bytes)
}

// WriteEvent writes an event with a name.
func (o *Writer) WriteEvent(name, data string) error {
	return o.write([]byte("event: " + name + "\ndata: " + data + "\n\n"))
}

// WriteStart writes an event without data. It contains the id of the stream's current
// position and the time after which the client may resume the stream.
func (o *Writer) WriteStart(id string, retry time.Duration) error {
	return o.write([]byte("id: " + id + "\nretry: " + millis(retry) + "\ndata:\n\n"))
}

// WriteRetry writes the time after which the client may reconnect.
func (o *Writer) WriteRetry(d time.Duration) error {
	return o.write([]byte("retry: " + millis(d) + "\n\n"))
}

func millis(d time.Duration) string { return strconv.FormatInt(max(d, 0).Milliseconds(), 10) }

// WriteComment writes a comment, which keeps an idle stream open.
func (o *Writer) WriteComment() error { return o.write([]byte(":\n\n")) }

// write writes all of b and flushes it. A deadline is cleared after each write: over
// HTTP/2, it would end the stream even if nothing is being written, and over HTTP/1.1
// the end of the stream could not be written.
func (o *Writer) write(b []byte) error {
	if err := o.beginWrite(); err != nil {
		return err
	}
	return o.endWrite(o.writeAndFlush(b))
}

func (o *Writer) beginWrite() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned {
		return errAbandoned
	}
	switch {
	case o.timeout < 0:
	case o.useTimer:
		o.began = time.Since(start)
		if o.timer == nil {
			o.timer = time.AfterFunc(o.timeout, o.expire)
		}
	default:
		if err := o.setDeadline(time.Now().Add(o.timeout)); err != nil {
			return err
		}
	}
	o.writing = true
	return nil
}

// UseTimer makes a timer limit the time of writes. It is not changed by each write, unlike a
// deadline, so a stream with many events needs less time. The caller calls [Writer.StopTimer].
func (o *Writer) UseTimer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.useTimer = true
}

// StopTimer releases the timer. Nothing is written afterwards.
func (o *Writer) StopTimer() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
}

// expire is called by the timer. It interrupts a write that has taken too long.
func (o *Writer) expire() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if left := o.began + o.timeout - time.Since(start); o.writing && left > 0 {
		o.timer.Reset(left)
		return
	}
	o.timer = nil // an idle stream needs no memory for it
	if o.writing {
		o.expired = true
		_ = o.setDeadline(past) // not supported by a middleware, or the connection is closed
	}
}

// endWrite ends a write that returned err.
func (o *Writer) endWrite(err error) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.writing = false
	switch {
	case err != nil:
		return err
	case o.abandoned:
		return errAbandoned
	case o.timeout < 0, o.useTimer && !o.expired:
		return nil
	}
	o.expired = false
	return o.setDeadline(time.Time{})
}

// Abandon interrupts a write in progress and makes later writes fail. It may be called
// concurrently with writes.
func (o *Writer) Abandon() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.abandoned = true; o.writing {
		_ = o.setDeadline(past) // on failure, the write ends at its timeout
	}
}

var (
	errAbandoned = errors.New("stream was resumed on another response")
	past         = time.Unix(1, 0)
)

func (o *Writer) writeAndFlush(b []byte) error {
	if _, err := o.w.Write(b); err != nil {
		return err
	}
	return o.Flush()
}

// setDeadline sets the deadline of writes. It does nothing if a middleware's
// ResponseWriter does not support deadlines.
func (o *Writer) setDeadline(t time.Time) error {
	err := http.NewResponseController(o.w).SetWriteDeadline(t)
	if errors.Is(err, http.ErrNotSupported) {
		return nil
	}
	return err
}

// Flush sends what was written to the client. It is not an error if a middleware's
// ResponseWriter does not support that.
func (o *Writer) Flush() error {
	err := http.NewResponseController(o.w).Flush()
	if errors.Is(err, http.ErrNotSupported) {
		o.unflushed()
		return nil
	}
	return err
}
