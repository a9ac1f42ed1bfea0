package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
)

// Legacy is an HTTP transport for clients of Streamable HTTP. If the server refuses the first
// message as a server with the transport HTTP+SSE of 2024-11-05 does, Legacy uses that transport, and
// translates. Close it.
type Legacy struct {
	Next http.RoundTripper

	mu      sync.Mutex // guards the fields below; it is locked until the transport is known
	decided bool
	stream  *legacyStream // nil for Streamable HTTP
}

// endpointTimeout limits the time until the server names the URL for messages.
const endpointTimeout = 10 * time.Second

// RoundTrip implements [http.RoundTripper].
func (l *Legacy) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		if stream := l.chosen(); stream != nil {
			return stream.roundTrip(r, nil, l.Next)
		}
		return l.Next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	r.Body.Close()
	if err != nil {
		return nil, err
	}
	send := r.Clone(r.Context())
	send.Body = io.NopCloser(bytes.NewReader(body))
	l.mu.Lock()
	if l.decided {
		stream := l.stream
		l.mu.Unlock()
		if stream != nil {
			return stream.roundTrip(r, body, l.Next)
		}
		return l.Next.RoundTrip(send)
	}
	defer l.mu.Unlock()
	res, err := l.Next.RoundTrip(send)
	if err != nil {
		return nil, err
	}
	l.decided = true
	if !slices.Contains([]int{http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed}, res.StatusCode) {
		return res, nil
	}
	if l.stream, err = openLegacy(r, l.Next); err != nil {
		return res, nil // is not a server with the old transport either
	}
	res.Body.Close()
	return l.stream.roundTrip(r, body, l.Next)
}

func (l *Legacy) chosen() *legacyStream {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stream
}

// Close ends the stream of the server.
func (l *Legacy) Close() {
	if stream := l.chosen(); stream != nil {
		stream.end()
	}
}

// legacyStream is a session of the transport HTTP+SSE.
type legacyStream struct {
	endpoint *url.URL
	end      context.CancelFunc

	mu      sync.Mutex            // guards the fields below
	waiting map[string]*eventBody // responses to requests, by id
	others  *eventBody            // all other messages
	ended   bool
}

// openLegacy opens the stream of a server, and waits for the URL for messages.
func openLegacy(r *http.Request, next http.RoundTripper) (*legacyStream, error) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.Context()))
	get := r.Clone(ctx)
	get.Method, get.Body, get.ContentLength = http.MethodGet, nil, 0
	get.Header.Del("Content-Type")
	get.Header.Set("Accept", "text/event-stream")
	timeout := time.AfterFunc(endpointTimeout, cancel)
	defer timeout.Stop()
	defer context.AfterFunc(r.Context(), cancel)()
	res, err := next.RoundTrip(get)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &legacyStream{end: cancel, waiting: map[string]*eventBody{}, others: newEventBody()}
	found := make(chan *url.URL, 1)
	go func() { // ends with the stream, at the latest with ctx
		defer res.Body.Close()
		s.read(res, found)
	}()
	if s.endpoint = <-found; s.endpoint == nil {
		cancel()
		return nil, fmt.Errorf("no endpoint in the stream of %s (HTTP %s)", r.URL, res.Status)
	}
	return s, nil
}

// read passes the messages of the stream on. It sends the URL for messages, or nil, to found.
func (s *legacyStream) read(res *http.Response, found chan<- *url.URL) {
	defer s.close()
	defer close(found)
	if res.StatusCode != http.StatusOK {
		return
	}
	_ = wiretrace.ReadEvents(res.Body, maxBody, func(name string, data []byte) { // ends with the stream
		switch name {
		case "endpoint":
			if u, err := res.Request.URL.Parse(string(data)); err == nil && u.Host == res.Request.URL.Host {
				select {
				case found <- u:
				default:
				}
			}
		case "", "message":
			s.deliver(data)
		}
	})
}

// deliver passes a message to the exchange that waits for it, or to the stream for other messages.
func (s *legacyStream) deliver(data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f fields
	if json.Unmarshal(data, &f) == nil && f.kind() == wiretrace.Response {
		if body := s.waiting[string(f.ID)]; body != nil {
			delete(s.waiting, string(f.ID))
			body.event(data)
			body.close()
			return
		}
	}
	s.others.event(data)
}

// close ends all exchanges.
func (s *legacyStream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, body := range s.waiting {
		body.close()
	}
	s.others.close()
}

// roundTrip sends a message to the server. The response to a request is the stream of one message.
// GET opens the stream of other messages.
func (s *legacyStream) roundTrip(r *http.Request, body []byte, next http.RoundTripper) (*http.Response, error) {
	switch r.Method {
	case http.MethodGet: // is sent once
		s.others.endWith(r.Context())
		return streamResponse(r, s.others), nil
	case http.MethodDelete:
		return &http.Response{StatusCode: http.StatusNoContent, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
	}
	var f fields
	var waits *eventBody
	if json.Unmarshal(body, &f) == nil && f.kind() == wiretrace.Request {
		waits = newEventBody()
		waits.endWith(r.Context())
		s.mu.Lock()
		if s.ended {
			s.mu.Unlock()
			return nil, errors.New("the server has ended the stream")
		}
		s.waiting[string(f.ID)] = waits
		s.mu.Unlock()
	}
	post := r.Clone(r.Context())
	post.URL, post.Host = s.endpoint, ""
	post.Body, post.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	res, err := next.RoundTrip(post)
	if err != nil || res.StatusCode >= 300 || waits == nil {
		return res, err
	}
	res.Body.Close()
	return streamResponse(r, waits), nil
}

func streamResponse(r *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body, ContentLength: -1, Request: r,
	}
}

// eventBody is a body that grows. Writing never blocks.
type eventBody struct {
	mu     sync.Mutex // guards the fields below
	ready  *sync.Cond
	buf    bytes.Buffer
	closed bool
	stop   func() bool // of the context
}

func newEventBody() *eventBody {
	b := &eventBody{stop: func() bool { return true }}
	b.ready = sync.NewCond(&b.mu)
	return b
}

// endWith ends the body with a context. It is called before the body is read.
func (b *eventBody) endWith(ctx context.Context) { b.stop = context.AfterFunc(ctx, b.close) }

// event adds a message.
func (b *eventBody) event(data []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.closed {
		fmt.Fprintf(&b.buf, "data: %s\n\n", bytes.ReplaceAll(data, []byte("\n"), []byte("\ndata: ")))
		b.ready.Broadcast()
	}
}

func (b *eventBody) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.ready.Broadcast()
}

// Read implements [io.Reader].
func (b *eventBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.buf.Len() == 0 && !b.closed {
		b.ready.Wait()
	}
	return b.buf.Read(p)
}

// Close implements [io.Closer].
func (b *eventBody) Close() error {
	b.stop()
	b.close()
	return nil
}
