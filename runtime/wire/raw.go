package wire

import (
	"bytes"
	"encoding/json"
)

// Raw reads any value and returns a copy of its bytes, checked, with the line
// breaks between tokens turned into spaces. It is nil only if d fails.
func (d *Decoder) Raw() json.RawMessage {
	raw := d.span()
	if raw == nil {
		return nil
	}
	out := bytes.Clone(raw)
	if d.breaks || d.checked {
		Unbreak(out)
	}
	return out
}

// RawObject is Raw for a value that must be an object.
func (d *Decoder) RawObject() json.RawMessage {
	if d.first() != '{' {
		d.want("an object")
		return nil
	}
	return d.Raw()
}

// Skip reads any value, checks it, and forgets it.
func (d *Decoder) Skip() { d.span() }

// span reads any value and returns where it stands in the document, nil after
// a failure.
func (d *Decoder) span() []byte {
	d.breaks = false
	data, start := d.data, d.pos
	if d.checked {
		d.hop()
	} else {
		d.value()
	}
	if d.err != nil {
		return nil
	}
	return data[start:d.pos]
}

// objectSpan is span for a value that must be an object.
func (d *Decoder) objectSpan() []byte {
	if d.first() != '{' {
		d.want("an object")
		return nil
	}
	return d.span()
}

// hop steps over a value that was accepted before.
func (d *Decoder) hop() {
	end := skip(d.data, d.pos)
	if end <= d.pos {
		d.unexpected()
		return
	}
	d.pos = end
}

// Unbreak turns the line breaks of JSON, which has them between tokens only, into
// spaces, for a transport on which a line is a message.
func Unbreak(raw []byte) {
	for _, c := range [...]byte{'\n', '\r'} {
		for rest := raw; ; {
			i := bytes.IndexByte(rest, c)
			if i < 0 {
				break
			}
			rest[i] = ' '
			rest = rest[i+1:]
		}
	}
}

// RawIn is Raw for a value that must be an object in the revisions objects.
func (d *Decoder) RawIn(objects Window) json.RawMessage {
	if d.Needs(objects) {
		return d.RawObject()
	}
	return d.Raw()
}
