package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Check returns a *DecodeError unless data is exactly one JSON value that a
// Decoder accepts, nested at most maxDepth levels. If maxDepth is 0, the limit is
// DefaultMaxDepth.
func Check(data []byte, maxDepth int) error {
	d := newDecoder(data, &Frame{MaxDepth: maxDepth})
	d.value()
	return d.finish()
}

// Compact checks data and returns a copy without the white space between its
// tokens. The copy can be written with [Frame].Checked. Raw values that are sent
// often are best stored in this form.
func Compact(data []byte) (json.RawMessage, error) {
	if err := Check(data, 0); err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(data))
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case isSpace(c):
			i++
		case c == '"':
			end := skipText(data, i)
			out = append(out, data[i:end]...)
			i = end
		default:
			out = append(out, c)
			i++
		}
	}
	return out, nil
}

// Kind returns the kind of a document, like [Decoder.Kind]. It looks only at the
// first byte after white space, so the document need not be valid.
func Kind(document []byte) byte { return kindOf(at(document, skipSpaces(document, 0))) }

// Unbreak replaces the line breaks of raw, which must be JSON, with spaces, in
// place. JSON has line breaks only between tokens. Transports that send one message
// per line need it.
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

// kindOf returns the kind of a value that begins with c, see [Decoder.Kind].
func kindOf(c byte) byte {
	switch c {
	case '{', '[', '"', 't', 'f', 'n':
		return c
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return '0'
	}
	return 0
}

// kindName returns the kind with an article, for error texts.
func kindName(kind byte) string {
	switch kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	case '0':
		return "a number"
	}
	return "no value"
}

var (
	errEnd      = errors.New("unexpected end")
	errTrailing = errors.New("unexpected data after the value")
	errRange    = errors.New("number beyond the range of float64")
	errNumber   = errors.New("missing digit in a number")
)

// first returns the first byte of the next value, or 0 at the end. The cursor must
// be on that byte: it is there after every token that precedes a value.
func (d *Decoder) first() byte {
	if d.pos < len(d.data) {
		return d.data[d.pos]
	}
	return 0
}

// next skips white space and returns the byte under the cursor, or 0 at the end.
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

// value reads and checks one value of any kind.
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
			d.failUnexpected()
			return
		}
		raw, size := d.quoted()
		if raw == nil {
			return
		}
		d.addName(&n, raw, size)
		if d.next() != ':' {
			d.failUnexpected()
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
			d.failUnexpected()
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
			d.failUnexpected()
			return
		}
	}
}

// enter steps into the object or array under the cursor. It reports whether the
// limit on nesting permits that.
func (d *Decoder) enter() bool {
	if d.depth == d.max {
		return d.failDepth()
	}
	d.depth++
	d.pos++
	return true
}

func (d *Decoder) failDepth() bool {
	d.fail(d.pos, true, fmt.Errorf("nested deeper than %d levels", d.max))
	return false
}

// leave steps over the closing bracket.
func (d *Decoder) leave() {
	d.depth--
	d.pos++
}

// quoted reads the string under the cursor. It returns the bytes between the
// quotes, or nil after a failure, and their length after unescaping.
func (d *Decoder) quoted() (raw []byte, size int) {
	from := d.pos + 1
	end, high := plainEnd(d.data, from)
	if high || end == len(d.data) || d.data[end] != '"' {
		return d.quotedSlow(end, high)
	}
	d.pos = end + 1
	return d.data[from:end], end - from
}

// quotedSlow is quoted for a string that has escapes or is not ASCII. scanText
// need not scan the bytes before i.
func (d *Decoder) quotedSlow(i int, high bool) (raw []byte, size int) {
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

// number reads the number under the cursor. It returns nil after a failure.
func (d *Decoder) number() (raw []byte, form numberForm) {
	start := d.pos
	end, form, ok := scanNumber(d.data, start)
	if !ok || form == maybeOutOfRange {
		return d.numberSlow(end, form, ok)
	}
	d.pos = end
	return d.data[start:end], form
}

// numberSlow is number for a number that lacks a digit at end, or that may not fit
// in float64.
func (d *Decoder) numberSlow(end int, form numberForm, ok bool) ([]byte, numberForm) {
	raw := d.data[d.pos:end]
	switch {
	case end == d.pos:
		d.failUnexpected()
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

// literal steps over word. It fails if word is not under the cursor.
func (d *Decoder) literal(word string) bool {
	if !d.has(word) {
		d.failUnexpected()
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

// failUnexpected fails because of the byte under the cursor.
func (d *Decoder) failUnexpected() {
	switch {
	case d.err != nil:
	case d.pos >= len(d.data):
		d.fail(d.pos, true, errEnd)
	default:
		r, _ := utf8.DecodeRune(d.data[d.pos:])
		d.fail(d.pos, true, fmt.Errorf("unexpected %q", r))
	}
}

// The functions below skip JSON without a check. They are used for bytes that
// were accepted before or that are checked afterwards. For invalid JSON their
// results are undefined, but they stay within bounds and always make progress.

// skip returns the offset after the value at data[i], or -1 if the value does not
// end.
func skip(data []byte, i int) int {
	switch at(data, i) {
	case '"':
		return skipText(data, i)
	case '{', '[':
		return skipNested(data, i)
	}
	for i < len(data) && !endsScalar(data[i]) {
		i++
	}
	return i
}

// skipNested returns the offset after the object or array at data[i], or -1.
func skipNested(data []byte, i int) int {
	for depth := 0; i < len(data); {
		switch data[i] {
		case '"':
			if i = skipText(data, i); i < 0 {
				return -1
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return -1
}

// skipText returns the offset after the string at data[i], or -1.
func skipText(data []byte, i int) int {
	for i++; ; {
		i, _ = plainEnd(data, i)
		switch at(data, i) {
		case '"':
			return i + 1
		case '\\':
			i++
		}
		if i++; i >= len(data) {
			return -1
		}
	}
}

// skipSpaces returns the offset of the first byte at or after i that is not white
// space.
func skipSpaces(data []byte, i int) int {
	for i < len(data) && isSpace(data[i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func endsScalar(c byte) bool {
	return isSpace(c) || c == ',' || c == ':' || c == ']' || c == '}' || c == '{' || c == '[' || c == '"'
}
