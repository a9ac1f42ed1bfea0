package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Sender is the side that sent a message.
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

// Violation is a message that violates its protocol revision. It implements
// error.
type Violation struct {
	// Revision is the revision that the message was validated by.
	Revision wire.Revision
	// From is the side that sent the message.
	From Sender
	// Method is the method of the message. For a response, it is the method of the
	// request. It is empty if the method is unknown.
	Method string
	// Response is true if the message is a response.
	Response bool
	// Pointer is the JSON pointer of the invalid value, empty for the whole
	// message.
	Pointer string
	// Problem describes the violation.
	Problem string
	// Message is the message as it was sent. If the status or the header of an HTTP
	// response is invalid, Message is the message that was posted, nil if there was
	// none.
	Message json.RawMessage

	http bool // the status or the header of an HTTP response is invalid
}

// maxShown limits the bytes of a message that an error text contains.
const maxShown = 1000

// Error returns two lines: the problem, and the message if there is one.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v: the %v's ", v.Revision, v.From)
	switch {
	case v.Response && v.Method != "":
		fmt.Fprintf(&b, "response to %q", v.Method)
	case v.Response:
		b.WriteString("response")
	case v.Method != "":
		fmt.Fprintf(&b, "message %q", v.Method)
	default:
		b.WriteString("message")
	}
	b.WriteString(": ")
	b.WriteString(validate.Problem{Pointer: v.Pointer, Message: v.Problem}.String())
	if len(v.Message) > 0 {
		b.WriteString("\n\t")
		b.WriteString(excerpt(v.Message))
	}
	return b.String()
}

// excerpt returns a message on one line. A long message is truncated.
func excerpt(message json.RawMessage) string {
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

// TB is the part of [testing.TB] that this package uses.
type TB interface {
	Helper()
	Context() context.Context
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Fail returns a function that reports violations as errors of a test. The
// function may be called concurrently. It does nothing after the test has ended.
func Fail(t TB) func(*Violation) {
	r := &reporter{t: t}
	t.Cleanup(r.stop)
	return r.report
}

// reporter reports violations to a test until the test has ended.
type reporter struct {
	mu sync.Mutex
	t  TB // nil after the end
}

func (r *reporter) report(v *Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.t != nil {
		r.t.Helper()
		r.t.Errorf("%v", v)
	}
}

func (r *reporter) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.t = nil
}
