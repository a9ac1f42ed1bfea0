package streamable

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// ErrSessionLost is in the error of a call whose session the server does not
// know any more. Nothing came of the call, which may be made again; a new
// initialize over the same client begins a new session.
var ErrSessionLost = errors.New("the server has ended the session")

// ErrNoResponse is in the error of a call that the server took but did not
// answer: its stream ended or broke before, or the response was something else.
// Whether anything came of the call is not known.
var ErrNoResponse = errors.New("no answer to the request")

// HTTPError says that the server answered a message with an HTTP status other
// than success. It belongs to that message alone. If the server said in the
// body what is wrong, that *[peer.Error] is in its chain.
type HTTPError struct {
	// Method and URL are what was asked for; the URL has neither credentials
	// nor a query.
	Method, URL string
	// Status is the code, such as 502.
	Status int
	// Header is that of the response. It is not to be changed.
	Header http.Header
	// Body is how the response begins, as text.
	Body string
	// Err is more about it: what the server says in the terms of the protocol,
	// [ErrSessionLost], or nil.
	Err error
}

// Error implements error.
func (e *HTTPError) Error() string {
	text := fmt.Sprintf("%s %q: %d", e.Method, e.URL, e.Status)
	if name := http.StatusText(e.Status); name != "" {
		text += " " + name
	}
	if to := e.Header.Get("Location"); e.Status/100 == 3 && to != "" {
		text += fmt.Sprintf(": not following to %q", to)
	}
	switch {
	case e.Err != nil:
		text += ": " + e.Err.Error()
	case e.Body != "":
		text += fmt.Sprintf(": %q", e.Body)
	}
	return text
}

// Unwrap returns Err.
func (e *HTTPError) Unwrap() error { return e.Err }

// passing tells whether the same request may well succeed a little later.
func (e *HTTPError) passing() bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return e.Status >= 500 && e.Status != http.StatusNotImplemented
}

// excerptSize is how much of a body an error shows.
const excerptSize = 512

// excerpt returns how a body begins.
func excerpt(body []byte) string {
	text := strings.TrimSpace(string(body[:min(len(body), excerptSize)]))
	return strings.ToValidUTF8(text, "?")
}
