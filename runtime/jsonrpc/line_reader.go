package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/buffer"
)

// ReadLines reads messages from in, one per line, and delivers each like [Conn.Deliver]. It returns
// nil at the end of in and when the connection is closed; otherwise it returns the error of in or
// the cause of the end of ctx. Closing in ends a Read that blocks. ReadLines ignores o.Message and
// o.Release.
//
// Blank lines are skipped, and so is a carriage return before a line feed. A line that is too long
// or contains no message is reported and does not affect the next line.
//
// If the peer makes one request at a time, the goroutine that reads also handles the request. If
// the handler calls the peer, another goroutine continues to read at once; if the handler takes
// longer than two milliseconds for another reason, another goroutine continues then. With
// GOMAXPROCS=1 the goroutine that reads handles no requests.
//
// If Read of in blocks a thread of the operating system, in should have a method HoldsThread
// without parameters and results. ReadLines never calls the method, but yields before such a Read.
func (c *Conn) ReadLines(ctx context.Context, in io.Reader, o Source) error {
	r := c.newStream(ctx, in, o)
	c.stream.Store(r)
	go r.read() // ends with the stream, or when another goroutine continues
	if err := <-r.ended; err != errStreamEnd {
		return err
	}
	return nil
}

var (
	errLongLine   = errors.New("line is too long")
	errStreamEnd  = errors.New("end of the stream")
	errReadExited = errors.New("stream ended the goroutine that read it")
)

// stream is a stream of lines. One goroutine at a time reads it.
//
// If a peer makes one request at a time, the goroutine that has read a request also handles it,
// because waking another goroutine takes longer than most handlers do. While it handles the
// request, the stream is available: if the handler calls the peer, or does not return soon, another
// goroutine takes the stream and reads on, and the first one ends after its request. With one
// processor this does not pay, so the stream is never made available.
type stream struct {
	conn   *Conn
	ctx    context.Context
	source Source
	lines  lineReader
	ended  chan error // buffers one error

	holdsThread     bool // a Read that waits blocks a thread
	singleProcessor bool

	// version increases whenever the stream changes hands. It is odd while the stream is
	// available.
	version atomic.Uint64

	// The watchdog finds streams that have been available for too long. It runs while requests
	// are handled.
	watchdog *time.Timer
	watching atomic.Bool
	seen     uint64 // the version that the watchdog saw last
}

// maxAvailable is the interval of the watchdog. A handler blocks reading for at most two intervals.
const maxAvailable = time.Millisecond

func (c *Conn) newStream(ctx context.Context, in io.Reader, o Source) *stream {
	o.Message, o.Release = nil, nil
	s := &stream{conn: c, ctx: ctx, source: o, ended: make(chan error, 1)}
	s.lines = lineReader{r: bufio.NewReaderSize(in, 32<<10), max: c.opts.MaxMessage}
	_, s.holdsThread = in.(interface{ HoldsThread() })
	s.singleProcessor = runtime.GOMAXPROCS(0) == 1
	s.watchdog = time.AfterFunc(time.Hour, s.watch)
	s.watchdog.Stop()
	return s
}

// read reads until the stream ends or another goroutine takes it. If a hook or a handler ends the
// goroutine, as a failing test does, another goroutine continues.
func (s *stream) read() {
	at, left := elsewhere, false
	defer func() {
		switch at {
		case atStream:
			s.ended <- errReadExited
		case atMessage:
			go s.read() // ends as this goroutine would have ended
		}
	}()
	for {
		x, err := s.deliver(&at, left)
		at, left = elsewhere, x == nil
		switch {
		case err != nil:
			s.watchdog.Stop()
			s.ended <- err
			return
		case x != nil:
			available := s.makeAvailable()
			x.serve()
			s.conn.state.responseWritten()
			if !s.version.CompareAndSwap(available, available+1) {
				return
			}
		}
	}
}

// position is what a goroutine that reads a stream is doing.
type position int

const (
	elsewhere position = iota // the stream may belong to another goroutine
	atStream
	atMessage
)

// deliver delivers the next line and stores in at what it is doing. It returns a request that the
// caller must handle, or nil. At the end of the stream it returns errStreamEnd. The parameter left
// reports whether another goroutine handles the previous line.
func (s *stream) deliver(at *position, left bool) (*inboundMessage, error) {
	if *at = atStream; left && s.holdsThread && s.lines.r.Buffered() == 0 {
		runtime.Gosched() // other goroutines may need the thread
	}
	line, err := s.lines.next()
	*at = atMessage
	switch {
	case s.conn.isClosed() || errors.Is(err, io.EOF):
		err = errStreamEnd
	case s.ctx.Err() != nil:
		err = context.Cause(s.ctx)
	case errors.Is(err, errLongLine):
		s.conn.tooLong(payload{line.Bytes, memory{buf: line}}, &s.source)
		return nil, nil
	}
	if err != nil {
		if line != nil {
			line.Free()
		}
		return nil, err
	}
	more := s.lines.r.Buffered() > 0
	a := arrival{more: more, alone: !more && !s.singleProcessor}
	return s.conn.deliver(s.ctx, payload{line.Bytes, memory{buf: line}}, &s.source, a), nil
}

// makeAvailable makes the stream available to other goroutines, and returns the version that it has
// until one takes it.
func (s *stream) makeAvailable() uint64 {
	available := s.version.Add(1)
	s.startWatchdog()
	return available
}

// continueReading starts a goroutine that continues to read, if the stream is available and still
// has this version.
func (s *stream) continueReading(version uint64) {
	if version%2 == 1 && s.version.CompareAndSwap(version, version+1) {
		s.conn.state.handlerWaited()
		go s.read() // ends with the stream, or when another goroutine continues
	}
}

func (s *stream) startWatchdog() {
	if s.watching.CompareAndSwap(false, true) {
		s.watchdog.Reset(maxAvailable)
	}
}

// watch is called by the watchdog. The watchdog stops when the version has not changed since the
// previous call.
func (s *stream) watch() {
	version := s.version.Load()
	if version != s.seen {
		s.seen = version
		s.watchdog.Reset(maxAvailable)
		return
	}
	s.continueReading(version)
	s.watching.Store(false)
	if s.version.Load() != version {
		s.startWatchdog() // the goroutine that changed the version saw watching set
	}
}

// lineReader splits a stream into lines.
type lineReader struct {
	r   *bufio.Reader
	max int
}

// next returns the next line that is not blank, without its line ending. The last line needs no
// line ending. If a line is too long, next returns an [excerpt] of it and errLongLine.
func (l *lineReader) next() (*buffer.Buffer, error) {
	for {
		line, err := l.line()
		if err != nil {
			return line, err
		}
		if line.Bytes = bytes.TrimRight(line.Bytes, "\r\n"); len(bytes.TrimLeft(line.Bytes, " \t\r")) > 0 {
			return line, nil
		}
		line.Free()
	}
}

func (l *lineReader) line() (*buffer.Buffer, error) {
	line := buffer.New()
	for {
		part, err := l.r.ReadSlice('\n')
		line.Bytes = append(line.Bytes, part...)
		switch {
		case len(line.Bytes) > l.max+2: // with the line ending
			return line, l.skip(line, err)
		case err == nil, errors.Is(err, io.EOF) && len(line.Bytes) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			line.Free()
			return nil, err
		}
	}
}

// skip skips the rest of a line and leaves an excerpt of the line. The last read returned err.
func (l *lineReader) skip(line *buffer.Buffer, err error) error {
	line.Bytes = excerpt(line.Bytes)
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		line.Bytes = excerpt(append(line.Bytes, part...))
	}
	if err == nil || errors.Is(err, io.EOF) {
		return errLongLine
	}
	return err
}

// maxExcerpt is how many bytes an excerpt has from each end of a message.
const maxExcerpt = 4 << 10

// excerpt removes the middle of a long message.
func excerpt(b []byte) []byte {
	if len(b) <= 2*maxExcerpt {
		return b
	}
	return append(b[:maxExcerpt], b[len(b)-maxExcerpt:]...)
}
