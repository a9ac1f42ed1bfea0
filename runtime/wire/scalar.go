package wire

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math"
)

// String reads a string.
func (d *Decoder) String() string {
	if d.first() != '"' {
		d.want("a string")
		return ""
	}
	raw, size := d.quoted()
	if size == len(raw) {
		return d.familiar.text(raw)
	}
	return unescaped(raw, size)
}

// Bool reads true or false.
func (d *Decoder) Bool() bool {
	switch d.first() {
	case 't':
		return d.literal("true")
	case 'f':
		d.literal("false")
	default:
		d.want("a boolean")
	}
	return false
}

// Null reads null if that is the next value, and reports whether it was.
func (d *Decoder) Null() bool { return d.first() == 'n' && d.literal("null") }

// Bytes reads a string of base64: the standard alphabet, padded, no line
// breaks, no stray bits at the end. The result is not nil unless d fails.
func (d *Decoder) Bytes() []byte {
	if d.first() != '"' {
		d.want("a base64 string")
		return nil
	}
	start := d.pos
	raw, size := d.quoted()
	if raw == nil {
		return nil
	}
	if size != len(raw) { // slashes may come escaped
		raw = appendUnescaped(nil, raw)
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(out, raw)
	if err != nil || bytes.ContainsAny(raw, "\r\n") {
		d.fail(start, false, fmt.Errorf("want base64, have something else"))
		return nil
	}
	return out[:n]
}

// Int reads an integer within the bounds. 1.0 and 1e2 are integers, 1.5 is not.
func (d *Decoder) Int(min, max int64) int64 {
	raw, form := d.numeric("an integer")
	if raw == nil {
		return 0
	}
	if form == plainInt {
		if v, ok := parseInt(raw); ok && min <= v && v <= max {
			return v
		}
	}
	return d.oddInt(raw, min, max)
}

// oddInt is Int for a number just read that is not within the bounds, or is not
// spelled as an integer.
func (d *Decoder) oddInt(raw []byte, min, max int64) int64 {
	start := d.pos - len(raw)
	v, whole, ok := parseWhole(raw)
	switch {
	case !whole:
		d.fail(start, false, fmt.Errorf("want an integer, have %s", clip(string(raw))))
	case !ok:
		d.fail(start, false, fmt.Errorf("%s does not fit 64 bits", clip(string(raw))))
	case v < min || v > max:
		d.fail(start, false, outside(v, min, max, min != math.MinInt64, max != math.MaxInt64))
	default:
		return v
	}
	return 0
}

// Number reads a number within the bounds, which may be infinite.
func (d *Decoder) Number(min, max float64) float64 {
	raw, form := d.numeric("a number")
	if raw == nil {
		return 0
	}
	v := parseFloat(raw, form)
	if v < min || v > max {
		d.fail(d.pos-len(raw), false, outside(v, min, max, min > -math.MaxFloat64, max < math.MaxFloat64))
		return 0
	}
	return v
}

// IntIn is [Decoder.Int] with bounds that hold in the revisions of w.
func (d *Decoder) IntIn(w Window, min, max int64) int64 {
	if !d.Has(w) {
		min, max = math.MinInt64, math.MaxInt64
	}
	return d.Int(min, max)
}

// NumberIn is [Decoder.Number] with bounds that hold in the revisions of w.
func (d *Decoder) NumberIn(w Window, min, max float64) float64 {
	if !d.Has(w) {
		min, max = math.Inf(-1), math.Inf(1)
	}
	return d.Number(min, max)
}

// numeric reads a number for a member that is what.
func (d *Decoder) numeric(what string) (raw []byte, form numberForm) {
	if c := d.first(); c != '-' && !isDigit(c) {
		d.want(what)
		return nil, form
	}
	return d.number()
}

// outside says which bounds v is not within.
func outside[T int64 | float64](v, min, max T, lower, upper bool) error {
	switch {
	case lower && upper:
		return fmt.Errorf("want a number from %v to %v, have %v", min, max, v)
	case lower:
		return fmt.Errorf("want at least %v, have %v", min, v)
	}
	return fmt.Errorf("want at most %v, have %v", max, v)
}

// Enum reads one of the values of m, in m's own spelling: no allocation.
func (d *Decoder) Enum(m *Enum) string {
	if d.first() != '"' {
		d.want("a string")
		return ""
	}
	start := d.pos
	raw, size := d.quoted()
	if raw == nil {
		return ""
	}
	text := alias(raw)
	if size != len(raw) {
		text = unescaped(raw, size)
	}
	value, err := m.find(text, d.mask)
	if err != nil {
		d.fail(start, false, err)
	}
	return value
}

// OpenEnum reads a string of which m knows some values: those in m's own
// spelling, without an allocation.
func (d *Decoder) OpenEnum(m *Enum) string {
	if d.first() != '"' {
		d.want("a string")
		return ""
	}
	raw, size := d.quoted()
	if size != len(raw) {
		return unescaped(raw, size)
	}
	if i := m.index(alias(raw)); i >= 0 {
		return m.list[i].Name
	}
	return string(raw)
}

// Const reads a string that can have only one value.
func (d *Decoder) Const(want string) {
	if d.first() == '"' {
		if end := d.beyond(want, d.pos); end >= 0 {
			d.pos = end
			return
		}
	}
	d.oddConst(want)
}

// oddConst is Const for what is not spelled plainly, or is something else.
func (d *Decoder) oddConst(want string) {
	if d.first() != '"' {
		d.want("a string")
		return
	}
	start := d.pos
	raw, size := d.quoted()
	if raw == nil {
		return
	}
	if have := unescaped(raw, size); have != want {
		d.fail(start, false, fmt.Errorf("want %q, have %q", want, clip(have)))
	}
}
