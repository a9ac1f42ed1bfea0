package scale

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/verified"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// endpoint serves one endpoint of a replica. It implements [http.Handler], [streamable.Sharing] and
// [streamable.EventStore].
type endpoint struct {
	node      *Node
	purpose   string // of signatures; other endpoints have others
	inner     *streamable.Handler
	principal func(*http.Request) string
	memory    streamable.EventStore
	keep      time.Duration // of records

	mu     sync.Mutex
	held   map[string]*heldSession // sessions of this replica by id
	moved  map[string]string       // tags of the owners of sessions that have moved, by id
	moving map[string]chan struct{}
	ended  map[string]*heldSession // sessions whose records could not be deleted yet
}

// Handler returns a handler that serves a server at one URL, and shares its sessions with the
// other replicas. The options are those of [streamable.NewHandler]. Events, if not nil, stores
// events for this replica only. Replicas that serve several endpoints must call Handler in the same
// order. [mcpserver.Server.Shutdown] shuts the handler down; call [Node.Shutdown] before.
func (n *Node) Handler(s *mcpserver.Server, opts *streamable.Options) http.Handler {
	var o streamable.Options
	if opts != nil {
		o = *opts
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	e := &endpoint{
		node: n, purpose: "session " + strconv.Itoa(len(n.endpoints)), principal: o.Principal, memory: o.Events,
		held: make(map[string]*heldSession), moved: make(map[string]string), moving: make(map[string]chan struct{}), ended: make(map[string]*heldSession),
	}
	if e.principal == nil {
		e.principal = func(r *http.Request) string { return verified.Principal(r.Context()) }
	}
	if e.memory == nil {
		e.memory = streamable.NewMemoryStore(nil)
	}
	e.keep = recordKeep(o.SessionIdleTimeout)
	o.Sharing, o.Events = e, e
	e.inner = streamable.NewHandler(s, &o)
	n.endpoints = append(n.endpoints, e)
	return e
}

// recordKeep returns how long the engine keeps the record of a session. It is written again while the
// session exists.
func recordKeep(idle time.Duration) time.Duration {
	switch {
	case idle < 0:
		return 24 * time.Hour
	case idle == 0:
		idle = 30 * time.Minute
	}
	return max(2*idle, time.Minute)
}

const (
	headerSession = "Mcp-Session-Id"
	headerMethod  = "Mcp-Method"
	headerName    = "Mcp-Name"
	headerHop     = "Mcp-Hop"
	headerMove    = "Mcp-Move"
	headerLast    = "Last-Event-Id"
	hopPurpose    = "hop"
	movePurpose   = "move"
	taskPurpose   = "task"
)

// ServeHTTP implements [http.Handler].
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids := r.Header[headerSession]
	if len(ids) == 0 && r.Header[headerName] != nil && e.forwardTask(w, r) {
		return
	}
	if r.Header[headerMove] != nil && len(ids) == 1 && e.moveIdle(r, ids[0]) {
		w.WriteHeader(http.StatusMisdirectedRequest)
		return
	}
	if len(ids) != 1 {
		e.inner.ServeHTTP(w, r)
		return
	}
	if e.isCertain(ids[0]) && e.inner.Holds(ids[0]) && e.serveHere(w, r, ids[0]) {
		return
	}
	tag, ok := parseSessionID(e.node.keys, e.purpose, ids[0])
	if !ok {
		e.inner.ServeHTTP(w, r) // refuses the request
		return
	}
	e.route(w, r, ids[0], tag)
}

// serveHere serves a request of a session of this replica. It reports false if the session is not here,
// or about to move.
func (e *endpoint) serveHere(w http.ResponseWriter, r *http.Request, id string) bool {
	h := e.enter(id)
	if h == nil {
		return false
	}
	defer e.exit(h)
	if r.Method == http.MethodDelete {
		return e.serveEnd(w, r, h)
	}
	e.inner.ServeHTTP(w, r)
	return true
}

// serveEnd serves a request that ends a session of this replica. If the record cannot be deleted, the client must try
// again: otherwise the session could continue at another replica. It reports false if the session continues there
// already.
func (e *endpoint) serveEnd(w http.ResponseWriter, r *http.Request, h *heldSession) bool {
	held := &heldResponse{header: make(http.Header), status: http.StatusOK}
	e.inner.ServeHTTP(held, r)
	switch {
	case held.status >= http.StatusBadRequest: // of another principal, for example
	case h.more().elsewhere.Load():
		return false
	case e.hasEnded(h.id):
		refuse(w, http.StatusServiceUnavailable, wire.RequestID{}, "The session has ended, but its record could not be deleted. Try again later.", "")
		return true
	}
	maps.Copy(w.Header(), held.header)
	w.WriteHeader(held.status)
	_, _ = w.Write(held.body.Bytes())
	return true
}

// heldResponse is a response that is not sent yet.
type heldResponse struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements [http.ResponseWriter].
func (h *heldResponse) Header() http.Header { return h.header }

// Write implements [http.ResponseWriter].
func (h *heldResponse) Write(data []byte) (int, error) { return h.body.Write(data) }

// WriteHeader implements [http.ResponseWriter].
func (h *heldResponse) WriteHeader(status int) { h.status = status }

// maxAttempts limits how often a request is routed, because its session moves.
const maxAttempts = 4

// route serves a request of a session here or forwards it.
func (e *endpoint) route(w http.ResponseWriter, r *http.Request, id, tag string) {
	isHop := len(r.Header[headerHop]) == 1 && e.node.keys.Signed(hopPurpose, id+" "+e.node.tag, r.Header[headerHop][0])
	var body *replayableBody
	for attempt := range maxAttempts {
		owner, err := e.locate(r.Context(), id, tag, e.principal(r), isHop || attempt > 0)
		switch {
		case isHop && (errors.Is(err, errLeaving) || owner != nil): // another replica decides
			w.WriteHeader(http.StatusMisdirectedRequest)
			return
		case err != nil:
			if !errors.Is(err, errLeaving) && !errors.Is(err, errEnding) && !errors.Is(err, errTooSoon) {
				e.node.opts.Logger.WarnContext(r.Context(), "could not find or take over a session", "error", err)
			}
			refuse(w, http.StatusServiceUnavailable, body.requestID(), "The session is not available. Try again later.", "")
			return
		case owner == nil:
			if body != nil {
				r.Body = body.reader()
			}
			switch {
			case r.Method == http.MethodDelete && e.deleteAgain(r.Context(), id):
				refuse(w, http.StatusServiceUnavailable, wire.RequestID{}, "The session has ended, but its record could not be deleted. Try again later.", "")
			case (followsStandalone(r) || r.Method == http.MethodDelete) && !e.isCertain(id):
				// Another replica may have the session, and later events.
				refuse(w, http.StatusServiceUnavailable, wire.RequestID{}, "The session is not available. Try again later.", "")
			case e.serveHere(w, r, id):
			case attempt == 0:
				continue // the session may have begun to move
			default:
				e.inner.ServeHTTP(w, r) // refuses the request: the session does not exist
			}
			return
		}
		if body == nil {
			if body, err = readBody(r); err != nil {
				refuse(w, http.StatusBadRequest, wire.RequestID{}, "The request could not be read.", "")
				return
			}
		}
		e.askToMove(r, id, owner, !isHop && attempt == 0)
		if e.forward(w, r, id, owner, body) {
			return
		}
		e.forgetMove(id)
	}
	refuse(w, http.StatusServiceUnavailable, body.requestID(), "The replica that has the session cannot be reached. Try again later.", "")
}

// maxReplayed limits the bytes of a request that is sent again if the session has moved.
const maxReplayed = 64 << 10

// replayableBody is the body of a request that is forwarded. Nil is an empty body.
type replayableBody struct {
	first []byte
	rest  io.ReadCloser // nil if first is all
	sent  bool
}

// readBody reads a body, if it is short.
func readBody(r *http.Request) (*replayableBody, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return new(replayableBody), nil
	}
	b := new(replayableBody)
	first, err := io.ReadAll(io.LimitReader(r.Body, maxReplayed+1))
	if err != nil {
		return nil, err
	}
	if b.first = first; len(first) > maxReplayed {
		b.rest = r.Body
	}
	return b, nil
}

// reader returns the body.
func (b *replayableBody) reader() io.ReadCloser {
	b.sent = true
	if b.rest == nil {
		return io.NopCloser(bytes.NewReader(b.first))
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(b.first), b.rest), b.rest}
}

// replayable reports whether the body can be sent.
func (b *replayableBody) replayable() bool { return !b.sent || b.rest == nil }

// requestID returns the id of the request in the body. It is zero if it is unknown.
func (b *replayableBody) requestID() wire.RequestID {
	if b == nil || b.rest != nil {
		return wire.RequestID{}
	}
	m, err := wire.ReadMessage(b.first, nil)
	if err != nil || m.Method == "" {
		return wire.RequestID{}
	}
	return m.ID
}

// refuse responds with an error. The reason is for programs, and may be empty.
func refuse(w http.ResponseWriter, status int, id wire.RequestID, text, reason string) {
	x := wire.ErrorObject{Code: mcp.CodeInternal, Message: text}
	if reason != "" {
		x.Data = append(append([]byte(`{"reason":`), wire.AppendString(nil, reason)...), '}')
	}
	data, err := wire.AppendError(nil, id, &x)
	if err != nil {
		data = nil
	}
	if status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

// isCurrent reports whether a session needs no check after the lease had ended for a while.
func (e *endpoint) isCurrent(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.held[id]
	return h == nil || h.checked >= e.node.heldSince.Load()
}

// isCertain reports whether no other replica can have a session that this one has.
func (e *endpoint) isCertain(id string) bool { return e.node.leaseHeld() && e.isCurrent(id) }

var (
	errCutOff  = errors.New("the engine cannot be reached for too long")
	errLeaving = errors.New("this replica is shutting down")
	errEnding  = errors.New("the session is ending")
	errTooSoon = errors.New("the owner is silent, and this replica has not held its lease for long enough to replace it")
)

// locate finds the owner of a session. It returns nil if the session is here, or if it does not exist;
// a session whose owner is gone is taken over. If afresh is set, the record of the session decides.
func (e *endpoint) locate(ctx context.Context, id, tag, principal string, afresh bool) (*member, error) {
	n := e.node
	n.renewLate(ctx)
	if n.cutOff() {
		return nil, errCutOff
	}
	if e.inner.Holds(id) && e.owns(id) && e.verify(ctx, id) {
		return nil, nil
	}
	if e.hasEnded(id) {
		return nil, nil
	}
	if owner := e.knownOwner(id, tag); !afresh && owner != n.tag {
		if m, err := n.member(ctx, owner); m != nil || err != nil {
			return m, err
		}
	}
	return e.findOwner(ctx, id, principal)
}

// knownOwner returns the tag of the replica that had a session last, as far as this one has learnt.
func (e *endpoint) knownOwner(id, tag string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if moved, has := e.moved[id]; has {
		return moved
	}
	return tag
}

// maxMoved limits the remembered owners of sessions. They can be found again.
const maxMoved = 1 << 16

func (e *endpoint) setMoved(id, tag string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.moved) >= maxMoved {
		clear(e.moved)
	}
	e.moved[id] = tag
}

func (e *endpoint) forgetMove(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.moved, id)
}

// hasEnded reports whether a session has ended here, and its record could not be deleted yet.
func (e *endpoint) hasEnded(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.ended[id] != nil
}
