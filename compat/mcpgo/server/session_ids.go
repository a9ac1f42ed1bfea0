package server

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	kit "github.com/mcpwright/mcp/generated/mcp"
)

// SessionIdManager makes and checks the ids of sessions. It must be safe for concurrent use.
type SessionIdManager interface {
	// Generate returns the id of a session that is about to begin. Unlike in mcp-go, each session
	// needs its own id: a client whose id is empty, or the id of another session, gets the status 500.
	Generate() string
	// Validate is called for each request in a session. The client gets the status 404 if it returns
	// an error or true. Unlike in mcp-go, it also gets this status if the server has no such session.
	Validate(sessionID string) (isTerminated bool, err error)
	// Terminate is called when a session ends. If its client ends it, an error and true refuse that. Unlike in
	// mcp-go, it is not called if the server has no such session, or if another caller began the session.
	Terminate(sessionID string) (isNotAllowed bool, err error)
}

// SessionIdManagerResolver returns the manager for a request.
type SessionIdManagerResolver interface {
	ResolveSessionIdManager(r *http.Request) SessionIdManager
}

// DefaultSessionIdManagerResolver returns one manager for all requests.
type DefaultSessionIdManagerResolver struct{ manager SessionIdManager }

// NewDefaultSessionIdManagerResolver returns a resolver for a manager.
func NewDefaultSessionIdManagerResolver(manager SessionIdManager) *DefaultSessionIdManagerResolver {
	return &DefaultSessionIdManagerResolver{manager}
}

// ResolveSessionIdManager implements [SessionIdManagerResolver].
func (r *DefaultSessionIdManagerResolver) ResolveSessionIdManager(*http.Request) SessionIdManager {
	return r.manager
}

// WithSessionIdManager sets the manager of session ids. A [StatelessSessionIdManager] and nil disable
// sessions. Of several options about sessions, the last one applies.
func WithSessionIdManager(manager SessionIdManager) StreamableHTTPOption {
	if _, stateless := manager.(*StatelessSessionIdManager); stateless || manager == nil {
		return WithStateLess(true)
	}
	return func(s *StreamableHTTPServer) {
		s.opts.Stateless, s.ids = false, NewDefaultSessionIdManagerResolver(manager)
	}
}

// WithSessionIdManagerResolver sets the manager of session ids for each request. All of them have
// sessions. Nil disables sessions.
func WithSessionIdManagerResolver(resolver SessionIdManagerResolver) StreamableHTTPOption {
	if one, ok := resolver.(*DefaultSessionIdManagerResolver); ok || resolver == nil {
		if one == nil {
			return WithStateLess(true)
		}
		return WithSessionIdManager(one.manager)
	}
	return func(s *StreamableHTTPServer) { s.opts.Stateless, s.ids = false, resolver }
}

type (
	// managerKey is the key of the manager in the context of a request.
	managerKey struct{}
	// terminatedKey is in the context if the manager has terminated the session.
	terminatedKey struct{}
)

// validateSession returns the text with which a request in a session is refused, or "".
func validateSession(ids SessionIdManager, r *http.Request) string {
	id := r.Header.Get(HeaderKeySessionID)
	if id == "" || r.Header.Get(HeaderKeyProtocolVersion) == kit.Revision20260728.String() {
		return "" // it begins a session, or has none
	}
	switch terminated, err := ids.Validate(id); {
	case err != nil:
		return "Invalid session ID"
	case terminated:
		return "Session terminated"
	}
	return ""
}

// mayDelete terminates the id of a session whose client asks to end it, or writes the response.
func (s *StreamableHTTPServer) mayDelete(w http.ResponseWriter, r *http.Request) bool {
	refused, err := s.ids.ResolveSessionIdManager(r).Terminate(r.Header.Get(HeaderKeySessionID))
	switch {
	case err != nil:
		http.Error(w, "Session termination failed: "+err.Error(), http.StatusInternalServerError)
	case refused:
		http.Error(w, "Session termination not allowed", http.StatusMethodNotAllowed)
	}
	return err == nil && !refused
}

// idPrefix begins the ids of Streamable HTTP.
const idPrefix = "mcp-session-"

// newID returns a random UUID. Some programs validate the ids of sessions as UUIDs.
func newID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

var errInvalidSessionID = errors.New("invalid session id")

// StatelessSessionIdManager disables sessions; see [WithSessionIdManager].
type StatelessSessionIdManager struct{}

// Generate implements [SessionIdManager].
func (*StatelessSessionIdManager) Generate() string { return "" }

// Validate implements [SessionIdManager].
func (*StatelessSessionIdManager) Validate(string) (bool, error) { return false, nil }

// Terminate implements [SessionIdManager].
func (*StatelessSessionIdManager) Terminate(string) (bool, error) { return false, nil }

// StatelessGeneratingSessionIdManager makes ids and stores none.
type StatelessGeneratingSessionIdManager struct{}

// Generate implements [SessionIdManager].
func (*StatelessGeneratingSessionIdManager) Generate() string { return idPrefix + newID() }

// Validate implements [SessionIdManager].
func (*StatelessGeneratingSessionIdManager) Validate(sessionID string) (bool, error) {
	if !strings.HasPrefix(sessionID, idPrefix) {
		return false, errInvalidSessionID
	}
	return false, nil
}

// Terminate implements [SessionIdManager].
func (*StatelessGeneratingSessionIdManager) Terminate(string) (bool, error) { return false, nil }

// InsecureStatefulSessionIdManager stores the ids that it makes until their sessions end. It does not
// distinguish ids that have ended from ids that never existed: both are errors. The zero value is ready
// to use.
type InsecureStatefulSessionIdManager struct {
	mu  sync.Mutex
	ids map[string]bool
}

// Generate implements [SessionIdManager].
func (m *InsecureStatefulSessionIdManager) Generate() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.ids == nil {
		m.ids = make(map[string]bool)
	}
	id := idPrefix + newID()
	m.ids[id] = true
	return id
}

// Validate implements [SessionIdManager].
func (m *InsecureStatefulSessionIdManager) Validate(sessionID string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.ids[sessionID] {
		return false, errInvalidSessionID
	}
	return false, nil
}

// Terminate implements [SessionIdManager].
func (m *InsecureStatefulSessionIdManager) Terminate(sessionID string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.ids, sessionID)
	return false, nil
}
