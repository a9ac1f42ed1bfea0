package outbound

import (
	"encoding/json"
	"errors"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// WithMetadata is a request that is passed to a server in the same process, together with the
// message metadata that would be in its "_meta" on a stream. Its AppendParams writes both.
type WithMetadata interface {
	peer.Message
	// SplitMetadata returns the request without the metadata, and the metadata, an object.
	SplitMetadata() (peer.Message, json.RawMessage)
}

// RawResult is the JSON of a result that is not decoded.
type RawResult struct{ JSON json.RawMessage }

// AppendJSON implements [wire.Value].
func (x *RawResult) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.RawObject(b, x.JSON, "") }

// DecodeJSON implements [wire.Value].
func (x *RawResult) DecodeJSON(d *wire.Decoder) { x.JSON = d.RawObject() }

// IsInvalidResponse reports whether err means that the peer has responded to a call, and that the
// response is not valid for the request.
func IsInvalidResponse(err error) bool {
	type checked interface {
		error
		InvalidResponse() bool
	}
	if e, ok := errors.AsType[checked](err); ok {
		return e.InvalidResponse()
	}
	_, ok := errors.AsType[*wire.DecodeError](err)
	return ok
}
