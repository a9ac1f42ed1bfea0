package jsonrpc

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// state is the mutable state of a Conn. Only its methods take its lock. They call no functions of
// other packages that might block or take a lock.
type state struct {
	client bool // this is the client's end; never changes

	mu       sync.Mutex
	isClosed bool
	cause    error

	// Requests to the peer.
	lastID     int64
	calls      idTable
	spareCalls []*call // for reuse
	timer      deadlineTimer

	// Requests from the peer. A request is removed from the table when its response is decided,
	// and is active until the response has been written.
	requests       idTable
	subscriptions  int           // in requests
	questions      int           // in requests, at the client's end: other requests than pings
	cancelledEarly *cancelledIDs // cancelled before they arrived; may be nil
	alone          aloneCounter
	active         int
	allWritten     event       // when no request is active
	allReturned    event       // when the table is empty
	refusal        *peer.Error // the response to new requests; nil if they are accepted
	workers        workers

	notification *inboundMessage // being handled; may be nil
}

// maxSpareCalls limits the calls that are kept for reuse.
const maxSpareCalls = 64

// addCall adds a call to the table.
func (s *state) addCall(method string, o *peer.CallOptions) (*call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return nil, unsentError(method, s.cause)
	}
	id := o.ID
	if id.IsZero() {
		id = s.calls.newID(&s.lastID)
	}
	if s.calls.has(id) {
		return nil, &IDInUseError{Method: method, ID: id}
	}
	c := s.newCall()
	c.id, c.method, c.onProgress = id, method, o.OnProgress
	s.calls.add(id, c)
	return c, nil
}

func (s *state) newCall() *call {
	n := len(s.spareCalls)
	if n == 0 {
		return &call{wake: make(chan struct{}, 1)}
	}
	c := s.spareCalls[n-1]
	s.spareCalls = s.spareCalls[:n-1]
	return c
}

// recycleCall keeps a call for reuse when its caller returns. The call may still be in the table if
// a callback ended the caller's goroutine.
func (s *state) recycleCall(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.done {
		s.removeCall(c)
	}
	select {
	case <-c.wake: // the response arrived when the caller's context ended
	default:
	}
	*c = call{wake: c.wake}
	if len(s.spareCalls) < maxSpareCalls {
		s.spareCalls = append(s.spareCalls, c)
	}
}

// startTimeouts starts the timeouts of a call that has been written.
func (s *state) startTimeouts(c *call, t timeouts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := c.deadline.start(t)
	if !due.IsZero() && !c.done && !s.isClosed {
		s.timer.schedule(due)
	}
}

// abandonCall removes a call from the table. It reports false if the call was done already.
func (s *state) abandonCall(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.done {
		return false
	}
	s.removeCall(c)
	return true
}

// removeCall removes a call from the table. The lock is held.
func (s *state) removeCall(c *call) {
	c.done = true
	s.calls.remove(c.id, c)
}

// finishCall ends a call with a response or an error, and wakes its caller. The lock is held.
func (s *state) finishCall(c *call, m wire.Message, p payload, err error) {
	s.removeCall(c)
	c.response, c.payload, c.err = m, p, err
	c.signal()
}

// deliverResponse ends the call that the response m is for. A non-nil err replaces the response. It
// reports false if there is no such call.
func (s *state) deliverResponse(m *wire.Message, p payload, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find[call](&s.calls, m.ID)
	if c == nil {
		return false
	}
	s.finishCall(c, *m, p, err)
	return true
}

// hasCall reports whether a call waits for a response with the id.
func (s *state) hasCall(id wire.RequestID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls.has(id)
}

// failCall ends the call with exactly this id. It reports false if there is no such call.
func (s *state) failCall(id wire.RequestID, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find[call](&s.calls, id)
	if c == nil || c.id != id {
		return false
	}
	s.finishCall(c, wire.Message{}, payload{}, fmt.Errorf("send %q: %w", c.method, err))
	return true
}

// failCalls ends all calls, because the Writer failed with err.
func (s *state) failCalls(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range each[call](&s.calls) {
		s.finishCall(c, wire.Message{}, payload{}, writeError(c.method, err))
	}
}

// deliverProgress adds a progress report to the call with the token.
func (s *state) deliverProgress(token wire.ProgressToken, p peer.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := find[call](&s.calls, token.ID())
	if c == nil || c.onProgress == nil {
		return
	}
	c.deadline.restart()
	c.addReport(p)
	c.signal()
}

// takeReports removes and returns the progress reports that wait for the caller. It also reports
// whether the call is done.
func (s *state) takeReports(c *call) ([]peer.Progress, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	reports := c.reports
	c.reports = nil
	return reports, c.done
}

// extendTimeout restarts the idle timeout of the call with exactly this id.
func (s *state) extendTimeout(id wire.RequestID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := find[call](&s.calls, id); c != nil && c.id == id {
		c.deadline.restart()
	}
}

// restartTimeouts restarts the idle timeouts of all calls. The lock is held.
func (s *state) restartTimeouts() {
	for c := range each[call](&s.calls) {
		c.deadline.restart()
	}
}

// expireCalls ends the calls that have timed out. The timer calls it.
func (s *state) expireCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer.fired()
	if s.isClosed {
		return
	}
	now := time.Now()
	for c := range each[call](&s.calls) {
		if s.questions > 0 {
			c.deadline.suspend(now)
		}
		switch {
		case c.deadline.expired(now):
			s.finishCall(c, wire.Message{}, payload{}, timeoutError(c.method, now.Sub(c.deadline.started)))
		case !c.deadline.due.IsZero():
			s.timer.schedule(c.deadline.due)
		}
	}
}

// unfinished is what a connection was doing when it was closed.
type unfinished struct {
	requests     []*inboundMessage // to be cancelled
	unanswered   []*inboundMessage // the requests that need an error as response
	notification *inboundMessage   // to be cancelled; may be nil
}

// close closes the connection and ends all calls. It reports false if the connection was closed
// before.
func (s *state) close(cause error) (unfinished, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return unfinished{}, false
	}
	s.isClosed, s.cause = true, cause
	s.timer.stop()
	for c := range each[call](&s.calls) {
		s.finishCall(c, wire.Message{}, payload{}, closedError(c.method, cause))
	}
	s.workers.stop()
	left := unfinished{notification: s.notification}
	for x := range each[inboundMessage](&s.requests) {
		left.requests = append(left.requests, x)
		if !x.cancelled {
			x.answered = true
			left.unanswered = append(left.unanswered, x)
		}
	}
	return left, true
}

// closeIdle closes the connection if it is idle, and reports whether it did.
func (s *state) closeIdle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed || s.calls.len+s.requests.len+s.active > 0 || s.notification != nil {
		return false
	}
	if s.cancelledEarly != nil && !s.cancelledEarly.isEmpty() {
		return false
	}
	s.isClosed = true
	s.timer.stop()
	s.workers.stop()
	return true
}
