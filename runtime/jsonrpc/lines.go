package jsonrpc

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
// itself to be given up, close it. o.Buffer and o.Release are not used.
//
// Blank lines are skipped, and so is a carriage return before a line feed. A
// line that is too long or no message does not disturb the next one.
//
// Where the peer makes one request at a time, the goroutine that reads handles
// it. If the handler calls the peer another one reads on at once, and within two
// milliseconds if it waits for something else. With GOMAXPROCS=1 no request is
// handled so.
func (c *Conn) ReadLines(ctx context.Context, in io.Reader, o Source) error {
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
func (l *lineReader) next() (*Buffer, error) {
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

func (l *lineReader) line() (*Buffer, error) {
	line := NewBuffer()
	for {
		part, err := l.r.ReadSlice('\n')
		line.Bytes = append(line.Bytes, part...)
		switch {
		case len(line.Bytes) > l.most+2: // and what may end it
			return line, l.skip(line, err)
		case err == nil, errors.Is(err, io.EOF) && len(line.Bytes) > 0:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			line.Free()
			return nil, err
		}
	}
}

// skip skips the rest of a line of which a part has been read, with err, and
// leaves a glimpse of it all.
func (l *lineReader) skip(line *Buffer, err error) error {
	line.Bytes = glimpse(line.Bytes)
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = l.r.ReadSlice('\n')
		line.Bytes = glimpse(append(line.Bytes, part...))
	}
	if err == nil || errors.Is(err, io.EOF) {
		return errLongLine
	}
	return err
}
