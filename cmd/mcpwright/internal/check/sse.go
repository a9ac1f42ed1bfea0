package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
)

// overSSE returns the server as it is reached with HTTP+SSE, the transport of revision 2024-11-05. Each
// connection is a stream whose messages are lines, like the output of a process.
func (s *Server) overSSE() *Server {
	old := *s
	old.Start, old.sse = s.openSSE, true
	return &old
}

// openSSE opens a stream and waits for its endpoint.
func (s *Server) openSSE(ctx context.Context) (*Process, error) {
	ctx, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	for name, values := range s.Header {
		req.Header[name] = values
	}
	req.Header.Set("Accept", mediaEvents)
	res, err := s.client().Do(req)
	if err != nil {
		cancel()
		return nil, err
	}
	if r := (&reply{header: res.Header}); res.StatusCode != http.StatusOK || r.media() != mediaEvents {
		cancel()
		res.Body.Close()
		return nil, fmt.Errorf("GET has the status %d and the content type %q, not a stream of events", res.StatusCode, r.media())
	}
	out, lines := io.Pipe()
	exited := make(chan struct{})
	l := &sseWriter{server: s, ctx: ctx, cancel: cancel, base: req.URL, known: make(chan struct{})}
	go func() { // ends with the stream
		defer close(exited)
		defer res.Body.Close()
		err := readEvents(res.Body, func(e event) { l.event(e, lines) })
		cancel()
		lines.CloseWithError(err)
	}()
	kill := func() { cancel(); out.Close() }
	return &Process{In: l, Out: out, Exited: exited, Kill: kill}, nil
}

// sseWriter posts lines to the endpoint of a stream.
type sseWriter struct {
	server *Server
	ctx    context.Context // of the stream
	cancel context.CancelFunc
	base   *url.URL // of the stream

	setOnce  sync.Once
	known    chan struct{} // closed when the endpoint is known
	endpoint string
	early    *event // before the endpoint, or nil
	rest     []byte // of a line

	failed atomic.Pointer[string] // why a message was not accepted
}

// event passes the messages of a stream on as lines.
func (w *sseWriter) event(e event, lines io.Writer) {
	if e.name != "endpoint" {
		w.setEarly(e)
	}
	switch e.name {
	case "endpoint":
		w.setOnce.Do(func() {
			w.setEndpoint(string(e.data))
			close(w.known)
		})
	case "", "message":
		line := bytes.ReplaceAll(e.data, []byte("\n"), []byte(" ")) // white space between the tokens of a message
		_, _ = lines.Write(append(line, '\n'))                      // fails after the end of the connection
	}
}

// setEndpoint sets the endpoint. Revision 2024-11-05 has no rule about its origin, but an endpoint of
// another origin is not used, so that no other server receives headers and messages.
func (w *sseWriter) setEndpoint(data string) {
	u, err := w.base.Parse(data)
	switch {
	case err != nil:
		w.fail("the endpoint %q is no URL", data)
	case u.Scheme != w.base.Scheme || u.Host != w.base.Host:
		w.fail("the endpoint %q has another origin than the stream", data)
	default:
		w.endpoint = u.String()
	}
}

// fail stores why a message was not accepted.
func (w *sseWriter) fail(format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	w.failed.Store(&reason)
}

// problem returns why a message was not accepted, or nil.
func (w *sseWriter) problem() error {
	select {
	case <-w.known:
	default:
		return errors.New("the stream has no event \"endpoint\"")
	}
	if reason := w.failed.Load(); reason != nil {
		return errors.New(*reason)
	}
	return nil
}

// setEarly stores an event that came before the endpoint.
func (w *sseWriter) setEarly(e event) {
	select {
	case <-w.known:
	default:
		w.early = &e // read only after the endpoint is known
	}
}

// Write implements [io.Writer]. It posts complete lines, one after the other.
func (w *sseWriter) Write(b []byte) (int, error) {
	select {
	case <-w.known:
	case <-w.ctx.Done():
		return 0, w.ctx.Err()
	}
	if w.endpoint == "" {
		w.cancel()
		return 0, w.problem()
	}
	w.rest = append(w.rest, b...)
	for {
		line, rest, complete := bytes.Cut(w.rest, []byte("\n"))
		if !complete {
			return len(b), nil
		}
		w.rest = rest
		if err := w.post(line); err != nil {
			return 0, err
		}
	}
}

// post posts a message. Its response comes on the stream.
func (w *sseWriter) post(line []byte) error {
	status, err := w.exchange(w.ctx, w.endpoint, line, nil)
	if status >= 400 {
		w.fail("POST has the status %d", status)
	}
	return err
}

// exchange posts a message to an endpoint, with headers that edit may change, and returns
// the status.
func (w *sseWriter) exchange(ctx context.Context, endpoint string, line []byte, edit func(http.Header)) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, bytes.NewReader(line))
	if err != nil {
		return 0, err
	}
	for name, values := range w.server.Header {
		req.Header[name] = values
	}
	req.Header.Set("Content-Type", mediaJSON)
	if edit != nil {
		edit(req.Header)
	}
	res, err := w.server.client().Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, maxBody)) // so that the connection is used again
	return res.StatusCode, nil
}

// Close ends the stream.
func (w *sseWriter) Close() error {
	w.cancel()
	return nil
}
