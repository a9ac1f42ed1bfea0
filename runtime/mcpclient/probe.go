package mcpclient

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/capabilities"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	httpclient "github.com/mcpwright/mcp/runtime/streamable/client"
	"github.com/mcpwright/mcp/runtime/wire"
)

var errNoCommonVersion = errors.New("no common protocol version")

// wrongKindError reports that a server does not support the kind of revision that was tried:
// handshake or stateless.
type wrongKindError struct {
	tried wire.Revision
	cause error
}

func (e *wrongKindError) Error() string { return fmt.Sprintf("tried %q: %v", e.tried, e.cause) }

func (e *wrongKindError) Unwrap() error { return e.cause }

// negotiationError is the last error of a negotiation, after an attempt with the other kind of
// revision or nil.
type negotiationError struct {
	before *wrongKindError
	err    error
}

func (e *negotiationError) Error() string {
	last := e.err
	wrong, isWrong := errors.AsType[*wrongKindError](e.err)
	if isWrong {
		last = wrong.cause
	}
	same := e.before != nil && reason(e.before.cause) == reason(last)
	switch {
	case isWrong && same:
		return fmt.Sprintf("%v: tried %q and %q: %s", errNoCommonVersion, e.before.tried, wrong.tried, reason(last))
	case isWrong && e.before != nil:
		return fmt.Sprintf("%v: %v; %v", errNoCommonVersion, e.before, e.err)
	case isWrong:
		return fmt.Sprintf("%v: %v", errNoCommonVersion, e.err)
	case e.before != nil && !same:
		return fmt.Sprintf("%v; before that: %v", e.err, e.before)
	}
	return e.err.Error()
}

// reason returns the text of an error of a request, without the method of the request.
func reason(err error) string {
	text := err.Error()
	if _, after, found := strings.Cut(text, `": `); found && strings.HasPrefix(text, `send "`) {
		return after
	}
	return text
}

func (e *negotiationError) Unwrap() []error {
	if e.before == nil {
		return []error{e.err}
	}
	return []error{e.err, e.before}
}

// initializeError interprets an error of initialize. A stateless server rejects the request because
// it lacks the message metadata or because the method is unknown.
func initializeError(r wire.Revision, err error) error {
	if e := peer.AsError(err); e != nil {
		switch e.Code {
		case mcp.CodeUnsupportedProtocolVersion, mcp.CodeHeaderMismatch, mcp.CodeMethodNotFound, mcp.CodeInvalidParams:
			return &wrongKindError{r, err}
		}
	}
	if e, ok := errors.AsType[*httpclient.HTTPError](err); ok && isUnknownRequest(e) {
		return &wrongKindError{r, err}
	}
	return err
}

// unsupportedError is the error for a server that supports none of the client's stateless
// revisions. If it supports a handshake revision, the client tries that.
func unsupportedError(r wire.Revision, names []string, cause error) error {
	if _, ok := newestOf(names, true); ok {
		return &wrongKindError{r, cause}
	}
	return fmt.Errorf("%w: tried %q: %w", errNoCommonVersion, r, cause)
}

// newestOf returns the newest known handshake or stateless revision of a list of names.
func newestOf(names []string, handshake bool) (wire.Revision, bool) {
	for _, r := range slices.Backward(mcp.Revisions) {
		if r.Handshake == handshake && slices.Contains(names, r.Revision.String()) {
			return r.Revision, true
		}
	}
	return wire.Revision{}, false
}

// mayBeHandshakeServer reports whether a failed server/discover request may have been sent to a
// server that supports only handshake revisions.
func mayBeHandshakeServer(err error) bool {
	if e, ok := errors.AsType[*httpclient.HTTPError](err); ok {
		return isUnknownRequest(e)
	}
	if peer.AsError(err) != nil {
		return !isStatelessError(err)
	}
	_, invalid := errors.AsType[*wire.DecodeError](err)
	_, ended := errors.AsType[*peer.ClosedError](err)
	return invalid || ended || isTimeout(err) || errors.Is(err, httpclient.ErrNoResponse)
}

func isTimeout(err error) bool {
	_, ok := errors.AsType[*peer.TimeoutError](err)
	return ok
}

// isUnknownRequest reports whether an HTTP error may mean that the server does not know the kind of
// request.
func isUnknownRequest(e *httpclient.HTTPError) bool {
	switch e.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusProxyAuthRequired,
		http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return e.Status/100 == 4 && !isStatelessError(e)
}

// isStatelessError reports whether an error has a code that only stateless revisions define.
func isStatelessError(err error) bool {
	e := peer.AsError(err)
	if e == nil {
		return false
	}
	switch e.Code {
	case mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return true
	}
	return false
}

// isFinal reports whether the server has rejected a request and would reject it again. A server that
// is busy or starting also responds with an error, but with another status.
func isFinal(err error) bool {
	e := peer.AsError(err)
	if e == nil || e.Code == mcp.CodeInternal {
		return false
	}
	in, ok := errors.AsType[*httpclient.HTTPError](err)
	return !ok || in.Status < 500 && in.Status != http.StatusTooManyRequests
}

// isSessionLost reports whether the server did not process a request because it no longer has the
// session.
func isSessionLost(err error) bool { return errors.Is(err, httpclient.ErrSessionLost) }

// initializeRequest is initialize with a result that is decoded in the revision of the result.
type initializeRequest struct{ mcp.InitializeRequest }

// NewResult implements [peer.Request].
func (*initializeRequest) NewResult() *outbound.RawResult { return new(outbound.RawResult) }

// discoverRequest is server/discover with a result that is decoded including its metadata, which
// describes the server.
type discoverRequest struct{ mcp.DiscoverRequest }

// NewResult implements [peer.Request].
func (*discoverRequest) NewResult() *outbound.RawResult { return new(outbound.RawResult) }

func decodeDiscoverResult(raw *outbound.RawResult, r wire.Revision) (*mcp.DiscoverResult, error) {
	res := new(mcp.DiscoverResult)
	err := wire.Decode(raw.JSON, &wire.Frame{Revision: r, Checked: true}, res)
	if kind := res.ResultType; kind != "" && kind != mcp.ResultTypeComplete {
		err = fmt.Errorf("unexpected result type %q", kind)
	}
	return res, err
}

// decodeInitializeResult decodes the result in the revision that the server has selected. Tried is
// the revision of the request.
func decodeInitializeResult(raw *outbound.RawResult, tried wire.Revision) (*mcp.InitializeResult, wire.Revision, error) {
	var selected revisions.ProtocolVersion
	if err := wire.Decode(raw.JSON, &wire.Frame{Checked: true}, &selected); err != nil {
		return nil, wire.Revision{}, fmt.Errorf("response to %q: %w", mcp.MethodInitialize, err)
	}
	r, known := mcp.ParseRevision(selected.Name)
	if !known {
		return nil, r, selectedError(tried, selected.Name)
	}
	res := new(mcp.InitializeResult)
	if err := wire.Decode(raw.JSON, &wire.Frame{Revision: r, Checked: true}, res); err != nil {
		return nil, r, fmt.Errorf("response to %q: %w", mcp.MethodInitialize, err)
	}
	capabilities.DecodeExtensions(&res.Capabilities.Extensions, &res.Capabilities.Extra)
	return res, r, nil
}

// selectedError is the error for a server that has selected a revision which the client may not
// use.
func selectedError(tried wire.Revision, selected string) error {
	return fmt.Errorf("%w: tried %q: server selected %q", errNoCommonVersion, tried, selected)
}
