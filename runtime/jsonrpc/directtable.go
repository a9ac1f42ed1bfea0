package jsonrpc

import (
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// directTable is the requests that one end of a pair handles, which are the
// calls of the other end. Its methods are the only ones that take its lock.
type directTable struct {
	mu       sync.Mutex
	isClosed bool
	cause    error
	last     int64 // the id of the last call
	requests table[*directExchange]
	refusal  *peer.Error // what new ones get, nil while they are taken
	alarm    alarm
	noting   *directNote // the notification being handled
}

// admit enters a request, gives it an id and starts its clock.
func (t *directTable) admit(x *directExchange, id wire.RequestID, p patience, most int) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isClosed {
		return unsentError(x.in.Method, t.cause)
	}
	if t.refusal != nil {
		return t.refusal
	}
	if id.IsZero() {
		id = t.requests.mint(&t.last)
	}
	if t.requests.has(id) {
		return &IDInUseError{Method: x.in.Method, ID: id}
	}
	if t.requests.len >= most && x.in.Method != methodPing {
		return errTooMany
	}
	x.in.ID = id
	if x.onProgress != nil {
		x.in.Token = id.Token()
	}
	t.requests.put(id, x)
	x.to.link.handlers.Add(1)
	if due := x.clock.start(p); !due.IsZero() {
		t.alarm.by(due)
	}
	return nil
}

// decline has requests refused from now on.
func (t *directTable) decline(why *peer.Error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.refusal = why
}

// conclude takes a request off the table. It returns the error that its caller
// gets whatever the handler says, if there is one.
func (t *directTable) conclude(x *directExchange) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.requests.drop(x.in.ID, x)
	return x.err
}

// end gives a request an outcome of its own. The lock is held.
func (t *directTable) end(x *directExchange, err, cause error) {
	if x.err == nil {
		x.err = err
		x.gate.mute()
		x.ctx.Cancel(cause)
	}
}

// cancel ends a request as its sender wishes, and reports whether there was one.
func (t *directTable) cancel(id wire.RequestID, why *CancelledError) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	x := t.requests.get(id)
	if x == nil || x.err != nil {
		return false
	}
	t.end(x, why, why)
	return true
}

// touch begins the wait for a request anew.
func (t *directTable) touch(x *directExchange) {
	t.mu.Lock()
	x.clock.again()
	t.mu.Unlock()
}

// ask counts the questions that are asked for a request, and begins the wait for it
// anew.
func (t *directTable) ask(x *directExchange, n int) {
	t.mu.Lock()
	x.questions += n
	x.clock.again()
	t.mu.Unlock()
}

// find returns the request whose caller knows it by a token.
func (t *directTable) find(token wire.ProgressToken) *directExchange {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.requests.get(token.ID())
}

// expire ends the requests whose time has run out.
func (t *directTable) expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.alarm.rang()
	if t.isClosed {
		return
	}
	now := time.Now()
	for x := range t.requests.all {
		if x.questions > 0 {
			x.clock.pause(now)
		}
		switch {
		case x.err != nil:
		case x.clock.over(now):
			err := timeoutError(x.in.Method, now.Sub(x.clock.begun))
			t.end(x, err, err)
		case !x.clock.due.IsZero():
			t.alarm.by(x.clock.due)
		}
	}
}

// note makes n the notification being handled, nil for none. It returns the
// cause for which it is to end at once, if there is one.
func (t *directTable) note(n *directNote) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noting = n
	if t.isClosed {
		return closure(t.cause)
	}
	return nil
}

func (t *directTable) list() []wire.RequestID {
	t.mu.Lock()
	defer t.mu.Unlock()
	ids := make([]wire.RequestID, 0, t.requests.len)
	for x := range t.requests.all {
		ids = append(ids, x.in.ID)
	}
	return ids
}

// close ends all requests. It returns false when that has been done before.
func (t *directTable) close(cause error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.isClosed {
		return false
	}
	t.isClosed, t.cause = true, cause
	t.alarm.stop()
	for x := range t.requests.all {
		t.end(x, closedError(x.in.Method, cause), closure(cause))
	}
	if t.noting != nil {
		t.noting.ctx.Cancel(closure(cause))
	}
	return true
}
