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
	d.next()
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
