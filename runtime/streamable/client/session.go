package client

import (
	"context"
	"net/http"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sessionInfo describes the handshake session that a request belongs to. The zero value
// means no session.
type sessionInfo struct {
	id       string // "" if the server assigned none
	revision wire.Revision
}

// sessionState is the mutable state of a client. Only its methods use its lock, and
// they call nothing else while they hold it.
type sessionState struct {
	mu         sync.Mutex
	closed     bool
	tasks      sync.WaitGroup // goroutines of the client
	session    sessionInfo
	lost       bool               // the server does not have the session any more
	initErr    error              // error of sending notifications/initialized, or nil
	stopListen context.CancelFunc // ends the standalone stream; nil if there is none
	// listenChan is closed when the server has responded to the request for the standalone
	// stream. It is nil until it is needed.
	listenChan chan struct{}

	// calls are the requests in flight, by id.
	calls map[wire.RequestID]*call
}

// spawn runs f in a goroutine that the client waits for when it is closed. It returns
// false if the client is closed.
func (s *sessionState) spawn(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.tasks.Go(f) // callers document when f ends
	return true
}

// current returns the session. Its revision is r until the revision is negotiated.
func (s *sessionState) current(r wire.Revision) sessionInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.session
	if v.revision.Index() < 0 {
		v.revision = r
	}
	return v
}

// setRevision sets the negotiated revision.
func (s *sessionState) setRevision(r wire.Revision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.revision = r
}

// reset prepares for a new session. It returns the previous session and whether that
// must be ended.
func (s *sessionState) reset() (old sessionInfo, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, alive = s.session, s.session.id != "" && !s.lost
	s.session, s.lost, s.initErr, s.listenChan = sessionInfo{}, false, nil, nil
	s.stopListener()
	return old, alive
}

// setID sets the id of a session that has begun.
func (s *sessionState) setID(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.session.id = id
}

// setInitializedErr sets the error of sending notifications/initialized.
func (s *sessionState) setInitializedErr(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.initErr = err
}

// initializedErr returns the error of sending notifications/initialized, or nil.
func (s *sessionState) initializedErr() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.initErr
}

// setLost records that the server does not have a session any more. It returns false if
// that is known already or is another session.
func (s *sessionState) setLost(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.lost || id == "" || s.session.id != id {
		return false
	}
	s.lost = true
	s.stopListener()
	return true
}

// setListener sets the function that ends the standalone stream. It returns false if
// there is such a stream already.
func (s *sessionState) setListener(cancel context.CancelFunc) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.lost || s.stopListen != nil {
		return false
	}
	s.stopListen = cancel
	return true
}

// listening returns a channel that is closed when the server has responded to the
// request for the standalone stream.
func (s *sessionState) listening() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listeningChan()
}

// setListening closes that channel.
func (s *sessionState) setListening() {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.listeningChan():
	default:
		close(s.listenChan)
	}
}

// listeningChan returns the channel. The caller holds the lock.
func (s *sessionState) listeningChan() chan struct{} {
	if s.listenChan == nil {
		s.listenChan = make(chan struct{})
	}
	return s.listenChan
}

// stopListener ends the standalone stream. The caller holds the lock.
func (s *sessionState) stopListener() {
	if s.stopListen != nil {
		s.stopListen()
		s.stopListen = nil
	}
}

// addCall adds a request. It returns the previous request with the same id, or nil; its
// call has returned already.
func (s *sessionState) addCall(x *call) (before *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before = s.calls[x.id]
	s.calls[x.id] = x
	return before
}

// findCall returns the request in flight with an id, or nil.
func (s *sessionState) findCall(id wire.RequestID) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[id]
}

// ownsID reports whether no other request has the id of x now.
func (s *sessionState) ownsID(x *call) bool {
	now := s.findCall(x.id)
	return now == x || now == nil
}

// removeCall removes a request.
func (s *sessionState) removeCall(x *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls[x.id] == x {
		delete(s.calls, x.id)
	}
}

// close prevents new goroutines. It returns the session and whether it must be ended.
func (s *sessionState) close() (last sessionInfo, alive bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.stopListener()
	return s.session, s.session.id != "" && !s.lost
}

// setHeaders sets the headers that name the session of a request.
func (s sessionInfo) setHeaders(h http.Header) {
	if s.id != "" {
		h[mcphttp.HeaderSession] = []string{s.id}
	}
	if s.revision.Index() >= firstWithVersionHeader.Index() {
		h[mcphttp.HeaderVersion] = []string{s.revision.String()}
	}
}

// firstWithVersionHeader is the first revision in which requests of a session have a
// header with their revision.
var firstWithVersionHeader = mcp.Revision20250618
