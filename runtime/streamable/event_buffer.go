package streamable

import "sync"

// eventBuffer holds the bytes of one message from the server.
type eventBuffer struct {
	b    []byte
	done func() // free, made once
}

// eventKept is the size up to which a buffer is kept for the next message.
const eventKept = 64 << 10

var eventBuffers = sync.Pool{New: func() any { return &eventBuffer{b: make([]byte, 0, 1024)} }}

func newEventBuffer() *eventBuffer {
	p := eventBuffers.Get().(*eventBuffer)
	if p.done == nil {
		p.done = p.free
	}
	return p
}

// free gives the buffer back.
func (p *eventBuffer) free() {
	if cap(p.b) <= eventKept {
		p.b = p.b[:0]
		eventBuffers.Put(p)
	}
}
