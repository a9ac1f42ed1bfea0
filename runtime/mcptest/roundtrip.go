package mcptest

import (
	"bytes"
	"io"
	"net/http"
)

// TapTransport returns a transport for an HTTP client of a Streamable HTTP
// endpoint: next carries the requests, and all messages, those in streams
// included, are judged on their way. Nil as next is [http.DefaultTransport].
//
// One transport is for the clients of one server; it knows their sessions apart.
func TapTransport(report func(*Violation), next http.RoundTripper) http.RoundTripper {
	if next == nil {
		next = http.DefaultTransport
	}
	return &tappedTransport{newTraffic(report), next}
}

type tappedTransport struct {
	traffic *traffic
	next    http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *tappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	x := t.traffic.open(r)
	sent := r.Clone(r.Context())
	sent.Body = x.request(r)
	res, err := t.next.RoundTrip(sent)
	if err != nil {
		x.judge.refused(x.posted)
		return nil, err
	}
	x.name(res.Header)
	x.head(res.StatusCode, res.Header)
	switch mediaType(res.Header) {
	case mediaEvents:
		res.Body = &tappedEvents{res.Body, events{message: func(data []byte) { x.check(FromServer, data) }}}
	case mediaJSON:
		x.response(res)
	default:
		x.answer(res.StatusCode, nil)
	}
	return res, nil
}

// response judges an answer that is one piece of JSON. It is read to its end
// first: nobody can begin with half of it.
func (x *exchange) response(res *http.Response) {
	data, err := io.ReadAll(res.Body)
	read := &body{Reader: bytes.NewReader(data), Closer: res.Body}
	if res.Body = read; err != nil {
		read.Reader = io.MultiReader(read.Reader, failing{err})
		return
	}
	x.answer(res.StatusCode, data)
}

// tappedEvents judges the events of a stream while somebody reads it.
type tappedEvents struct {
	io.ReadCloser
	events events
}

// Read judges what was read before anybody else sees it.
func (b *tappedEvents) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.events.take(p[:n])
	return n, err
}
