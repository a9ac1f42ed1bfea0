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
	data    []byte
	own     *buffer // where data is from, if it is one of ours
	release func()  // of somebody else's data, may be nil
}

// free tells that nobody reads the bytes any more.
func (p *parcel) free() {
	if p.own != nil {
		p.own.free()
	}
	if p.release != nil {
		p.release()
	}
	*p = parcel{}
}
