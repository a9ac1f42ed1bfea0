package jsonrpc

import "sync"

// Buffer holds the bytes of one message, on the way in or out.
type Buffer struct {
	Bytes []byte

	release func() // gives back bytes that are elsewhere, nil for none
}

// mostKept is the size up to which a buffer is kept for the next message.
const mostKept = 64 << 10

var buffers = sync.Pool{New: func() any { return &Buffer{Bytes: make([]byte, 0, 2048)} }}

// NewBuffer returns an empty buffer, perhaps one that was used before.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Free gives the buffer back. Nobody may use it any more, nor its bytes.
func (b *Buffer) Free() {
	if b.release != nil {
		b.release()
		b.release = nil
	}
	if cap(b.Bytes) <= mostKept {
		b.Bytes = b.Bytes[:0]
		buffers.Put(b)
	}
}

// lender gives the bytes of a message back, once.
type lender struct{ buf *Buffer } // nil for bytes that are nobody's

// lender is who the message's bytes are from.
func (o *Source) lender() lender {
	buf := o.Buffer
	if buf == nil && o.Release != nil {
		buf = NewBuffer()
		buf.release = o.Release
	}
	return lender{buf}
}

// free tells that nobody reads the bytes any more.
func (l *lender) free() {
	if buf := l.buf; buf != nil {
		l.buf = nil
		buf.Free()
	}
}

// room is where more bytes may be kept for as long as those of the message: behind
// these, or where they are nobody's, in a buffer that is given back in their place.
func (l *lender) room() *Buffer {
	if l.buf == nil {
		l.buf = NewBuffer()
	}
	return l.buf
}

// parcel is the bytes of an inbound message, with whom to give them back to.
type parcel struct {
	data []byte
	lender
}
