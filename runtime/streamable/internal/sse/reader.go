// Package sse reads and writes streams of server-sent events.
package sse

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
)

// ErrEventTooLong is returned by [Reader.Next] for an event that is longer than the
// reader's limit. The event was skipped; later events can be read.
var ErrEventTooLong = errors.New("event is too long")

// Event is an event that has data.
type Event struct {
	Name string // "message" if the stream contains no name
	Data *buffer.Buffer
}

// Names of events.
const (
	Message  = "message"
	Endpoint = "endpoint"
)

// Reader reads a stream of server-sent events. Lines end with a line feed, a carriage
// return, or both. The reader skips comments and unknown fields. It skips events
// without data, too, but uses their id and retry time. An event that the end of the
// stream cuts off is ignored completely.
type Reader struct {
	r     io.Reader
	limit int // bytes of data in one event

	// LastID is the id of the last event that had one.
	LastID string
	// Retry is the time that the server asks clients to wait before they reconnect,
	// 0 if there was none.
	Retry time.Duration
	// Received is true after the first event, with or without data.
	Received bool

	// buf[pos:end] has been read from r and not been parsed.
	buf      [chunkSize]byte
	pos, end int
	started  bool // the first line has begun
	afterCR  bool // the last line ended with a carriage return: a line feed that follows is part of its end

	line lineKind
	// The event being read.
	name  string
	id    string
	hasID bool
	data  *buffer.Buffer
	lines int  // data lines
	long  bool // the data exceeds the limit
	any   bool // the event has at least one line
}

// chunkSize is the number of bytes that are parsed at a time. Only data lines may be
// longer.
const chunkSize = 8 << 10

// lineKind is what the rest of a line belongs to.
type lineKind int

const (
	lineStart   lineKind = iota // the line has not begun
	lineData                    // the data of the event
	lineSkipped                 // nothing
)

var readers = sync.Pool{New: func() any { return new(Reader) }}

// NewReader returns a reader of the events of r, whose data have at most limit bytes.
// The caller frees the reader.
func NewReader(r io.Reader, limit int) *Reader {
	e := readers.Get().(*Reader)
	e.r, e.limit = r, limit
	return e
}

// Limit returns the maximum number of bytes of data in an event.
func (e *Reader) Limit() int { return e.limit }

// Free releases the reader, which must not be used afterwards.
func (e *Reader) Free() {
	e.reset()
	e.r, e.LastID, e.Retry, e.Received = nil, "", 0, false
	e.pos, e.end, e.started, e.afterCR, e.line = 0, 0, false, false, lineStart
	readers.Put(e)
}

// Next returns the next event that has data. The caller frees the data. After
// [ErrEventTooLong], Next can be called again; all other errors come from the
// stream.
func (e *Reader) Next() (Event, error) {
	for {
		part, whole, err := e.chunk()
		if err != nil {
			e.reset()
			return Event{}, err
		}
		if whole && len(part) == 0 && e.line == lineStart {
			if ev, err := e.finish(); err != nil || ev.Data != nil {
				return ev, err
			}
			continue
		}
		switch e.line {
		case lineStart:
			e.field(part, whole)
		case lineData:
			e.add(part)
		}
		if whole {
			e.line = lineStart
		}
	}
}

// chunk returns the next line, or the part of it that fills the buffer. The result is
// valid until the next call.
func (e *Reader) chunk() (part []byte, whole bool, err error) {
	searched := 0
	for {
		if e.afterCR && e.pos < e.end {
			if e.buf[e.pos] == '\n' {
				e.pos++
			}
			e.afterCR = false
		}
		rest := e.buf[e.pos:e.end]
		if i := lineEnd(rest, searched); i >= 0 {
			e.pos += i + 1
			e.afterCR = rest[i] == '\r'
			return e.trimMark(rest[:i]), true, nil
		}
		if searched = len(rest); searched == len(e.buf) {
			e.pos = e.end
			return e.trimMark(rest), false, nil
		}
		if err := e.fill(); err != nil {
			return nil, false, err
		}
	}
}

// lineEnd returns the index of the first byte that ends a line, or -1. The first
// bytes of b have been searched before.
func lineEnd(b []byte, searched int) int {
	b = b[searched:]
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return searched + cr
	}
	if lf >= 0 {
		return searched + lf
	}
	return -1
}

// trimMark removes the byte order mark from the first line.
func (e *Reader) trimMark(part []byte) []byte {
	if e.started {
		return part
	}
	e.started = true
	return bytes.TrimPrefix(part, []byte("\xef\xbb\xbf"))
}

// fill reads more bytes into the buffer, which is not full.
func (e *Reader) fill() error {
	if e.pos > 0 {
		e.end = copy(e.buf[:], e.buf[e.pos:e.end])
		e.pos = 0
	}
	for range 100 {
		n, err := e.r.Read(e.buf[e.end:])
		e.end += n
		if n > 0 {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return io.ErrNoProgress
}

// field parses the beginning of a line, or the whole line.
func (e *Reader) field(part []byte, whole bool) {
	e.any = true
	e.line = lineSkipped
	name, value, _ := bytes.Cut(part, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.line = lineData
		if e.lines++; e.lines > 1 {
			e.add([]byte("\n"))
		}
		e.add(value)
	case "event":
		if whole && string(value) != Message { // the default
			e.name = string(value)
		} else if whole {
			e.name = ""
		}
	case "id":
		if whole && bytes.IndexByte(value, 0) < 0 {
			e.id, e.hasID = string(value), true
		}
	case "retry":
		e.setRetry(value)
	}
}

// setRetry accepts only digits, and limits the time to one day.
func (e *Reader) setRetry(value []byte) {
	ms, err := strconv.ParseUint(string(value), 10, 32)
	if err == nil && value[0] != '+' {
		e.Retry = min(time.Duration(ms)*time.Millisecond, 24*time.Hour)
	}
}

// add appends to the data of the event.
func (e *Reader) add(part []byte) {
	if e.long || len(part) == 0 {
		return
	}
	if e.data == nil {
		e.data = buffer.New()
	}
	if len(e.data.Bytes)+len(part) > e.limit {
		e.long = true
		e.data.Free()
		e.data = nil
		return
	}
	if len(e.data.Bytes)+len(part) > cap(e.data.Bytes) {
		e.data.Bytes = slices.Grow(e.data.Bytes, max(len(part), cap(e.data.Bytes)))
	}
	e.data.Bytes = append(e.data.Bytes, part...)
}

// finish ends the event at a blank line.
func (e *Reader) finish() (Event, error) {
	if e.any {
		e.Received = true
	}
	if e.hasID {
		e.LastID = e.id
	}
	if e.long {
		e.reset()
		return Event{}, ErrEventTooLong
	}
	var ev Event
	if e.data != nil && len(bytes.TrimSpace(e.data.Bytes)) > 0 {
		ev = Event{Name: cmp.Or(e.name, Message), Data: e.data}
		e.data = nil
	}
	e.reset()
	return ev, nil
}

// reset discards the event being read.
func (e *Reader) reset() {
	if e.data != nil {
		e.data.Free()
	}
	e.name, e.id, e.hasID, e.data, e.lines, e.long, e.any = "", "", false, nil, 0, false, false
}
