package mcpotel

import (
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The attributes of the semantic conventions.
const (
	keyMethod     = "mcp.method.name"
	keyTool       = "gen_ai.tool.name"
	keyPrompt     = "gen_ai.prompt.name"
	keyOperation  = "gen_ai.operation.name"
	keyRevision   = "mcp.protocol.version"
	keySession    = "mcp.session.id"
	keyURI        = "mcp.resource.uri"
	keyRequestID  = "jsonrpc.request.id"
	keyErrorType  = "error.type"
	keyStatusCode = "rpc.response.status_code"
	keyTransport  = "network.transport"
	keyProtocol   = "network.protocol.name"
	keyClient     = "client.address"
	keyArguments  = attribute.Key("gen_ai.tool.call.arguments")
	keyResult     = attribute.Key("gen_ai.tool.call.result")
	keyErrorText  = attribute.Key("error.message")

	executeTool = "execute_tool"
)

// The values of error.type that are not error codes.
const (
	errorTool     = "tool_error"
	errorTimeout  = "timeout"
	errorCanceled = "canceled"
	errorClosed   = "connection_closed"
	errorUnsent   = "no_back_channel"
	errorPanic    = "panic"
)

// The attributes of the transports, by their kind.
var (
	pipeAttributes = []attribute.KeyValue{attribute.String(keyTransport, "pipe")}
	httpAttributes = []attribute.KeyValue{attribute.String(keyTransport, "tcp"), attribute.String(keyProtocol, "http")}
)

// The kinds of transports that are known.
const (
	pipe    = "pipe"
	overTCP = "http"
)

// transportOf returns the kind of transport by the kind that the runtime uses, or "".
func transportOf(kind string) string {
	switch kind {
	case "stdio", "pipe":
		return pipe
	case streamable.Kind, "sse", "http+sse":
		return overTCP
	}
	return ""
}

// transportAttributes returns the attributes of a kind of transport.
func transportAttributes(kind string) []attribute.KeyValue {
	switch kind {
	case pipe:
		return pipeAttributes
	case overTCP:
		return httpAttributes
	}
	return nil
}

// revisionName returns the name of a revision, or "" if it is not known.
func revisionName(r wire.Revision) string {
	if r == (wire.Revision{}) {
		return ""
	}
	return r.String()
}

// isRevision reports whether a name is the name of a revision. So a peer cannot choose
// what is recorded.
func isRevision(name string) bool {
	_, ok := mcp.ParseRevision(name)
	return ok
}

// failure describes the error of a message. The zero value means success.
type failure struct {
	kind string // error.type
	code string // rpc.response.status_code
	text string
}

// errPanic ends the operation of a handler that has not returned.
var errPanic = errors.New("the handler panicked")

// failureOf returns the failure of a message. A request for input is not a failure.
func failureOf(result wire.Value, err error) failure {
	if err == nil {
		if res, ok := result.(*mcp.CallToolResult); ok && res != nil && res.IsError {
			return failure{kind: errorTool}
		}
		return failure{}
	}
	if _, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
		return failure{}
	}
	if e := peer.AsError(err); e != nil {
		code := strconv.FormatInt(e.Code, 10)
		return failure{code, code, e.Message}
	}
	return failure{kind: kindOf(err), text: err.Error()}
}

// kindOf returns the error.type of an error that is not an error response.
func kindOf(err error) string {
	if err == errPanic {
		return errorPanic
	}
	if _, ok := errors.AsType[*peer.TimeoutError](err); ok || errors.Is(err, context.DeadlineExceeded) {
		return errorTimeout
	}
	if errors.Is(err, context.Canceled) {
		return errorCanceled
	}
	if _, ok := errors.AsType[*peer.ClosedError](err); ok {
		return errorClosed
	}
	if _, ok := errors.AsType[*peer.NoBackChannelError](err); ok {
		return errorUnsent
	}
	return other
}
