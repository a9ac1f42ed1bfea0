package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/brokenpipe"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

var (
	// ErrClosed is the cause of a handler's context when the connection ends. If there is a
	// reason for that, the reason is in the same chain.
	ErrClosed = errors.New("connection closed")
	// ErrPeerDone is the cause of the context of a subscription's handler when the peer sends
	// no more messages; see [Conn.Drain].
	ErrPeerDone = errors.New("peer sends no more messages")
	// ErrNotWritten is in the chain of a [Writer]'s error if the Writer has not begun to write
	// the message: the peer cannot have received any part of it.
	ErrNotWritten = errors.New("message not written")
	// ErrTooManyQueued is in the chain of the error that [Options].OnError receives when a
	// notification is dropped because [Options].MaxQueuedNotifications others are waiting.
	ErrTooManyQueued = errors.New("too many queued notifications")
)

// CancelledError is the cause of a handler's context when the peer or [InFlight.Cancel] cancels the
// request.
type CancelledError struct {
	// Reason is the reason that the peer gave. It may be empty.
	Reason string
}

// Error implements error.
func (e *CancelledError) Error() string {
	if e.Reason == "" {
		return "request cancelled by its sender"
	}
	return fmt.Sprintf("request cancelled by its sender: %q", e.Reason)
}

// IDInUseError is the error of a call with an id that another call in flight has. Nothing was
// written. The ids "7" and 7 count as the same id.
type IDInUseError struct {
	Method string
	ID     wire.RequestID
}

// Error implements error.
func (e *IDInUseError) Error() string {
	return fmt.Sprintf("send %q: request id %v is in use", e.Method, e.ID)
}

// Error codes of JSON-RPC.
const (
	codeParse    = -32700
	codeRequest  = -32600
	codeNoMethod = -32601
	codeInternal = -32603
)

// Errors that the peer receives instead of results.
var (
	errConnClosed   = &peer.Error{Code: codeInternal, Message: "Connection closed"}
	errOverBudget   = &peer.Error{Code: codeInternal, Message: "Too many bytes in flight"}
	errUnsendable   = &peer.Error{Code: codeInternal, Message: "The result was dropped: too many bytes wait for clients"}
	errTooMany      = &peer.Error{Code: codeInternal, Message: "Too many requests in flight"}
	errDuplicateID  = &peer.Error{Code: codeRequest, Message: "Request id is in use"}
	errNotInBatches = &peer.Error{Code: codeRequest, Message: "A batch cannot contain this request"}
)

func methodNotFound(method string) *peer.Error {
	return &peer.Error{Code: codeNoMethod, Message: "Method not found", Data: jsonText(limit.Name(method))}
}

// jsonText returns s as a JSON string.
func jsonText(s string) json.RawMessage { return wire.AppendString(nil, s) }

var (
	// errCancelledEarly is why a request is not handled that was cancelled before it arrived.
	errCancelledEarly = errors.New("request was cancelled before it arrived")
	// errWriterPanicked is the error of a Writer that panicked. The message may have been
	// written.
	errWriterPanicked = errors.New("writer panicked")
	// errNotAccepted is why a request was not written that waited too long for the Writer.
	errNotAccepted = errors.New("peer does not read")
	// errResponded is the error of sending a message that belongs to a request after the
	// response.
	errResponded = fmt.Errorf("%w: the request that it belongs to has been answered", ErrNotWritten)
)

// closedError is the error of a call that waited for its response when the connection ended.
func closedError(method string, cause error) error {
	return &peer.ClosedError{Method: method, Cause: cause}
}

// unsentError is the error of a call that was made after the connection had ended.
func unsentError(method string, cause error) error {
	return &peer.ClosedError{Method: method, Cause: cause, Unsent: true}
}

// closeCause is the cause of the handlers' contexts when the connection ends.
func closeCause(cause error) error {
	if cause == nil {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, cause)
}

// contextError is the error of a call whose context has ended.
func contextError(ctx context.Context, method string) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return fmt.Errorf("send %q: %w", method, cause)
	}
	return fmt.Errorf("send %q: %w: %w", method, err, cause)
}

func timeoutError(method string, after time.Duration) error {
	return &peer.TimeoutError{Method: method, After: after}
}

// writeError is the error of a call whose request could not be written because of err.
func writeError(method string, err error) error {
	if connectionLost(err) {
		return &peer.ClosedError{Method: method, Cause: err, Unsent: errors.Is(err, ErrNotWritten)}
	}
	return fmt.Errorf("send %q: %w", method, err)
}

// isClosedNetwork is errors.Is(err, net.ErrClosed), without the package net. Programs that only use
// pipes do not link it. The package promises not to change the text.
func isClosedNetwork(err error) bool {
	return strings.Contains(err.Error(), "use of closed network connection")
}

// connectionLost reports whether err is an error of writing to a peer that has closed its end.
func connectionLost(err error) bool {
	is := func(target error) bool { return errors.Is(err, target) }
	return is(ErrClosed) || is(io.ErrClosedPipe) || is(os.ErrClosed) || isClosedNetwork(err) || brokenpipe.Is(err)
}
