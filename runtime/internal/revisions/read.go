package revisions

import (
	"bytes"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

var frames = Frames()

// Frame returns a frame that encodes and decodes messages in a revision and adds nothing to
// them. It is shared: the caller must not change it.
func Frame(r wire.Revision) *wire.Frame {
	if i := r.Index(); i >= 0 && i < len(frames) {
		return &frames[i]
	}
	return &wire.Frame{Revision: r}
}

// Frames returns new frames, one for each revision, in order.
func Frames() []wire.Frame {
	frames := make([]wire.Frame, len(mcp.Revisions))
	for i, r := range mcp.Revisions {
		frames[i].Revision = r.Revision
	}
	return frames
}

// Names returns the names of revisions.
func Names(revisions []wire.Revision) []string {
	names := make([]string, len(revisions))
	for i, r := range revisions {
		names[i] = r.String()
	}
	return names
}

// ProtocolVersion decodes the member "protocolVersion" of the params and of the result of
// initialize and skips the other members, which are decoded in that revision afterwards.
type ProtocolVersion struct {
	wire.ReadOnly
	Name string
}

var (
	requestMembers = protocolVersion("InitializeRequest")
	resultMembers  = protocolVersion("InitializeResult")
)

func protocolVersion(typ string) *wire.Members {
	return wire.NewMembers(typ, wire.Member{Name: "protocolVersion", In: wire.Always, Required: wire.Always})
}

// DecodeParams implements [wire.Params].
func (v *ProtocolVersion) DecodeParams(d *wire.Decoder) { v.decode(d, requestMembers) }

// DecodeJSON implements [wire.Value].
func (v *ProtocolVersion) DecodeJSON(d *wire.Decoder) { v.decode(d, resultMembers) }

func (v *ProtocolVersion) decode(d *wire.Decoder, members *wire.Members) {
	for o := d.Object(members); o.Next(); {
		if o.Name == "protocolVersion" {
			v.Name = d.String()
		} else {
			d.Skip()
		}
	}
}

// InMetadata returns the revision that the message metadata of a request names. Found reports
// whether the metadata has the member, even if it is not a string. The params have been accepted
// by a decoder before; nil is no params.
func InMetadata(params []byte) (name string, found bool) {
	if !bytes.Contains(params, []byte(KeyVersion)) && bytes.IndexByte(params, '\\') < 0 {
		return "", false
	}
	var v metadataVersion
	if err := wire.DecodeParams(params, &wire.Frame{Checked: true}, &v); err != nil {
		return "", false
	}
	return v.name, v.found
}

type metadataVersion struct {
	wire.ReadOnly
	found bool
	name  string
}

// DecodeParams implements [wire.Params].
func (v *metadataVersion) DecodeParams(d *wire.Decoder) {
	for o := d.Object(nil); o.Next(); {
		if o.Key() != "_meta" || d.Kind() != '{' {
			d.Skip()
			continue
		}
		name, kind := d.Peek(KeyVersion)
		v.found, v.name = kind != 0, string([]byte(name))
		d.Skip()
	}
}
