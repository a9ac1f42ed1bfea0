package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// beginSession makes room for a new session.
func (c *Client) beginSession() {
	if old, alive := c.state.begin(); alive {
		c.state.spawn(func() { c.endSession(old) }) // ends after clientFarewell at the latest
	}
}

// endSession tells the server that a session is over. A server need not let
// itself be told.
func (c *Client) endSession(s clientSession) {
	req := c.http.request(context.Background(), http.MethodDelete, c.to, nil, nil)
	s.sessionHeader(req.Header)
	err := c.http.tell(req, context.Background(), clientFarewell)
	if e, ok := errors.AsType[*HTTPError](err); ok && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotFound) {
		return
	}
	if err != nil {
		c.opts.JSONRPC.Logger.Debug("server was not told that the session is over", "error", err)
	}
}

// adopt takes the id of a new session from the response to initialize.
func (c *Client) adopt(h http.Header) error {
	id := h.Get(headerSession)
	for i := range len(id) {
		if id[i] <= ' ' || id[i] > '~' {
			return fmt.Errorf("session id %q has a character that it must not have", id)
		}
	}
	if id != "" {
		c.state.adopt(id)
	}
	return nil
}

// get asks for the stream that has the event lastID, to take up an exchange or,
// where that is nil, what belongs to no call. Without an event the stream is a
// new one. What the error means for the session is the caller's to say.
func (c *Client) get(ctx context.Context, x *clientExchange, s clientSession, lastID string) (*http.Response, error) {
	var own http.Header
	var id wire.RequestID
	if x != nil {
		own, id = x.header, x.id
	}
	req := c.http.request(ctx, http.MethodGet, c.to, own, nil)
	req.Header[headerAccept] = valueEvents
	s.sessionHeader(req.Header)
	if lastID != "" {
		req.Header[headerLastEvent] = []string{lastID}
	}
	return c.http.do(req, id)
}

// listen opens the stream of a session that belongs to no call.
func (c *Client) listen(s clientSession) {
	if c.opts.DisableStandaloneStream {
		return
	}
	ctx, cancel := context.WithCancel(c.life)
	l := &clientListener{client: c, session: s, ctx: ctx}
	if !c.state.hear(cancel) || !c.state.spawn(l.run) { // ends with the session or the client, or when the server wants no such stream
		cancel()
	}
}

// clientListener keeps the stream open that brings what belongs to no call.
type clientListener struct {
	client   *Client
	session  clientSession
	ctx      context.Context
	position eventPosition
	asked    bool // for the stream, before
	answered bool // a request for the stream was
}

// run opens the stream again whenever it ends, until the server does not want
// it any more.
func (l *clientListener) run() {
	c := l.client
	for {
		err := l.open()
		if l.ctx.Err() != nil {
			return
		}
		e, refused := errors.AsType[*HTTPError](err)
		if refused && l.forgotten(e) {
			l.position.lastID = "" // which the next request is without, so that there is one such turn at most
			continue
		}
		if refused && !e.passing() {
			l.refused(err, e.Status)
			return
		}
		c.opts.JSONRPC.Logger.Debug("stream of the session ended", "error", err)
		if l.position.wait(l.ctx, &c.opts.Backoff) != nil {
			return
		}
	}
}

// forgotten tells whether the server refuses only to go on from the last event,
// which it may have forgotten. It says nothing about the stream itself then.
func (l *clientListener) forgotten(e *HTTPError) bool {
	return l.position.lastID != "" && !errors.Is(e, ErrSessionLost) &&
		(e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound)
}

// refused tells that there will be no stream. Many servers have none.
func (l *clientListener) refused(err error, status int) {
	switch {
	case errors.Is(err, ErrSessionLost): // whom it concerns has been told
	case status == http.StatusMethodNotAllowed, status == http.StatusNotFound:
		l.client.opts.JSONRPC.Logger.Debug("server has no stream for what belongs to no call", "error", err)
	default:
		l.client.opts.report(fmt.Errorf("stream of the session: %w", err))
	}
}

// open opens the stream and delivers its events until it ends.
func (l *clientListener) open() error {
	c := l.client
	gap := l.asked && l.position.lastID == ""
	l.asked = true
	res, err := c.get(l.ctx, nil, l.session, l.position.lastID)
	if l.ctx.Err() == nil {
		c.state.heard()
	}
	if err != nil {
		return l.explain(err)
	}
	l.answered = true
	defer res.Body.Close()
	if kind := mediaType(res.Header); kind != mediaEvents {
		return &HTTPError{
			Method: http.MethodGet, URL: display(c.to), Status: res.StatusCode, Header: res.Header,
			Err: fmt.Errorf("content type %q", res.Header.Get(headerContentType)),
		}
	}
	if f := c.opts.OnEventsLost; gap && f != nil {
		go f() // ends when the callback does
	}
	begun := time.Now()
	events := readEvents(res.Body, c.http.most)
	defer events.free()
	defer func() { l.position.note(events, time.Since(begun), &c.opts.Backoff) }()
	for {
		ev, err := events.next()
		switch {
		case errors.Is(err, errEventTooLong):
			c.opts.report(fmt.Errorf("stream of the session: %w: more than %d bytes", err, events.most))
		case err != nil:
			return err
		case ev.name != eventMessage:
			ev.data.Free()
		default:
			c.conn.Deliver(c.life, ev.data.Bytes, jsonrpc.Source{
				Transport: peer.NewTransportContext(Kind, true, res.Header, ""),
				Admit:     noAnswers,
				Release:   ev.data.Release(),
			})
		}
	}
}

// explain adds to err what it means for the session. The session has only just
// begun when the stream is first asked for: a server that then knows nothing of
// it has no GET at all.
func (l *clientListener) explain(err error) error {
	first := !l.answered
	if _, ok := errors.AsType[*HTTPError](err); ok {
		l.answered = true
	}
	if first {
		return err
	}
	return l.client.explain(err, l.session)
}

// noAnswers keeps answers out of a stream that they do not belong on.
func noAnswers(m *wire.Message, unreadable error) error {
	if unreadable == nil && m.Method == "" {
		return fmt.Errorf("answer to %v on the stream that belongs to no call", m.ID)
	}
	return nil
}
