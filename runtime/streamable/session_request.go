package streamable

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/lazy"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// serveSession serves a request of a handshake revision. The result is a stream whose
// events must be sent, or nil.
func (h *Handler) serveSession(w http.ResponseWriter, r *http.Request, b *backend, revision wire.Revision) (f *follower) {
	var refused *refusal
	switch {
	case r.Method == http.MethodPost:
		refused = h.serveSessionPost(w, r, b, revision)
	case h.opts.Stateless:
		notAllowed(w, http.MethodPost)
	case r.Method == http.MethodGet:
		f, refused = h.serveSessionGet(w, r, revision)
	case r.Method == http.MethodDelete:
		refused = h.serveSessionDelete(w, r, revision)
	default:
		notAllowed(w, "GET, POST, DELETE")
	}
	if refused != nil {
		refused.write(w, false)
	}
	return f
}

// serveSessionPost serves a POST request that contains a message or a batch. The params
// are read again if the session has another revision.
func (h *Handler) serveSessionPost(w http.ResponseWriter, r *http.Request, b *backend, revision wire.Revision) *refusal {
	buf, accepts, refused := h.readBody(r)
	if refused != nil {
		return refused
	}
	if accepts.events = accepts.events && !h.opts.JSONResponse; !accepts.events && !accepts.json {
		buf.Free()
		return notAcceptable()
	}
	m, f, err := b.dispatcher.Read(buf.Bytes, revision)
	if err != nil {
		defer buf.Held().Release() // for a handler that ends its goroutine
		refused = h.serveInvalid(w, r, b, revision, &m, err, buf.Bytes, accepts)
	} else if refused = h.serveMessage(w, r, b, revision, &m, f, accepts, buf); refused == nil {
		return nil
	} else if m.Method != "" { // the id of a response is an id of the server
		refused.id = m.ID
	}
	buf.Free()
	return refused
}

// serveInvalid serves a body that is not a single valid message: a batch or an invalid
// message.
func (h *Handler) serveInvalid(w http.ResponseWriter, r *http.Request, b *backend, revision wire.Revision, m *wire.Message, err error, body []byte, accepts acceptedTypes) *refusal {
	if wire.Kind(body) == '[' {
		return h.serveBatch(w, r, b, revision, body, accepts)
	}
	if refused := invalidMessage(m, err); refused.err.Code == mcp.CodeParse || !looksLikeResponse(body) {
		return refused
	}
	return h.refuseResponse(r, m, err)
}

// serveMessage serves one message. It takes ownership of the buffer unless it returns a
// refusal.
func (h *Handler) serveMessage(w http.ResponseWriter, r *http.Request, b *backend, revision wire.Revision, m *wire.Message, f *wire.Frame, accepts acceptedTypes, buf *buffer.Buffer) *refusal {
	if m.Method == "" || m.ID.IsZero() {
		return h.serveSessionNotification(w, r, b, revision, m, f, buf)
	}
	var token wire.ProgressToken
	if mayHaveMeta(m.Params) {
		if namesOtherRevision(m.Params) {
			return &refusal{status: http.StatusBadRequest, err: errVersionMismatch}
		}
		token = progressToken(m)
	}
	opensSession := m.Method == mcp.MethodInitialize && r.Header[mcphttp.HeaderSession] == nil
	s, refused := h.sessionFor(r, b, revision, m, opensSession)
	if refused != nil {
		return refused
	}
	p := s.newRequest(w, r, accepts)
	p.opensSession = opensSession && s.id != ""
	p.isPing = m.Method == mcp.MethodPing
	if s.isShared() {
		p.share(m)
	}
	if p.requestCtx != nil {
		p.requestCtx.id = m.ID
	}
	if refused := h.inFlight.enter(&p.response); refused != nil {
		s.release(opensSession)
		return refused
	}
	if p.stored && h.opts.Polling { // the stream exists from the beginning
		p.deliverAsync(r.Context(), m, token, f, buf)
	} else {
		p.deliver(m, token, f, buf)
	}
	return nil
}

// serveSessionNotification serves a notification or a response.
func (h *Handler) serveSessionNotification(w http.ResponseWriter, r *http.Request, b *backend, revision wire.Revision, m *wire.Message, f *wire.Frame, buf *buffer.Buffer) *refusal {
	s, refused := h.sessionFor(r, b, revision, m, false)
	if refused != nil {
		return refused
	}
	defer s.release(false)
	if s.responseHasMoved(m) {
		return &refusal{status: http.StatusServiceUnavailable, err: errSessionMoves}
	}
	if s.id == "" {
		defer buf.Held().Release() // for a handler that ends its goroutine
		return h.serveSessionlessNotification(w, r, s, m, f, buf)
	}
	if m.Method == mcp.MethodInitialized {
		// The message is delivered too, but requests that come later may be handled first.
		s.backend.dispatcher.Confirm(r.Context(), s.conn, m.Params)
	}
	t := TransportContext{request: r, principal: s.principal, canRequest: true}
	s.deliver(r.Context(), m, jsonrpc.Source{Transport: &t, Detached: true, Release: buf.Release()})
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// serveSessionDelete ends a session.
func (h *Handler) serveSessionDelete(w http.ResponseWriter, r *http.Request, revision wire.Revision) *refusal {
	s, refused := h.findSession(r, revision)
	if refused != nil {
		return refused
	}
	defer s.endUse()
	if h.opts.MayDelete != nil && !h.opts.MayDelete(w, r) {
		return nil
	}
	if h.sessions.remove(s) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), endTimeout)
		defer cancel()
		s.end(ctx, errSessionEnded)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// sessionFor returns the session of a message and begins a use of it. It creates a
// session for initialize, and for each request with [Options].Stateless.
func (h *Handler) sessionFor(r *http.Request, b *backend, revision wire.Revision, m *wire.Message, opensSession bool) (*session, *refusal) {
	switch {
	case !opensSession && !h.opts.Stateless:
		return h.findSession(r, revision)
	case h.opts.Stateless:
		isInitialize := m != nil && m.Method == mcp.MethodInitialize
		if !isInitialize && !slices.Contains(b.dispatcher.Revisions(), revision) {
			return nil, refuse(http.StatusBadRequest, "Unsupported protocol version: "+revision.String()+" is not served")
		}
		s := h.newSession(b, "", h.opts.Principal(r), revision)
		if !isInitialize {
			s.conn.State().SetInitialized()
		}
		s.beginUse()
		return s, nil
	}
	return h.beginSession(r, b, revision)
}

// noSessionID logs that a new session cannot have an id, and returns the refusal.
func noSessionID(r *http.Request, o *Options, id string) *refusal {
	o.Logger.ErrorContext(r.Context(), "session id is not valid, or another session has it", "session", id)
	return &refusal{status: http.StatusInternalServerError, err: errNoSessionID}
}

// beginSession returns a new session and begins a use of it.
func (h *Handler) beginSession(r *http.Request, b *backend, revision wire.Revision) (*session, *refusal) {
	id := h.newSessionID(r)
	if !isSessionID(id) || h.sessions.get(id) != nil {
		return nil, noSessionID(r, &h.opts, id)
	}
	s := h.newSession(b, id, h.opts.Principal(r), revision)
	s.caller = h.inFlight.addSession(s.principal)
	s.beginUse()
	if h.sessions.add(s) {
		return s, nil
	}
	h.inFlight.removeSession(s.principal, s.caller)
	err := errTooManySessions
	if h.inFlight.isClosing() {
		err = errClosing
	}
	return nil, &refusal{status: http.StatusServiceUnavailable, err: err}
}

// refuseResponse refuses an invalid response to a request of the server. The call fails
// with the error. The refusal has no id, because the id belongs to the server.
func (h *Handler) refuseResponse(r *http.Request, m *wire.Message, err error) *refusal {
	invalid := invalidMessage(m, err).withID(wire.RequestID{})
	if h.opts.Stateless {
		return invalid
	}
	s, refused := h.findSession(r, headerRevision(r.Header))
	if refused != nil {
		return refused
	}
	defer s.endUse()
	s.failCall(m.ID, err)
	return invalid
}

// sessionRequest is a request of a session. It is the [jsonrpc.Writer] of all messages
// that belong to the request.
type sessionRequest struct {
	response
	// keepAliveDue is the time of the next keep-alive, or 0 before the first check. The
	// lock of the session guards it.
	keepAliveDue time.Duration
	shared       *sharedRequest // nil without [Options].Sharing
}

func (s *session) newRequest(w http.ResponseWriter, r *http.Request, accepts acceptedTypes) *sessionRequest {
	p := &sessionRequest{response: response{w: w, handler: s.handler, session: s, accepts: accepts}}
	p.transport = TransportContext{r, p, s.principal, s.id != "" && accepts.events}
	switch {
	case s.id == "": // other requests cannot cancel the request, because they have other sessions
		p.requestCtx = &requestContext{Context: lazy.Context{Context: r.Context(), Detached: true}}
	case s.resumable() && s.conn.InitializeAccepted():
		p.stored = true
		if s.handler.opts.Polling {
			p.stream = &stream{session: s, response: &p.response, detached: make(chan struct{})}
		}
	}
	return p
}

// deliver handles the request and sends the response. It continues if the client closes
// the connection.
func (p *sessionRequest) deliver(m *wire.Message, token wire.ProgressToken, f *wire.Frame, buf *buffer.Buffer) {
	d := p.session.acquireRPC()
	defer p.complete(m)
	if d == nil { // the session has ended
		buf.Free()
		return
	}
	d.Deliver(p.context(), nil, jsonrpc.Source{
		Message: m, Token: token, Transport: &p.transport, Back: p, Frame: f, Detached: p.requestCtx == nil, Release: buf.Release(),
	})
}

// deliverAsync is like deliver, but returns early if the stream continues without this
// HTTP request: because the handler ends the stream, or because the client is gone.
func (p *sessionRequest) deliverAsync(ctx context.Context, m *wire.Message, token wire.ProgressToken, f *wire.Frame, buf *buffer.Buffer) {
	own, detached, done := *m, p.stream.detached, make(chan struct{})
	go func() { // ends when the request has been handled, at the latest with the session
		defer close(done)
		defer failure.LogPanic(ctx, p.handler.opts.Logger, "response writer")
		p.deliver(&own, token, f, buf)
	}()
	select {
	case <-done:
	case <-detached:
	case <-ctx.Done():
		if !p.tryDetach() {
			<-done
		}
	}
}

// context returns the context of the handler.
func (p *sessionRequest) context() context.Context {
	if p.requestCtx != nil {
		return p.requestCtx
	}
	return p.transport.request.Context()
}

// Handle implements [peer.Handler].
func (s *session) Handle(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
	t, _ := in.Transport.(*TransportContext)
	if t == nil || t.response == nil || in.ID.IsZero() { // notifications of a batch run concurrently with its requests
		return s.backend.dispatcher.Serve(ctx, s.conn, in)
	}
	exits := true
	defer func() {
		if exits {
			t.response.setFlushNow()
		}
	}()
	reply, err := s.backend.dispatcher.Serve(ctx, s.conn, in)
	exits = false
	return reply, err
}

// WriteMessage implements [jsonrpc.Writer].
func (p *sessionRequest) WriteMessage(ctx context.Context, data []byte) error {
	return p.send(ctx, data)
}

// WriteWithInfo implements [jsonrpc.InfoWriter].
func (p *sessionRequest) WriteWithInfo(ctx context.Context, e jsonrpc.MessageInfo, data []byte) error {
	if e.Method != "" {
		return p.send(ctx, data)
	}
	if e.Error == nil && p.shared.savesState() {
		if err := p.session.save(ctx); err != nil {
			p.refuseUnsaved(ctx, e.ID, err)
			return nil
		}
	}
	if e.Error != nil {
		p.failSession()
		if p.session.hasEnded() {
			p.setFlushNow() // the handler may still be running
		}
	}
	p.respond(ctx, http.StatusOK, data)
	return nil
}

// failSession records that the handshake has failed, so that the session does not
// begin.
func (p *response) failSession() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessionFails = p.opensSession
}

// complete ends the request. If there was no response, it ends the HTTP response. If
// the handshake has failed, it ends the session.
func (p *sessionRequest) complete(m *wire.Message) {
	p.session.releaseRPC()
	defer p.handler.inFlight.leave(&p.response)
	p.mu.Lock()
	responded, failed := p.phase == finished, p.sessionFails
	p.mu.Unlock()
	if !responded {
		p.respondWithoutResult(m.ID)
	}
	p.session.release(p.opensSession && (failed || !p.session.conn.State().InitializeProcessed()))
}

// respondWithoutResult ends the HTTP response to a request without a result.
func (p *sessionRequest) respondWithoutResult(id wire.RequestID) {
	if p.session.hasEnded() {
		p.failSession()
		_, data := appendError(nil, id, errSessionOver)
		p.respond(context.WithoutCancel(p.context()), http.StatusOK, data)
	} else {
		p.endWithoutResponse()
	}
}

// failCall fails the call with an id, if there is one, because its response is invalid.
func (s *session) failCall(id wire.RequestID, err error) {
	d := s.acquireRPC()
	defer s.releaseRPC()
	if d != nil && !id.IsZero() {
		d.FailCall(id, fmt.Errorf("invalid response: %w", err))
	}
}

// release ends a use of the session. It ends a session that has no id or was not
// published.
func (s *session) release(unpublished bool) {
	s.endUse()
	switch {
	case s.id == "":
		s.conn.Close(context.Background())
	case unpublished && s.handler.sessions.remove(s):
		s.end(context.Background(), errSessionFailed)
	}
}

// sendKeepAliveIfDue implements [sessionResponse].
func (p *sessionRequest) sendKeepAliveIfDue(now, interval time.Duration) {
	switch {
	case p.keepAliveDue == 0: // the request has begun since the last check
		p.keepAliveDue = max(now+interval-rpcIdleInterval, 1)
	case p.keepAliveDue <= now:
		p.keepAliveDue = now + interval
		go p.sendKeepAlive() // ends when the client has received it
	}
}

// isDisconnected implements [sessionResponse]. A response that is being written has a client.
func (p *sessionRequest) isDisconnected() bool {
	if p.transport.request.Context().Err() != nil {
		return true
	}
	if !p.mu.TryLock() {
		return false
	}
	defer p.mu.Unlock()
	return p.phase == detached
}
