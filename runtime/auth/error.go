package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"
)

// Error is an OAuth error response of an authorization server.
type Error struct {
	// Endpoint is the URL that returned the error.
	Endpoint string
	// Code is the OAuth error code, such as "access_denied" or "invalid_grant".
	Code string
	// Description and URI explain the error to people. They come from the server at
	// Endpoint and are not trustworthy.
	Description, URI string
}

// Error implements error.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s returned error %q", e.Endpoint, e.Code)
	if e.Description != "" {
		text += fmt.Sprintf(" (%q)", e.Description)
	}
	if e.URI != "" {
		text += fmt.Sprintf(", see %q", e.URI)
	}
	return text
}

// parseError parses the body of an OAuth error response. It returns nil if the body is
// something else.
func parseError(endpoint string, body []byte) *Error {
	var e struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
		URI         string `json:"error_uri"`
	}
	if json.Unmarshal(body, &e) != nil || e.Code == "" {
		return nil
	}
	return &Error{Endpoint: endpoint, Code: e.Code, Description: e.Description, URI: e.URI}
}

// retryError is an error that a later attempt may not have.
type retryError struct {
	err   error
	after time.Duration // wait at least this long before the next attempt; 0 if unknown
}

// Error implements error.
func (e *retryError) Error() string { return e.err.Error() }

// Unwrap returns the error without the time.
func (e *retryError) Unwrap() error { return e.err }

// retryAfter returns the time to wait before the next attempt, or 0.
func retryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*retryError](err); ok {
		return e.after
	}
	return 0
}

// isRetryError reports whether a [retryError] is in the chain of an error.
func isRetryError(err error) bool {
	_, ok := errors.AsType[*retryError](err)
	return ok
}

// recoverPanic sets err if the calling function panics, so that a panic in code of the
// program does not end the process. It must be deferred. The parameter what names the
// code that panicked.
func recoverPanic(what string, err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("%s panicked: %v\n%s", what, v, debug.Stack())
	}
}
