package dispatch

import "sync"

// mostKept is the size up to which a buffer is kept for the next message.
const mostKept = 64 << 10

// buffer is the bytes of one message, on the way in or out.
type buffer struct {
	b    []byte
	done func() // free, made once
}

var buffers = sync.Pool{New: func() any { return &buffer{b: make([]byte, 0, 1024)} }}

func newBuffer() *buffer {
	b := buffers.Get().(*buffer)
	if b.done == nil {
		b.done = b.free
	}
	return b
}

// free gives the buffer back.
func (b *buffer) free() {
	if cap(b.b) <= mostKept {
		b.b = b.b[:0]
		buffers.Put(b)
	}
}

// parcel is the bytes of an inbound message, with whom to give them back to.
type parcel struct {
	data []byte
	lender
}

// lender gives the bytes of a message back, once. Nil is for those that are
// nobody's.
type lender func()

// free tells that nobody reads the bytes any more.
func (l *lender) free() {
	if back := *l; back != nil {
		*l = nil
		back()
	}
}
