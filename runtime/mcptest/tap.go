package mcptest

import (
	"bytes"
	"io"
	"net/http"
	"sync"

	"github.com/mcpwright/mcp/runtime/wire"
)

// TapPipe returns a pipe that passes all bytes to and from another pipe, and
// validates them line by line. The writer is the side that writes to the returned
// pipe; the other side writes what is read from it. Each violation is passed to
// report, which may be called concurrently.
func TapPipe(report func(*Violation), pipe io.ReadWriteCloser, writer Sender) io.ReadWriteCloser {
	v := NewValidator(wire.Revision{})
	v.unbegun = true
	return &tappedPipe{
		ReadWriteCloser: pipe,
		in:              lineChecker{validator: v, from: writer.other(), report: report},
		out:             lineChecker{validator: v, from: writer, report: report},
	}
}

type tappedPipe struct {
	io.ReadWriteCloser
	in, out lineChecker
}

// Read validates bytes before it returns them.
func (p *tappedPipe) Read(b []byte) (int, error) {
	n, err := p.ReadWriteCloser.Read(b)
	p.in.add(b[:n])
	if err == io.EOF {
		p.in.end()
	}
	return n, err
}

// Write validates bytes before it writes them, so before the peer can respond.
func (p *tappedPipe) Write(b []byte) (int, error) {
	p.out.add(b)
	return p.ReadWriteCloser.Write(b)
}

// lineChecker validates a stream with one message on each line.
type lineChecker struct {
	validator *Validator
	from      Sender
	report    func(*Violation)

	mu   sync.Mutex
	rest []byte // an incomplete line
}

// add adds the next bytes of the stream.
func (l *lineChecker) add(b []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for {
		line, more, complete := bytes.Cut(b, []byte("\n"))
		l.rest = append(l.rest, line...)
		if !complete {
			return
		}
		l.check()
		b = more
	}
}

// end validates a last line without a line end.
func (l *lineChecker) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.check()
}

func (l *lineChecker) check() {
	line := bytes.TrimSpace(l.rest)
	if len(line) > 0 {
		for _, v := range l.validator.Check(l.from, line) {
			l.report(v)
		}
	}
	l.rest = l.rest[:0]
}

// TapTransport returns a transport for the HTTP client of a Streamable HTTP
// endpoint. It sends requests with next, and validates all messages and the status
// and header of responses. Nil is [http.DefaultTransport]. Each violation is passed
// to report, which may be called concurrently.
//
// Use one transport for each server. Several clients may share it, since each
// session is validated separately.
func TapTransport(report func(*Violation), next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &tappedTransport{newHTTPTap(report), next}
}

type tappedTransport struct {
	tap  *httpTap
	next http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *tappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	x := t.tap.begin(r)
	sent := r.Clone(r.Context())
	sent.Body = x.request(r)
	res, err := t.next.RoundTrip(sent)
	if err != nil {
		x.validator.forget(x.posted)
		return nil, err
	}
	x.header(res.StatusCode, res.Header)
	switch mediaType(res.Header) {
	case mediaEvents:
		res.Body = &tappedEvents{res.Body, eventReader{message: func(data []byte) { x.check(FromServer, data) }}}
	case mediaJSON:
		checkBody(x, res)
	default:
		x.body(res.StatusCode, nil)
	}
	return res, nil
}

// checkBody validates a response body that is JSON. It reads the whole body before
// the client reads any of it.
func checkBody(x *exchange, res *http.Response) {
	data, err := io.ReadAll(res.Body)
	read := &body{Reader: bytes.NewReader(data), Closer: res.Body}
	if res.Body = read; err != nil {
		read.Reader = io.MultiReader(read.Reader, errorReader{err})
		return
	}
	x.body(res.StatusCode, data)
}

// tappedEvents validates the events of a stream while the client reads it.
type tappedEvents struct {
	io.ReadCloser
	events eventReader
}

// Read validates complete events before it returns their last bytes.
func (b *tappedEvents) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	_, _ = b.events.Write(p[:n]) // never fails
	return n, err
}

// TapHandler returns a handler for a Streamable HTTP endpoint. It serves requests
// with next, and validates all messages and the status and header of responses.
// Each violation is passed to report, which may be called concurrently.
func TapHandler(report func(*Violation), next http.Handler) http.Handler {
	t := newHTTPTap(report)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := t.begin(r)
		r = r.Clone(r.Context())
		r.Body = x.request(r)
		tapped := &tappedWriter{ResponseWriter: w, exchange: x}
		next.ServeHTTP(tapped, r)
		if r.Context().Err() == nil { // the client still waits for a response
			tapped.begin(http.StatusOK)
		}
		tapped.end()
	})
}

// tappedWriter validates a response while it is written.
type tappedWriter struct {
	http.ResponseWriter
	exchange *exchange
	status   int    // 0 before the first byte
	media    string // type of the content
	events   eventReader
	json     []byte // incomplete JSON
	ended    bool   // the body has been validated
}

// Unwrap returns the original writer for [http.ResponseController].
func (w *tappedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// Flush implements [http.Flusher].
func (w *tappedWriter) Flush() {
	w.begin(http.StatusOK)
	_ = http.NewResponseController(w.ResponseWriter).Flush() // does nothing if the writer cannot flush
}

// WriteHeader implements [http.ResponseWriter].
func (w *tappedWriter) WriteHeader(status int) {
	if status >= 200 { // others are informational and precede the header
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write validates bytes before it writes them, so before the client can read them.
func (w *tappedWriter) Write(p []byte) (int, error) {
	w.begin(http.StatusOK)
	switch w.media {
	case mediaEvents:
		_, _ = w.events.Write(p) // never fails
	case mediaJSON:
		if w.json = append(w.json, p...); wire.Check(w.json, 0) == nil {
			w.end()
		}
	}
	return w.ResponseWriter.Write(p)
}

// begin validates the status and the header, which is complete when the first byte
// is written.
func (w *tappedWriter) begin(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	w.exchange.header(status, w.Header())
	w.events.message = func(data []byte) { w.exchange.check(FromServer, data) }
	w.media = mediaType(w.Header())
}

// end validates JSON, complete or not. Only the first call has an effect.
func (w *tappedWriter) end() {
	if !w.ended {
		w.ended = true
		w.exchange.body(w.status, w.json)
		w.json = nil
	}
}
