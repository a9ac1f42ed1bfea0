package dispatch

import "sync"

// mostKept is the size up to which a buffer is kept for the next message.
const mostKept = 64 << 10

// buffer is the bytes of one message, on the way in or out.
type buffer struct{ b []byte }

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 1024)} }}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

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

// lender is whom the bytes of a message are given back to.
type lender struct {
	own     *buffer // one of ours that they are in, nil for none
	release func()  // of somebody else's bytes, may be nil
}

// free tells that nobody reads the bytes any more.
func (l *lender) free() {
	if l.own != nil {
		l.own.free()
	}
	if l.release != nil {
		l.release()
	}
	*l = lender{}
}
