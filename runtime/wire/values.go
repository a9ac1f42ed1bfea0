package wire

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// String reads a string.
func (d *Decoder) String() string {
	if d.first() != '"' {
		d.failKind("a string")
		return ""
	}
	raw, size := d.quoted()
	if size == len(raw) {
		return d.interned.intern(raw)
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
		d.failKind("a boolean")
	}
	return false
}

// Null reads null if that is the next value, and reports whether it was.
func (d *Decoder) Null() bool { return d.first() == 'n' && d.literal("null") }

// Bytes reads a base64 string: the standard alphabet, padded, without line breaks,
// and with zero bits after the last byte. The result is not nil unless d fails.
func (d *Decoder) Bytes() []byte {
	if d.first() != '"' {
		d.failKind("a base64 string")
		return nil
	}
	start := d.pos
	raw, size := d.quoted()
	if raw == nil {
		return nil
	}
	if size != len(raw) { // slashes may be escaped
		raw = appendUnescaped(nil, raw)
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(raw)))
	n, err := base64.StdEncoding.Strict().Decode(out, raw)
	if err != nil || bytes.ContainsAny(raw, "\r\n") {
		d.fail(start, false, errors.New("invalid base64"))
		return nil
	}
	return out[:n]
}

// Int reads an integer from min to max. 1.0 and 1e2 are integers, 1.5 is not.
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
	return d.intSlow(raw, min, max)
}

// IntIn is like [Decoder.Int], but the bounds apply only in the revisions of w. In the
// all-revisions form they apply if w has every revision.
func (d *Decoder) IntIn(w Window, min, max int64) int64 {
	if !d.Needs(w) {
		min, max = math.MinInt64, math.MaxInt64
	}
	return d.Int(min, max)
}

// intSlow is Int for a number that was just read and is out of bounds or is not
// spelled as an integer.
func (d *Decoder) intSlow(raw []byte, min, max int64) int64 {
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

// Number reads a number from min to max. The bounds may be infinite.
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

// NumberIn is like [Decoder.Number], but the bounds apply only in the revisions of
// w. In the all-revisions form they apply if w has every revision.
func (d *Decoder) NumberIn(w Window, min, max float64) float64 {
	if !d.Needs(w) {
		min, max = math.Inf(-1), math.Inf(1)
	}
	return d.Number(min, max)
}

// numeric reads a number. If the next value is not a number, it fails with an
// error that names what as the expected value.
func (d *Decoder) numeric(what string) (raw []byte, form numberForm) {
	if c := d.first(); c != '-' && !isDigit(c) {
		d.failKind(what)
		return nil, form
	}
	return d.number()
}

// outside returns an error with the bounds that v exceeds.
func outside[T int64 | float64](v, min, max T, lower, upper bool) error {
	switch {
	case lower && upper:
		return fmt.Errorf("want a number from %v to %v, have %v", min, max, v)
	case lower:
		return fmt.Errorf("want at least %v, have %v", min, v)
	}
	return fmt.Errorf("want at most %v, have %v", max, v)
}

// Enum reads one of the values of m. It returns the copy that m has, without an
// allocation.
func (d *Decoder) Enum(m *Enum) string {
	if d.first() != '"' {
		d.failKind("a string")
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

// EnumIn is like [Decoder.Enum] in the revisions of w, and like [Decoder.OpenEnum] in
// the others and in the all-revisions form.
func (d *Decoder) EnumIn(m *Enum, w Window) string {
	if d.Needs(w) {
		return d.Enum(m)
	}
	return d.OpenEnum(m)
}

// OpenEnum reads any string. If the string is a value of m, it returns the copy
// that m has, without an allocation.
func (d *Decoder) OpenEnum(m *Enum) string {
	if d.first() != '"' {
		d.failKind("a string")
		return ""
	}
	raw, size := d.quoted()
	if size != len(raw) {
		return unescaped(raw, size)
	}
	if i := m.index(alias(raw)); i >= 0 {
		return m.List[i].Name
	}
	return string(raw)
}

// Const reads a string that must be want.
func (d *Decoder) Const(want string) {
	if d.first() == '"' {
		if end := d.endOfName(want, d.pos); end >= 0 {
			d.pos = end
			return
		}
	}
	d.constSlow(want)
}

// constSlow is Const for a string with escapes, or for another value.
func (d *Decoder) constSlow(want string) {
	if d.first() != '"' {
		d.failKind("a string")
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

// Raw reads any value and returns a checked copy of its bytes. Line breaks between
// tokens are replaced with spaces. The result is nil only if d fails.
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

// RawObject is like [Decoder.Raw] for a value that must be an object.
func (d *Decoder) RawObject() json.RawMessage {
	if d.first() != '{' {
		d.failKind("an object")
		return nil
	}
	return d.Raw()
}

// RawIn is like [Decoder.Raw] for a value that must be an object in the revisions
// of objects.
func (d *Decoder) RawIn(objects Window) json.RawMessage {
	if d.Needs(objects) {
		return d.RawObject()
	}
	return d.Raw()
}

// Skip reads and checks any value and discards it.
func (d *Decoder) Skip() { d.span() }

// span reads any value and returns its bytes in the document, or nil after a
// failure.
func (d *Decoder) span() []byte {
	d.breaks = false
	data, start := d.data, d.pos
	if d.checked {
		d.skipChecked()
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
		d.failKind("an object")
		return nil
	}
	return d.span()
}

// skipChecked skips a value that was accepted before.
func (d *Decoder) skipChecked() {
	end := skip(d.data, d.pos)
	if end <= d.pos {
		d.failUnexpected()
		return
	}
	d.pos = end
}

// New reads a value into a new T. The result is never nil.
func New[T any, P interface {
	*T
	Value
}](d *Decoder) *T {
	x := new(T)
	P(x).DecodeJSON(d)
	return x
}

// Structs reads an array into a slice, decoding each element in place. For an
// empty array the result is empty, not nil.
func Structs[T any, P interface {
	*T
	Value
}](d *Decoder) []T {
	list := []T{}
	for more := d.openArray(); more; more = d.another() {
		list = grow(list)
		P(&list[len(list)-1]).DecodeJSON(d)
	}
	return list
}

// List reads an array and calls elem to read each element. For an empty array the
// result is empty, not nil.
func List[T any](d *Decoder, elem func(*Decoder) T) []T {
	list := []T{}
	for more := d.openArray(); more; more = d.another() {
		list = grow(list)
		list[len(list)-1] = elem(d)
	}
	return list
}

// Strings reads an array of strings.
func (d *Decoder) Strings() []string { return List(d, (*Decoder).String) }

// Map reads an object as a map and calls elem to read each value. The result is
// never nil.
func Map[T any](d *Decoder, elem func(*Decoder) T) map[string]T {
	m := make(map[string]T)
	for o := d.Object(nil); o.Next(); {
		name := o.key()
		m[name] = elem(d)
	}
	return m
}

// OrderedMap reads an object as a list of its members, in their order. It calls
// member to read the value of the member with the name into an element of the list.
// The result is never nil.
func OrderedMap[M any](d *Decoder, member func(d *Decoder, name string, m *M)) []M {
	list := []M{}
	for o := d.Object(nil); o.Next(); {
		list = grow(list)
		member(d, o.key(), &list[len(list)-1])
	}
	return list
}

// openArray steps into an array and reports whether the array has an element.
func (d *Decoder) openArray() bool {
	if d.first() != '[' {
		d.failKind("an array")
		return false
	}
	if !d.enter() {
		return false
	}
	if d.next() == ']' {
		d.leave()
		return false
	}
	return true
}

// another steps to the next element and reports whether there is one. After the
// last element it leaves the array.
func (d *Decoder) another() bool {
	switch d.next() {
	case ',':
		d.pos++
		d.next()
		return true
	case ']':
		d.leave()
	default:
		d.failUnexpected()
	}
	return false
}

// grow returns the list with one more element, which is zero. The first capacity is
// 1 because most lists of the protocol have one element.
func grow[T any](list []T) []T {
	n := len(list)
	if n == cap(list) {
		longer := make([]T, n, max(1, 4*min(n, 1), 2*n))
		copy(longer, list)
		list = longer
	}
	return list[:n+1]
}
