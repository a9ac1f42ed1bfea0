package streamable

import (
	"context"
	"errors"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable/internal/mcphttp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Causes of the end of a session.
var (
	errSessionFailed = errors.New("handshake failed")
	errSessionIdle   = errors.New("session was idle for too long")
	errSessionEnded  = errors.New("session ended by its client")
	errStreamClosed  = errors.New("stream closed by its client")
)

// Errors that clients receive.
var (
	errClosing              = &peer.Error{Code: mcp.CodeInternal, Message: "Server is shutting down"}
	errTooManyRequests      = &peer.Error{Code: mcp.CodeInternal, Message: "Too many requests in flight"}
	errTooManySubscriptions = &peer.Error{Code: mcp.CodeInternal, Message: "Too many subscriptions"}
	errNoSessionID          = &peer.Error{Code: mcp.CodeInternal, Message: "The session has no valid id"}
	errTooManySessions      = &peer.Error{Code: mcp.CodeInternal, Message: "Too many sessions"}
	errSessionOver          = &peer.Error{Code: mcp.CodeInternal, Message: "Session ended"}
	errSessionMoves         = &peer.Error{Code: mcp.CodeInternal, Message: "The session moves to another replica"}
	errOverBudget           = &peer.Error{Code: mcp.CodeInternal, Message: "Too many bytes in flight"}
	errUnsendable           = &peer.Error{Code: mcp.CodeInternal, Message: "The result was dropped: too many bytes wait for clients"}
	errTooManyUploads       = &peer.Error{Code: mcp.CodeInternal, Message: "Too many large requests in flight"}
	errNotInBatch           = &peer.Error{Code: mcp.CodeInvalidRequest, Message: "A batch cannot contain this request"}

	errVersionMismatch = &peer.Error{
		Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: header Mcp-Protocol-Version does not repeat the version of the body",
	}
	errNoVersion = &peer.Error{
		Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: header " + mcphttp.HeaderVersion + " is missing",
	}
)

// refusal is the response to a request that is not handled.
type refusal struct {
	id        wire.RequestID // of the request, if it could be read
	status    int
	err       *peer.Error // nil if the response has no body
	closeConn bool        // the rest of the body is not read
}

// refuse returns a refusal with an invalid request error. It is not inlined, because that
// would slow down the requests that are not refused.
//
//go:noinline
func refuse(status int, text string) *refusal {
	return &refusal{status: status, err: &peer.Error{Code: mcp.CodeInvalidRequest, Message: text}}
}

// invalidMessage returns the refusal of a body that is no valid message. If the body is
// no valid JSON, its id is used only if it has a method: otherwise it may be another
// id.
func invalidMessage(m *wire.Message, err error) *refusal {
	refused := &refusal{id: m.ID, status: http.StatusBadRequest, err: &peer.Error{
		Code: mcp.CodeInvalidRequest, Message: "Invalid request", Data: wire.AppendString(nil, err.Error()),
	}}
	if d, ok := errors.AsType[*wire.DecodeError](err); ok && d.Syntax {
		refused.err.Code, refused.err.Message = mcp.CodeParse, "Parse error"
		if m.Method == "" {
			refused.id = wire.RequestID{}
		}
	}
	return refused
}

// appendError appends an error response and returns its status. An error without a
// *[peer.Error] becomes an internal error, so that its text does not reach the client.
func appendError(b []byte, id wire.RequestID, err error) (int, []byte) {
	e := failure.ForPeer(err)
	x := wire.ErrorObject(*e)
	out, bad := wire.AppendError(b, id, &x)
	if bad != nil { // the data are no valid JSON
		x.Data = nil
		out, _ = wire.AppendError(b, id, &x)
	}
	return httpStatus(e.Code), out
}

// httpStatus returns the HTTP status of an error response in plain JSON.
func httpStatus(code int64) int {
	switch code {
	case mcp.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.CodeParse, mcp.CodeInvalidRequest, mcp.CodeInvalidParams,
		mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// retryAfterOneSecond is a value of the header Retry-After.
var retryAfterOneSecond = []string{"1"}

// withID sets the id of the request.
func (refused *refusal) withID(id wire.RequestID) *refusal {
	refused.id = id
	return refused
}

// write writes the response. If the id of the request is unknown, the error response
// has no id in stateless revisions, and the id null in handshake revisions.
func (refused *refusal) write(w http.ResponseWriter, stateless bool) {
	switch refused.status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header()["Retry-After"] = retryAfterOneSecond
	}
	if refused.closeConn {
		w.Header().Set("Connection", "close")
	}
	if refused.err == nil {
		w.WriteHeader(refused.status)
		return
	}
	if !refused.id.IsZero() || !stateless {
		_, data := appendError(nil, refused.id, refused.err)
		writeJSON(w, refused.status, nil, data)
		return
	}
	data, _ := wire.Append([]byte(`{"jsonrpc":"2.0","error":`), nil, (*wire.ErrorObject)(refused.err))
	writeJSON(w, refused.status, nil, append(data, '}'))
}

// call calls f and returns a panic of f as an error.
func call(ctx context.Context, f func(context.Context) error) (err error) {
	defer failure.Recover(&err)
	return f(ctx)
}
