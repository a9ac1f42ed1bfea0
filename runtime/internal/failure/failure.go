// Package failure defines the errors of handlers: panics, invalid results, and what the peer and
// the log get of them.
package failure

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"

	"github.com/mcpwright/mcp/runtime/peer"
)

const codeInternal = -32603

// Errors that a peer receives as JSON-RPC errors.
var (
	Internal      = &peer.Error{Code: codeInternal, Message: "Internal error"}
	InvalidResult = &peer.Error{Code: codeInternal, Message: "Handler returned an invalid result"}
)

// Errors of handlers, which only the log contains.
var (
	ErrExited   = errors.New("handler ended its goroutine")
	ErrNoResult = errors.New("handler returned neither a result nor an error")
)

// PanicError is the error of a handler that panicked.
type PanicError struct {
	Value any
	Stack string
}

// NewPanicError returns the error for a recovered value. The deferred function that recovers must
// call it, because it records the stack.
func NewPanicError(value any) *PanicError { return &PanicError{value, string(debug.Stack())} }

// Error implements error.
func (e *PanicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.Value) }

// Unwrap returns the value if it is an error, or nil.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// Recover stores a panic as a *[PanicError] in err. It must be deferred.
func Recover(err *error) {
	if r := recover(); r != nil {
		*err = NewPanicError(r)
	}
}

// ResultError is the error of a result that cannot be sent. The peer receives [InvalidResult].
type ResultError struct{ Err error }

// Error implements error.
func (e ResultError) Error() string { return e.Err.Error() }

// Unwrap returns the error and [InvalidResult].
func (e ResultError) Unwrap() []error { return []error{e.Err, InvalidResult} }

// ForPeer returns the JSON-RPC error that the peer receives for the error of a handler: the
// *[peer.Error] in its chain, or [Internal].
func ForPeer(err error) *peer.Error {
	if e := peer.AsError(err); e != nil {
		return e
	}
	return Internal
}

// NewID returns an id that connects what the peer receives of an error with what is logged.
func NewID() string { return fmt.Sprintf("%016x", rand.Uint64()) }

// identified is an error whose text only the log contains. The peer receives another one with the
// same id.
type identified struct {
	error
	sent *peer.Error
}

// Unwrap returns both errors.
func (e identified) Unwrap() []error { return []error{e.error, e.sent} }

// withID returns an error for which the peer receives an internal error with an id.
func withID(err error, message, id string) error {
	return identified{err, &peer.Error{Code: codeInternal, Message: message + " (id " + id + ")"}}
}

// Log logs the error of a handler whose context is ctx. The level depends on whether the error was
// sent to the peer. It returns the error to send, see [ForPeer]. If the peer does not receive the
// text of the error, the error to send has an id, which is logged too.
func Log(ctx context.Context, log *slog.Logger, in *peer.Inbound, err error, sent bool) error {
	p, panicked := errors.AsType[*PanicError](err)
	_, badResult := errors.AsType[ResultError](err)
	switch {
	case panicked:
		id := NewID()
		log.ErrorContext(ctx, "handler panicked", "method", in.Method, "request", in.ID, "id", id, "panic", p.Value, "stack", p.Stack)
		return withID(err, Internal.Message, id)
	case badResult:
		id := NewID()
		log.ErrorContext(ctx, "handler returned an invalid result", "method", in.Method, "request", in.ID, "id", id, "error", err)
		return withID(errors.New(err.Error()), InvalidResult.Message, id)
	case errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx)):
		log.DebugContext(ctx, "handler stopped", "method", in.Method, "request", in.ID, "error", err)
		return err
	case peer.AsError(err) != nil && sent:
		log.DebugContext(ctx, "request refused", "method", in.Method, "request", in.ID, "error", err)
		return err
	}
	id := NewID()
	log.ErrorContext(ctx, "handler failed", "method", in.Method, "request", in.ID, "id", id, "error", err)
	if peer.AsError(err) != nil {
		return err
	}
	return withID(err, Internal.Message, id)
}

// LogPanic recovers from a panic and logs it. It must be deferred. The text what names the code
// that panicked.
func LogPanic(ctx context.Context, log *slog.Logger, what string) {
	if r := recover(); r != nil {
		log.ErrorContext(ctx, what+" panicked", "panic", r, "stack", string(debug.Stack()))
	}
}

// LogPanics calls f and logs a panic of f, as [LogPanic] does.
func LogPanics(log *slog.Logger, what string, f func()) {
	defer LogPanic(context.Background(), log, what)
	f()
}
