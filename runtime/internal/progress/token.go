// Package progress reads the progress token of a request.
package progress

import (
	"bytes"
	"encoding/json"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Token returns the progress token in the params of a request. The params must have been
// validated before. The token is zero if the request does not ask for progress reports, or if the
// token is neither a string nor an integer.
func Token(params json.RawMessage) wire.ProgressToken {
	// Most requests have no token, and then its name is not in the params, unless it is
	// written with escapes.
	if !bytes.Contains(params, []byte("progressToken")) && bytes.IndexByte(params, '\\') < 0 {
		return wire.ProgressToken{}
	}
	var r tokenReader
	if wire.DecodeParams(params, validated, &r) != nil {
		return wire.ProgressToken{}
	}
	return r.token
}

var validated = &wire.Frame{Checked: true}

// tokenReader decodes only the progress token of params.
type tokenReader struct {
	wire.ReadOnly
	token wire.ProgressToken
}

var (
	metaMember  = wire.NewMembers("params", wire.Member{Name: "_meta", In: wire.Always})
	tokenMember = wire.NewMembers("_meta", wire.Member{Name: "progressToken", In: wire.Always})
)

// DecodeParams implements [wire.Params].
func (r *tokenReader) DecodeParams(d *wire.Decoder) {
	for o := d.Object(metaMember); o.Next(); {
		if o.Name == "" {
			d.Skip()
			continue
		}
		for m := d.Object(tokenMember); m.Next(); {
			if m.Name == "" {
				d.Skip()
				continue
			}
			r.token = d.Token()
		}
	}
}
