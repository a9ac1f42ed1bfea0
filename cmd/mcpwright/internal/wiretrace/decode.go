package wiretrace

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zstd"
)

// A decoder opens a body with a content encoding.
type decoder func(io.Reader) (io.Reader, error)

var decoders = map[string]decoder{
	"gzip":    func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"x-gzip":  func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	"deflate": func(r io.Reader) (io.Reader, error) { return zlib.NewReader(r) },
	"br":      func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	"zstd":    func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstdOptions...) },
}

// zstdOptions limit the memory of a decoder, and let it work without goroutines. The window is the
// longest that a sender of HTTP may use (RFC 9659).
var zstdOptions = []zstd.DOption{zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(8 << 20), zstd.WithDecoderLowmem(true)}

// contentEncoding returns the encoding of a body, or "".
func contentEncoding(h http.Header) string {
	encoding := strings.ToLower(strings.TrimSpace(strings.Join(h.Values("Content-Encoding"), ", ")))
	if encoding == "identity" {
		return ""
	}
	return encoding
}

// maxDecoded limits the bytes that are decoded of a request, in messages of the longest size.
const maxDecoded = 16

// decodeRequest decodes the body of a request. If that is impossible, the part has a text in place
// of the message.
func decodeRequest(p *part, encoding string, limit int) {
	raw := p.raw
	p.raw = nil
	open := decoders[encoding]
	switch {
	case open == nil:
		p.hide("it is encoded: " + encoding)
		return
	case p.size > int64(len(raw)):
		p.hide("it is too long")
		return
	}
	var decoded clipped
	r, err := open(bytes.NewReader(raw))
	if err == nil {
		_, err = io.Copy(&limitedWriter{&decoded, limit}, io.LimitReader(r, maxDecoded*int64(limit)))
	}
	if err != nil {
		p.hide(fmt.Sprintf("it is not valid %s: %v", encoding, err))
		return
	}
	p.raw, p.size = decoded.take()
}

// limitedWriter stores the beginning of a body.
type limitedWriter struct {
	to    *clipped
	limit int
}

// Write implements [io.Writer].
func (w *limitedWriter) Write(b []byte) (int, error) {
	w.to.add(b, w.limit)
	return len(b), nil
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
func (x *Exchange) decode(open decoder, body *encodedBody) {
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
