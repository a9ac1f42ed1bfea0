package connection

import (
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// outward makes of an error what may cross the connection: a code that the
// revision does not have becomes the one that it has for the same.
func outward(r wire.Revision, err error) error {
	e := peer.AsError(err)
	switch {
	case e == nil:
		return err
	case e.Code == eras.CodeNotFound && !handshake(r):
		return withCode(mcp.CodeInvalidParams, e, err)
	case unassigned(e.Code) && !handshake(r):
		return withCode(mcp.CodeInternal, e, err)
	case !codeWindow(e.Code).Has(r), misused(e):
		// Nothing in the chain of this one crosses.
		return fmt.Errorf("revision %s does not have the error, or not like this: %v", r, err)
	}
	return err
}

// told is what a client can be told of an error: one that sends its user to a URL is
// for clients that can.
func (c *core) told(err error) error {
	e := peer.AsError(err)
	if e == nil || c.conn.client || !codeWindow(e.Code).Has(c.conn.state.Revision()) {
		return err
	}
	if _, asks := mcp.ErrorFrom(e).(*mcp.URLElicitationRequiredError); !asks {
		return err
	}
	if lack := c.door().need(c.in.Method, "elicitation.url"); lack != nil {
		return lack
	}
	return err
}

// withCode is an error under another code.
func withCode(code int64, e *peer.Error, cause error) error {
	return &translated{cause: cause, wire: &peer.Error{Code: code, Message: e.Message, Data: e.Data}}
}

// unassigned tells whether a code is one of the protocol's that means nothing yet: a
// program that has given it a meaning is not the only one who may.
func unassigned(code int64) bool {
	return eras.Reserves(code) && codeWindow(code) == wire.Always
}

// misused tells whether an error has a code of the protocol's, and data that do not
// say what the code asks for.
func misused(e *peer.Error) bool {
	return eras.Reserves(e.Code) && e.Code != mcp.CodeHeaderMismatch && !unassigned(e.Code) && mcp.ErrorFrom(e) == error(e)
}

// translated is an error that crosses the connection in another form.
type translated struct {
	cause error
	wire  *peer.Error
}

func (t *translated) Error() string   { return t.cause.Error() }
func (t *translated) Unwrap() []error { return []error{t.wire, t.cause} }

// errHandedOn answers a question of a server with a handshake that a gateway puts to
// a client without one: the call that it is about comes again.
var errHandedOn = &peer.Error{Code: mcp.CodeInternal, Message: "The question is handed on; its answer comes with the next call"}

// askBack answers a request with the questions that a handler failed with, where that
// can be. It passes on what is no question.
func askBack(info *peer.MethodInfo, err error, r wire.Revision, client bool) (wire.Value, error) {
	ask := asInput(err)
	switch {
	case ask == nil:
		return nil, err
	case client:
		return nil, errHandedOn
	case info == nil || !info.MultiRoundTrip.Has(r):
		return nil, fmt.Errorf("the answer may not ask for input in revision %s", r)
	case len(ask.InputRequests) == 0 && ask.RequestState == nil:
		return nil, errors.New("the answer asks for input without saying for which")
	}
	return ask, nil
}
