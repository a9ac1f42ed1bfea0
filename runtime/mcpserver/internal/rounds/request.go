package rounds

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// input returns the responses and the state of a request whose type is not one of the
// protocol's.
func input(in *peer.Inbound, f *wire.Frame) (mcp.InputResponses, *string) {
	var p anyParams
	if err := in.Decode(f, &p); err != nil {
		return nil, nil // the type has its own encoding
	}
	return p.InputResponses, p.RequestState
}

// isRepeatable reports whether a request can carry responses and state.
func isRepeatable(req peer.Message) bool {
	_, _, can := mcp.InputOf(req)
	return can
}

// with returns a copy of a request with responses and state, or the request itself if it
// cannot carry them.
func with(req peer.Message, answers mcp.InputResponses, state *string) peer.Message {
	if again := mcp.WithInput(req, answers, state); again != nil {
		return again
	}
	return req
}

// anyParams decodes the members that carry responses and state.
type anyParams struct{ mcp.InputResponseRequestParams }

// AppendParams implements [wire.Params].
func (p *anyParams) AppendParams(b []byte, e *wire.Encoder) []byte { return p.AppendJSON(b, e) }

// DecodeParams implements [wire.Params].
func (p *anyParams) DecodeParams(d *wire.Decoder) { p.DecodeJSON(d) }

var repeatMembers = wire.NewMembers("params",
	wire.Member{Name: "inputResponses", In: wire.Always},
	wire.Member{Name: "requestState", In: wire.Always},
	wire.Member{Name: "_meta", In: wire.Always},
)

// stableParams decodes the params of a request without the members that differ between rounds.
type stableParams struct{ members map[string]json.RawMessage }

// AppendParams implements [wire.Params].
func (l *stableParams) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	return wire.CloseObject(e.Extra(b, l.members, repeatMembers), start)
}

// DecodeParams implements [wire.Params].
func (l *stableParams) DecodeParams(d *wire.Decoder) {
	for o := d.Object(repeatMembers); o.Next(); {
		if o.Name == "" {
			l.members = o.Extra(l.members)
		} else {
			d.Skip()
		}
	}
}

// identity returns the encoded params of a request without the members that differ between
// rounds.
func identity(in *peer.Inbound, f *wire.Frame) ([]byte, error) {
	var l stableParams
	if err := in.Decode(f, &l); err != nil {
		return nil, err
	}
	return wire.AppendParams(nil, &wire.Frame{Checked: true}, &l)
}

// binding returns a hash that binds request state to the server, the principal, the method and
// the params of its request.
func binding(audience string, in *peer.Inbound, f *wire.Frame) ([]byte, error) {
	params, err := identity(in, f)
	if err != nil {
		return nil, err
	}
	params, err = canonical(params)
	if err != nil {
		return nil, err
	}
	principal := ""
	if in.Transport != nil {
		principal = in.Transport.Principal()
	}
	b := appendText(appendText(appendText(nil, audience), principal), in.Method)
	sum := sha256.Sum256(append(b, params...))
	return sum[:], nil
}
