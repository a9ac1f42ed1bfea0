package mcpclient

import (
	"encoding/json"
	"fmt"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// initialize is a handshake whose answer is read in the revision that it
// settles.
type initialize struct{ mcp.InitializeRequest }

// NewResult implements [peer.Request].
func (*initialize) NewResult() *rawResult { return new(rawResult) }

// discover is a request whose answer is read from what would be on a wire, since
// there the server says who it is.
type discover struct{ mcp.DiscoverRequest }

// NewResult implements [peer.Request].
func (*discover) NewResult() *rawResult { return new(rawResult) }

// rawResult is a result as it came.
type rawResult struct{ raw json.RawMessage }

// AppendJSON implements [wire.Value].
func (x *rawResult) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.RawObject(b, x.raw, "") }

// DecodeJSON implements [wire.Value].
func (x *rawResult) DecodeJSON(d *wire.Decoder) { x.raw = d.RawObject() }

// readDiscover reads the answer to [discover].
func (x *rawResult) readDiscover(r wire.Revision) (*mcp.DiscoverResult, error) {
	res := new(mcp.DiscoverResult)
	err := wire.Decode(x.raw, &wire.Frame{Revision: r, Checked: true}, res)
	if kind := res.ResultType; kind != "" && kind != mcp.ResultTypeComplete {
		err = fmt.Errorf("no result of the type %q was asked for", kind)
	}
	return res, err
}

// readInitialize reads the answer to [initialize], and returns the revision that it
// settles, zero for one that this client does not know.
func (x *rawResult) readInitialize() (*mcp.InitializeResult, wire.Revision, error) {
	var named version
	if err := wire.Decode(x.raw, &wire.Frame{Checked: true}, &named); err != nil {
		return nil, wire.Revision{}, err
	}
	r, known := mcp.ParseRevision(named.text)
	if !known {
		return nil, r, fmt.Errorf("the server wants to speak revision %q: %w", named.text, errNoRevision)
	}
	res := new(mcp.InitializeResult)
	err := wire.Decode(x.raw, &wire.Frame{Revision: r, Checked: true}, res)
	return res, r, err
}

// version reads the one member that tells how to read the others.
type version struct {
	wire.ReadOnly
	text string
}

var versionMembers = wire.NewMembers("InitializeResult",
	wire.Member{Name: "protocolVersion", In: wire.Always, Required: wire.Always},
)

// DecodeJSON implements [wire.Value].
func (v *version) DecodeJSON(d *wire.Decoder) {
	for o := d.Object(versionMembers); o.Next(); {
		if o.Name == "protocolVersion" {
			v.text = d.String()
		} else {
			d.Skip()
		}
	}
}
