package connection

import (
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// UnsupportedError says that a request was not sent because the revision being
// spoken does not have it, or not in this direction.
type UnsupportedError struct {
	// Method is the method of the request.
	Method string
	// Revision is the revision being spoken.
	Revision wire.Revision
}

// Error implements error.
func (e *UnsupportedError) Error() string {
	return fmt.Sprintf("send %q: revision %s does not have the request in this direction", e.Method, e.Revision)
}

// CapabilityError says that a request was not sent because the peer did not
// declare what it needs.
type CapabilityError struct {
	// Method is the method of the request.
	Method string
	// Capability is the member that is missing, such as "elicitation.url".
	Capability string
	// Required is the same as a client would declare it, nil where the
	// capability is a server's.
	Required *mcp.ClientCapabilities
	// Revision is the revision being spoken.
	Revision wire.Revision
}

// Error implements error.
func (e *CapabilityError) Error() string {
	return fmt.Sprintf("send %q: the peer did not declare the capability %q", e.Method, e.Capability)
}

// Unwrap returns the error that tells the client what it should have declared:
// what a request of the client's is answered with when its handler could not ask.
// It is nil where the capability is a server's. Revisions without a code for it
// have the one for a request that does not fit the session, and the same data.
func (e *CapabilityError) Unwrap() error {
	if e.Required == nil {
		return nil
	}
	missing := &mcp.MissingRequiredClientCapabilityError{RequiredCapabilities: *e.Required}
	if codeWindow(mcp.CodeMissingRequiredClientCapability).Has(e.Revision) {
		return missing
	}
	answer := &peer.Error{
		Code:    mcp.CodeInvalidRequest,
		Message: fmt.Sprintf("The client did not declare the capability %q, which the request needs", e.Capability),
	}
	if typed := peer.AsError(missing); typed != nil {
		answer.Data = typed.Data
	}
	return answer
}

// InvalidError says that a request was not sent because it breaks a rule that
// its types do not express, or that its answer does.
type InvalidError struct {
	// Method is the method of the request.
	Method string
	// Answer tells that it is the answer that breaks the rule.
	Answer bool
	// Err tells which rule, and where.
	Err error
}

// Error implements error.
func (e *InvalidError) Error() string {
	if e.Answer {
		return fmt.Sprintf("answer to %q: %v", e.Method, e.Err)
	}
	return fmt.Sprintf("send %q: %v", e.Method, e.Err)
}

// Unwrap returns Err.
func (e *InvalidError) Unwrap() error { return e.Err }

// codeWindow is when the protocol has an error code; always, where the code is
// none of the protocol's own.
func codeWindow(code int64) wire.Window {
	for i := range mcp.Errors {
		if mcp.Errors[i].Code == code {
			return mcp.Errors[i].In
		}
	}
	return wire.Always
}
