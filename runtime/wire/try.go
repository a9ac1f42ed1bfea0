package wire

// Try reads the next value with decode and reports whether that went well. If
// the value has the wrong shape, d goes back to its start and the failure is
// forgotten; what is not JSON at all stays a failure. It is for the few unions
// that nothing but a trial tells apart: a type that tries itself inside a
// trial, level by level, costs twice as much on every level.
func (d *Decoder) Try(decode func(*Decoder)) bool {
	if d.err != nil {
		return false
	}
	start, data := d.mark(), d.data
	decode(d)
	if d.err == nil {
		return true
	}
	if !d.err.Syntax {
		d.err, d.data = nil, data
		d.rewind(start)
	}
	return false
}

// Place is where a decoder stood.
type Place struct {
	mark mark
	good bool // it had not failed
}

// Here returns where d stands, for [Decoder.Back].
func (d *Decoder) Here() Place {
	return Place{d.mark(), d.err == nil}
}

// Back goes back to the value at a place, to read it as something else, if that
// value is an object whose member name is the string text. It reports whether it
// is. A failure since then is forgotten, unless what was read is not JSON at all.
func (d *Decoder) Back(to Place, name, text string) bool {
	if !to.good || d.err != nil && d.err.Syntax {
		return false
	}
	look := Decoder{data: d.doc, pos: to.mark.pos}
	if got, kind := look.Peek(name); kind != '"' || got != text {
		return false
	}
	d.err, d.data = nil, d.doc
	d.rewind(to.mark)
	return true
}
