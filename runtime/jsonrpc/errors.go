package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ErrClosed is why the context of a handler ends when the connection does. The
// reason for that, where there is one, is in the same chain.
var ErrClosed = errors.New("connection closed")

// ErrPeerDone is why the context of a subscription's handler ends when the peer
// sends nothing more: see [Conn.Drain].
var ErrPeerDone = errors.New("the peer sends nothing more")

// ErrNotWritten is in the error of a [Writer] that has not begun to write the
// message: the peer cannot have seen any of it.
var ErrNotWritten = errors.New("message not written")

// CancelledError is why the context of a handler ends when the peer, or
// [InFlight.Cancel], cancels the request.
type CancelledError struct {
	// Reason is what the peer says about it, empty where it says nothing.
	Reason string
}

// Error implements error.
func (e *CancelledError) Error() string {
	if e.Reason == "" {
		return "request cancelled by its sender"
	}
	return fmt.Sprintf("request cancelled by its sender: %q", e.Reason)
}

// errWriter is why a message has perhaps not been written.
var errWriter = errors.New("the writer panicked")

// errCameLate is why a request is not handled that was cancelled before it came.
var errCameLate = errors.New("request was cancelled before it came")

// IDInUseError refuses a call whose caller chose an id that another call under
// way has. Nothing was written. "7" and 7 count as the same id.
type IDInUseError struct {
	Method string
	ID     wire.RequestID
}

// Error implements error.
func (e *IDInUseError) Error() string {
	return fmt.Sprintf("send %q: request id %v is in use", e.Method, e.ID)
}

// The codes of JSON-RPC, as far as a dispatcher answers by itself.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeNoMethod = -32601
	codeInternal = -32603
)

var (
	errInternal = &peer.Error{Code: codeInternal, Message: "Internal error"}
	errResult   = &peer.Error{Code: codeInternal, Message: "Handler returned an invalid result"}
	errGoodbye  = &peer.Error{Code: codeInternal, Message: "Connection closed"}
	errTooMany  = &peer.Error{Code: codeInternal, Message: "Too many requests in flight"}
	errSameID   = &peer.Error{Code: codeRequest, Message: "Request id is in use"}
	errBatched  = &peer.Error{Code: codeRequest, Message: "A batch cannot contain this request"}

	errExited   = errors.New("handler ended its goroutine")
	errNoResult = errors.New("handler returned neither a result nor an error")
)

func errNoMethod(method string) *peer.Error {
	return &peer.Error{Code: codeNoMethod, Message: "Method not found", Data: text(method)}
}

// text is s as JSON.
func text(s string) json.RawMessage { return wire.AppendString(nil, s) }

// panicError is what a handler panicked with.
type panicError struct {
	value any
	stack string
}

// newPanic is for the deferred function that recovered value.
func newPanic(value any) *panicError { return &panicError{value, string(debug.Stack())} }

func (e *panicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.value) }

// Unwrap returns the value if it is an error.
func (e *panicError) Unwrap() error {
	err, _ := e.value.(error)
	return err
}

// closedError is what a call gets that the end of the connection ended.
func closedError(method string, cause error) error {
	return &peer.ClosedError{Method: method, Cause: cause}
}

// unsentError is what a call gets that came after the end of the connection.
func unsentError(method string, cause error) error {
	return &peer.ClosedError{Method: method, Cause: cause, Unsent: true}
}

// closure is the cause that handlers see when the connection ends.
func closure(cause error) error {
	if cause == nil {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, cause)
}

// abandoned is what a call gets whose context has ended.
func abandoned(ctx context.Context, method string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("send %q: %w", method, cause)
	}
	return fmt.Errorf("send %q: %w: %w", method, err, cause)
}

func timeoutError(method string, after time.Duration) error {
	return &peer.TimeoutError{Method: method, After: after}
}

// unsent is what a call gets that could not be written.
func unsent(method string, err error) error {
	if torn(err) {
		return &peer.ClosedError{Method: method, Cause: err, Unsent: errors.Is(err, ErrNotWritten)}
	}
	return fmt.Errorf("send %q: %w", method, err)
}

// torn tells whether err is what writers say whose other end is gone.
func torn(err error) bool {
	is := func(gone error) bool { return errors.Is(err, gone) }
	return is(ErrClosed) || is(io.ErrClosedPipe) || is(os.ErrClosed) || is(net.ErrClosed) ||
		slices.ContainsFunc(brokenPipe, is)
}
