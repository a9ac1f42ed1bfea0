package rounds

import (
	"crypto/sha256"
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// input returns what a request brings from the round before that is not of a type of
// the protocol's.
func input(in *peer.Inbound, f *wire.Frame) (mcp.InputResponses, *string) {
	var p anyParams
	if err := in.Decode(f, &p); err != nil {
		return nil, nil // the type has read them as it likes
	}
	return p.InputResponses, p.RequestState
}

// comesAgain tells whether a request can bring something from a round before.
func comesAgain(req peer.Message) bool {
	_, _, can := mcp.InputOf(req)
	return can
}

// with returns a copy of a request that brings this from the round before, or
// the request itself if it cannot.
func with(req peer.Message, answers mcp.InputResponses, state *string) peer.Message {
	if again := mcp.WithInput(req, answers, state); again != nil {
		return again
	}
	return req
}

// anyParams reads what the params of all requests have that may come again.
type anyParams struct{ mcp.InputResponseRequestParams }

// AppendParams implements [wire.Params].
func (p *anyParams) AppendParams(b []byte, e *wire.Encoder) []byte { return p.AppendJSON(b, e) }

// DecodeParams implements [wire.Params].
func (p *anyParams) DecodeParams(d *wire.Decoder) { p.DecodeJSON(d) }

var passing = wire.NewMembers("params",
	wire.Member{Name: "inputResponses", In: wire.Always},
	wire.Member{Name: "requestState", In: wire.Always},
	wire.Member{Name: "_meta", In: wire.Always},
)

// lasting reads the params of a request without what differs from one round to
// the next.
type lasting struct{ members map[string]json.RawMessage }

// AppendParams implements [wire.Params].
func (l *lasting) AppendParams(b []byte, e *wire.Encoder) []byte {
	start := len(b)
	return wire.CloseObject(e.Extra(b, l.members, passing), start)
}

// DecodeParams implements [wire.Params].
func (l *lasting) DecodeParams(d *wire.Decoder) {
	for o := d.Object(passing); o.Next(); {
		if o.Name == "" {
			l.members = o.Extra(l.members)
		} else {
			d.Skip()
		}
	}
}

// identity returns what stays the same of a request from one round to the next,
// written down.
func identity(in *peer.Inbound, f *wire.Frame) ([]byte, error) {
	var l lasting
	if err := in.Decode(f, &l); err != nil {
		return nil, err
	}
	return wire.AppendParams(nil, &wire.Frame{Checked: true}, &l)
}

// binding ties request state to the request that it belongs to: its server, its
// sender, its method, and its params with the name in them.
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
