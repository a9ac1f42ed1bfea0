package connection

import (
	"context"
	"encoding/json"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// SendRawRequest sends a request that the program has no type for, on the
// connection's own channel, and returns the result as it came. The params are an
// object, or nil for none. It is for messages beyond the protocol: those of the
// protocol pass the same checks here as everywhere, and have types.
func (c *Connection) SendRawRequest(ctx context.Context, method string, params json.RawMessage, opts ...peer.CallOption) (json.RawMessage, error) {
	req := &rawRequest{method: method}
	if params != nil {
		if err := wire.DecodeParams(params, nil, req); err != nil {
			return nil, &InvalidError{Method: method, Err: err}
		}
	}
	res, err := peer.SendRequest(ctx, c, req, opts...)
	if err != nil {
		return nil, err
	}
	return res.raw, nil
}

// rawRequest is a request of which only "_meta" is known, since the frame adds
// to it.
type rawRequest struct {
	method string
	meta   *rawMeta
	extra  map[string]json.RawMessage
}

var (
	rawMembers = wire.NewMembers("params", wire.Member{Name: "_meta", In: wire.Always})
	noMembers  = wire.NewMembers("_meta")
)

func (x *rawRequest) Method() string        { return x.method }
func (x *rawRequest) NewResult() *rawResult { return new(rawResult) }

func (x *rawRequest) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = wire.AppendMeta(b, e, x, x.meta, 0)
	b = e.Extra(b, x.extra, rawMembers)
	return wire.CloseObject(b, start)
}

func (x *rawRequest) DecodeParams(d *wire.Decoder) {
	for o := d.Object(rawMembers); o.Next(); {
		if o.Name == "_meta" {
			x.meta = wire.New[rawMeta](d)
		} else {
			x.extra = o.Extra(x.extra)
		}
	}
}

type rawMeta struct{ extra map[string]json.RawMessage }

func (x *rawMeta) AppendJSON(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	b = e.Extra(b, x.extra, noMembers)
	b = e.Overlay(b)
	return wire.CloseObject(b, start)
}

func (x *rawMeta) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(noMembers); o.Next(); {
		x.extra = o.Extra(x.extra)
	}
}

// rawResult is a result as it came.
type rawResult struct{ raw json.RawMessage }

func (x *rawResult) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.RawObject(b, x.raw, "") }
func (x *rawResult) DecodeJSON(d *wire.Decoder)                  { x.raw = d.RawObject() }
