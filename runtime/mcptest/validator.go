package mcptest

import (
	"bytes"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Validator validates the messages of one connection: a pipe, or an HTTP session.
// It stores requests, to validate their responses, and the revision that client
// and server have agreed on. It is safe for concurrent use.
type Validator struct {
	mu       sync.Mutex
	current  wire.Revision // revision of the next message, if its metadata has none
	agreed   bool          // a handshake has selected the revision
	partial  bool          // only one HTTP exchange is validated, so requests may be missing
	unbegun  bool          // on a pipe, no request of the client has selected a revision yet
	requests map[requestKey]*request
	answered []requestKey // keys of requests with a response, a ring of at most maxAnswered
	oldest   int          // index of the oldest key in a full ring
	// waiting has the keys of the requests without a response, in order, and other keys.
	waiting   []requestKey
	forgotten bool // requests without a response were forgotten
}

// maxAnswered limits the completed requests that a validator stores to find ids that
// are used again.
const maxAnswered = 10_000

// maxWaiting limits the requests without a response that a validator stores. The oldest
// are forgotten when there are twice as many.
const maxWaiting = 10_000

// requestKey identifies a request for its response.
type requestKey struct {
	from Sender
	id   wire.RequestID
}

// request has what is needed to validate a response.
type request struct {
	method     string
	revision   wire.Revision
	task       bool // the result may be a task
	extensions bool // the result may be of an extension
	pending    int  // expected responses; more than one if the id was used again
}

// NewValidator returns a validator for a new connection. The revision is the
// expected one, for example from an HTTP header. For the zero Revision, or one that
// is not in [mcp.Revisions], it is the newest handshake revision.
func NewValidator(revision wire.Revision) *Validator {
	if !knownRevision(revision) {
		revision = revisions.Newest(true)
	}
	return &Validator{current: revision, requests: map[requestKey]*request{}}
}

// Revision returns the current revision: the expected revision until a handshake
// or the metadata of a message selects another one.
func (v *Validator) Revision() wire.Revision {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.current
}

// Check validates a message, or a batch, and returns its violations. Check
// messages in the order in which they were sent, a request before its response.
func (v *Validator) Check(from Sender, message []byte) []*Violation {
	return v.check(from, message, false)
}

// check is Check. Resent messages may have been checked before.
func (v *Validator) check(from Sender, raw []byte, resent bool) []*Violation {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := &validation{Validator: v, from: from, raw: bytes.Clone(raw), resent: resent, revision: v.current}
	if wire.Kind(raw) == '[' {
		c.batch()
	} else {
		c.single(c.raw)
	}
	return c.violations
}

// storeRequest stores a request for its response. The mutex is locked.
func (v *Validator) storeRequest(key requestKey, r *request) {
	v.requests[key] = r
	if v.waiting = append(v.waiting, key); len(v.waiting) < 2*maxWaiting {
		return
	}
	v.waiting = slices.DeleteFunc(v.waiting, func(key requestKey) bool {
		r := v.requests[key]
		return r == nil || r.pending == 0
	})
	if more := len(v.waiting) - maxWaiting; more > 0 {
		for _, key := range v.waiting[:more] {
			delete(v.requests, key)
		}
		v.waiting = slices.Delete(v.waiting, 0, more)
		v.forgotten = true
	}
}

// storeAnswered stores that a request has a response, and forgets the oldest such
// request if there are too many. The mutex is locked.
func (v *Validator) storeAnswered(key requestKey) {
	if len(v.answered) < maxAnswered {
		v.answered = append(v.answered, key)
		return
	}
	if r := v.requests[v.answered[v.oldest]]; r != nil && r.pending == 0 {
		delete(v.requests, v.answered[v.oldest])
	}
	v.answered[v.oldest] = key
	v.oldest = (v.oldest + 1) % maxAnswered
}

// forget forgets a request or a response of the client, which may be sent again.
func (v *Validator) forget(raw []byte) {
	m, _ := parseMessage(raw)
	v.mu.Lock()
	defer v.mu.Unlock()
	from := FromClient
	if m.method == "" {
		from = FromServer
	}
	key := requestKey{from, m.id}
	switch r := v.requests[key]; {
	case r == nil:
	case m.method == "":
		r.pending++
	case r.pending > 1:
		r.pending--
	default:
		delete(v.requests, key)
	}
}
