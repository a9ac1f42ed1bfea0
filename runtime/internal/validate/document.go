package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/mcpwright/mcp/runtime/wire"
)

// kind is the kind of a JSON value.
type kind uint8

const (
	kindNull kind = iota
	kindFalse
	kindTrue
	kindNumber
	kindString
	kindArray
	kindObject
)

// value is one value of a document, or the name of a member.
type value struct {
	// start and end are the offsets of the text of a string or number. A string's
	// text has no quotes. The end of an array or object is the position after its
	// last descendant.
	start, end uint32
	count      uint32 // items or members
	kind       kind
	escaped    bool    // the text of the string has escapes
	keyword    keyword // that the string is the name of, set by [checker]
}

// document is a parsed JSON document. Values are in the order of the text: an
// array is followed by its items, an object by its names and values in turn.
// A position is an index of values; the root is at position 0.
type document struct {
	text   string
	values []value
}

// longDocument is the number of bytes from which the number of values is estimated
// before a document is parsed.
const longDocument = 1 << 16

// parse parses a document and replaces the previous one. The text of d shares the
// memory of data, which must not change while d is in use.
func (d *document) parse(data []byte) error {
	if err := wire.Check(data, 0); err != nil {
		if e, ok := errors.AsType[*wire.DecodeError](err); ok {
			return newError(e.Pointer, e.Err.Error())
		}
		return newError("", err.Error())
	}
	if uint64(len(data)) > math.MaxUint32 {
		return newError("", "the document is longer than 4 GiB")
	}
	d.text = unsafe.String(unsafe.SliceData(data), len(data))
	d.values = d.values[:0]
	if n := len(data); n > longDocument {
		d.values = slices.Grow(d.values, min(n/8, bytes.Count(data, []byte{','})+bytes.Count(data, []byte{':'})))
	}
	b := builder{doc: d, long: -1}
	b.value()
	if b.long >= 0 {
		return newError(d.pointer(uint32(b.long)), "the number has too many digits")
	}
	return nil
}

// builder fills a document from text that is valid JSON.
type builder struct {
	doc  *document
	pos  int // in the text
	long int // position of the first number that exceeds a limit, or -1
}

// next skips white space and returns the next byte.
func (b *builder) next() byte {
	for {
		c := b.doc.text[b.pos]
		if c > ' ' {
			return c
		}
		b.pos++
	}
}

func (b *builder) value() {
	switch b.next() {
	case '{':
		b.object()
	case '[':
		b.array()
	case '"':
		b.string()
	case 't':
		b.literal(kindTrue, len("true"))
	case 'f':
		b.literal(kindFalse, len("false"))
	case 'n':
		b.literal(kindNull, len("null"))
	default:
		b.number()
	}
}

func (b *builder) literal(k kind, length int) {
	b.doc.values = append(b.doc.values, value{kind: k, start: uint32(b.pos), end: uint32(b.pos + length)})
	b.pos += length
}

func (b *builder) object() {
	at := len(b.doc.values)
	b.doc.values = append(b.doc.values, value{kind: kindObject})
	count := uint32(0)
	for b.pos++; ; b.pos++ {
		if b.next() == '}' {
			break
		}
		b.string()
		b.next()
		b.pos++ // colon
		b.value()
		count++
		if b.next() == '}' {
			break
		}
	}
	b.pos++
	b.doc.values[at].count, b.doc.values[at].end = count, uint32(len(b.doc.values))
}

func (b *builder) array() {
	at := len(b.doc.values)
	b.doc.values = append(b.doc.values, value{kind: kindArray})
	count := uint32(0)
	for b.pos++; ; b.pos++ {
		if b.next() == ']' {
			break
		}
		b.value()
		count++
		if b.next() == ']' {
			break
		}
	}
	b.pos++
	b.doc.values[at].count, b.doc.values[at].end = count, uint32(len(b.doc.values))
}

func (b *builder) string() {
	start, escaped := b.pos+1, false
	i := start
	for b.doc.text[i] != '"' {
		if b.doc.text[i] == '\\' {
			escaped = true
			i++
		}
		i++
	}
	b.doc.values = append(b.doc.values, value{kind: kindString, start: uint32(start), end: uint32(i), escaped: escaped})
	b.pos = i + 1
}

func (b *builder) number() {
	start, exponent := b.pos, false
	for ; b.pos < len(b.doc.text); b.pos++ {
		switch c := b.doc.text[b.pos]; {
		case '0' <= c && c <= '9', c == '.', c == '-', c == '+':
			continue
		case c == 'e' || c == 'E':
			exponent = true
			continue
		}
		break
	}
	if b.long < 0 && (exponent || b.pos-start > maxDigits) && !NumberWithinLimits(b.doc.text[start:b.pos]) {
		b.long = len(b.doc.values)
	}
	b.doc.values = append(b.doc.values, value{kind: kindNumber, start: uint32(start), end: uint32(b.pos)})
}

// after returns the position after the value at a position.
func (d *document) after(at uint32) uint32 {
	if v := &d.values[at]; v.kind >= kindArray {
		return v.end
	}
	return at + 1
}

// raw returns the text of a string or number without quotes, with escapes.
func (d *document) raw(at uint32) string {
	v := &d.values[at]
	return d.text[v.start:v.end]
}

// string returns the string at a position.
func (d *document) string(at uint32) string {
	v := &d.values[at]
	if !v.escaped {
		return d.text[v.start:v.end]
	}
	var s string
	if json.Unmarshal([]byte(d.text[v.start-1:v.end+1]), &s) != nil {
		return d.text[v.start:v.end] // cannot happen, because the text was checked
	}
	return s
}

// boolean returns the boolean at a position, and whether there is one.
func (d *document) boolean(at uint32) (value, ok bool) {
	k := d.values[at].kind
	return k == kindTrue, k == kindTrue || k == kindFalse
}

// appendJSON appends the value at a position as JSON without white space.
func (d *document) appendJSON(b []byte, at uint32) []byte { return d.appendCoerced(b, at, nil) }

// appendValue is like appendCoerced, but does not coerce the value itself.
func (d *document) appendValue(b []byte, at uint32, wanted map[uint32]typeSet) []byte {
	switch v := &d.values[at]; v.kind {
	case kindNull:
		return append(b, "null"...)
	case kindFalse:
		return append(b, "false"...)
	case kindTrue:
		return append(b, "true"...)
	case kindNumber:
		return append(b, d.raw(at)...)
	case kindString:
		return append(append(append(b, '"'), d.raw(at)...), '"')
	case kindArray:
		b = append(b, '[')
		for i := at + 1; i < v.end; i = d.after(i) {
			if i > at+1 {
				b = append(b, ',')
			}
			b = d.appendCoerced(b, i, wanted)
		}
		return append(b, ']')
	default:
		b = append(b, '{')
		for i := at + 1; i < v.end; i = d.after(i + 1) {
			if i > at+1 {
				b = append(b, ',')
			}
			b = d.appendCoerced(append(d.appendValue(b, i, nil), ':'), i+1, wanted)
		}
		return append(b, '}')
	}
}

// copyValue appends the value at a position of another document, and returns the
// position of the copy. Both documents must have the same text.
func (d *document) copyValue(from *document, at uint32) uint32 {
	d.text = from.text
	to := uint32(len(d.values))
	d.values = append(d.values, from.values[at:from.after(at)]...)
	for i := to; i < uint32(len(d.values)); i++ {
		if v := &d.values[i]; v.kind >= kindArray {
			v.end += to - at // may wrap around, and back
		}
	}
	return to
}

// pointer returns the JSON pointer of the value at a position, or of the member
// whose name is at the position.
func (d *document) pointer(target uint32) string {
	var b []byte
	for at := uint32(0); at < target; {
		v := &d.values[at]
		switch v.kind {
		case kindObject:
			name := at + 1
			for d.after(name+1) <= target {
				name = d.after(name + 1)
			}
			b = appendEscaped(append(b, '/'), d.string(name))
			at = name + 1
		case kindArray:
			item, i := at+1, 0
			for ; d.after(item) <= target; i++ {
				item = d.after(item)
			}
			b = strconv.AppendInt(append(b, '/'), int64(i), 10)
			at = item
		}
	}
	return string(b)
}

// appendEscaped appends a name, escaped for a JSON pointer.
func appendEscaped(b []byte, name string) []byte {
	if strings.IndexByte(name, '~') >= 0 || strings.IndexByte(name, '/') >= 0 {
		name = strings.ReplaceAll(strings.ReplaceAll(name, "~", "~0"), "/", "~1")
	}
	return append(b, name...)
}
