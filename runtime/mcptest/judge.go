package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Judge judges the messages of one conversation: that of a pipe, or of an HTTP
// session. It remembers what was asked, to know what an answer must be, and which
// revision the two sides have settled. It is safe for concurrent use.
type Judge struct {
	mu      sync.Mutex
	speaks  wire.Revision // what the next message is in, if it does not say so
	settled bool          // by a handshake
	alone   bool          // it hears one exchange over HTTP, of which no session tells what belongs to it
	waiting bool          // for the request that a conversation on a pipe begins with
	asked   map[question]*request
}

// question is a request as its answer names it.
type question struct {
	from Sender
	id   wire.RequestID
}

// request is what an answer is judged by.
type request struct {
	method   string
	revision wire.Revision
	task     bool // it may be answered with a task
	extends  bool // or with what an extension has
	open     int  // how many answers there may still be; a sender that uses an id twice gets several
}

// NewJudge returns a judge for a conversation that begins. The revision is what
// it is expected to be in, such as that of an HTTP header; empty, or no known
// one, it is the newest that has a handshake.
func NewJudge(revision string) *Judge {
	speaks, known := mcp.ParseRevision(revision)
	if !known {
		speaks = eras.Newest(true)
	}
	return &Judge{speaks: speaks, asked: map[question]*request{}}
}

// handshake tells whether a session of the revision begins with initialize.
func handshake(r wire.Revision) bool { return eras.Handshake(r) }

// Revision names the revision in force.
func (j *Judge) Revision() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.speaks.String()
}

// Check judges a message, or several in one array, and returns what is wrong.
// Messages are judged in the order in which they were sent: a request before
// its answer.
func (j *Judge) Check(from Sender, message []byte) []*Violation {
	return j.check(from, message, false)
}

// check is Check. A message that is replayed may have been seen before.
func (j *Judge) check(from Sender, message []byte, replayed bool) []*Violation {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := &hearing{Judge: j, from: from, message: bytes.Clone(message), replayed: replayed, revision: j.speaks}
	if wire.Kind(message) == '[' {
		c.batch()
	} else {
		c.single(c.message)
	}
	return c.found
}

// refused forgets a request of the client that waits for an answer.
func (j *Judge) refused(message []byte) {
	e, _ := open(message)
	j.mu.Lock()
	defer j.mu.Unlock()
	q := question{FromClient, e.id}
	if asked := j.asked[q]; asked != nil && e.method != "" && asked.open > 0 {
		if asked.open--; asked.open == 0 {
			delete(j.asked, q)
		}
	}
}

// hearing is the judging of what was sent at once.
type hearing struct {
	*Judge
	from     Sender
	message  json.RawMessage
	replayed bool

	revision wire.Revision // what the message is judged by
	at       string        // the pointer to the message within its batch
	method   string
	answer   bool
	found    []*Violation
}

// wrong records a violation, once.
func (c *hearing) wrong(pointer, format string, args ...any) {
	v := &Violation{
		Revision: c.revision.String(), From: c.from, Method: c.method, Answer: c.answer,
		Pointer: c.at + pointer, Problem: fmt.Sprintf(format, args...), Message: c.message,
	}
	same := func(w *Violation) bool { return w.Pointer == v.Pointer && w.Problem == v.Problem }
	if !slices.ContainsFunc(c.found, same) {
		c.found = append(c.found, v)
	}
}

// hold holds a part of the message against a definition, and tells whether it fits.
func (c *hearing) hold(pointer, definition string, part json.RawMessage) bool {
	problems := protocolOf(c.revision).judge(definition, part)
	for _, p := range problems {
		c.wrong(pointer+p.Pointer, "%s", p.Message)
	}
	return len(problems) == 0
}

// batch judges an array of messages.
func (c *hearing) batch() {
	var list []json.RawMessage
	switch {
	case !c.readable():
		return
	case !protocolOf(c.revision).batches():
		c.wrong("", "the revision has no array of messages")
		return
	}
	if err := json.Unmarshal(c.message, &list); err != nil || len(list) == 0 {
		c.wrong("", "the array has no messages")
		return
	}
	kinds := map[bool]bool{}
	for i, message := range list {
		c.at, c.method, c.answer = fmt.Sprintf("/%d", i), "", false
		c.single(message)
		kinds[c.answer] = true
		if c.method == mcp.MethodInitialize && !c.answer {
			c.wrong("", "the handshake is never one of several messages")
		}
	}
	c.at, c.method, c.answer = "", "", false
	if len(kinds) > 1 {
		c.wrong("", "answers and other messages are in one array")
	}
}

// readable tells whether the message is JSON at all that a peer would accept.
func (c *hearing) readable() bool {
	err := wire.Check(c.message, 0)
	if d, ok := errors.AsType[*wire.DecodeError](err); ok {
		c.wrong(d.Pointer, "no acceptable JSON: %v", d.Err)
	}
	return err == nil
}
