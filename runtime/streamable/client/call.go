package client

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
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/streamable/internal/sse"
	"github.com/mcpwright/mcp/runtime/wire"
)

// call is a request in flight: the POST request and, in a session, the GET requests
// that resume the stream of its response. It ends with the response, or when its call
// is cancelled. It reports failures to the JSON-RPC connection.
type call struct {
	client     *Client
	id         wire.RequestID
	method     string
	header     peer.Header // from the options of the call
	session    sessionInfo
	stateless  bool // belongs to no session, so a broken stream cannot be resumed
	ctx        context.Context
	cancel     context.CancelFunc
	handlerCtx callContext // context of handlers, which continues after the call
	deadline   time.Time   // of the caller, unless its timeout is restarted; zero for none

	// The following fields are used only by the goroutine of the call.
	responded bool
	source    jsonrpc.Source // of the messages in the response
	readErr   error          // why the last message was invalid, or nil
	position  eventPosition
}

// callContext ends with the client and has the values of the context of a call.
type callContext struct {
	context.Context
	values context.Context
}

// Value implements [context.Context].
func (s callContext) Value(key any) any {
	if v := s.Context.Value(key); v != nil {
		return v
	}
	return s.values.Value(key)
}

// errBroken is in the chain of the error of a stream that may be resumed.
var errBroken = errors.New("stream ended before the response")

// traced returns the context of the HTTP request. An interim response (1xx) restarts
// the timeout of the call: the server is working on it, or a transport of the program
// first has to do something else, such as a login.
func (x *call) traced() context.Context {
	return httptrace.WithClientTrace(x.ctx, &httptrace.ClientTrace{
		Got1xxResponse: func(int, textproto.MIMEHeader) error {
			x.client.conn.ExtendTimeout(x.id)
			return nil
		},
	})
}

// run sends the request and delivers its response.
func (x *call) run(req *http.Request) {
	defer x.cancel()
	res, err := x.client.do(req, x.session, x.id)
	if retryAfter(err) > 0 {
		res, err = x.sendAgain(req, err)
	}
	if err == nil {
		err = x.receive(res)
	}
	for x.canResume(err) {
		err = x.resume(err)
	}
	if err != nil && x.client.state.findCall(x.id) == x {
		x.client.conn.FailCall(x.id, err)
	}
	x.client.state.removeCall(x)
}

// sendAgain sends a request again that the server refused with err, while the caller
// waits.
func (x *call) sendAgain(req *http.Request, err error) (res *http.Response, _ error) {
	ctx, cancel := context.WithCancel(x.handlerCtx.values) // ends if the caller's context ends
	defer cancel()
	defer context.AfterFunc(x.ctx, cancel)()
	err = x.client.retry(ctx, x.deadline, ifRefused, err, func() (err error) {
		res, err = x.client.do(again(req), x.session, x.id)
		return err
	})
	return res, err
}

// receive delivers the messages of an HTTP response.
func (x *call) receive(res *http.Response) error {
	defer res.Body.Close()
	if x.method == mcp.MethodInitialize {
		if err := x.client.adoptSession(res.Header); err != nil {
			return err
		}
	}
	x.source.Transport = peer.NewTransportContext(mcphttp.Kind, true, res.Header, "")
	x.source.Admit = x.admit
	switch kind := mcphttp.MediaType(res.Header); {
	case res.StatusCode == http.StatusAccepted || res.StatusCode == http.StatusNoContent:
		return fmt.Errorf("%w: the server accepted the request like a notification, with status %d", ErrNoResponse, res.StatusCode)
	case kind == mcphttp.MediaJSON:
		return x.readBody(res)
	case kind == mcphttp.MediaEvents:
		return x.readStream(res)
	default:
		return fmt.Errorf("%w: %w", ErrNoResponse, unexpectedType(x.client.serverURL, res))
	}
}

// readBody delivers the response in a JSON body.
func (x *call) readBody(res *http.Response) error {
	p := buffer.New()
	if err := x.client.http.readAll(p, res); err != nil {
		p.Free()
		return fmt.Errorf("%w: read response: %w", ErrNoResponse, err)
	}
	x.deliver(p)
	switch {
	case x.responded:
		return nil
	case x.readErr != nil:
		return fmt.Errorf("%w: read response: %w", ErrNoResponse, x.readErr)
	}
	return fmt.Errorf("%w: the body contains another message", ErrNoResponse)
}

// readStream delivers the events of a stream up to the response.
func (x *call) readStream(res *http.Response) error {
	begun := time.Now()
	events := sse.NewReader(res.Body, x.client.http.maxBody)
	defer events.Free()
	defer func() { x.position.update(events, time.Since(begun), &x.client.opts.Backoff) }()
	for !x.responded {
		ev, err := events.Next()
		switch {
		case errors.Is(err, sse.ErrEventTooLong):
			return fmt.Errorf("%w: %w: more than %d bytes", ErrNoResponse, err, events.Limit())
		case errors.Is(err, io.EOF):
			return fmt.Errorf("%w: %w", ErrNoResponse, errBroken)
		case err != nil:
			return fmt.Errorf("%w: %w: %w", ErrNoResponse, errBroken, err)
		case ev.Name != sse.Message:
			ev.Data.Free()
		default:
			x.deliver(ev.Data)
		}
	}
	x.drain(res)
	return nil
}

// drain reads the rest of an HTTP response.
func (x *call) drain(res *http.Response) {
	x.client.state.removeCall(x)
	defer time.AfterFunc(drainTimeout, x.cancel).Stop()
	_, _ = io.CopyN(io.Discard, res.Body, maxDrained)
}

// deliver passes a message to the JSON-RPC connection.
func (x *call) deliver(p *buffer.Buffer) {
	o := x.source
	o.Release = p.Release()
	x.client.conn.Deliver(x.handlerCtx, p.Bytes, o)
}

// admit returns an error for messages that must not be in the HTTP response to this
// request: responses to other requests, and requests in stateless revisions. An error
// response without an id can only be the response to this request.
func (x *call) admit(m *wire.Message, unreadable error) error {
	x.readErr = unreadable
	switch {
	case m.Method != "":
		if !m.ID.IsZero() && x.stateless {
			return fmt.Errorf("unexpected request %q from a server of a stateless revision", m.Method)
		}
		return nil
	case unreadable != nil && m.ID.IsZero():
		return nil // the JSON-RPC connection reports it
	case !x.client.state.ownsID(x):
		return fmt.Errorf("late response to request id %v, which is in use again", x.id)
	case m.ID.IsZero() && m.Error != nil:
		m.ID = x.id
	case m.ID != x.id:
		return fmt.Errorf("response to request id %v in the HTTP response to request id %v", m.ID, x.id)
	case unreadable != nil:
		x.responded = true
		x.client.conn.FailCall(x.id, fmt.Errorf("invalid response: %w", unreadable))
		return unreadable
	}
	x.responded = true
	return nil
}

// canResume reports whether a stream that ended with err can be resumed.
func (x *call) canResume(err error) bool {
	return errors.Is(err, errBroken) && !x.stateless && x.position.lastID != "" && x.position.failures < x.client.opts.Backoff.MaxAttempts
}

// resume resumes the stream, which ended with cause, and delivers its events.
func (x *call) resume(cause error) error {
	c := x.client
	if err := x.position.wait(x.ctx, &c.opts.Backoff, cause); err != nil {
		return err
	}
	session := x.session
	if x.method == mcp.MethodInitialize { // the HTTP response has begun the session
		session = c.state.current(session.revision)
	}
	res, err := c.get(x.traced(), x, session, x.position.lastID)
	if err == nil {
		x.position.failures = 0
		return x.receive(res)
	}
	if err = c.sessionError(err, session); errors.Is(err, ErrSessionLost) { // not in the chain: calls with ErrSessionLost may be repeated, this one may not
		return fmt.Errorf("%w: resume stream: %v", ErrNoResponse, err)
	}
	if e, ok := errors.AsType[*HTTPError](err); ok && !e.Temporary() {
		return fmt.Errorf("%w: resume stream: %w", ErrNoResponse, err)
	}
	return fmt.Errorf("%w: %w: %w", ErrNoResponse, errBroken, err)
}
