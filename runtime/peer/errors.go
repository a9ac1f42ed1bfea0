package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Error is what crosses the connection in place of a result: the answer of a
// peer, or what a handler returns to choose code and data itself.
type Error struct {
	// Code says what went wrong; the generated package names the codes. Those
	// from -32099 to -32020 are the protocol's: a client of a revision without a
	// handshake gets one that means nothing there as -32603. A program's own are
	// from -32019 to -32000, or anywhere outside -32768 to -32000.
	Code int64
	// Message is one short sentence for people.
	Message string
	// Data is more about the error, in a form that goes with the code. Nil
	// where there is none.
	Data json.RawMessage
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// AsError finds the *Error in err's chain: what the peer is told. It returns nil
// where there is none, since the text of an unknown error stays in the process.
// The generated error types have one in their chain.
func AsError(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// NoBackChannelError says that a request could not be sent because nothing
// leads to the peer from here. Nothing was written.
type NoBackChannelError struct {
	// Method is the method of the request.
	Method string
}

// Error implements error.
func (e *NoBackChannelError) Error() string {
	return fmt.Sprintf("send %q: no channel for requests to the peer from here", e.Method)
}

// TimeoutError says that no answer to a request came in time. The peer was
// told, unless the call asked for the opposite.
type TimeoutError struct {
	// Method is the method of the request.
	Method string
	// After is how long the caller waited.
	After time.Duration
}

// Error implements error.
func (e *TimeoutError) Error() string {
	after := e.After
	if after > time.Millisecond {
		after = after.Truncate(time.Millisecond) // the rest says nothing
	}
	return fmt.Sprintf("send %q: no answer after %s", e.Method, after)
}

// Timeout tells package net and others what kind of error this is.
func (e *TimeoutError) Timeout() bool { return true }

// ClosedError says that the connection to the peer ended before the request
// was answered, or was not there any more.
type ClosedError struct {
	// Method is the method of the request.
	Method string
	// Cause is why the connection ended, nil where it was closed in order.
	Cause error
	// Unsent tells that nothing of the request was written, so that sending it
	// again over another connection repeats nothing.
	Unsent bool
}

// Error implements error.
func (e *ClosedError) Error() string {
	if e.Cause == nil {
		return fmt.Sprintf("send %q: connection closed", e.Method)
	}
	return fmt.Sprintf("send %q: connection closed: %v", e.Method, e.Cause)
}

// Unwrap returns the cause.
func (e *ClosedError) Unwrap() error { return e.Cause }
