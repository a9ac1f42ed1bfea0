package streamable

import (
	"io"
	"net/http"
	"sync"
)

// mostKept is the size up to which a buffer is kept for the next request.
const mostKept = 64 << 10

// handlerBuffer is the bytes of one body, on the way in or out.
type handlerBuffer struct{ b []byte }

var handlerBuffers = sync.Pool{New: func() any { return &handlerBuffer{make([]byte, 0, 2048)} }}

func newHandlerBuffer() *handlerBuffer { return handlerBuffers.Get().(*handlerBuffer) }

// free gives the buffer back.
func (b *handlerBuffer) free() {
	if cap(b.b) <= mostKept {
		b.b = b.b[:0]
		handlerBuffers.Put(b)
	}
}

// readBody reads the body of a request to its end, which is also what makes
// net/http notice that the client has gone.
func readBody(r *http.Request, limit int) (*handlerBuffer, *refusal) {
	if limit >= 0 && r.ContentLength > int64(limit) {
		return nil, refuse(http.StatusRequestEntityTooLarge, "Invalid request: the body is too long")
	}
	buf := newHandlerBuffer()
	for {
		if len(buf.b) == cap(buf.b) {
			buf.b = append(buf.b, 0)[:len(buf.b)]
		}
		n, err := r.Body.Read(buf.b[len(buf.b):cap(buf.b)])
		buf.b = buf.b[:len(buf.b)+n]
		switch {
		case limit >= 0 && len(buf.b) > limit:
			buf.free()
			return nil, refuse(http.StatusRequestEntityTooLarge, "Invalid request: the body is too long")
		case err == io.EOF:
			return buf, nil
		case err != nil:
			buf.free()
			return nil, refuse(http.StatusBadRequest, "Invalid request: the body could not be read")
		}
	}
}
