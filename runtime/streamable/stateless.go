package streamable

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// serveStateless serves a request of a stateless revision.
func (h *Handler) serveStateless(w http.ResponseWriter, r *http.Request, b *backend, revision wire.Revision) {
	served := revision.Index() >= 0 && b.stateless.Has(revision)
	switch {
	case r.Method == http.MethodPost:
	case served || !b.handshake:
		notAllowed(w, http.MethodPost)
		return
	default:
		b.refuseVersion(versionHeader(r.Header)).write(w, true)
		return
	}
	buf, accepts, refused := h.readBody(r)
	if refused != nil {
		refused.write(w, true)
		return
	}
	defer buf.Held().Release() // for a handler that ends its goroutine
	m, f, err := b.dispatcher.Read(buf.Bytes, revision)
	switch {
	case err != nil:
		invalidMessage(&m, err).write(w, true)
	case m.Method == "":
		refuse(http.StatusBadRequest, "Invalid request: clients of this revision send no responses").write(w, true)
	case !served && h.lacksVersion(&m, versionHeader(r.Header)):
		b.refuseVersion(versionHeader(r.Header)).withID(m.ID).write(w, true)
	case m.ID.IsZero():
		if refused := h.serveStatelessNotification(w, r, b, &m, f); refused != nil {
			refused.write(w, true)
		}
	default:
		h.serveStatelessRequest(w, r, b, &m, f, accepts, buf)
	}
	buf.Free() // not reached if the goroutine of the handler ends; the buffer is then left to the garbage collector
}

// versionHeader returns the revision in the header, or "".
func versionHeader(header http.Header) string {
	return strings.Join(header[mcphttp.HeaderVersion], ", ")
}

// lacksVersion reports whether the body of a message contains no revision, so that the
// header alone decides. An initialize without the header contains the revision in its
// params.
func (h *Handler) lacksVersion(m *wire.Message, header string) bool {
	if m.ID.IsZero() {
		return true
	}
	_, found := revisions.InMetadata(m.Params)
	return !found && (header != "" || m.Method != mcp.MethodInitialize)
}

// refuseVersion returns the refusal of a request whose header has an unsupported
// revision.
func (b *backend) refuseVersion(version string) *refusal {
	if version == "" {
		return &refusal{status: http.StatusBadRequest, err: errNoVersion}
	}
	var supported []string
	for _, r := range b.dispatcher.Revisions() {
		supported = append(supported, r.String())
	}
	err := &mcp.UnsupportedProtocolVersionError{Requested: version, Supported: supported}
	return &refusal{status: http.StatusBadRequest, err: peer.AsError(err)}
}

// statelessRequest is a request outside sessions. It is the [peer.BackChannel] of its
// handler. It is not reused, because handlers may keep a reference to it.
type statelessRequest struct {
	response
	in  peer.Inbound
	ctx requestContext

	progressMu   sync.Mutex // held while a report is compared and sent; locked before the response
	lastProgress *float64   // nil before the first report
}

func (h *Handler) newStatelessRequest(w http.ResponseWriter, r *http.Request, m *wire.Message, f *wire.Frame, accepts acceptedTypes) *statelessRequest {
	p := &statelessRequest{response: response{w: w, handler: h, accepts: accepts, isSubscription: m.Method == mcp.MethodSubscriptionsListen}}
	p.transport = TransportContext{request: r, principal: h.opts.Principal(r)}
	p.ctx.Context.Context = r.Context()
	p.in.Method, p.in.ID, p.in.Params, p.in.Token = m.Method, m.ID, m.Params, progressToken(m)
	p.in.Message, _ = m.Into.(peer.Message)
	p.in.Frame, p.in.Transport, p.in.Back = f, &p.transport, p
	p.ctx.id = m.ID
	return p
}

// serveStatelessRequest handles a request whose body is buf.
func (h *Handler) serveStatelessRequest(w http.ResponseWriter, r *http.Request, b *backend, m *wire.Message, f *wire.Frame, accepts acceptedTypes, buf *buffer.Buffer) {
	p := h.newStatelessRequest(w, r, m, f, accepts)
	if p.isSubscription && !accepts.events {
		refuse(http.StatusNotAcceptable, "Invalid request: Accept must include text/event-stream").withID(m.ID).write(w, true)
		return
	}
	if !p.isSubscription && h.opts.JSONResponse {
		if p.accepts.events = false; !accepts.json {
			notAcceptable().withID(m.ID).write(w, true)
			return
		}
	}
	if refused := p.enter(); refused != nil {
		refused.withID(m.ID).write(w, true)
		return
	}
	defer p.leave()
	if err := p.holdExpected(buf); err != nil {
		h.opts.overBudget(err).withID(m.ID).write(w, true)
		return
	}
	p.serve(b, buf)
}

// holdExpected counts the response in the budget before the handler is called, if the response is
// expected to be large.
func (p *statelessRequest) holdExpected(buf *buffer.Buffer) error {
	b := p.handler.opts.JSONRPC.Budget
	n := b.ExpectedResult(p.in.Method, messageName(p.in.Message))
	if n == 0 {
		return nil
	}
	err := buf.Hold(b, p.transport.principal, cap(buf.Bytes)+n)
	if err == nil {
		buf.Grow(n)
	}
	return err
}

// enter counts the request, if the limits allow it.
func (p *statelessRequest) enter() *refusal {
	p.requestCtx = &p.ctx
	return p.handler.inFlight.enter(&p.response)
}

// leave ends the count that enter has begun.
func (p *statelessRequest) leave() {
	p.handler.inFlight.leave(&p.response)
	p.ctx.Cancel(nil)
}

// serve calls the handler and sends the response, even if the handler panics or ends
// its goroutine. It appends the response to the buffer of the request, because the
// result may refer to the bytes of the request.
func (p *statelessRequest) serve(b *backend, buf *buffer.Buffer) {
	at, err := len(buf.Bytes), failure.ErrExited
	defer func() {
		if v := recover(); v != nil {
			err = failure.NewPanicError(v)
		}
		status := http.StatusOK
		if err != nil {
			status, buf.Bytes = p.appendFailure(buf.Bytes[:at], err)
		}
		p.respond(&p.ctx, status, buf.Bytes[at:])
	}()
	reply, failed := b.dispatcher.ServeStateless(&p.ctx, &p.in, &b.connection)
	switch {
	case failed != nil:
		err = failed
	case reply.Result == nil:
		err = failure.ResultError{Err: failure.ErrNoResult}
	default:
		if buf.Bytes, err = wire.AppendResult(buf.Bytes, reply.Frame, p.in.ID, reply.Result); err != nil {
			err = failure.ResultError{Err: err}
		} else if err = p.holdResponse(buf, at); err != nil {
			p.handler.opts.refused.Add("JSONRPC.Budget")
			err = errUnsendable
		}
	}
}

// holdResponse counts the memory of the encoded response, which begins at an index.
func (p *statelessRequest) holdResponse(buf *buffer.Buffer, at int) error {
	b := p.handler.opts.JSONRPC.Budget
	b.RecordResult(p.in.Method, messageName(p.in.Message), len(buf.Bytes)-at)
	return buf.Hold(b, p.transport.principal, cap(buf.Bytes))
}

// appendFailure appends the error response for err and returns its status.
func (p *statelessRequest) appendFailure(b []byte, err error) (status int, response []byte) {
	if err == failure.ErrExited {
		p.setFlushNow()
	}
	logged := failure.Log(&p.ctx, p.handler.opts.Logger, &p.in, err, true)
	if peer.AsError(err) == nil && errors.Is(context.Cause(&p.ctx), connection.ErrClosing) && (errors.Is(err, connection.ErrClosing) || errors.Is(err, p.ctx.Err())) {
		logged = errClosing
	}
	return appendError(b, p.in.ID, logged)
}

// Call implements [peer.Outbound]. It always fails: servers of stateless revisions send
// no requests.
func (p *statelessRequest) Call(_ context.Context, req peer.Message, _ wire.Value, _ ...peer.CallOption) error {
	return &peer.NoBackChannelError{Method: req.Method()}
}

// Notify implements [peer.Outbound]. The first option is set by the connection and has
// no effect here.
func (p *statelessRequest) Notify(ctx context.Context, n peer.Notification, opts ...peer.CallOption) error {
	buf := buffer.New()
	defer buf.Free()
	frame := p.in.Frame
	if len(opts) > 1 {
		own := &peer.CallOptions{Frame: frame}
		for _, opt := range opts {
			opt(own)
		}
		frame = own.Frame
	}
	var err error
	if buf.Bytes, err = wire.AppendNotification(buf.Bytes, frame, n.Method(), n); err != nil {
		return fmt.Errorf("send %q: %w", n.Method(), err)
	}
	if err := p.send(ctx, buf.Bytes); err != nil {
		p.handler.opts.Logger.DebugContext(ctx, "notification dropped", "method", n.Method(), "error", err)
	}
	return nil
}

// Progress implements [peer.BackChannel].
func (p *statelessRequest) Progress(ctx context.Context, report peer.Progress) error {
	if p.in.Token.IsZero() {
		return nil
	}
	p.progressMu.Lock()
	defer p.progressMu.Unlock()
	if p.lastProgress != nil && report.Progress <= *p.lastProgress {
		return nil
	}
	p.lastProgress = new(report.Progress)
	return p.Notify(ctx, &mcp.ProgressNotification{
		ProgressToken: p.in.Token, Progress: report.Progress, Total: report.Total, Message: report.Message,
	})
}

// serveStatelessNotification handles a notification of a stateless revision.
func (h *Handler) serveStatelessNotification(w http.ResponseWriter, r *http.Request, b *backend, m *wire.Message, f *wire.Frame) *refusal {
	p := h.newStatelessRequest(w, r, m, f, acceptedTypes{})
	return p.serveNotification(func(ctx context.Context) error {
		_, err := b.dispatcher.ServeStateless(ctx, &p.in, &b.connection)
		return err
	})
}

// serveSessionlessNotification handles a notification or response of a handshake
// revision with [Options].Stateless. It waits for the handler, because its session ends
// with the HTTP request. The handler continues if the client closes the connection.
func (h *Handler) serveSessionlessNotification(w http.ResponseWriter, r *http.Request, s *session, m *wire.Message, f *wire.Frame, buf *buffer.Buffer) *refusal {
	p := h.newStatelessRequest(w, r, m, f, acceptedTypes{})
	p.ctx.Detached = true
	refused := p.serveNotification(func(ctx context.Context) error {
		if m.Method == "" {
			return nil // a response to no request is ignored
		}
		_, err := s.backend.dispatcher.Serve(ctx, s.conn, &p.in)
		return err
	})
	if refused == nil {
		buf.Free()
	}
	return refused
}

// serveNotification handles a notification outside sessions. It returns a refusal only
// if a limit is exceeded; an error of the handler is logged.
func (p *statelessRequest) serveNotification(serve func(context.Context) error) *refusal {
	p.in.Back = nil
	if refused := p.enter(); refused != nil {
		return refused
	}
	defer p.leave()
	exited := true
	defer func() {
		if exited {
			defer prepareFlush(p.w, 0)()
		}
		p.accept()
	}()
	err := call(&p.ctx, serve)
	if exited = false; err != nil {
		failure.Log(&p.ctx, p.handler.opts.Logger, &p.in, err, true)
	}
	return nil
}
