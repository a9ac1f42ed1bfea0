package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
)

// Schema validates a value whose Go type allows other values, too. Generated code uses it if the
// JSON Schema of a revision differs from the Go type. The zero Schema allows any JSON.
type Schema struct {
	Value func(*Decoder) // reads the value; the other fields are not used then

	Types    []string     // the names of JSON types that it allows, such as "string"; none means all
	Values   []string     // if there are any, a string must be one of them
	Base64   bool         // a string must be base64
	Min, Max *float64     // the bounds of a number; nil means none
	Items    *Schema      // the elements of an array; nil means any
	MaxItems int          // the limit on the elements of an array; 0 means none
	Members  []SchemaPart // the declared members of an object
	Others   *Schema      // the other members of an object; nil means any
	Closed   bool         // an object has no other members
	AnyOf    []*Schema    // if there are any, one of them must allow the value
	Equal    []string     // JSON texts; if there are any, the value must be equal to one of them
}

// SchemaPart is a declared member of an object in a [Schema].
type SchemaPart struct {
	Name     string
	Required bool
	Schema   *Schema
}

// Check validates the next value in the revisions of w: it calls read, and returns to the start of
// the value.
func (d *Decoder) Check(w Window, read func(*Decoder)) {
	if d.err != nil || !d.Needs(w) {
		return
	}
	start := d.mark()
	if read(d); d.err == nil {
		d.rewind(start)
	}
}

// Check validates the end of the output in the revisions of w: it calls read to decode the value
// that begins at the offset at in b.
func (e *Encoder) Check(b []byte, at int, w Window, read func(*Decoder)) {
	if e.err != nil || !e.Needs(w) {
		return
	}
	d := newDecoder(b[at:], e.frame)
	read(d)
	var failure *DecodeError
	if errors.As(d.finish(), &failure) {
		e.FailWith(b[:at], failure.Err)
		e.err.Pointer += failure.Pointer
	}
}

// InExtra reports whether the value of a member is in extra and not in its field. It is in the
// revisions of w. In the all-revisions form, it is if extra has the member and w is not empty.
func (e *Encoder) InExtra(extra map[string]json.RawMessage, name string, w Window) bool {
	if e.Needs(w) {
		return true
	}
	_, ok := extra[name]
	return ok && e.Has(w)
}

// FromExtra appends a member whose value is in extra, and validates it with read. It fails if
// there is no value and the revision is in required. It also fails if there is none and set is
// true: the field of the member is set, and its type is the type of other revisions.
func (e *Encoder) FromExtra(b []byte, extra map[string]json.RawMessage, name string, required Window, read func(*Decoder), set bool) []byte {
	raw, ok := extra[name]
	switch {
	case !ok && set:
		e.Fail(b, "revision has another type of %q; set it in Extra", name)
		return b
	case !ok && e.Needs(required):
		return e.Missing(b, name)
	case !ok:
		return b
	}
	b = append(b, ',')
	b = append(AppendString(b, name), ':')
	at := len(b)
	b = e.Raw(b, raw, "")
	if e.Revision() != (Revision{}) {
		e.Check(b, at, e.mask, read)
	}
	return b
}

// Read reads a value and fails if s does not allow it.
func (s *Schema) Read(d *Decoder) {
	switch {
	case s.Value != nil:
		s.Value(d)
		return
	case len(s.AnyOf) > 0:
		s.readAnyOf(d)
		return
	case len(s.Equal) > 0:
		s.readEqual(d)
		return
	}
	name := d.typeName()
	if len(s.Types) > 0 && !slices.Contains(s.Types, name) && !(name == "number" && slices.Contains(s.Types, "integer")) {
		d.failKind(strings.Join(s.Types, " or "))
		return
	}
	switch name {
	case "object":
		s.readObject(d)
	case "array":
		n := 0
		for more := d.openArray(); more; more = d.another() {
			s.Items.orAny().Read(d)
			n++
		}
		if s.MaxItems > 0 {
			d.MaxItems(n, s.MaxItems)
		}
	case "string":
		s.readString(d)
	case "number":
		s.readNumber(d)
	default:
		d.Skip()
	}
}

// orAny returns s, or a schema that allows any JSON if s is nil.
func (s *Schema) orAny() *Schema {
	if s == nil {
		return new(Schema)
	}
	return s
}

// typeName returns the name of the JSON type of the next value, or "".
func (d *Decoder) typeName() string {
	switch c := d.next(); {
	case c == '{':
		return "object"
	case c == '[':
		return "array"
	case c == '"':
		return "string"
	case c == '-' || isDigit(c):
		return "number"
	case c == 't' || c == 'f':
		return "boolean"
	case c == 'n':
		return "null"
	}
	return ""
}

func (s *Schema) readAnyOf(d *Decoder) {
	start, data := d.mark(), d.data
	var failures []string
	for _, alternative := range s.AnyOf {
		if alternative.Read(d); d.err == nil || d.err.Syntax {
			return
		}
		failures = append(failures, d.err.Err.Error())
		d.err, d.data = nil, data
		d.rewind(start)
	}
	d.Fail("want one of %d types: %s", len(s.AnyOf), strings.Join(failures, "; or "))
}

func (s *Schema) readEqual(d *Decoder) {
	d.first()
	at := d.pos
	raw := d.span()
	if raw != nil && !slices.ContainsFunc(s.Equal, func(text string) bool { return equalJSON(parsed(raw), parsed([]byte(text))) }) {
		d.fail(at, false, fmt.Errorf("value %s is not one of %s", clip(string(raw)), strings.Join(s.Equal, ", ")))
	}
}

// parsed returns the value of a valid JSON text, with its numbers as text.
func parsed(text []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	_ = dec.Decode(&v)
	return v
}

// equalJSON reports whether two values are equal as JSON. Numbers are compared exactly.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(string(a), string(b))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalJSON)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalJSON)
	}
	return reflect.TypeOf(a) == reflect.TypeOf(b) && a == b // neither is a list or a map
}

// equalNumbers reports whether two number texts have the same value.
func equalNumbers(a, b string) bool {
	digits, shift := decimal([]byte(a))
	others, otherShift := decimal([]byte(b))
	if len(digits) == 0 {
		return len(others) == 0
	}
	return bytes.Equal(digits, others) && shift == otherShift && (a[0] == '-') == (b[0] == '-')
}

func (s *Schema) readObject(d *Decoder) {
	var seen []string
	at := d.pos
	for o := d.Object(nil); o.Next(); {
		name := o.key()
		i := slices.IndexFunc(s.Members, func(p SchemaPart) bool { return p.Name == name })
		switch {
		case i >= 0:
			seen = append(seen, name)
			s.Members[i].Schema.orAny().Read(d)
		case s.Closed:
			d.Fail("revision has no member %q", clip(name))
		default:
			s.Others.orAny().Read(d)
		}
	}
	for _, p := range s.Members {
		if p.Required && !slices.Contains(seen, p.Name) {
			d.fail(at, false, fmt.Errorf("missing member %q", p.Name))
		}
	}
}

func (s *Schema) readString(d *Decoder) {
	if s.Base64 {
		d.Bytes()
		return
	}
	at := d.pos
	raw, size := d.quoted()
	if d.err == nil && len(s.Values) > 0 {
		if text := unescaped(raw, size); !slices.Contains(s.Values, text) {
			d.fail(at, false, fmt.Errorf("value %q is not one of %q", clip(text), s.Values))
		}
	}
}

func (s *Schema) readNumber(d *Decoder) {
	at := d.pos
	raw, form := d.number()
	if raw == nil {
		return
	}
	integer := len(s.Types) > 0 && !slices.Contains(s.Types, "number")
	if integer {
		d.intSlow(raw, math.MinInt64, math.MaxInt64)
	}
	if d.err != nil {
		return
	}
	v := parseFloat(raw, form)
	if s.Min != nil && v < *s.Min {
		d.fail(at, false, fmt.Errorf("want at least %v, have %v", *s.Min, v))
	}
	if s.Max != nil && v > *s.Max {
		d.fail(at, false, fmt.Errorf("want at most %v, have %v", *s.Max, v))
	}
}

// IsZero reports whether v points to a zero value.
func IsZero[T any](v *T) bool { return reflect.ValueOf(v).Elem().IsZero() }
