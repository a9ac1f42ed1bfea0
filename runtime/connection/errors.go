package connection

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// UnsupportedError means that a request was not sent because the revision in use does not define
// it, or does not define it in this direction.
type UnsupportedError struct {
	// Method is the method of the request.
	Method string
	// Revision is the revision in use.
	Revision wire.Revision
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("send %q: revision %s does not have the request in this direction", e.Method, e.Revision)
}

// CapabilityError means that a request was not sent because the peer did not declare a capability
// that the request requires.
type CapabilityError struct {
	// Method is the method of the request.
	Method string
	// Capability is the missing member, such as "elicitation.url".
	Capability string
	// Required is the missing capability as a client would declare it. It is nil for the
	// capability of a server.
	Required *mcp.ClientCapabilities
	// Revision is the revision in use.
	Revision wire.Revision
}

// Error implements error.
func (e *CapabilityError) Error() string {
	return fmt.Sprintf("send %q: the peer did not declare the capability %q", e.Method, e.Capability)
}

// Unwrap returns the error for a client whose request failed because its handler needs the
// missing capability. It is nil for the capability of a server. If the revision has no error
// code for this case, the error has the code "invalid request", with the same data.
func (e *CapabilityError) Unwrap() error {
	if e.Required == nil {
		return nil
	}
	missing := &mcp.MissingRequiredClientCapabilityError{RequiredCapabilities: *e.Required}
	if codeWindow(mcp.CodeMissingRequiredClientCapability).Has(e.Revision) {
		return missing
	}
	invalid := &peer.Error{
		Code:    mcp.CodeInvalidRequest,
		Message: fmt.Sprintf("The client did not declare the capability %q, which the request needs", e.Capability),
	}
	if coded := peer.AsError(missing); coded != nil {
		invalid.Data = coded.Data
	}
	return invalid
}

// InvalidError means that a request was not sent because it violates a rule that its types do not
// express, or that the response to a request violates such a rule.
type InvalidError struct {
	// Method is the method of the request.
	Method string
	// Answer is true if the response violates the rule, and false if the request does.
	Answer bool
	// Err describes the rule and the place of the violation.
	Err error
}

// Error implements error.
func (e *InvalidError) Error() string {
	if e.Answer {
		return fmt.Sprintf("response to %q: %v", e.Method, e.Err)
	}
	return fmt.Sprintf("send %q: %v", e.Method, e.Err)
}

// Unwrap returns Err.
func (e *InvalidError) Unwrap() error { return e.Err }

// InvalidResponse reports whether the response violates the rule, as the field Answer does.
func (e *InvalidError) InvalidResponse() bool { return e.Answer }

// codeWindow returns the revisions that define an error code, or [wire.Always] if the protocol
// does not define it.
func codeWindow(code int64) wire.Window {
	if info := errorInfo(code); info != nil {
		return info.In
	}
	return wire.Always
}

// errorInfo describes an error code. It returns nil if the protocol does not define it.
func errorInfo(code int64) *peer.ErrorInfo {
	for i := range mcp.Errors {
		if mcp.Errors[i].Code == code {
			return &mcp.Errors[i]
		}
	}
	return nil
}

// usual returns an error with the code of this package for an error whose code differs in the
// revision. Errors that share the code of another one are recognized by their data, in
// [mcp.ErrorFrom].
func usual(r wire.Revision, e *peer.Error) *peer.Error {
	if errorInfo(e.Code) != nil {
		return e
	}
	for i := range mcp.Errors {
		if info := &mcp.Errors[i]; info.CodeIn(r) == e.Code {
			return &peer.Error{Code: info.Code, Message: e.Message, Data: e.Data}
		}
	}
	return e
}

// typed converts an error of the peer to the type of its error code. It keeps the text that a
// transport has added.
func typed(r wire.Revision, err error) error {
	e := peer.AsError(err)
	if e == nil {
		return err
	}
	if u := usual(r, e); u != e {
		return &typedError{err, e, mcp.ErrorFrom(u)}
	}
	switch t := mcp.ErrorFrom(e); {
	case t == error(e):
		return err
	case err == error(e):
		return t
	default:
		return &typedError{err, e, t}
	}
}

// typedError is an error of a transport that wraps an error of the peer. In its text the typed
// error, which is more precise, replaces the plain one.
type typedError struct{ err, plain, typed error }

func (t *typedError) Error() string {
	return strings.Replace(t.err.Error(), t.plain.Error(), t.typed.Error(), 1)
}
func (t *typedError) Unwrap() []error { return []error{t.typed, t.err} }

// forRevision converts the error of a request to an error that may be sent in a revision. A code
// that the revision does not define becomes the code that it has for the same case.
func forRevision(r wire.Revision, err error) error {
	e := peer.AsError(err)
	switch {
	case e == nil:
		return err
	case e.Code == revisions.CodeResourceNotFound && !revisions.Handshake(r):
		return withCode(mcp.CodeInvalidParams, e, err)
	case unassigned(e.Code) && !revisions.Handshake(r):
		return withCode(mcp.CodeInternal, e, err)
	case !codeWindow(e.Code).Has(r), lacksData(e):
		// %v hides the cause, so that the peer receives an internal error.
		return fmt.Errorf("revision %s does not define the error code, or requires other data: %v", r, err)
	}
	return inRevision(r, e, err)
}

// inRevision returns an error of the protocol with the code and the data that it has in a revision.
func inRevision(r wire.Revision, e *peer.Error, err error) error {
	info := errorInfo(e.Code)
	if info == nil {
		return err
	}
	code, data := info.CodeIn(r), e.Data
	if typed, ok := errors.AsType[typedData](err); ok && peer.AsError(typed) != nil && peer.AsError(typed).Code == e.Code {
		if b, bad := wire.Append(nil, &wire.Frame{Revision: r}, typed); bad == nil {
			data = b
		}
	}
	if code == e.Code && bytes.Equal(data, e.Data) {
		return err
	}
	return &translatedError{cause: err, sent: &peer.Error{Code: code, Message: e.Message, Data: data}}
}

// typedData is a typed error, whose data it encodes.
type typedData interface {
	error
	wire.Value
}

// withCode returns an error with another code.
func withCode(code int64, e *peer.Error, cause error) error {
	return &translatedError{cause: cause, sent: &peer.Error{Code: code, Message: e.Message, Data: e.Data}}
}

// translatedError is an error that is sent to the peer as another one.
type translatedError struct {
	cause error
	sent  *peer.Error
}

func (t *translatedError) Error() string   { return t.cause.Error() }
func (t *translatedError) Unwrap() []error { return []error{t.sent, t.cause} }

// unassigned reports whether a code is reserved for the protocol and has no meaning yet. A later
// revision may give it a meaning that differs from the program's.
func unassigned(code int64) bool {
	return revisions.ReservedCode(code) && codeWindow(code) == wire.Always
}

// lacksData reports whether an error has a code of the protocol without the data that the code
// requires.
func lacksData(e *peer.Error) bool {
	return revisions.ReservedCode(e.Code) && e.Code != mcp.CodeHeaderMismatch && !unassigned(e.Code) && mcp.ErrorFrom(e) == error(e)
}

// encodeError returns err if it means that a message cannot be encoded, otherwise nil.
func encodeError(err error) error {
	if _, ok := errors.AsType[*wire.EncodeError](err); ok {
		return err
	}
	return nil
}

func invalidParams(err error) *peer.Error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: "Invalid params: " + err.Error()}
}
