package typed

import (
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Plan decodes documents into values of one type. It is safe for concurrent use.
type Plan struct {
	read reader
	full bool
}

// reader decodes one JSON value into v, which is settable.
type reader func(d *wire.Decoder, v reflect.Value)

// NewPlan returns the plan for a type and the schema of its documents. It returns an error if
// JSON cannot be decoded into the type, or if a default is invalid.
func NewPlan(t reflect.Type, text json.RawMessage) (*Plan, error) {
	return newPlan(t, parseSchema(text))
}

func newPlan(t reflect.Type, s *schema) (*Plan, error) {
	s.findUnsupported()
	p := &planner{full: !s.unsupportedAnywhere, unrestricted: map[reflect.Type]*reader{}}
	read, err := p.reader(t, s)
	if err != nil {
		return nil, err
	}
	return &Plan{read: read, full: p.full}, nil
}

// Validates reports whether the plan rejects every document that the schema rejects. Otherwise
// documents must also be validated against the schema.
func (p *Plan) Validates() bool { return p.full }

// Read decodes a document into the zero value that v points to. The error is a
// *[wire.DecodeError].
func (p *Plan) Read(doc json.RawMessage, v any) error {
	return wire.DecodeWith(doc, nil, reflect.ValueOf(v).Elem(), p.read)
}

// planner makes plans.
type planner struct {
	full         bool                     // no part of the schema was delegated so far
	unrestricted map[reflect.Type]*reader // readers without a schema; the value is nil while it is being made
}

// delegate records that a schema must be validated separately, and returns nil in place of it.
func (p *planner) delegate() *schema {
	p.full = false
	return nil
}

// reader returns the reader of a type. The schema is nil if it has no effect.
func (p *planner) reader(t reflect.Type, s *schema) (reader, error) {
	if s.acceptsAny() {
		return p.unrestrictedReader(t)
	}
	return p.newReader(t, s)
}

// unrestrictedReader returns the reader of a type without a schema. It is made once, because a
// type may be recursive.
func (p *planner) unrestrictedReader(t reflect.Type) (reader, error) {
	made := p.unrestricted[t]
	switch {
	case made == nil:
		made = new(reader)
		p.unrestricted[t] = made
		read, err := p.newReader(t, nil)
		*made = read
		return read, err
	case *made == nil:
		return func(d *wire.Decoder, v reflect.Value) { (*made)(d, v) }, nil
	}
	return *made, nil
}

func (p *planner) newReader(t reflect.Type, s *schema) (reader, error) {
	switch {
	case t.Kind() == reflect.Pointer:
		return p.pointer(t, s)
	case t.Kind() != reflect.Interface && (customJSON(t) || customText(t)) || t == numberType:
		return p.custom(s), nil
	}
	switch t.Kind() {
	case reflect.Bool:
		return p.scalar(s, "boolean", readBool), nil
	case reflect.String:
		return p.text(s), nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return p.integer(t, s), nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return p.unsigned(t, s), nil
	case reflect.Float32, reflect.Float64:
		return p.number(t, s), nil
	case reflect.Slice, reflect.Array:
		return p.list(t, s)
	case reflect.Map:
		return p.dictionary(t, s)
	case reflect.Struct:
		return p.object(t, s)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return p.custom(s), nil
		}
	}
	return nil, fmt.Errorf("cannot decode JSON into %s", t)
}

// pointer decodes null as nil, and other values into a new value.
func (p *planner) pointer(t reflect.Type, s *schema) (reader, error) {
	elem, err := p.reader(t.Elem(), s)
	if err != nil {
		return nil, err
	}
	nullable := s == nil || s.nullable || s.types == nil
	return func(d *wire.Decoder, v reflect.Value) {
		if nullable && d.Null() {
			v.SetZero()
			return
		}
		v.Set(reflect.New(t.Elem()))
		elem(d, v.Elem())
	}, nil
}

// custom decodes with encoding/json, which calls the methods of the type.
func (p *planner) custom(s *schema) reader {
	if s != nil && (s.isRestricted() || s.types == nil || slices.Contains(s.types, "integer")) {
		s = p.delegate()
	}
	return func(d *wire.Decoder, v reflect.Value) {
		if s != nil && !s.allowsNext(d) {
			return
		}
		raw := d.Raw()
		if d.Err() != nil {
			return
		}
		if err := json.Unmarshal(raw, v.Addr().Interface()); err != nil {
			d.FailWith(err)
		}
	}
}

// kinds maps the types of JSON Schema to the kinds of [wire.Decoder].
var kinds = map[string]byte{"object": '{', "array": '[', "string": '"', "boolean": 't', "null": 'n', "number": '0'}

// allowsNext reports whether the schema allows the type of the next value. If not, the decoder
// fails.
func (s *schema) allowsNext(d *wire.Decoder) bool {
	kind := d.Kind()
	if kind == 'f' {
		kind = 't'
	}
	for _, t := range s.types {
		if kinds[t] == kind {
			return true
		}
	}
	d.Fail("want a value of type %v", s.types)
	return false
}

// canValidate reports whether a plan can validate a value of one type, or null, against the
// schema. Keywords for other types have no effect then.
func (s *schema) canValidate(name string) bool {
	return s.only(name) && !s.unsupported && (s.enum == nil || name == "string" && !s.nullable)
}

// scalar decodes a value of one type, or null if the schema allows it.
func (p *planner) scalar(s *schema, name string, read reader) reader {
	if s != nil && !s.canValidate(name) {
		s = p.delegate()
	}
	return maybeNull(s, read)
}

// maybeNull decodes null as the zero value if the schema allows null.
func maybeNull(s *schema, read reader) reader {
	if s != nil && !s.nullable {
		return read
	}
	return func(d *wire.Decoder, v reflect.Value) {
		if d.Null() {
			v.SetZero()
			return
		}
		read(d, v)
	}
}

func readBool(d *wire.Decoder, v reflect.Value) { v.SetBool(d.Bool()) }

func readString(d *wire.Decoder, v reflect.Value) { v.SetString(d.String()) }

func (p *planner) text(s *schema) reader {
	if s == nil || s.enum == nil && s.minLength == nil && s.maxLength == nil {
		return p.scalar(s, "string", readString)
	}
	least, most := bounds(s.minLength, s.maxLength)
	return p.scalar(s, "string", func(d *wire.Decoder, v reflect.Value) {
		text := d.String()
		switch n := utf8.RuneCountInString(text); {
		case d.Err() != nil:
		case s.enum != nil && !slices.Contains(s.enum, text):
			d.Fail("want one of %q", s.enum)
		case n < least || n > most:
			d.Fail("want %d to %d characters", least, most)
		default:
			v.SetString(text)
		}
	})
}

// bounds returns the limits of a length.
func bounds(least, most *int) (int, int) {
	from, to := 0, math.MaxInt
	if least != nil {
		from = *least
	}
	if most != nil {
		to = *most
	}
	return from, to
}

func (p *planner) integer(t reflect.Type, s *schema) reader {
	bits := t.Bits()
	least, most := int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits)
	if s != nil {
		least, most = narrow(s, least, most)
	}
	return p.scalar(s, "integer", func(d *wire.Decoder, v reflect.Value) { v.SetInt(d.Int(least, most)) })
}

// narrow restricts a range of integers to the bounds of a schema.
func narrow(s *schema, least, most int64) (int64, int64) {
	if s.minimum != nil {
		least = max(least, roundToInteger(s.minimum, true))
	}
	if s.maximum != nil {
		most = min(most, roundToInteger(s.maximum, false))
	}
	return least, most
}

// roundToInteger returns the nearest integer that is not less, or not greater, than a number.
func roundToInteger(r *big.Rat, up bool) int64 {
	n := new(big.Int).Div(r.Num(), r.Denom()) // rounds down
	if up && !r.IsInt() {
		n.Add(n, big.NewInt(1))
	}
	return n.Int64()
}

func (p *planner) unsigned(t reflect.Type, s *schema) reader {
	if t.Bits() == 64 {
		return p.scalar(p.unlessBounded(s), "integer", readUnsigned)
	}
	least, most := int64(0), int64(1)<<t.Bits()-1
	if s != nil {
		least, most = narrow(s, least, most)
	}
	return p.scalar(s, "integer", func(d *wire.Decoder, v reflect.Value) { v.SetUint(uint64(d.Int(least, most))) })
}

// unlessBounded delegates a schema whose bounds are narrower than the range of the type.
func (p *planner) unlessBounded(s *schema) *schema {
	if s != nil && (s.maximum != nil || s.minimum != nil && s.minimum.Sign() != 0) {
		return p.delegate()
	}
	return s
}

// readUnsigned decodes an unsigned integer of 64 bits.
func readUnsigned(d *wire.Decoder, v reflect.Value) {
	raw := d.Raw()
	if d.Err() != nil {
		return
	}
	if n, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
		v.SetUint(n)
		return
	}
	if validate.NumberWithinLimits(string(raw)) {
		if r, ok := new(big.Rat).SetString(string(raw)); ok && r.IsInt() && r.Num().IsUint64() {
			v.SetUint(r.Num().Uint64())
			return
		}
	}
	d.Fail("want an integer from 0 to %d", uint64(math.MaxUint64))
}

func (p *planner) number(t reflect.Type, s *schema) reader {
	least, most := math.Inf(-1), math.Inf(1)
	if s != nil && s.minimum != nil {
		least, _ = s.minimum.Float64()
	}
	if s != nil && s.maximum != nil {
		most, _ = s.maximum.Float64()
	}
	return p.scalar(s, "number", func(d *wire.Decoder, v reflect.Value) {
		n := d.Number(least, most)
		if v.SetFloat(n); math.IsInf(v.Float(), 0) {
			d.Fail("%g overflows %s", n, t)
		}
	})
}
