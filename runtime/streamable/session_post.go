package streamable

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/buffer"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

var (
	errSessionFailed = errors.New("handshake failed")
	errSessionIdle   = errors.New("session was not used for too long")
	errSessionEnded  = errors.New("session ended by its client")
)

// serveSession serves a request in a revision with a handshake. It returns a
// stream that is still to be followed, nil for none.
func (h *Handler) serveSession(w http.ResponseWriter, r *http.Request, revision wire.Revision) (f *follow) {
	var no *refusal
	switch {
	case r.Method == http.MethodPost:
		no = h.serveSessionPost(w, r, revision)
	case h.opts.Stateless:
		notAllowed(w, http.MethodPost)
	case r.Method == http.MethodGet:
		f, no = h.serveSessionGet(w, r, revision)
	case r.Method == http.MethodDelete:
		no = h.serveSessionDelete(w, r, revision)
	default:
		notAllowed(w, "GET, POST, DELETE")
	}
	if no != nil {
		no.write(w, false)
	}
	return f
}

// findSession finds the session of a request and begins a use of it. The revision is
// that of the header, as far as there is one.
func (h *Handler) findSession(r *http.Request, revision wire.Revision) (*session, *refusal) {
	ids := r.Header[headerSession]
	if len(ids) != 1 {
		return nil, refuse(http.StatusBadRequest, "Invalid request: this endpoint is for MCP clients, which post initialize first and then send the header Mcp-Session-Id, once")
	}
	s := h.sessions.use(ids[0], h.opts.Principal(r))
	if s == nil {
		return nil, refuse(http.StatusNotFound, "Invalid request: there is no such session")
	}
	if revision != s.conn.State().Revision() && r.Header[headerVersion] != nil && s.conn.InitializeAccepted() {
		s.leave()
		return nil, refuse(http.StatusBadRequest, "Unsupported protocol version: the session speaks "+s.conn.Revision().String())
	}
	return s, nil
}

// serveSessionPost serves a POST: a message of the client's, or a batch of them.
// Where the revision is not the session's, the params are read again.
func (h *Handler) serveSessionPost(w http.ResponseWriter, r *http.Request, revision wire.Revision) *refusal {
	buf, takes, no := h.body(r)
	if no != nil {
		return no
	}
	if takes.events = takes.events && !h.opts.JSONResponse; !takes.events && !takes.json {
		buf.Free()
		return notAcceptable()
	}
	m, f, err := h.kernel.Read(buf.Bytes, revision)
	if err != nil {
		no = h.serveUnread(w, r, revision, &m, err, buf.Bytes, takes)
	} else if no = h.serveMessage(w, r, revision, &m, f, takes, buf); no == nil {
		return nil
	} else if m.Method != "" { // the id of an answer is not one of the client's
		no.id = m.ID
	}
	buf.Free()
	return no
}

// serveUnread serves what is no message: a batch, or what is refused.
func (h *Handler) serveUnread(w http.ResponseWriter, r *http.Request, revision wire.Revision, m *wire.Message, err error, body []byte, takes accepted) *refusal {
	if wire.Kind(body) == '[' {
		return h.serveBatch(w, r, revision, body, takes)
	}
	if no := unreadable(m, err); no.err.Code == mcp.CodeParse || !looksLikeAnswer(body) {
		return no
	}
	return h.refuseAnswer(r, m, err)
}

// serveMessage serves one message. The buffer is taken over unless the message is
// refused.
func (h *Handler) serveMessage(w http.ResponseWriter, r *http.Request, revision wire.Revision, m *wire.Message, f *wire.Frame, takes accepted, buf *buffer.Buffer) *refusal {
	if m.Method == "" || m.ID.IsZero() {
		return h.serveSessionNote(w, r, revision, m, f, buf)
	}
	var token wire.ProgressToken
	if mayHaveMeta(m.Params) {
		if namesOther(m.Params) {
			return &refusal{status: http.StatusBadRequest, err: errOtherVersion}
		}
		token = tokenOf(m)
	}
	opens := m.Method == mcp.MethodInitialize && r.Header[headerSession] == nil
	s, no := h.sessionFor(r, revision, m, opens)
	if no != nil {
		return no
	}
	p := s.newPost(w, r, takes)
	p.opens = opens && s.id != ""
	if no := h.work.enter(&p.response); no != nil {
		s.discard(opens)
		return no
	}
	if p.keeps && h.opts.Polling { // then it has its stream from the beginning
		p.serveApart(r.Context(), m, token, f, buf)
	} else {
		p.deliver(m, token, f, buf)
	}
	return nil
}

// serveSessionNote is serveMessage for what is no request: a notification, or the
// answer to one.
func (h *Handler) serveSessionNote(w http.ResponseWriter, r *http.Request, revision wire.Revision, m *wire.Message, f *wire.Frame, buf *buffer.Buffer) *refusal {
	s, no := h.sessionFor(r, revision, m, false)
	if no != nil {
		return no
	}
	defer s.discard(false)
	if s.id == "" {
		return h.serveStatelessNote(w, r, s, m, f, buf)
	}
	if m.Method == mcp.MethodInitialized {
		h.kernel.Confirm(r.Context(), s.conn, m.Params) // requests may overtake it otherwise
	}
	t := TransportContext{request: r, principal: s.principal, asks: true}
	s.deliver(r.Context(), m, jsonrpc.Source{Transport: &t, Detached: true, Release: buf.Release()})
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// sessionFor returns the session that a message belongs to, with a use of it.
func (h *Handler) sessionFor(r *http.Request, revision wire.Revision, m *wire.Message, opens bool) (*session, *refusal) {
	switch {
	case !opens && !h.opts.Stateless:
		return h.findSession(r, revision)
	case h.opts.Stateless:
		negotiates := m != nil && m.Method == mcp.MethodInitialize
		if !negotiates && !slices.Contains(h.kernel.Revisions(), revision) {
			return nil, refuse(http.StatusBadRequest, "Unsupported protocol version: "+revision.String()+" is not served")
		}
		s := h.newSession("", h.opts.Principal(r), revision.String())
		if !negotiates {
			s.conn.State().SetInitialized()
		}
		s.enter()
		return s, nil
	}
	s := h.newSession(rand.Text(), h.opts.Principal(r), revision.String())
	s.enter()
	if !h.sessions.add(s) {
		err := errTooManySessions
		if h.work.isClosing() {
			err = errClosing
		}
		return nil, &refusal{status: http.StatusServiceUnavailable, err: err}
	}
	return s, nil
}

var errOtherVersion = &peer.Error{
	Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: header Mcp-Protocol-Version does not repeat the version of the body",
}

var errTooManySessions = &peer.Error{Code: mcp.CodeInternal, Message: "Too many sessions"}

// serveSessionDelete ends a session.
func (h *Handler) serveSessionDelete(w http.ResponseWriter, r *http.Request, revision wire.Revision) *refusal {
	s, no := h.findSession(r, revision)
	if no != nil {
		return no
	}
	defer s.leave()
	if h.sessions.remove(s) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), farewell)
		defer cancel()
		s.end(ctx, errSessionEnded)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
