package dispatch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
)

// ReadLines delivers the messages that come from r, one on each line, as if by
// [Conn.Deliver]. It returns nil at the end of r and when the connection is
// closed, otherwise the error of r, or the cause of the end of ctx; for r
// itself to be given up, close it. o.Release is not used.
//
// Blank lines are skipped, and so is a carriage return before a line feed. A
// line that is too long or no message does not disturb the next one.
func (c *Conn) ReadLines(ctx context.Context, r io.Reader, o Origin) error {
	o.Release = nil
	l := lineReader{r: bufio.NewReaderSize(r, 32<<10), most: c.opts.MaxMessage}
	for {
		line, err := l.next()
		switch {
		case c.over() || errors.Is(err, io.EOF):
			line.drop()
			return nil
		case ctx.Err() != nil:
			line.drop()
			return context.Cause(ctx)
		case errors.Is(err, errLongLine):
			c.tooLong(parcel{data: line.b, own: line}, &o)
		case err != nil:
			line.drop()
			return err
		default:
			c.deliver(ctx, parcel{data: line.b, own: line}, &o, l.r.Buffered() > 0)
		}
	}
}

var errLongLine = errors.New("line is too long")

// lineReader splits a stream into lines.
type lineReader struct {
	r    *bufio.Reader
	most int
}

// next returns the next line that is not blank, without what ends it. The last
// line need not be ended. Of a line that is too long it returns the beginning.
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
		if len(line.b)+len(part) > l.most+2 { // and what may end it
			line.b = append(line.b, part...)
			return line, l.skip(err)
		}
		line.b = append(line.b, part...)
		switch {
		case err == nil, errors.Is(err, io.EOF) && len(line.b) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			line.free()
			return nil, err
		}
	}
}

// skip skips the rest of a line of which a part has been read, with err.
func (l *lineReader) skip(err error) error {
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = l.r.ReadSlice('\n')
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
