package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// RegistrationError is the error of an invalid registration. The Add functions and methods
// panic with it, because an invalid definition in a program's own code is a bug. The TryAdd
// methods return it, for definitions that come from elsewhere.
type RegistrationError struct {
	// Item is the item that could not be registered.
	Item Item
	// Err is the reason.
	Err error
}

// Error implements error.
func (e *RegistrationError) Error() string {
	return fmt.Sprintf("mcpserver: %s %q: %v", e.Item.Kind, e.Item.Name, e.Err)
}

// Unwrap returns Err.
func (e *RegistrationError) Unwrap() error { return e.Err }

// Errorf returns an error whose text is sent to the model that called a tool. The text should
// state what is wrong and what the model can try instead. The format is as in [fmt.Errorf]. An
// error type with a method ModelText() string has the same effect.
//
// If the handler is not a tool's, the text is the message of the error response.
func Errorf(format string, args ...any) error {
	return &modelError{fmt.Errorf(format, args...)}
}

// modelError is an error whose text is sent to the model.
type modelError struct{ error }

func (e *modelError) ModelText() string { return e.error.Error() }

func (e *modelError) Unwrap() error { return e.error }

// modelTexter is an error that has a text for the model.
type modelTexter interface {
	error
	ModelText() string
}

// clientError returns the error of a handler other than a tool's, with the text for the model,
// if there is one, as the message of the error response.
func (s *Server) clientError(ctx context.Context, err error) error {
	if err == nil || peer.AsError(err) != nil || ctx.Err() != nil {
		return err
	}
	if e, ok := errors.AsType[modelTexter](err); ok {
		return errors.Join(err, &peer.Error{Code: mcp.CodeInternal, Message: e.ModelText()})
	}
	if _, asks := errors.AsType[*mcp.InputRequiredError](err); s.opts.ExposeErrors && !asks {
		method := ""
		if req := connection.RequestFromContext(ctx); req != nil {
			method = req.Method()
		}
		s.opts.Logger.ErrorContext(ctx, "handler failed", "method", method, "error", err)
		return errors.Join(err, &peer.Error{Code: mcp.CodeInternal, Message: err.Error()})
	}
	return err
}

// NotFound returns an error for handlers that reports that a resource does not exist. Its code
// is the one that the client's revision defines.
func NotFound(uri string) error {
	return &peer.Error{
		Code:    revisions.CodeResourceNotFound,
		Message: "Resource not found",
		Data:    append(wire.AppendString([]byte(`{"uri":`), limit.URI(uri)), '}'),
	}
}

func unknown(kind Kind, name string) error {
	return invalid("Unknown %s: %q", kind, limit.Name(name))
}

func invalid(format string, args ...any) error {
	return &peer.Error{Code: mcp.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func methodNotFound(method string) error {
	data, _ := json.Marshal(limit.Name(method)) // never fails for a string
	return &peer.Error{Code: mcp.CodeMethodNotFound, Message: "Method not found", Data: data}
}

var (
	errNoHandler    = errors.New("handler is nil")
	errNoDefinition = errors.New("definition is nil")
)

var (
	errShutdownRequested = errors.New("the server is shutting down")
	errShuttingDown      = &peer.Error{Code: mcp.CodeInternal, Message: "Server is shutting down"}
)

// registrationError returns err as a [*RegistrationError], or nil if err is nil.
func registrationError(kind Kind, name string, err error) error {
	if err == nil {
		return nil
	}
	return &RegistrationError{Item{kind, name}, err}
}

// must panics with err unless it is nil.
func must(err error) {
	if err != nil {
		panic(err)
	}
}
