package client

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/serverurl"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/streamable/internal/sse"
	"github.com/mcpwright/mcp/runtime/wire"
)

// listen opens the standalone stream of a session.
func (c *Client) listen(s sessionInfo) {
	if c.opts.DisableStandaloneStream {
		return
	}
	ctx, cancel := context.WithCancel(c.ctx)
	l := &listener{client: c, session: s, ctx: ctx}
	if !c.state.setListener(cancel) || !c.state.spawn(l.run) { // ends with the session or the client, or when the server refuses the stream
		cancel()
	}
}

// listener keeps the standalone stream of a session open.
type listener struct {
	client    *Client
	session   sessionInfo
	ctx       context.Context
	position  eventPosition
	requested bool // the stream has been requested before
	responded bool // the server has responded to such a request
}

// run opens the stream again each time it ends, until the server refuses it.
func (l *listener) run() {
	c := l.client
	for {
		err := l.open()
		if l.ctx.Err() != nil {
			return
		}
		e, refused := errors.AsType[*HTTPError](err)
		if refused && l.eventUnknown(e) {
			l.position.lastID = "" // at most one retry, because the next request has no event id
			continue
		}
		if refused && !e.Temporary() {
			l.reportRefusal(err, e.Status)
			return
		}
		c.opts.JSONRPC.Logger.Debug("standalone stream ended", "error", err)
		if l.position.wait(l.ctx, &c.opts.Backoff, err) != nil {
			return
		}
	}
}

// open opens the stream and delivers its events until it ends.
func (l *listener) open() error {
	c := l.client
	gap := l.requested && l.position.lastID == ""
	l.requested = true
	res, err := c.get(l.ctx, nil, l.session, l.position.lastID)
	if l.ctx.Err() == nil {
		c.state.setListening()
	}
	if err != nil {
		return l.sessionError(err)
	}
	l.responded = true
	defer res.Body.Close()
	if kind := mcphttp.MediaType(res.Header); kind != mcphttp.MediaEvents {
		return &HTTPError{
			Method: http.MethodGet, URL: serverurl.Redact(c.serverURL), Status: res.StatusCode, Header: res.Header,
			Err: fmt.Errorf("unexpected content type %q", res.Header.Get(mcphttp.HeaderContentType)),
		}
	}
	if f := c.opts.OnEventsLost; gap && f != nil {
		go f() // ends when the callback returns
	}
	begun := time.Now()
	events := sse.NewReader(res.Body, c.http.maxBody)
	defer events.Free()
	defer func() { l.position.update(events, time.Since(begun), &c.opts.Backoff) }()
	for {
		ev, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrEventTooLong):
			c.opts.reportError(fmt.Errorf("standalone stream: %w: more than %d bytes", err, events.Limit()))
		case err != nil:
			return err
		case ev.Name != sse.Message:
			ev.Data.Free()
		default:
			c.conn.Deliver(c.ctx, ev.Data.Bytes, jsonrpc.Source{
				Transport: peer.NewTransportContext(mcphttp.Kind, true, res.Header, ""),
				Admit:     rejectResponses,
				Release:   ev.Data.Release(),
			})
		}
	}
}

// eventUnknown reports whether the server only refuses to resume the stream after the
// last event, which it may have deleted. It may still accept a new stream.
func (l *listener) eventUnknown(e *HTTPError) bool {
	return l.position.lastID != "" && !errors.Is(e, ErrSessionLost) &&
		(e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound)
}

// reportRefusal reports that the server refuses the stream. Many servers do not have
// it.
func (l *listener) reportRefusal(err error, status int) {
	switch {
	case errors.Is(err, ErrSessionLost): // OnSessionLost has been called
	case status == http.StatusMethodNotAllowed, status == http.StatusNotFound:
		l.client.opts.JSONRPC.Logger.Debug("server has no standalone stream", "error", err)
	default:
		l.client.opts.reportError(fmt.Errorf("standalone stream: %w", err))
	}
}

// sessionError adds what err means for the session. If the server does not find the
// session in the first request for the stream, right after the session began, then it
// does not support GET.
func (l *listener) sessionError(err error) error {
	first := !l.responded
	if _, ok := errors.AsType[*HTTPError](err); ok {
		l.responded = true
	}
	if first {
		return err
	}
	return l.client.sessionError(err, l.session)
}

// rejectResponses returns an error for responses, which must not be on the standalone
// stream.
func rejectResponses(m *wire.Message, unreadable error) error {
	if unreadable == nil && m.Method == "" {
		return fmt.Errorf("response to request id %v on the standalone stream", m.ID)
	}
	return nil
}

// get requests a stream. With an event id it resumes that event's stream, which is the
// stream of x, or the standalone stream if x is nil. Without an event id it requests a
// new standalone stream. The caller decides what an error means for the session.
func (c *Client) get(ctx context.Context, x *call, s sessionInfo, lastID string) (*http.Response, error) {
	var own peer.Header
	var id wire.RequestID
	if x != nil {
		own, id = x.header, x.id
	}
	req := c.http.request(ctx, http.MethodGet, c.serverURL, own, nil)
	req.Header[mcphttp.HeaderAccept] = mcphttp.ValueEvents
	s.setHeaders(req.Header)
	if lastID != "" {
		req.Header[mcphttp.HeaderLastEvent] = []string{lastID}
	}
	return c.http.do(req, id)
}

// eventPosition is the position up to which a stream has been read. The stream may have
// been on several HTTP responses.
type eventPosition struct {
	lastID   string        // id of the last event, or "" if the server sends none
	retry    time.Duration // delay that the server asked for, or 0
	failures int           // consecutive attempts without an event
}

// update updates the position after an HTTP response that lasted for the given time.
func (p *eventPosition) update(e *sse.Reader, lasted time.Duration, b *Backoff) {
	if e.LastID != "" {
		p.lastID = e.LastID
	}
	if e.Retry > 0 {
		p.retry = max(e.Retry, minRetry)
	}
	if e.Received || lasted > b.MaxDelay {
		p.failures = 0
	}
}

// wait waits until the stream may be resumed, which ended or was refused with err. It
// returns the cause if ctx ends first.
func (p *eventPosition) wait(ctx context.Context, b *Backoff, err error) error {
	timer := time.NewTimer(max(b.delay(p.failures, p.retry), retryAfter(err)))
	defer timer.Stop()
	p.failures++
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
