package streamable

import (
	"errors"
	"net/http"
	"strconv"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// refusal is why a request gets no further than to the handler.
type refusal struct {
	id     wire.RequestID // of the request, where one could be read
	status int
	err    *peer.Error // nil where there is nothing to say
	unread bool        // the rest of the body is not worth reading
}

//go:noinline
func refuse(status int, text string) *refusal { // inline, it would be in the way of what is not refused
	return &refusal{status: status, err: &peer.Error{Code: mcp.CodeInvalidRequest, Message: text}}
}

// unreadable is why a body is no message. Of what is no JSON nobody knows what the
// id was of, unless there is a method.
func unreadable(m *wire.Message, err error) *refusal {
	no := &refusal{id: m.ID, status: http.StatusBadRequest, err: &peer.Error{
		Code: mcp.CodeInvalidRequest, Message: "Invalid request", Data: wire.AppendString(nil, err.Error()),
	}}
	if d, ok := errors.AsType[*wire.DecodeError](err); ok && d.Syntax {
		no.err.Code, no.err.Message = mcp.CodeParse, "Parse error"
		if m.Method == "" {
			no.id = wire.RequestID{}
		}
	}
	return no
}

// appendError appends the answer that err is, and returns the status that goes
// with it. The text of an error that is not meant for the client stays here.
func appendError(b []byte, id wire.RequestID, err error) (int, []byte) {
	e := peer.AsError(err)
	if e == nil {
		e = errInternal
	}
	x := wire.ErrorObject(*e)
	out, bad := wire.AppendError(b, id, &x)
	if bad != nil { // its data are no JSON
		x.Data = nil
		out, _ = wire.AppendError(b, id, &x)
	}
	return statusOf(e.Code), out
}

// statusOf is the HTTP status of an error that is the whole answer.
func statusOf(code int64) int {
	switch code {
	case mcp.CodeMethodNotFound:
		return http.StatusNotFound
	case mcp.CodeParse, mcp.CodeInvalidRequest, mcp.CodeInvalidParams,
		mcp.CodeHeaderMismatch, mcp.CodeMissingRequiredClientCapability, mcp.CodeUnsupportedProtocolVersion:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// of tells of which request it is the refusal.
func (no *refusal) of(id wire.RequestID) *refusal {
	no.id = id
	return no
}

// write answers a request that gets no further. Where its id is unknown, newer
// revisions leave it out and older ones have null.
func (no *refusal) write(w http.ResponseWriter, perRequest bool) {
	switch no.status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header()["Retry-After"] = valueSoon
	}
	if no.unread {
		w.Header().Set("Connection", "close")
	}
	if no.err == nil {
		w.WriteHeader(no.status)
		return
	}
	if !no.id.IsZero() || !perRequest {
		_, data := appendError(nil, no.id, no.err)
		writeJSON(w, no.status, nil, data)
		return
	}
	data, _ := wire.Append([]byte(`{"jsonrpc":"2.0","error":`), nil, (*wire.ErrorObject)(no.err))
	writeJSON(w, no.status, nil, append(data, '}'))
}

// mostHeld is how much of a response net/http holds back until its end. Then it
// counts the bytes itself, and nothing here waits for the client.
const mostHeld = 2048

// writeJSON writes a whole response. The date is nil for net/http to fill in.
func writeJSON(w http.ResponseWriter, status int, date []string, data []byte) {
	h := w.Header()
	h[headerContentType] = valueJSON
	if date != nil {
		h[headerDate] = date
	}
	if len(data) > mostHeld {
		setLength(h, len(data))
	}
	if status != http.StatusOK {
		w.WriteHeader(status)
	}
	w.Write(data)
}

func setLength(h http.Header, n int) { h["Content-Length"] = []string{strconv.Itoa(n)} }
