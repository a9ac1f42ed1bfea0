package streamable

import (
	"errors"
	"io"
	"sync"
)

// buffer holds the bytes of one message.
type buffer struct {
	b    []byte
	done func() // free, made once
}

// mostKept is the size up to which a buffer is kept for the next message.
const mostKept = 64 << 10

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 2048)} }}

func newBuffer() *buffer {
	p := buffers.Get().(*buffer)
	if p.done == nil {
		p.done = p.free
	}
	return p
}

// free gives the buffer back.
func (p *buffer) free() {
	if cap(p.b) <= mostKept {
		p.b = p.b[:0]
		buffers.Put(p)
	}
}

var errTooLong = errors.New("body is too long")

// readAll appends what r has, up to its end. Negative as most is without limit.
func (p *buffer) readAll(r io.Reader, most int) error {
	for {
		if len(p.b) == cap(p.b) {
			p.b = append(p.b, 0)[:len(p.b)]
		}
		n, err := r.Read(p.b[len(p.b):cap(p.b)])
		p.b = p.b[:len(p.b)+n]
		switch {
		case most >= 0 && len(p.b) > most:
			return errTooLong
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
