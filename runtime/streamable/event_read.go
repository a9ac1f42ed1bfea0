package streamable

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

// errEventTooLong says that an event was skipped because it is longer than the
// reader takes. What comes after it can be read.
var errEventTooLong = errors.New("event is too long")

// event is one event of a stream that has data.
type event struct {
	name string // "message" where the stream does not say
	data *buffer.Buffer
}

const (
	eventMessage  = "message"
	eventEndpoint = "endpoint"
)

// eventReader reads a stream of server-sent events. Lines end with a line feed,
// a carriage return, or both. Comments, unknown fields, and events without data
// come to nothing, but for the id and the retry time of the latter; an event
// that the end of the stream cuts off does not count at all.
type eventReader struct {
	r    io.Reader
	most int // bytes of data in one event

	lastID string        // the id of the last event that had one
	retry  time.Duration // what the server asks to wait before reconnecting, 0 where it does not
	heard  bool          // at least one event has come, with or without data

	// What has been read and not yet looked at is buf[pos:end].
	buf      [eventChunk]byte
	pos, end int
	started  bool // there was a line before
	afterCR  bool // a line feed that comes now belongs to the end of a line

	line eventLine
	// The event being read.
	name  string
	id    string
	hasID bool
	data  *buffer.Buffer
	lines int // of data
	long  bool
	any   bool // it has a line
}

// eventChunk is how much is looked at in one piece. Only a data line may be
// longer.
const eventChunk = 8 << 10

// eventLine is what the rest of a line belongs to.
type eventLine int

const (
	eventLineNew  eventLine = iota // its first bytes are still to come
	eventLineData                  // data of the event
	eventLineNone                  // nothing
)

var eventReaders = sync.Pool{New: func() any { return new(eventReader) }}

// readEvents returns a reader of the events of r. Its owner frees it.
func readEvents(r io.Reader, most int) *eventReader {
	e := eventReaders.Get().(*eventReader)
	e.r, e.most = r, most
	return e
}

// free gives the reader back. It is not to be used any more.
func (e *eventReader) free() {
	e.dropEvent()
	e.r, e.lastID, e.retry, e.heard = nil, "", 0, false
	e.pos, e.end, e.started, e.afterCR, e.line = 0, 0, false, false, eventLineNew
	eventReaders.Put(e)
}

// next returns the next event that has data, which the caller frees. After
// errEventTooLong it can be called again; any other error is that of the stream.
func (e *eventReader) next() (event, error) {
	for {
		part, whole, err := e.chunk()
		if err != nil {
			e.dropEvent()
			return event{}, err
		}
		if whole && len(part) == 0 && e.line == eventLineNew {
			if ev, err := e.finish(); err != nil || ev.data != nil {
				return ev, err
			}
			continue
		}
		switch e.line {
		case eventLineNew:
			e.field(part, whole)
		case eventLineData:
			e.add(part)
		}
		if whole {
			e.line = eventLineNew
		}
	}
}

// chunk returns the next line, or a part of it that fills the buffer. It is
// good until the next call.
func (e *eventReader) chunk() (part []byte, whole bool, err error) {
	seen := 0
	for {
		if e.afterCR && e.pos < e.end {
			if e.buf[e.pos] == '\n' {
				e.pos++
			}
			e.afterCR = false
		}
		rest := e.buf[e.pos:e.end]
		if i := lineEnd(rest, seen); i >= 0 {
			e.pos += i + 1
			e.afterCR = rest[i] == '\r'
			return e.first(rest[:i]), true, nil
		}
		if seen = len(rest); seen == len(e.buf) {
			e.pos = e.end
			return e.first(rest), false, nil
		}
		if err := e.fill(); err != nil {
			return nil, false, err
		}
	}
}

// lineEnd finds what ends the first line of b, of which seen bytes have been
// searched before. It returns -1 where nothing does.
func lineEnd(b []byte, seen int) int {
	b = b[seen:]
	lf := bytes.IndexByte(b, '\n')
	if lf >= 0 {
		b = b[:lf]
	}
	if cr := bytes.IndexByte(b, '\r'); cr >= 0 {
		return seen + cr
	}
	if lf >= 0 {
		return seen + lf
	}
	return -1
}

// first takes the byte order mark from the first line.
func (e *eventReader) first(part []byte) []byte {
	if e.started {
		return part
	}
	e.started = true
	return bytes.TrimPrefix(part, []byte("\xef\xbb\xbf"))
}

// fill reads more into the buffer, which is not full.
func (e *eventReader) fill() error {
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

// field looks at the beginning of a line, or the whole of it.
func (e *eventReader) field(part []byte, whole bool) {
	e.any = true
	e.line = eventLineNone
	name, value, _ := bytes.Cut(part, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "data":
		e.line = eventLineData
		if e.lines++; e.lines > 1 {
			e.add([]byte("\n"))
		}
		e.add(value)
	case "event":
		if whole && string(value) != eventMessage { // which it is anyway
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

// setRetry takes digits only, as many milliseconds as fit a day.
func (e *eventReader) setRetry(value []byte) {
	ms, err := strconv.ParseUint(string(value), 10, 32)
	if err == nil && value[0] != '+' {
		e.retry = min(time.Duration(ms)*time.Millisecond, 24*time.Hour)
	}
}

// add adds to the data of the event.
func (e *eventReader) add(part []byte) {
	if e.long || len(part) == 0 {
		return
	}
	if e.data == nil {
		e.data = buffer.New()
	}
	if len(e.data.Bytes)+len(part) > e.most {
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
func (e *eventReader) finish() (event, error) {
	if e.any {
		e.heard = true
	}
	if e.hasID {
		e.lastID = e.id
	}
	if e.long {
		e.dropEvent()
		return event{}, errEventTooLong
	}
	var ev event
	if e.data != nil && len(bytes.TrimSpace(e.data.Bytes)) > 0 {
		ev = event{name: cmp.Or(e.name, eventMessage), data: e.data}
		e.data = nil
	}
	e.dropEvent()
	return ev, nil
}

// dropEvent forgets the event being read.
func (e *eventReader) dropEvent() {
	if e.data != nil {
		e.data.Free()
	}
	e.name, e.id, e.hasID, e.data, e.lines, e.long, e.any = "", "", false, nil, 0, false, false
}
