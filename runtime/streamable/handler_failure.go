package streamable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

var (
	errExited   = errors.New("handler ended its goroutine")
	errNoResult = errors.New("handler returned neither a result nor an error")
)

// resultError is why a handler's result is no answer.
type resultError struct{ error }

func (e resultError) Unwrap() []error { return []error{e.error, errResult} }

var (
	errInternal = &peer.Error{Code: mcp.CodeInternal, Message: "Internal error"}
	errResult   = &peer.Error{Code: mcp.CodeInternal, Message: "Handler returned an invalid result"}
)

// panicError is what a handler panicked with.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("handler panicked: %v", e.value) }

// protect makes an error of a panic.
func protect(ctx context.Context, f func(context.Context) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{v, debug.Stack()}
		}
	}()
	return f(ctx)
}

// log logs what the handler of a message failed with.
func (p *response) log(ctx context.Context, in *peer.Inbound, err error) {
	log := p.handler.opts.Logger
	panicked, isPanic := errors.AsType[*panicError](err)
	_, isResult := errors.AsType[resultError](err)
	switch {
	case isPanic:
		log.ErrorContext(ctx, "handler panicked", "method", in.Method, "id", in.ID, "panic", panicked.value, "stack", string(panicked.stack))
	case isResult:
		log.ErrorContext(ctx, "handler returned an invalid result", "method", in.Method, "id", in.ID, "error", err)
	case peer.AsError(err) != nil, ctx.Err() != nil:
		log.DebugContext(ctx, "request refused", "method", in.Method, "id", in.ID, "error", err)
	default:
		log.ErrorContext(ctx, "handler failed", "method", in.Method, "id", in.ID, "error", err)
	}
}
