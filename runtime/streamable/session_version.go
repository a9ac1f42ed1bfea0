package streamable

import (
	"bytes"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/wire"
)

// namesOther tells whether params name a revision that has no handshake, or none
// that there is: they are not meant for a session.
func namesOther(params []byte) bool {
	name, found := versionIn(params)
	if !found {
		return false
	}
	r, known := mcp.ParseRevision(name)
	return !known || !eras.Handshake(r)
}

// versionIn is the revision that params name.
func versionIn(params []byte) (name string, found bool) {
	if !bytes.Contains(params, []byte(eras.KeyVersion)) && bytes.IndexByte(params, '\\') < 0 {
		return "", false
	}
	var v metaVersion
	if err := wire.DecodeParams(params, &wire.Frame{Checked: true}, &v); err != nil {
		return "", false
	}
	return v.name, v.found
}

// metaVersion reads the revision that a request names.
type metaVersion struct {
	wire.ReadOnly
	found bool
	name  string
}

// DecodeParams implements [wire.Params].
func (v *metaVersion) DecodeParams(d *wire.Decoder) {
	for o := d.Object(nil); o.Next(); {
		if o.Key() != "_meta" || d.Kind() != '{' {
			d.Skip()
			continue
		}
		name, kind := d.Peek(eras.KeyVersion)
		v.found, v.name = kind != 0, string([]byte(name))
		d.Skip()
	}
}
