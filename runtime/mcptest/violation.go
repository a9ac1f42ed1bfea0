package mcptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/runtime/internal/judge"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Sender is the side that a message comes from.
type Sender uint8

// The two sides.
const (
	FromClient Sender = iota
	FromServer
)

// String returns "client" or "server".
func (s Sender) String() string {
	if s == FromClient {
		return "client"
	}
	return "server"
}

func (s Sender) other() Sender { return FromServer - s }

// Violation is a message that breaks the rules of its revision.
type Violation struct {
	// Revision is the revision that the message was judged by.
	Revision string
	// From is the side that sent it.
	From Sender
	// Method is the method of the message or, of an answer, that of the
	// request that it answers. It is empty where nobody knows.
	Method string
	// Answer tells that the message is an answer.
	Answer bool
	// Pointer is the JSON pointer of the value that is wrong, empty for the
	// whole message.
	Pointer string
	// Problem says what is wrong with it.
	Problem string
	// Message is the message as it was on the wire. Where the head of an HTTP
	// response is wrong it is the one that it answers, nil if that has none.
	Message json.RawMessage

	carriage bool // it is HTTP that says something wrong around the message
}

// maxShown is how much of a message an error shows.
const maxShown = 1000

// Error implements error, in two lines: what is wrong, and the message if there is
// one.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: the %v's ", v.Revision, v.From)
	switch {
	case v.Answer && v.Method != "":
		fmt.Fprintf(&b, "answer to %q", v.Method)
	case v.Answer:
		b.WriteString("answer")
	case v.Method != "":
		fmt.Fprintf(&b, "message %q", v.Method)
	default:
		b.WriteString("message")
	}
	b.WriteString(": ")
	b.WriteString(judge.Problem{Pointer: v.Pointer, Message: v.Problem}.String())
	if len(v.Message) > 0 {
		b.WriteString("\n\t")
		b.WriteString(shown(v.Message))
	}
	return b.String()
}

// shown returns a message for people: on one line, and not all of a long one.
func shown(message json.RawMessage) string {
	text, more := string(message), ""
	if compact, err := wire.Compact(message); err == nil {
		text = string(compact)
	} else {
		text = strconv.Quote(text)
	}
	if len(text) > maxShown {
		text, more = strings.ToValidUTF8(text[:maxShown], ""), "…"
	}
	return text + more
}

// Fail returns what reports violations as failures of a test. It does nothing
// any more when the test is over.
func Fail(t TB) func(*Violation) {
	r := &reporter{t: t}
	t.Cleanup(r.stop)
	return r.report
}

// problems lists what a validation found.
func problems(err error) []judge.Problem {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*judge.Error](err); ok {
		return e.Problems
	}
	return []judge.Problem{{Message: err.Error()}}
}
