// Package buffer contains a pool of buffers for the bytes of messages.
package buffer

import (
	"slices"
	"sync"

	"github.com/mcpwright/mcp/runtime/budget"
)

// Buffer contains the bytes of one message.
type Buffer struct {
	Bytes []byte

	large   *block              // contained Bytes when Grow has replaced them; otherwise nil
	small   []byte              // the bytes before that, which the message may refer to
	release func()              // is Free, or nil; a method value allocates whenever it is made
	held    *budget.Reservation // nil if the bytes are not counted
}

const (
	// MaxPooled is the capacity up to which a buffer is used again.
	MaxPooled = 64 << 10
	// maxLarge is the capacity up to which the bytes of Grow are used again.
	maxLarge = 1 << 20
)

// block contains bytes that few messages need.
type block struct{ bytes []byte }

var blocks = sync.Pool{New: func() any { return new(block) }}

var pool = sync.Pool{New: func() any { return &Buffer{Bytes: make([]byte, 0, 2048)} }}

// New returns an empty buffer, which may have been used before.
func New() *Buffer { return pool.Get().(*Buffer) }

// Grow makes room for n more bytes, if a buffer with them is used again. The bytes before remain valid until
// Free is called.
func (b *Buffer) Grow(n int) {
	size := len(b.Bytes) + n
	if size <= cap(b.Bytes) || size <= MaxPooled || size > maxLarge || b.large != nil {
		return
	}
	b.large, b.small = blocks.Get().(*block), b.Bytes
	b.Bytes = append(slices.Grow(b.large.bytes[:0], size), b.small...)
}

// Hold counts n bytes as held for a principal, until Free is called. A later call changes
// the number.
func (b *Buffer) Hold(in *budget.Budget, principal string, n int) (err error) {
	b.held, err = in.Resize(b.held, principal, n)
	return err
}

// Held returns what Hold has reserved, or nil.
func (b *Buffer) Held() *budget.Reservation { return b.held }

// Free returns the buffer to the pool. Neither the buffer nor its bytes may be used
// afterwards.
func (b *Buffer) Free() {
	if b.held != nil {
		b.held.Release()
		b.held = nil
	}
	if b.large != nil {
		if cap(b.Bytes) <= maxLarge {
			b.large.bytes = b.Bytes
			blocks.Put(b.large)
		}
		b.Bytes, b.large, b.small = b.small, nil, nil
	}
	if cap(b.Bytes) <= MaxPooled {
		b.Bytes = b.Bytes[:0]
		pool.Put(b)
	}
}

// Release returns the method Free as a function. It allocates only once per buffer, and so hardly ever
// if buffers are used again.
func (b *Buffer) Release() func() {
	if b.release == nil {
		b.release = b.Free
	}
	return b.release
}
