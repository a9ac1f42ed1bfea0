package wire

import (
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Raw appends a JSON value as it is. One that is empty is written as zero, a
// JSON text; with an empty zero too it is missing, or no JSON.
func (e *Encoder) Raw(b []byte, raw json.RawMessage, zero string) []byte {
	switch {
	case raw == nil && zero == "":
		e.FailWith(b, errMissing)
		return b
	case len(raw) == 0 && zero == "":
		e.FailWith(b, errEmpty)
		return b
	case len(raw) == 0:
		return append(b, zero...)
	case e.frame.Checked:
		return append(b, raw...)
	}
	return e.scanned(b, raw)
}

// RawObject is Raw for a value that must be an object.
func (e *Encoder) RawObject(b []byte, raw json.RawMessage, zero string) []byte {
	kind := kindOf(at(raw, skipSpaces(raw, 0)))
	if kind != 0 && kind != '{' {
		e.Fail(b, "want an object, have %s", kindName(kind))
		return b
	}
	return e.Raw(b, raw, zero)
}

// scanned appends raw once it is checked. What is wrong in it is reported with
// its own place in the output.
func (e *Encoder) scanned(b []byte, raw []byte) []byte {
	d := &e.scan
	d.doc, d.data, d.pos, d.depth, d.max = raw, raw, 0, 0, e.frame.depth()
	d.next()
	start := d.pos
	d.breaks = false
	d.value()
	end, breaks := d.pos, d.breaks
	d.end()
	if err := d.result(); err != nil {
		if e.err == nil {
			e.FailWith(b, err.Err)
			e.err.Pointer += err.Pointer
		}
		d.err = nil
		d.rewind(place0)
		return b
	}
	at := len(b)
	b = append(b, raw[start:end]...)
	if breaks {
		Unbreak(b[at:])
	}
	return b
}

// Extra appends the members that a value holds beyond those of its table, in
// the order of their names. Names that the table has in the revision are left
// out, and those that the frame replaces.
func (e *Encoder) Extra(b []byte, extra map[string]json.RawMessage, m *Members) []byte {
	if len(extra) == 0 {
		return b
	}
	return e.extra(b, extra, m)
}

func (e *Encoder) extra(b []byte, extra map[string]json.RawMessage, m *Members) []byte {
	first := len(e.names)
	for name := range extra {
		if !m.has(name, e.mask) && !e.replaced(b, name) {
			e.names = append(e.names, name)
		}
	}
	slices.Sort(e.names[first:])
	for _, name := range e.names[first:] {
		b = append(b, ',')
		b = e.name(b, name)
		b = e.Raw(b, extra[name], "")
	}
	e.dropNames(first)
	return b
}

// name appends a member name that is not from a table, with its colon.
func (e *Encoder) name(b []byte, name string) []byte {
	b = AppendString(b, name)
	b = append(b, ':')
	if !utf8.ValidString(name) { // two such names may become one
		e.FailWith(b, fmt.Errorf("member name %q is not UTF-8", clip(name)))
	}
	return b
}

// dropNames takes what is above first off the stack of names, so that the pool
// does not keep the strings alive.
func (e *Encoder) dropNames(first int) {
	clear(e.names[first:])
	e.names = e.names[:first]
}

// RawIn is Raw for a value that must be an object in the revisions objects.
func (e *Encoder) RawIn(b []byte, raw json.RawMessage, zero string, objects Window) []byte {
	if e.Needs(objects) {
		return e.RawObject(b, raw, zero)
	}
	return e.Raw(b, raw, zero)
}
