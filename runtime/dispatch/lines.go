package dispatch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// ReadLines delivers the messages that come from in, one on each line, as if by
// [Conn.Deliver]. It returns nil at the end of in and when the connection is
// closed, otherwise the error of in, or the cause of the end of ctx; for in
// itself to be given up, close it. o.Release is not used.
//
// Blank lines are skipped, and so is a carriage return before a line feed. A
// line that is too long or no message does not disturb the next one.
//
// Where the peer makes one request at a time, the goroutine that reads handles
// it. If the handler calls the peer another one reads on at once, and within two
// milliseconds if it waits for something else. With GOMAXPROCS=1 no request is
// handled so.
func (c *Conn) ReadLines(ctx context.Context, in io.Reader, o Origin) error {
	r := c.newReading(ctx, in, o)
	c.reading.Store(r)
	go r.read() // ends with the stream, or when another one reads on
	if err := <-r.ended; err != errOver {
		return err
	}
	return nil
}

// ThreadHolder is a reader whose Read keeps a thread of the operating system
// while it waits.
type ThreadHolder interface {
	io.Reader
	// HoldsThread does nothing.
	HoldsThread()
}

var (
	errLongLine = errors.New("line is too long")
	errOver     = errors.New("the stream is over")

	errReadExited = errors.New("the stream ended the goroutine that read it")
)

// lineReader splits a stream into lines.
type lineReader struct {
	r    *bufio.Reader
	most int
}

// next returns the next line that is not blank, without what ends it. The last
// line need not be ended. Of a line that is too long it returns a [glimpse].
func (l *lineReader) next() (*buffer, error) {
	for {
		line, err := l.line()
		if err != nil {
			return line, err
		}
		if line.b = bytes.TrimRight(line.b, "\r\n"); len(bytes.TrimLeft(line.b, " \t\r")) > 0 {
			return line, nil
		}
		line.free()
	}
}

func (l *lineReader) line() (*buffer, error) {
	line := newBuffer()
	for {
		part, err := l.r.ReadSlice('\n')
		line.b = append(line.b, part...)
		switch {
		case len(line.b) > l.most+2: // and what may end it
			return line, l.skip(line, err)
		case err == nil, errors.Is(err, io.EOF) && len(line.b) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			line.free()
			return nil, err
		}
	}
}

// skip skips the rest of a line of which a part has been read, with err, and
// leaves a glimpse of it all.
func (l *lineReader) skip(line *buffer, err error) error {
	line.b = glimpse(line.b)
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		line.b = glimpse(append(line.b, part...))
	}
	if err == nil || errors.Is(err, io.EOF) {
		return errLongLine
	}
	return err
}

// drop frees a line, if there is one.
func (b *buffer) drop() {
	if b != nil {
		b.free()
	}
}
