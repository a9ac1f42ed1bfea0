package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Errorf makes an error whose text is for the model that called a tool: what
// went wrong and what it could try instead. The format is that of [fmt.Errorf].
// Any error with a method ModelText() string is another such error. Where it was
// no tool that failed, the text is the message of the error that the client gets.
func Errorf(format string, args ...any) error {
	return &modelError{fmt.Errorf(format, args...)}
}

// modelError is an error for a model.
type modelError struct{ error }

func (e *modelError) ModelText() string { return e.error.Error() }
func (e *modelError) Unwrap() error     { return e.error }

// forModel is an error that says itself what a model should know of it.
type forModel interface {
	error
	ModelText() string
}

// told adds to an error of what is no tool what its client is told: the text for a
// model, where there is one.
func told(err error) error {
	if e, ok := errors.AsType[forModel](err); ok && peer.AsError(err) == nil {
		return errors.Join(err, &peer.Error{Code: mcp.CodeInternal, Message: e.ModelText()})
	}
	return err
}

// NotFound returns the error of a resource that does not exist, for the handlers
// of templates. The kernel knows what revisions without a handshake have.
func NotFound(uri string) error {
	return &peer.Error{
		Code:    eras.CodeNotFound,
		Message: "Resource not found",
		Data:    append(wire.AppendString([]byte(`{"uri":`), uri), '}'),
	}
}

func unknown(kind Kind, name string) error {
	return invalid("Unknown %s: %q", kind, clip(name))
}

// clip shortens a name that a client has made too long to be repeated.
func clip(name string) string {
	const most = 200
	if len(name) <= most {
		return name
	}
	return strings.ToValidUTF8(name[:most], "") + "…"
}

func invalid(format string, args ...any) error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func notOffered(method string) error {
	data, _ := json.Marshal(method) // a string always can be
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found", Data: data}
}

// toolFailure says what a client is told of a tool's error: a result for the
// model, or an error in place of one.
func (s *Server) toolFailure(ctx context.Context, name string, err error) (*mcp.CallToolResult, error) {
	if _, asks := errors.AsType[*mcp.InputRequiredError](err); asks {
		return nil, err
	}
	if e, ok := errors.AsType[forModel](err); ok {
		return failure(e.ModelText()), nil
	}
	if text := cannotAsk(err); text != "" {
		return failure(text), nil
	}
	if peer.AsError(err) != nil || ctx.Err() != nil {
		return nil, err
	}
	if r := rounds.From(ctx); r != nil && r.Asks() {
		return nil, err // of which the client hears nothing: it gets the questions
	}
	id := fmt.Sprintf("%016x", rand.Uint64())
	s.opts.Logger.ErrorContext(ctx, "tool failed", "tool", name, "id", id, "error", err)
	return failure("The tool failed for a reason that is not yours to mend. The server's log has it under " + id + "."), nil
}

// cannotAsk explains why a tool could not ask its client, empty where that is not
// what the error is about, and where the protocol has an error that says it.
func cannotAsk(err error) string {
	if _, ok := errors.AsType[*mcp.MissingRequiredClientCapabilityError](err); ok {
		return ""
	}
	if e, ok := errors.AsType[*connection.CapabilityError](err); ok {
		return fmt.Sprintf("The tool needs a client that supports %s.", e.Capability)
	}
	if e, ok := errors.AsType[*connection.UnsupportedError](err); ok {
		return fmt.Sprintf("The tool needs a client that can be sent %q, which revision %s of the protocol does not have.", e.Method, e.Revision)
	}
	if e, ok := errors.AsType[*peer.NoBackChannelError](err); ok {
		return fmt.Sprintf("The tool needs a connection on which it can send %q to the client.", e.Method)
	}
	return ""
}

// failure is the result of a tool that failed.
func failure(text string) *mcp.CallToolResult {
	res := mcp.TextResult(text)
	res.IsError = true
	return res
}
