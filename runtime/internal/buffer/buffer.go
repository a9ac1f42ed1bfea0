// Package buffer contains a pool of buffers for the bytes of messages.
package buffer

import (
	"sync"

	"github.com/mcpwright/mcp/runtime/budget"
)

// Buffer contains the bytes of one message.
type Buffer struct {
	Bytes []byte

	release func()              // is Free, or nil; a method value allocates whenever it is made
	held    *budget.Reservation // nil if the bytes are not counted
}

// MaxPooled is the capacity up to which a buffer is used again.
const MaxPooled = 64 << 10

var pool = sync.Pool{New: func() any { return &Buffer{Bytes: make([]byte, 0, 2048)} }}

// New returns an empty buffer, which may have been used before.
func New() *Buffer { return pool.Get().(*Buffer) }

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
