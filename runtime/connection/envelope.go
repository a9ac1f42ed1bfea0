package connection

import (
	"encoding/json"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Metadata is what a request says about its sender.
type Metadata struct {
	// Revision is the revision that the request is written in.
	Revision wire.Revision
	// LogLevel is the least severe level of which it wants logs, empty where
	// it wants none or names none that there is.
	LogLevel mcp.LoggingLevel
	// Meta is all of it, as it came.
	Meta json.RawMessage
}

// Sender reads who sends the request and what that client can be asked for,
// each nil where the request does not say, or not in the revision's form.
func (e *Metadata) Sender() (*mcp.Implementation, *mcp.ClientCapabilities) {
	var s sender
	decodeMeta(e.Meta, e.Revision, &s)
	return s.info, s.caps
}

// letter is an envelope that has not been judged yet.
type letter struct {
	wire.ReadOnly
	Metadata           // Meta is nil where there is none that is an object
	version     string // if it is a string
	versionKind byte   // as [wire.Decoder.Kind]; 0 is absent
	hasCaps     bool

	nameMember string // the member that a header repeats
	name       string
	hasName    bool // it is there, and a string
}

// paramsOf returns the params as they are, or would be, on the wire.
func paramsOf(in *peer.Inbound) json.RawMessage {
	if in.Value == nil {
		return in.Params
	}
	raw, err := wire.AppendParams(nil, plainFrame(newestPerRequest), in.Value)
	if err != nil {
		return nil // its own decoding will tell
	}
	return raw
}

// read reads the letter from the params of a request.
func (l *letter) read(params json.RawMessage) {
	if params == nil {
		return
	}
	decodeMeta(params, newestPerRequest, l)
	if l.Meta != nil {
		l.readMeta()
	}
}

func (l *letter) readMeta() { decodeMeta(l.Meta, newestPerRequest, (*letterMeta)(l)) }

// decodeMeta reads bytes that a decoder has accepted before, with a reader that
// steps over what it does not understand: it cannot fail.
func decodeMeta(raw json.RawMessage, r wire.Revision, into wire.Params) {
	_ = wire.DecodeParams(raw, &wire.Frame{Revision: r, Checked: true}, into)
}

// DecodeParams implements [wire.Params] for the params of any request.
func (l *letter) DecodeParams(d *wire.Decoder) {
	if l.nameMember != "" {
		name, kind := d.Peek(l.nameMember)
		l.name, l.hasName = string([]byte(name)), kind == '"'
	}
	for o := d.Object(rawMembers); o.Next(); {
		if o.Name == "_meta" && d.Kind() == '{' {
			l.Meta = d.RawObject()
		} else {
			d.Skip()
		}
	}
}

var envelopeMembers = wire.NewMembers("_meta",
	wire.Member{Name: eras.KeyCapabilities, In: wire.Always},
	wire.Member{Name: eras.KeyInfo, In: wire.Always},
	wire.Member{Name: eras.KeyLogLevel, In: wire.Always},
	wire.Member{Name: eras.KeyVersion, In: wire.Always},
)

// letterMeta reads the "_meta" of a letter.
type letterMeta letter

// DecodeParams implements [wire.Params].
func (l *letterMeta) DecodeParams(d *wire.Decoder) {
	text, kind := d.Peek(eras.KeyVersion)
	l.version, l.versionKind = versionName(text), kind
	for o := d.Object(envelopeMembers); o.Next(); {
		switch o.Name {
		case eras.KeyCapabilities:
			l.hasCaps = true
			d.Skip()
		case eras.KeyLogLevel:
			if level := mcp.LoggingLevel(textOrSkip(d)); slices.Contains(levels, level) {
				l.LogLevel = level
			}
		default:
			d.Skip()
		}
	}
}

// versionName copies the name of a version; known ones need no memory.
func versionName(text string) string {
	if r, known := mcp.ParseRevision(text); known {
		return r.String()
	}
	return string([]byte(text))
}

// textOrSkip reads a string, and steps over anything else.
func textOrSkip(d *wire.Decoder) string {
	if d.Kind() != '"' {
		d.Skip()
		return ""
	}
	return d.String()
}

// sender reads who sent a letter.
type sender struct {
	wire.ReadOnly
	info *mcp.Implementation
	caps *mcp.ClientCapabilities
}

// DecodeParams implements [wire.Params].
func (s *sender) DecodeParams(d *wire.Decoder) {
	for o := d.Object(envelopeMembers); o.Next(); {
		switch o.Name {
		case eras.KeyCapabilities:
			s.caps = tryRead[mcp.ClientCapabilities](d)
		case eras.KeyInfo:
			s.info = tryRead[mcp.Implementation](d)
		default:
			d.Skip()
		}
	}
}

// tryRead reads a T, and steps over what is none.
func tryRead[T any, P interface {
	*T
	wire.Value
}](d *wire.Decoder) P {
	v := P(new(T))
	if d.Try(v.DecodeJSON) {
		return v
	}
	d.Skip()
	return nil
}

// enveloped tells whether a message has an envelope: whether it names a version,
// of whatever kind. That much decides, so that half an envelope gets the error
// that mends it.
func enveloped(in *peer.Inbound) bool {
	var p probe
	if params := paramsOf(in); params != nil {
		decodeMeta(params, newestPerRequest, &p)
	}
	return p.found
}

// probe looks for the version's name without reading anything.
type probe struct {
	wire.ReadOnly
	found bool
}

// DecodeParams implements [wire.Params].
func (p *probe) DecodeParams(d *wire.Decoder) {
	p.found = d.Probe("_meta", eras.KeyVersion)
	d.Skip()
}
