package streamable

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Sharing receives the state of sessions, so that another replica can continue them. It must be
// safe for concurrent use. Calls for one session are made one after another.
//
// [Options].Events stores the events of the sessions. It must be shared as well.
type Sharing interface {
	// NewID returns the id of a session that is about to begin.
	NewID() string
	// Save stores the state of a session, before its client receives the response to the
	// request that began or changed the session. If it returns an error, the client receives
	// an error with the status 503, and a session does not begin.
	Save(ctx context.Context, s *SessionState) error
	// Ended is called when a session has ended because its client ended it or did not use it,
	// or because it did not begin. It is not called after [Handler.Release],
	// [Handler.ReleaseIdle] and [Handler.Shutdown].
	Ended(ctx context.Context, id string)
}

// SessionState is the state of a session, without its events.
type SessionState struct {
	// ID is the id of the session.
	ID string
	// Principal is the principal that began the session, or the empty string.
	Principal string
	// Epoch is the number of times that the session has moved to another replica.
	Epoch uint32
	// Snapshot is the state of the connection.
	connection.Snapshot
}

// epochShift is the position of the epoch in numbers of streams and requests. They are unique in
// the session, because each epoch begins with greater ones.
const epochShift = 32

// newSessionID returns the id of a session that a request begins.
func (h *Handler) newSessionID(r *http.Request) string {
	switch {
	case h.opts.Sharing != nil:
		return h.opts.Sharing.NewID()
	case h.opts.NewSessionID != nil:
		return h.opts.NewSessionID(r)
	}
	return rand.Text()
}

// isSessionID reports whether a text can be the id of a session: the protocol allows visible ASCII
// characters.
func isSessionID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(c rune) bool { return c < '!' || c > '~' })
}

// Holds reports whether the handler has a session. The session may belong to any principal.
func (h *Handler) Holds(id string) bool {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	s := h.sessions.all[id]
	return s != nil && s.published
}

// get returns a session, or nil.
func (t *sessionTable) get(id string) *session {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all[id]
}

// move removes a session that continues at another replica. Without force, it does nothing if the
// session is in use. It reports whether it has removed the session.
func (t *sessionTable) move(s *session, force bool) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all[s.id] != s || !force && s.users.Load() > 0 {
		return false
	}
	delete(t.all, s.id)
	t.count.add(s.principal, -1)
	t.moved.add(s, t.clock.now())
	return true
}

// hasMoved reports whether a session of a principal has moved to another replica recently.
func (t *sessionTable) hasMoved(id, principal string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	m, has := t.moved[id]
	return has && m.principal == principal
}

// Forget removes what the handler remembers of a session that has moved to another replica and has ended there.
// Without it, requests for the session get status 503 for a while instead of 404.
func (h *Handler) Forget(id string) {
	h.sessions.mu.Lock()
	defer h.sessions.mu.Unlock()
	delete(h.sessions.moved, id)
}

// movedSessions are the sessions that have moved to another replica recently. A request that arrived
// before the move finds them here: it is refused, and the client sends it again.
type movedSessions map[string]movedSession

type movedSession struct {
	principal string
	at        time.Duration
}

// moveMemory is the least time for which a session that has moved is remembered.
const moveMemory = time.Minute

// add adds a session. It removes old ones when their number has doubled.
func (m *movedSessions) add(s *session, now time.Duration) {
	if *m == nil {
		*m = make(movedSessions)
	}
	if n := len(*m); n >= 64 && n&(n-1) == 0 {
		maps.DeleteFunc(*m, func(_ string, old movedSession) bool { return now-old.at > moveMemory })
	}
	(*m)[s.id] = movedSession{s.principal, now}
}

// Restore adds a session that began at another replica. Events are its stored events; the caller
// has added them to [Options].Events. Restore fails if the handler has the session, is
// shutting down, or has too many sessions. The client of a call that the other replica was handling
// receives an error when it resumes the stream.
func (h *Handler) Restore(ctx context.Context, state *SessionState, events []Event) error {
	r, _ := mcp.ParseRevision(state.ProtocolVersion)
	s := h.newSessionAt(h.backend, state.ID, state.Principal, r, state.Epoch)
	s.lastStream, s.lastCallID = uint64(state.Epoch)<<epochShift, int64(state.Epoch)<<epochShift
	for _, e := range events {
		if e.Stream == 0 {
			s.standalone().restore(e.Seq)
		}
	}
	s.caller = h.inFlight.addSession(s.principal)
	s.beginUse()
	defer s.endUse()
	if !h.sessions.add(s) {
		h.inFlight.removeSession(s.principal, s.caller)
		s.conn.Close(ctx)
		return errNotRestored
	}
	err := h.backend.dispatcher.Restore(ctx, s.conn, &state.Snapshot, &TransportContext{request: new(http.Request), principal: s.principal, canRequest: true})
	if err != nil {
		if h.sessions.remove(s) {
			s.end(ctx, errSessionMoved)
		}
		return fmt.Errorf("could not restore the session: %w", err)
	}
	h.sessions.publish(s)
	return nil
}

var errNotRestored = errors.New("could not restore the session: it exists, there are too many sessions, or the server is shutting down")

// restore sets the number of the last event.
func (st *stream) restore(seq uint64) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.lastSeq = max(st.lastSeq, seq)
}

// shared is the part of a session that only sessions of handlers with [Options].Sharing use.
type shared struct {
	saving    sync.Mutex                // held while the state is saved
	releasing atomic.Pointer[releasing] // set if the session moves when it is unused
}

// releasing is the state of a session that is about to move.
type releasing struct {
	unused chan struct{} // receives a value when a use ends and there is no other; has room for one
}

// signalUnused wakes Release.
func (sh *shared) signalUnused() {
	if r := sh.releasing.Load(); r != nil {
		select {
		case r.unused <- struct{}{}:
		default:
		}
	}
}

// Release ends a session at this handler, so that another one can continue it. It reports whether the
// handler had the session. It ends the standalone stream, and waits until the session has no requests,
// or until ctx ends; then the requests are cancelled. The session serves new requests until then.
// Release does not call [Sharing].Ended, and [Sharing].Save is not called afterwards. Concurrent calls
// for one session are not allowed, unless the contexts of all but one have ended.
func (h *Handler) Release(ctx context.Context, id string) bool {
	s := h.sessions.get(id)
	if s == nil || !s.isShared() {
		return false
	}
	s.shared.releasing.CompareAndSwap(nil, &releasing{make(chan struct{}, 1)})
	st := s.standalone()
	claimed, _ := st.claim(true) // ends the follower
	st.release(claimed)
	for !h.sessions.move(s, ctx.Err() != nil) {
		if h.sessions.get(id) != s {
			return false
		}
		select {
		case <-s.shared.releasing.Load().unused:
		case <-ctx.Done():
		}
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	s.end(connection.WithMoved(ending), errSessionMoved)
	return true
}

// ReleaseIdle is like [Handler.Release] for a session that can move without a loss, and does nothing
// otherwise. Such a session belongs to the principal, has no requests, and has no values of a
// [connection.Key]. Its client resumes the standalone stream, or has not received any of its events. It
// reports whether it has released the session.
func (h *Handler) ReleaseIdle(ctx context.Context, id, principal string, resumes bool) bool {
	s := h.sessions.get(id)
	if s == nil || !s.isShared() || s.principal != principal || s.conn.HasValues() {
		return false
	}
	if last, _ := s.standalone().position(); last > 0 && !resumes || !h.sessions.move(s, false) {
		return false
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	s.end(connection.WithMoved(ending), errSessionMoved)
	return true
}

// errSessionMoved is the cause of the end of a session that continues at another replica.
var errSessionMoved = errors.New("session continues at another replica")

// state returns the state of the session.
func (s *session) state() (*SessionState, error) {
	snapshot, err := s.conn.Snapshot()
	if err != nil {
		return nil, err
	}
	return &SessionState{s.id, s.principal, s.conn.Epoch(), *snapshot}, nil
}

// save saves the state of the session.
func (s *session) save(ctx context.Context) (err error) {
	s.shared.saving.Lock()
	defer s.shared.saving.Unlock()
	defer failure.Recover(&err)
	if s.hasEnded() {
		return errSessionMoved
	}
	state, err := s.state()
	if err != nil {
		return err
	}
	return s.handler.opts.Sharing.Save(ctx, state)
}

// share prepares a request of a session that is shared.
func (p *sessionRequest) share(m *wire.Message) {
	p.shared = &sharedRequest{id: m.ID, saves: changesState(m.Method) || p.opensSession}
	if p.stream != nil {
		p.stream.shared = p.shared
	}
}

// sharedRequest is the part of a request that only requests of shared sessions have.
type sharedRequest struct {
	id     wire.RequestID // zero if suffix is set at the beginning
	named  sync.Once
	suffix string // the result of requestName for the request, when an event needs it
	saves  bool   // a successful response is sent after the state of the session is saved
}

// idSuffix returns the end of the ids of the request's events. It is "" for nil.
func (s *sharedRequest) idSuffix() string {
	if s == nil {
		return ""
	}
	s.named.Do(func() {
		if !s.id.IsZero() {
			s.suffix = requestName(s.id)
		}
	})
	return s.suffix
}

func (s *sharedRequest) savesState() bool { return s != nil && s.saves }

// changesState reports whether a request changes the state of its session.
func changesState(method string) bool {
	switch method {
	case mcp.MethodSetLevel, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		return true
	}
	return false
}

var errUnsaved = &peer.Error{Code: mcp.CodeInternal, Message: "The session could not be saved. Try again later."}

// refuseUnsaved responds that the state of the session could not be saved.
func (p *sessionRequest) refuseUnsaved(ctx context.Context, id wire.RequestID, err error) {
	p.handler.opts.Logger.WarnContext(ctx, "could not save a session", "session", p.session.id, "error", err)
	p.failSession()
	_, data := appendError(nil, id, errUnsaved)
	p.mu.Lock()
	if p.phase == undecided {
		p.w.Header()["Retry-After"] = retryAfterOneSecond
	}
	p.mu.Unlock()
	p.respond(ctx, http.StatusServiceUnavailable, data)
}

// maxRequestName limits the bytes of a request's id in the ids of events. A client with a longer
// id receives no error for a call whose replica is gone.
const maxRequestName = 64

// requestName returns the id of a request for the ids of events, so that any replica can send an
// error for the request.
func requestName(id wire.RequestID) string {
	text := id.AppendTo(nil)
	if len(text) > maxRequestName {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// isFromEarlierEpoch reports whether a stream began at another replica.
func (s *session) isFromEarlierEpoch(number uint64) bool {
	return number != 0 && number>>epochShift < uint64(s.conn.Epoch())
}

// isFromLaterEpoch reports whether the number of a stream or of a request to the client was made by another
// replica, which continues the session.
func (s *session) isFromLaterEpoch(number uint64) bool {
	return s.isShared() && number>>epochShift > uint64(s.conn.Epoch())
}

// responseHasMoved reports whether a message is a response to a request of another replica, which continues
// the session.
func (s *session) responseHasMoved(m *wire.Message) bool {
	id, ok := m.ID.Int64()
	return m.Method == "" && ok && id > 0 && s.isFromLaterEpoch(uint64(id))
}

// isRequestOrNotification reports whether a message has a method.
func isRequestOrNotification(data []byte) bool {
	m, err := wire.ReadMessage(data, nil)
	return err == nil && m.Method != ""
}

// errOwnerLost is the error of a call whose replica is gone.
var errOwnerLost = &peer.Error{
	Code: mcp.CodeInternal, Message: "The server that handled the request is gone. The request may have had effects.", Data: json.RawMessage(`{"reason":"owner-lost"}`),
}

// sendOwnerLost sends the error for the request of a stream that began at another replica.
func (f *follower) sendOwnerLost() {
	text, err := base64.RawURLEncoding.DecodeString(f.shared.idSuffix())
	if err != nil {
		return
	}
	id, err := wire.ParseID(text)
	if err != nil {
		return
	}
	_, data := appendError(nil, id, errOwnerLost)
	_ = f.out.WriteMessage(nil, data) // a client that is gone resumes again
}
