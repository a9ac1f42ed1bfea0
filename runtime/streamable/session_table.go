package streamable

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// sessionTable contains the sessions of a handler. Its lock is locked before the locks
// of the sessions.
type sessionTable struct {
	opts  *Options
	clock clock

	mu         sync.Mutex
	all        map[string]*session // by id, including sessions before the end of their handshake
	count      principalCounter
	sweepTimer *time.Timer // nil if there are no sessions
	withRPC    []*session  // sessions that have a JSON-RPC connection
	rpcTimer   *time.Timer // nil if withRPC is empty
	ended      bool
	ending     sync.WaitGroup // idle sessions that are being ended
	moved      movedSessions
}

func (t *sessionTable) init(o *Options) {
	t.opts, t.clock, t.all = o, newClock(), make(map[string]*session)
}

// reserve counts a session. It returns false if a limit is exceeded.
func (t *sessionTable) reserve(principal string) bool {
	if t.full() {
		t.sweep(t.opts.SessionIdleTimeout) // idle sessions need not wait for the timer
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.ended:
		return false
	case !belowLimit(t.count.total, t.opts.MaxSessions):
		t.opts.refused.Add("MaxSessions")
		return false
	case !t.count.fits(principal, t.opts.MaxSessionsPerPrincipal):
		t.opts.refused.Add("MaxSessionsPerPrincipal")
		return false
	}
	t.count.add(principal, 1)
	return true
}

func (t *sessionTable) full() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !belowLimit(t.count.total, t.opts.MaxSessions)
}

// release ends the count that reserve has begun.
func (t *sessionTable) release(principal string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count.add(principal, -1)
}

// add adds a session before its handshake, if the limits allow it and no other session
// has its id. Requests cannot find the session before publish, but end ends it.
func (t *sessionTable) add(s *session) bool {
	if !t.reserve(s.principal) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || t.all[s.id] != nil {
		t.count.add(s.principal, -1)
		return false
	}
	t.all[s.id] = s
	if t.sweepTimer == nil {
		t.sweepTimer = time.AfterFunc(t.interval(), t.sweepPeriodically)
	}
	return true
}

// list returns the sessions that requests can find.
func (t *sessionTable) list() []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := make([]*session, 0, len(t.all))
	for _, s := range t.all {
		if s.published {
			list = append(list, s)
		}
	}
	return list
}

// publish lets requests find a session.
func (t *sessionTable) publish(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.published = true
}

// interval returns the time between two checks for idle sessions.
func (t *sessionTable) interval() time.Duration {
	if t.opts.SessionIdleTimeout < 0 {
		return time.Minute
	}
	return min(max(t.opts.SessionIdleTimeout/8, time.Second), time.Minute)
}

// find returns a session and begins a use of it. It returns nil if the session does not
// exist or belongs to another principal.
func (t *sessionTable) find(id, principal string) *session {
	t.mu.Lock()
	s := t.all[id]
	if s != nil && s.published && s.principal == principal {
		s.beginUse()
	} else {
		s = nil
	}
	t.mu.Unlock()
	return s
}

// remove removes a session. It returns false if the session was removed before.
func (t *sessionTable) remove(s *session) bool {
	t.mu.Lock()
	_, found := t.all[s.id]
	delete(t.all, s.id)
	t.mu.Unlock()
	if found {
		t.release(s.principal)
	}
	return found
}

// rpcIdleInterval is the time between two checks for unused JSON-RPC connections. A
// connection is closed when it has not been used for one to two intervals.
const rpcIdleInterval = 50 * time.Millisecond

// watchRPC adds a session whose JSON-RPC connection is closed when it is not used.
func (t *sessionTable) watchRPC(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.withRPC = append(t.withRPC, s)
	if t.rpcTimer == nil && !t.ended {
		t.rpcTimer = time.AfterFunc(rpcIdleInterval, t.closeIdleRPCs)
	}
}

// closeIdleRPCs closes the JSON-RPC connections that are not used, and sets the timer
// if any are left.
func (t *sessionTable) closeIdleRPCs() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.now()
	t.withRPC = slices.DeleteFunc(t.withRPC, func(s *session) bool { return s.closeIdleRPC(now) })
	if t.rpcTimer = nil; t.ended || len(t.withRPC) == 0 {
		t.withRPC = nil
		return
	}
	t.rpcTimer = time.AfterFunc(rpcIdleInterval, t.closeIdleRPCs)
}

// sweepPeriodically ends idle sessions, and sets the timer if any sessions are left.
func (t *sessionTable) sweepPeriodically() {
	t.sweep(t.opts.SessionIdleTimeout)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sweepTimer = nil; len(t.all) > 0 && !t.ended {
		t.sweepTimer = time.AfterFunc(t.interval(), t.sweepPeriodically)
	}
}

// sweep ends the sessions that have been idle for a time. It does not wait for their
// end.
func (t *sessionTable) sweep(idle time.Duration) {
	if idle < 0 {
		return
	}
	now := t.clock.now()
	list := t.removeIdle(now, now-idle)
	rest := make(chan *session, len(list))
	for _, s := range list {
		rest <- s
	}
	close(rest)
	for range min(len(list), maxEnding) {
		go t.endIdle(rest) // ends when all these sessions have ended
	}
}

// maxEnding limits the number of idle sessions that are ended concurrently. The end of
// a session may take a while.
const maxEnding = 64

func (t *sessionTable) endIdle(list <-chan *session) {
	for s := range list {
		ctx, cancel := context.WithTimeout(context.Background(), endTimeout)
		s.end(ctx, errSessionIdle)
		cancel()
		t.ending.Done()
	}
}

// removeIdle removes the sessions that have not been used after a time, and counts them
// in ending.
func (t *sessionTable) removeIdle(now, since time.Duration) []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	var list []*session
	for id, s := range t.all {
		if s.isIdle(now, since) {
			list = append(list, s)
			delete(t.all, id)
			t.count.add(s.principal, -1)
		}
	}
	t.ending.Add(len(list))
	return list
}

// endStandaloneStreams ends the standalone streams of all sessions.
func (t *sessionTable) endStandaloneStreams() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.all {
		s.standalone().endNow()
	}
}

// end ends all sessions and refuses new ones.
func (t *sessionTable) end(ctx context.Context) {
	t.mu.Lock()
	t.ended = true
	if t.sweepTimer != nil {
		t.sweepTimer.Stop()
	}
	if t.rpcTimer != nil {
		t.rpcTimer.Stop()
	}
	list := make([]*session, 0, len(t.all))
	for _, s := range t.all {
		list = append(list, s)
	}
	t.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range list {
		if t.remove(s) {
			all.Go(func() { s.end(ctx, connection.ErrClosing) }) // ends with ctx
		}
	}
	all.Wait()
	idleEnded := make(chan struct{})
	go func() { // ends when these sessions have ended
		t.ending.Wait()
		close(idleEnded)
	}()
	select {
	case <-idleEnded:
	case <-ctx.Done():
	}
}

// findSession returns the session of a request and begins a use of it. The revision is
// the revision in the header.
func (h *Handler) findSession(r *http.Request, revision wire.Revision) (*session, *refusal) {
	ids := r.Header[mcphttp.HeaderSession]
	if len(ids) != 1 {
		return nil, refuse(http.StatusBadRequest, "Invalid request: exactly one header Mcp-Session-Id is required; post initialize first")
	}
	principal := h.opts.Principal(r)
	s := h.sessions.find(ids[0], principal)
	if s == nil && h.opts.Sharing != nil && h.sessions.hasMoved(ids[0], principal) {
		return nil, &refusal{status: http.StatusServiceUnavailable, err: errSessionMoves}
	}
	if s == nil {
		return nil, refuse(http.StatusNotFound, "Invalid request: session not found")
	}
	if revision != s.conn.State().Revision() && r.Header[mcphttp.HeaderVersion] != nil && s.conn.InitializeAccepted() {
		s.endUse()
		return nil, refuse(http.StatusBadRequest, "Unsupported protocol version: the session uses "+s.conn.Revision().String())
	}
	return s, nil
}

// createRPC creates the JSON-RPC connection, unless there is one or the session has
// ended.
func (s *session) createRPC() *jsonrpc.Conn {
	d, created := s.currentRPC()
	if created && s.id != "" {
		s.handler.sessions.watchRPC(s)
	}
	return d
}

func (s *session) currentRPC() (d *jsonrpc.Conn, created bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.rpc == nil && !s.ended {
		d := s.handler.opts.JSONRPC
		d.Handler, d.Frame, d.Client, d.LastID, d.Unordered = s, s.conn.Frame, false, s.lastCallID, true
		s.rpc, created = jsonrpc.New(s, &d), true
	}
	return s.rpc, created
}
