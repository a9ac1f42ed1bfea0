package wiretrace

import (
	"compress/gzip"
	"compress/zlib"
	"errors"
	"io"
	"strings"
	"sync"
)

// decoders open a body with a content encoding.
var decoders = map[string]func(io.Reader) (io.Reader, error){
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
}

// encodedBody has the bytes of an encoded body that are not decoded yet.
type encodedBody struct {
	limit int // bytes that may wait

	mu     sync.Mutex // guards the fields below
	ready  *sync.Cond
	bytes  []byte
	ended  bool
	failed error // bytes were lost
}

func newEncodedBody(limit int) *encodedBody {
	b := &encodedBody{limit: limit}
	b.ready = sync.NewCond(&b.mu)
	return b
}

// add adds the next bytes. It never blocks.
func (b *encodedBody) add(next []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.bytes)+len(next) > b.limit {
		b.failed, b.bytes = errors.New("too many bytes wait"), nil
	}
	if b.failed == nil {
		b.bytes = append(b.bytes, next...)
		b.ready.Signal()
	}
}

// end adds the end of the body.
func (b *encodedBody) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
	b.ready.Signal()
}

// Read implements [io.Reader]. It waits for bytes.
func (b *encodedBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.bytes) == 0 && !b.ended && b.failed == nil {
		b.ready.Wait()
	}
	switch {
	case b.failed != nil:
		return 0, b.failed
	case len(b.bytes) == 0:
		return 0, io.EOF
	}
	n := copy(p, b.bytes)
	if b.bytes = b.bytes[n:]; len(b.bytes) == 0 {
		b.bytes = nil
	}
	return n, nil
}

// wait waits for the end of the body, and discards its bytes.
func (b *encodedBody) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.ended {
		b.failed, b.bytes = errDiscarded, nil
		b.ready.Wait()
	}
}

var errDiscarded = errors.New("the body is discarded")

// decode decodes the body of the response. It returns after the end of the body.
func (x *Exchange) decode(open func(io.Reader) (io.Reader, error), body *encodedBody) {
	r, err := open(body)
	buf := make([]byte, 32<<10)
	for err == nil {
		var n int
		n, err = r.Read(buf)
		x.mu.Lock()
		x.receive(buf[:n])
		x.mu.Unlock()
	}
	body.wait()
	if errors.Is(err, io.EOF) {
		err = nil
	}
	x.mu.Lock()
	x.endBody(err)
	x.mu.Unlock()
	x.recorder.decoded()
}

// decoder returns the function that opens the body of the response, or nil.
func (x *Exchange) decoder() func(io.Reader) (io.Reader, error) {
	if !x.endpoint {
		return nil
	}
	return decoders[strings.ToLower(strings.TrimSpace(x.encoding))]
}
