package wire

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

var (
	errEnd      = errors.New("unexpected end")
	errTrailing = errors.New("unexpected data after the value")
	errRange    = errors.New("number beyond the range of float64")
	errNumber   = errors.New("number without a digit")
)

// first is the first byte of the value to be read, 0 at the end: what leads up to a
// value leaves the cursor on it.
func (d *Decoder) first() byte {
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

// next skips white space and returns the byte that the cursor then stands on,
// 0 at the end.
func (d *Decoder) next() byte {
	if d.pos < len(d.data) {
		if c := d.data[d.pos]; c > ' ' {
			return c
		}
	}
	return d.skipSpace()
}

func (d *Decoder) skipSpace() byte {
	for d.pos < len(d.data) {
		switch c := d.data[d.pos]; c {
		case '\n', '\r':
			d.breaks = true
		case ' ', '\t':
		default:
			return c
		}
		d.pos++
	}
	return 0
}

// value reads one value of any kind, checking all of it.
func (d *Decoder) value() {
	switch c := d.next(); c {
	case '"':
		d.quoted()
	case '{':
		d.object()
	case '[':
		d.array()
	case 't':
		d.literal("true")
	case 'f':
		d.literal("false")
	case 'n':
		d.literal("null")
	default:
		d.number()
	}
}

func (d *Decoder) object() {
	if !d.enter() {
		return
	}
	if d.next() == '}' {
		d.leave()
		return
	}
	n := d.openNames()
	for {
		if d.next() != '"' {
			d.unexpected()
			return
		}
		raw, size := d.quoted()
		if raw == nil {
			return
		}
		d.addName(&n, raw, size)
		if d.next() != ':' {
			d.unexpected()
			return
		}
		d.pos++
		d.value()
		switch d.next() {
		case ',':
			d.pos++
		case '}':
			d.closeNames(&n)
			d.leave()
			return
		default:
			d.unexpected()
			return
		}
	}
}

func (d *Decoder) array() {
	if !d.enter() {
		return
	}
	if d.next() == ']' {
		d.leave()
		return
	}
	for {
		d.value()
		switch d.next() {
		case ',':
			d.pos++
		case ']':
			d.leave()
			return
		default:
			d.unexpected()
			return
		}
	}
}

// enter steps into the object or array under the cursor.
func (d *Decoder) enter() bool {
	if d.depth == d.max {
		return d.tooDeep()
	}
	d.depth++
	d.pos++
	return true
}

func (d *Decoder) tooDeep() bool {
	d.fail(d.pos, true, fmt.Errorf("nested deeper than %d levels", d.max))
	return false
}

// leave steps over the closing bracket.
func (d *Decoder) leave() {
	d.depth--
	d.pos++
}

// quoted reads the string under the cursor. It returns what is between the
// quotes, nil after a failure, and how long that is once unescaped.
func (d *Decoder) quoted() (raw []byte, size int) {
	from := d.pos + 1
	end, high := plainEnd(d.data, from)
	if high || end == len(d.data) || d.data[end] != '"' {
		return d.unplain(end, high)
	}
	d.pos = end + 1
	return d.data[from:end], end - from
}

// unplain is quoted for a string with escapes or with characters beyond ASCII, of
// which scanText need not look at what comes before i.
func (d *Decoder) unplain(i int, high bool) (raw []byte, size int) {
	end, size, high, err := scanText(d.data, d.pos+1, i, high)
	if err != nil {
		d.fail(end, true, err)
		return nil, 0
	}
	raw = d.data[d.pos+1 : end]
	if high && !d.checked && !utf8.Valid(raw) {
		d.fail(d.pos+1+invalidAt(raw), true, errUTF8)
		return nil, 0
	}
	d.pos = end + 1
	return raw, size
}

// number reads the number under the cursor, nil if there is none or it is
// malformed.
func (d *Decoder) number() (raw []byte, form numberForm) {
	start := d.pos
	end, form, ok := scanNumber(d.data, start)
	if !ok || form == farFetched {
		return d.oddNumber(end, form, ok)
	}
	d.pos = end
	return d.data[start:end], form
}

// oddNumber is number for one without a digit at end, or far beyond the usual.
func (d *Decoder) oddNumber(end int, form numberForm, ok bool) ([]byte, numberForm) {
	raw := d.data[d.pos:end]
	switch {
	case end == d.pos:
		d.unexpected()
	case !ok:
		d.fail(end, true, errNumber)
	case !d.checked && !inFloat64(raw):
		d.fail(d.pos, true, errRange)
	default:
		d.pos = end
		return raw, form
	}
	return nil, form
}

// literal steps over the word that ought to be under the cursor.
func (d *Decoder) literal(word string) bool {
	if !d.has(word) {
		d.unexpected()
		return false
	}
	d.pos += len(word)
	return true
}

// has reports whether word is under the cursor.
func (d *Decoder) has(word string) bool {
	rest := d.data[d.pos:]
	return len(rest) >= len(word) && string(rest[:len(word)]) == word
}

// unexpected fails because of the byte under the cursor.
func (d *Decoder) unexpected() {
	switch {
	case d.err != nil:
	case d.pos >= len(d.data):
		d.fail(d.pos, true, errEnd)
	default:
		r, _ := utf8.DecodeRune(d.data[d.pos:])
		d.fail(d.pos, true, fmt.Errorf("unexpected %q", r))
	}
}
