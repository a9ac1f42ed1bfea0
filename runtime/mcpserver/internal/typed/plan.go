package typed

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A Plan reads documents into values of one type. It is safe for concurrent use.
type Plan struct {
	read reader
	full bool
}

// reader reads one JSON value into v, which can be set.
type reader func(d *wire.Decoder, v reflect.Value)

// NewPlan makes the plan of a type and the schema that its documents have. The
// error tells of a type that JSON cannot be read into, or of a default that does
// not fit.
func NewPlan(t reflect.Type, text json.RawMessage) (*Plan, error) {
	s := parseSchema(text)
	p := &planner{full: !s.beyondAnywhere, free: map[reflect.Type]*reader{}}
	read, err := p.reader(t, s)
	if err != nil {
		return nil, err
	}
	return &Plan{read: read, full: p.full}, nil
}

// Judges tells whether the plan refuses every document that the schema refuses.
// Otherwise documents have to be judged first.
func (p *Plan) Judges() bool { return p.full }

// Read reads a document into what v points to, a zero value. The error is a
// *[wire.DecodeError].
func (p *Plan) Read(doc json.RawMessage, v any) error {
	return wire.DecodeWith(doc, nil, reflect.ValueOf(v).Elem(), p.read)
}

// planner makes plans.
type planner struct {
	full bool                     // nothing was left to others so far
	free map[reflect.Type]*reader // without a schema; what it leads to is nil while it is being made
}

// leave notes that a schema is for others to judge, and returns none in place of
// it.
func (p *planner) leave() *schema {
	p.full = false
	return nil
}

// reader makes the reader of a type. The schema is nil where it does not matter.
func (p *planner) reader(t reflect.Type, s *schema) (reader, error) {
	if s.free() {
		return p.freeReader(t)
	}
	return p.newReader(t, s)
}

// freeReader makes the reader of a type without a schema, once: the type may have
// parts of its own type.
func (p *planner) freeReader(t reflect.Type) (reader, error) {
	made := p.free[t]
	switch {
	case made == nil:
		made = new(reader)
		p.free[t] = made
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
	return nil, fmt.Errorf("JSON cannot be read into a %s", t)
}

// pointer reads null as nil, and anything else into a new value.
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

// custom leaves reading to encoding/json, which finds the type's own methods.
func (p *planner) custom(s *schema) reader {
	if s != nil && (s.restricted() || s.types == nil || slices.Contains(s.types, "integer")) {
		s = p.leave()
	}
	return func(d *wire.Decoder, v reflect.Value) {
		if s != nil && !s.admits(d) {
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

// kinds are the types of JSON Schema by what the decoder calls them.
var kinds = map[string]byte{"object": '{', "array": '[', "string": '"', "boolean": 't', "null": 'n', "number": '0'}

// admits fails where the next value is of none of the types.
func (s *schema) admits(d *wire.Decoder) bool {
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
