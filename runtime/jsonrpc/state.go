package jsonrpc

import (
	"fmt"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// state is all that changes about a connection. Its methods are the only ones
// that take its lock, and call nobody under it.
type state struct {
	client bool // this is the client's end; never changes

	mu       sync.Mutex
	isClosed bool
	cause    error

	// What we ask the peer.
	last  int64 // the id of the last call
	calls table[*call]
	spare []*call
	alarm alarm

	// What the peer asks us. A request leaves the table when its answer is
	// settled, and counts as active until that has been written.
	requests table[*exchange]
	listens  int    // of these, subscriptions, which last
	asking   int    // of these, at the client's end, questions
	early    *early // cancelled before they come, nil while there are none
	serial   serial
	active   int
	calm     moment      // when none is active
	quiet    moment      // when the table is empty
	refusal  *peer.Error // what new ones get, nil while they are taken
	workers  workers
	noting   *exchange // the notification being handled
}

// mostSpare is how many calls are kept for reuse.
const mostSpare = 64

// open enters a new call into the table.
func (s *state) open(method string, o *peer.CallOptions) (*call, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return nil, unsentError(method, s.cause)
	}
	id := o.ID
	if id.IsZero() {
		id = s.calls.mint(&s.last)
	}
	if s.calls.has(id) {
		return nil, &IDInUseError{Method: method, ID: id}
	}
	c := s.spareCall()
	c.id, c.method, c.onProgress = id, method, o.OnProgress
	s.calls.put(id, c)
	return c, nil
}

func (s *state) spareCall() *call {
	n := len(s.spare)
	if n == 0 {
		return &call{wake: make(chan struct{}, 1)}
	}
	c := s.spare[n-1]
	s.spare = s.spare[:n-1]
	return c
}

// recycle takes back a call whose caller is done with it. A caller whose
// goroutine was ended by a callback leaves it on the table.
func (s *state) recycle(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !c.over {
		s.settle(c)
	}
	select {
	case <-c.wake: // its outcome came together with the end of the caller's patience
	default:
	}
	*c = call{wake: c.wake}
	if len(s.spare) < mostSpare {
		s.spare = append(s.spare, c)
	}
}

// start starts the clock of a call that has been written.
func (s *state) start(c *call, p patience) {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := c.clock.start(p)
	if !due.IsZero() && !c.over && !s.isClosed {
		s.alarm.by(due)
	}
}

// abandon takes a call off the table. It returns false if its outcome came first.
func (s *state) abandon(c *call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.over {
		return false
	}
	s.settle(c)
	return true
}

// settle ends a call. The lock is held.
func (s *state) settle(c *call) {
	c.over = true
	s.calls.drop(c.id, c)
}

// finish ends a call with an outcome and wakes its caller. The lock is held.
func (s *state) finish(c *call, m wire.Message, p parcel, err error) {
	s.settle(c)
	c.answer, c.parcel, c.err = m, p, err
	c.signal()
}

// answer ends the call that m answers. It returns false where there is none.
// An error is one that only the caller sees.
func (s *state) answer(m *wire.Message, p parcel, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls.get(m.ID)
	if c == nil {
		return false
	}
	s.finish(c, *m, p, err)
	return true
}

// waits tells whether a call waits for an answer with the id.
func (s *state) waits(id wire.RequestID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls.has(id)
}

// refuse ends the call of exactly that id. It returns false where there is none.
func (s *state) refuse(id wire.RequestID, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls.get(id)
	if c == nil || c.id != id {
		return false
	}
	s.finish(c, wire.Message{}, parcel{}, fmt.Errorf("send %q: %w", c.method, err))
	return true
}

// fail ends all calls because their way out is broken.
func (s *state) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.calls.all {
		s.finish(c, wire.Message{}, parcel{}, unsent(c.method, err))
	}
}

// progress hands a report to the call that asked for it.
func (s *state) progress(token wire.ProgressToken, p peer.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.calls.get(token.ID())
	if c == nil || c.onProgress == nil {
		return
	}
	c.clock.again()
	c.add(p)
	c.signal()
}

// alive begins the wait of the call of exactly that id anew.
func (s *state) alive(id wire.RequestID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls.get(id); c != nil && c.id == id {
		c.clock.again()
	}
}

// reports takes the reports that wait for a call's caller, and tells whether
// its outcome is there.
func (s *state) reports(c *call) ([]peer.Progress, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	waiting := c.waiting
	c.waiting = nil
	return waiting, c.over
}

// expire ends the calls whose time has run out.
func (s *state) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alarm.rang()
	if s.isClosed {
		return
	}
	now := time.Now()
	for c := range s.calls.all {
		if s.asking > 0 {
			c.clock.pause(now)
		}
		switch {
		case c.clock.over(now):
			s.finish(c, wire.Message{}, parcel{}, timeoutError(c.method, now.Sub(c.clock.begun)))
		case !c.clock.due.IsZero():
			s.alarm.by(c.clock.due)
		}
	}
}

// count adds n to the number of those that are of the kind of x. Questions to the
// client's end may belong to any of its calls. The lock is held.
func (s *state) count(x *exchange, n int) {
	switch {
	case x.lasts():
		s.listens += n
	case s.client && x.in.Method != methodPing:
		if s.asking += n; s.asking == 0 {
			s.resume()
		}
	}
}

// mostUnwritten is how many answers may be being written, or as many as there may be
// requests if that is more, for another request to be taken. Their requests are no
// longer in flight: the peer may have read an answer before its writer is back.
const mostUnwritten = 1024

// admit enters a request from the peer into the table. Unless it is handled inline,
// or here, it waits for a worker then, and if one has to be woken it is returned.
// Only a request that comes alone may be handled here.
func (s *state) admit(x *exchange, most int, inline, alone bool) (w *worker, here bool, err error) {
	s.mu.Lock()
	if err = s.objection(x, most); err == nil {
		here = s.serial.comes(alone && s.requests.len == s.listens) && !x.lasts()
		s.requests.put(x.in.ID, x)
		s.active++
		s.count(x, 1)
		if !inline && !here {
			s.workers.put(x)
			w = s.call(x.conn)
		}
	}
	s.mu.Unlock()
	return w, here, err
}

// objection is why a request is not admitted, nil for no reason. A ping, which asks
// whether there is anybody, is also admitted to a full table. The lock is held.
func (s *state) objection(x *exchange, most int) error {
	switch {
	case s.isClosed:
		return ErrClosed
	case s.requests.has(x.in.ID):
		return errSameID
	case s.early != nil && s.early.take(x.in.ID):
		return errCameLate
	case s.refusal != nil:
		return s.refusal
	case s.requests.len >= most && x.in.Method != methodPing, s.active-s.requests.len >= max(most, mostUnwritten):
		return errTooMany
	}
	return nil
}

// decline has requests refused from now on.
func (s *state) decline(why *peer.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refusal = why
}

// handOn has the next requests handed on, whether they come alone or not.
func (s *state) handOn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.serial = -aWhile
}

// verdict is what becomes of a request's answer.
type verdict int

const (
	speak  verdict = iota
	silent         // its sender cancelled it
	late           // it was answered when the connection closed
)

// conclude takes a request off the table whose handler has returned, and says
// whether its answer is to be written.
func (s *state) conclude(x *exchange) verdict {
	s.mu.Lock()
	if s.requests.drop(x.in.ID, x); s.requests.len == 0 {
		s.quiet.come()
	}
	s.count(x, -1)
	s.mu.Unlock()
	switch {
	case x.cancelled:
		return silent
	case x.answered:
		return late
	}
	return speak
}

// resume begins the wait of every call anew. The lock is held.
func (s *state) resume() {
	for c := range s.calls.all {
		c.clock.again()
	}
}

// cancel marks a request as cancelled. It returns nil where there is none, or
// where it was cancelled or answered before. One that there is not may be about to
// come: most of those are remembered, 0 for none.
func (s *state) cancel(id wire.RequestID, most int) *exchange {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.requests.get(id)
	if x == nil && most > 0 {
		if s.early == nil {
			s.early = new(early)
		}
		s.early.add(id, most)
	}
	if x == nil || x.cancelled || x.answered {
		return nil
	}
	x.cancelled = true
	return x
}

// leave counts a request whose answer has been written.
func (s *state) leave() {
	s.mu.Lock()
	s.left()
	s.mu.Unlock()
}

// left is leave with the lock held.
func (s *state) left() {
	if s.active--; s.active == 0 {
		s.calm.come()
	}
}

// answered returns a channel that is closed when no request is active.
func (s *state) answered() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calm.await(s.active == 0)
}

// returned returns a channel that is closed when no handler of a request runs.
func (s *state) returned() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.quiet.await(s.requests.len == 0)
}

// lasting returns the requests that last until one side ends them.
func (s *state) lasting() (all []*exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.requests.all {
		if x.lasts() {
			all = append(all, x)
		}
	}
	return all
}

// note makes x the notification being handled, nil for none. It returns the
// cause for which it is to end at once, if there is one.
func (s *state) note(x *exchange) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noting = x
	if s.isClosed {
		return closure(s.cause)
	}
	return nil
}

// list returns the ids of the requests being handled.
func (s *state) list() []wire.RequestID {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]wire.RequestID, 0, s.requests.len)
	for x := range s.requests.all {
		ids = append(ids, x.in.ID)
	}
	return ids
}

// answering returns the ways out of the requests being handled.
func (s *state) answering() (list []Writer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for x := range s.requests.all {
		list = append(list, x.out)
	}
	return list
}

// leftovers is what a closed connection leaves behind.
type leftovers struct {
	requests []*exchange // to be cancelled
	unheard  []*exchange // of these, the ones that get no other answer
	noting   *exchange
}

// close closes the connection and ends all calls. It returns false when that
// has been done before.
func (s *state) close(cause error) (leftovers, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosed {
		return leftovers{}, false
	}
	s.isClosed, s.cause = true, cause
	s.alarm.stop()
	for c := range s.calls.all {
		s.finish(c, wire.Message{}, parcel{}, closedError(c.method, cause))
	}
	s.workers.dismiss()
	left := leftovers{noting: s.noting}
	for x := range s.requests.all {
		left.requests = append(left.requests, x)
		if !x.cancelled {
			x.answered = true
			left.unheard = append(left.unheard, x)
		}
	}
	return left, true
}
