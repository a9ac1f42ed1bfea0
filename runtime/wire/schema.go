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
	"strconv"
	"strings"
	"unicode/utf8"
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

	AllOf      []*Schema // all of them must allow the value
	OneOf      []*Schema // if there are any, exactly one of them must allow the value
	Not        *Schema   // nil, or it must not allow the value
	Above      *float64  // a number must be larger; nil means no limit
	Below      *float64  // a number must be smaller; nil means no limit
	Multiple   string    // a number must be a multiple of this number; "" means any
	Length     *Range    // of the characters of a string; nil means any
	Match      func(string) bool
	Count      *Range    // of the elements of an array; nil means any
	Unique     bool      // the elements of an array must be different
	First      []*Schema // the first elements of an array; Items applies to the others
	Contains   *Schema   // the elements that Contained counts; nil means none
	Contained  *Range
	Size       *Range          // of the members of an object; nil means any
	Names      *Schema         // the names of the members of an object; nil means any
	Patterns   []SchemaPattern // the members of an object whose names match
	Dependents []Dependent     // what members of an object require
}

// Range has the limits of a number of things.
type Range struct{ Min, Max int }

// check fails if n is not in the range.
func (r *Range) check(d *Decoder, at, n int, what string) {
	switch {
	case r == nil:
	case n < r.Min:
		d.fail(at, false, fmt.Errorf("have %d %s, at least %d are required", n, what, r.Min))
	case n > r.Max:
		d.fail(at, false, fmt.Errorf("have %d %s, at most %d are allowed", n, what, r.Max))
	}
}

// SchemaPattern has the schema of the members of an object whose names match.
type SchemaPattern struct {
	Match  func(string) bool
	Schema *Schema
}

// Dependent has the schema of an object that has the member Name.
type Dependent struct {
	Name   string
	Schema *Schema
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
	if s.Value != nil {
		s.Value(d)
		return
	}
	if s.readOthers(d); d.err == nil {
		s.readKind(d)
	}
}

// readOthers validates the next value with the schemas and values in s that apply to all of it, and
// returns to its start.
func (s *Schema) readOthers(d *Decoder) {
	start := d.mark()
	if len(s.AnyOf) > 0 {
		s.readAnyOf(d)
	}
	if d.err == nil && len(s.Equal) > 0 {
		d.rewind(start)
		s.readEqual(d)
	}
	for _, part := range s.AllOf {
		if d.err == nil {
			d.rewind(start)
			part.Read(d)
		}
	}
	if d.err != nil {
		return
	}
	d.rewind(start)
	if s.Not != nil && s.Not.allows(d) {
		d.Fail("value has a form that is not allowed")
	}
	if len(s.OneOf) > 0 && d.err == nil {
		n := 0
		for _, alternative := range s.OneOf {
			if alternative.allows(d) {
				n++
			}
		}
		if n != 1 && d.err == nil {
			d.Fail("value has %d of %d types, want one", n, len(s.OneOf))
		}
	}
}

// allows reports whether s allows the next value, and returns to its start. Invalid JSON is still an
// error.
func (s *Schema) allows(d *Decoder) bool {
	start := d.mark()
	if !d.Try(s.Read) {
		return false
	}
	d.rewind(start)
	return true
}

// readKind reads a value, and validates it by its JSON type.
func (s *Schema) readKind(d *Decoder) {
	name := d.typeName()
	if len(s.Types) > 0 && !slices.Contains(s.Types, name) && !(name == "number" && slices.Contains(s.Types, "integer")) {
		d.failKind(strings.Join(s.Types, " or "))
		return
	}
	switch name {
	case "object":
		s.readObject(d)
	case "array":
		s.readArray(d)
	case "string":
		s.readString(d)
	case "number":
		s.readNumber(d)
	default:
		d.Skip()
	}
}

func (s *Schema) readArray(d *Decoder) {
	n, contained, start := 0, 0, d.pos
	var seen map[string]bool
	if s.Unique {
		seen = make(map[string]bool)
	}
	for more := d.openArray(); more; more = d.another() {
		if s.Contains != nil && s.Contains.allows(d) {
			contained++
		}
		d.next()
		at := d.pos
		if n < len(s.First) {
			s.First[n].Read(d)
		} else {
			s.Items.orAny().Read(d)
		}
		if s.Unique && d.err == nil {
			text := canonical(d.data[at:d.pos])
			if seen[text] {
				d.fail(at, false, errors.New("element occurs twice"))
			}
			seen[text] = true
		}
		n++
	}
	if s.MaxItems > 0 {
		d.MaxItems(n, s.MaxItems)
	}
	s.Count.check(d, start, n, "items")
	s.Contained.check(d, start, contained, "items of the required form")
}

// canonical returns a text that is the same for JSON texts with equal values.
func canonical(text []byte) string {
	out, _ := json.Marshal(normal(parsed(text)))
	return string(out)
}

// normal returns a value in which numbers are texts that are different from all strings.
func normal(v any) any {
	switch v := v.(type) {
	case json.Number:
		digits, shift := decimal([]byte(v))
		if len(digits) == 0 {
			return "number 0"
		}
		return fmt.Sprintf("number %t %s %d", v[0] == '-', digits, shift)
	case string:
		return "string " + v
	case []any:
		for i := range v {
			v[i] = normal(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = normal(v[name])
		}
	}
	return v
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
	if raw != nil && !slices.ContainsFunc(s.Equal, func(text string) bool { return equalText(text, raw) }) {
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

// equalText reports whether a JSON text that json.Marshal returned has the same value as another one. It allocates
// memory only if it has to parse them.
func equalText(text string, other []byte) bool {
	switch kind := kindOf(at(other, 0)); {
	case text == string(other):
		return true
	case kind != kindOf(text[0]), kind == '"' && !strings.Contains(text, `\`) && !bytes.Contains(other, []byte(`\`)):
		return false
	}
	return equalJSON(parsed([]byte(text)), parsed(other))
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
		seen = append(seen, name)
		if s.Names != nil {
			s.readName(d, name)
		}
		s.readMember(d, name)
	}
	for _, p := range s.Members {
		if p.Required && !slices.Contains(seen, p.Name) {
			d.fail(at, false, fmt.Errorf("missing member %q", p.Name))
		}
	}
	s.Size.check(d, at, len(seen), "members")
	for _, dep := range s.Dependents {
		if d.err == nil && slices.Contains(seen, dep.Name) {
			end := d.mark()
			d.pos = at
			dep.Schema.Read(d)
			if d.err == nil {
				d.rewind(end)
			}
		}
	}
}

// readName validates the name of a member.
func (s *Schema) readName(d *Decoder, name string) {
	text := newDecoder(AppendString(nil, name), &Frame{})
	s.Names.Read(text)
	if err := text.finish(); err != nil {
		d.Fail("name %q is not allowed: %w", clip(name), err)
	}
}

// readMember reads the value of a member with all schemas that apply to it.
func (s *Schema) readMember(d *Decoder, name string) {
	var parts []*Schema
	for _, p := range s.Patterns {
		if p.Match(name) {
			parts = append(parts, p.Schema)
		}
	}
	i := slices.IndexFunc(s.Members, func(p SchemaPart) bool { return p.Name == name })
	switch {
	case i >= 0:
		parts = append(parts, s.Members[i].Schema)
	case len(parts) > 0:
	case s.Closed:
		d.Fail("revision has no member %q", clip(name))
	default:
		parts = append(parts, s.Others)
	}
	start := d.mark()
	for j, part := range parts {
		if j > 0 && d.err == nil {
			d.rewind(start)
		}
		part.orAny().Read(d)
	}
}

func (s *Schema) readString(d *Decoder) {
	at := d.pos
	if s.Base64 {
		start := d.mark()
		if d.Bytes(); d.err != nil {
			return
		}
		d.rewind(start)
	}
	raw, size := d.quoted()
	if d.err != nil || len(s.Values) == 0 && s.Length == nil && s.Match == nil {
		return
	}
	text := unescaped(raw, size)
	s.Length.check(d, at, utf8.RuneCountInString(text), "characters")
	if len(s.Values) > 0 && !slices.Contains(s.Values, text) {
		d.fail(at, false, fmt.Errorf("value %q is not one of %q", clip(text), s.Values))
	}
	if s.Match != nil && !s.Match(text) {
		d.fail(at, false, fmt.Errorf("value %q does not match the pattern", clip(text)))
	}
}

func (s *Schema) readNumber(d *Decoder) {
	at := d.pos
	raw, form := d.number()
	if raw == nil {
		return
	}
	integer := slices.Contains(s.Types, "integer") && !slices.Contains(s.Types, "number")
	if integer {
		d.intSlow(raw, math.MinInt64, math.MaxInt64)
	}
	if d.err != nil {
		return
	}
	v := parseFloat(raw, form)
	limit := func(bound *float64, fits bool, text string) {
		if bound != nil && !fits {
			d.fail(at, false, fmt.Errorf("want %s %v, have %v", text, *bound, v))
		}
	}
	limit(s.Min, s.Min == nil || v >= *s.Min, "at least")
	limit(s.Max, s.Max == nil || v <= *s.Max, "at most")
	limit(s.Above, s.Above == nil || v > *s.Above, "more than")
	limit(s.Below, s.Below == nil || v < *s.Below, "less than")
	if s.Multiple != "" && !isMultiple(raw, s.Multiple) {
		d.fail(at, false, fmt.Errorf("want a multiple of %s, have %s", s.Multiple, clip(string(raw))))
	}
}

// isMultiple reports whether a number is a multiple of another one, which is positive and has at most
// 17 digits.
func isMultiple(raw []byte, of string) bool {
	digits, shift := decimal(raw)
	divisor, unit := decimal([]byte(of))
	modulus, err := strconv.ParseUint(string(divisor), 10, 60)
	if err != nil || len(digits) > 0 && shift < unit {
		return len(digits) == 0
	}
	var rest uint64
	for _, c := range digits {
		rest = (rest*10 + uint64(c-'0')) % modulus
	}
	for range min(shift-unit, 64) { // the modulus has fewer factors of 2 and 5
		rest = rest * 10 % modulus
	}
	return rest == 0
}

// IsZero reports whether v points to a zero value.
func IsZero[T any](v *T) bool { return reflect.ValueOf(v).Elem().IsZero() }
