package streamable

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// clientExchange is a request of ours on its way: the POST that carries it, and
// in a session also the GETs that take up a broken stream of its response. It
// ends with the answer, or when nobody waits for that any more. What it cannot
// bring, the dispatcher is told.
type clientExchange struct {
	client  *Client
	id      wire.RequestID
	method  string
	header  http.Header // of the caller's own
	session clientSession
	alone   bool // it belongs to no session: a broken stream cannot be taken up again
	ctx     context.Context
	cancel  context.CancelFunc
	outer   context.Context // what handlers see: it goes on when the exchange ends

	// For the exchange's goroutine alone.
	answered bool
	origin   jsonrpc.Source // of what the response brings
	odd      error          // why the last message could not be read
	position eventPosition
}

// clientScope ends with the client and has the values of a call.
type clientScope struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (s clientScope) Value(key any) any {
	if v := s.Context.Value(key); v != nil {
		return v
	}
	return s.values.Value(key)
}

// errBroken marks the end of a stream that may be taken up again.
var errBroken = errors.New("stream ended too early")

// trace returns the context of the request, in which an interim response (1xx) shows
// that the call is being worked on: by the server, or by a transport of the program's
// that has to do something first, such as to let a user log in.
func (x *clientExchange) trace() context.Context {
	return httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			x.client.conn.ExtendTimeout(x.id)
			return nil
		},
	})
}

// run carries the request and brings its answer.
func (x *clientExchange) run(req *http.Request) {
	defer x.cancel()
	res, err := x.client.do(req, x.session, x.id)
	if err == nil {
		err = x.receive(res)
	}
	for x.resumes(err) {
		err = x.resume()
	}
	if err != nil && x.client.state.exchange(x.id) == x {
		x.client.conn.FailCall(x.id, err)
	}
	x.client.state.leave(x)
}

// receive takes the answer out of a response.
func (x *clientExchange) receive(res *http.Response) error {
	defer res.Body.Close()
	if x.method == mcp.MethodInitialize {
		if err := x.client.adopt(res.Header); err != nil {
			return err
		}
	}
	x.origin.Transport = peer.NewTransportContext(Kind, true, res.Header, "")
	x.origin.Admit = x.admit
	switch kind := mediaType(res.Header); {
	case res.StatusCode == http.StatusAccepted || res.StatusCode == http.StatusNoContent:
		return fmt.Errorf("%w: the server accepted it like a notification, with status %d", ErrNoResponse, res.StatusCode)
	case kind == mediaJSON:
		return x.body(res)
	case kind == mediaEvents:
		return x.stream(res)
	default:
		return fmt.Errorf("%w: the response has the content type %q", ErrNoResponse, res.Header.Get(headerContentType))
	}
}

// body takes the answer out of a body of JSON.
func (x *clientExchange) body(res *http.Response) error {
	p := buffer.New()
	if err := x.client.http.readAll(p, res); err != nil {
		p.Free()
		return fmt.Errorf("%w: response: %w", ErrNoResponse, err)
	}
	x.deliver(p)
	switch {
	case x.answered:
		return nil
	case x.odd != nil:
		return fmt.Errorf("%w: response: %w", ErrNoResponse, x.odd)
	}
	return fmt.Errorf("%w: the response is about something else", ErrNoResponse)
}

// stream delivers the events of a response until the answer was among them.
func (x *clientExchange) stream(res *http.Response) error {
	begun := time.Now()
	events := readEvents(res.Body, x.client.http.most)
	defer events.free()
	defer func() { x.position.note(events, time.Since(begun), &x.client.opts.Backoff) }()
	for !x.answered {
		ev, err := events.next()
		switch {
		case errors.Is(err, errEventTooLong):
			return fmt.Errorf("%w: %w: more than %d bytes", ErrNoResponse, err, events.most)
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: %w", ErrNoResponse, errBroken)
		case err != nil:
			return fmt.Errorf("%w: %w: %w", ErrNoResponse, errBroken, err)
		case ev.name != eventMessage:
			ev.data.Free()
		default:
			x.deliver(ev.data)
		}
	}
	x.linger(res)
	return nil
}

// lingering is how long the end of a response is waited for when all that counts
// has come: a connection whose response was read can be used again.
const lingering = time.Second

// linger waits for the end of a response.
func (x *clientExchange) linger(res *http.Response) {
	x.client.state.leave(x)
	defer time.AfterFunc(lingering, x.cancel).Stop()
	_, _ = io.CopyN(io.Discard, res.Body, mostDrained)
}

// deliver hands a message to the dispatcher.
func (x *clientExchange) deliver(p *buffer.Buffer) {
	o := x.origin
	o.Release = p.Release()
	x.client.conn.Deliver(x.outer, p.Bytes, o)
}

// admit keeps out what does not belong into the response to this request:
// answers to others, and requests where the revision has none of the server's.
// An error that does not say what it answers can only mean this request.
func (x *clientExchange) admit(m *wire.Message, unreadable error) error {
	x.odd = unreadable
	switch {
	case m.Method != "":
		if !m.ID.IsZero() && x.alone {
			return fmt.Errorf("request %q: servers of this revision send none", m.Method)
		}
		return nil
	case unreadable != nil && m.ID.IsZero():
		return nil // the dispatcher reports it
	case !x.client.state.owns(x):
		return fmt.Errorf("answer to %v, which is another request now", x.id)
	case m.ID.IsZero() && m.Error != nil:
		m.ID = x.id
	case m.ID != x.id:
		return fmt.Errorf("answer to %v in the response to %v", m.ID, x.id)
	case unreadable != nil:
		x.answered = true
		x.client.conn.FailCall(x.id, fmt.Errorf("answer of the server: %w", unreadable))
		return unreadable
	}
	x.answered = true
	return nil
}

// resumes tells whether a stream that has ended because of err is to be taken up
// again.
func (x *clientExchange) resumes(err error) bool {
	return errors.Is(err, errBroken) && !x.alone && x.position.lastID != "" && x.position.vain < x.client.opts.Backoff.MaxAttempts
}

// resume takes up the stream.
func (x *clientExchange) resume() error {
	c := x.client
	if err := x.position.wait(x.ctx, &c.opts.Backoff); err != nil {
		return err
	}
	session := x.session
	if x.method == mcp.MethodInitialize { // which its response has begun
		session = c.state.view(session.revision)
	}
	res, err := c.get(x.trace(), x, session, x.position.lastID)
	if err == nil {
		x.position.vain = 0
		return x.receive(res)
	}
	if err = c.explain(err, session); errors.Is(err, ErrSessionLost) { // which is for calls that may be made again
		return fmt.Errorf("%w: resuming its stream: %v", ErrNoResponse, err)
	}
	if e, ok := errors.AsType[*HTTPError](err); ok && !e.passing() {
		return fmt.Errorf("%w: resuming its stream: %w", ErrNoResponse, err)
	}
	return fmt.Errorf("%w: %w: %w", ErrNoResponse, errBroken, err)
}
