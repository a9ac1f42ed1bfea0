package peer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Error is a JSON-RPC error: what the peer sent instead of a result, or what a handler returns to
// choose the code and the data itself.
type Error struct {
	// Code is the error code; the generated package defines constants for the protocol's codes.
	// The codes from -32099 to -32020 are reserved for the protocol: if such a code is not defined
	// in a stateless revision, its clients receive -32603 instead. A program may use the codes
	// from -32019 to -32000 and all codes outside of -32768 to -32000.
	Code int64
	// Message is one short sentence for people.
	Message string
	// Data contains details; their form depends on the code. It may be nil.
	Data json.RawMessage
}

// maxText limits the bytes of Data that are part of the text of an [Error].
const maxText = 512

// Error implements error. A short text in Data is part of the error's text: many peers state the
// details there, such as the name of an unknown method.
func (e *Error) Error() string {
	if len(e.Data) > 2 && e.Data[0] == '"' && len(e.Data) <= maxText {
		return fmt.Sprintf("%s: %s (code %d)", e.Message, e.Data, e.Code)
	}
	return fmt.Sprintf("%s (code %d)", e.Message, e.Code)
}

// AsError returns the *Error in the chain of err, which is what the peer receives. It returns nil
// if there is none, because the text of other errors must not leave the process. The generated
// error types have an *Error in their chain.
func AsError(err error) *Error {
	e, _ := errors.AsType[*Error](err)
	return e
}

// NoBackChannelError is the error of a request that could not be sent, because there is no channel
// to the peer. Nothing was written.
type NoBackChannelError struct {
	// Method is the method of the request.
	Method string
	// Returned reports whether the channel belonged to a message whose handler has returned. A
	// session with [Standalone] sends on the channel of the connection.
	Returned bool
}

// Error implements error.
func (e *NoBackChannelError) Error() string {
	if e.Returned {
		return fmt.Sprintf("send %q: the handler of the message has returned, so that its channel is closed", e.Method)
	}
	return fmt.Sprintf("send %q: no channel for requests to the peer", e.Method)
}

// TimeoutError is the error of a request that was not answered in time. The peer has been notified
// that the request is cancelled, unless [WithoutCancelNotification] was used.
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
		after = after.Truncate(time.Millisecond)
	}
	return fmt.Sprintf("send %q: no response after %s", e.Method, after)
}

// Timeout returns true, as for errors of package net.
func (e *TimeoutError) Timeout() bool { return true }

// ClosedError is the error of a request if the connection was closed before the response arrived or
// before the request was sent.
type ClosedError struct {
	// Method is the method of the request.
	Method string
	// Cause is why the connection ended. It is nil if the connection was closed as intended.
	Cause error
	// Unsent reports whether no part of the request was written. Then the request can be sent again
	// over another connection without being executed twice.
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
