package typed

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"time"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Options configure the inference of a schema.
type Options struct {
	// Input makes a schema for decoding: pointers are optional, and lists and maps are never
	// null. Otherwise the schema describes what encoding/json writes.
	Input bool
	// Open allows objects to have unknown members.
	Open bool
	// Schemas are the schemas of types with their own JSON encoding.
	Schemas map[reflect.Type]json.RawMessage
}

// Infer returns the schema of a type. In addition to the tags json and jsonschema, which
// describe a field, fields may have the tags title, default, enum, format, pattern, minimum,
// maximum, minLength, maxLength, minItems and maxItems. They are as in JSON Schema, with
// commas between the values of an enum. The tag header sets "x-mcp-header".
func Infer(t reflect.Type, opts *Options) (json.RawMessage, error) {
	s, err := infer(t, opts)
	if err != nil {
		return nil, err
	}
	return s.append(nil), nil
}

// InferPlan returns the schema of a type, and the plan for documents with this schema.
func InferPlan(t reflect.Type, opts *Options) (json.RawMessage, *Plan, error) {
	s, err := infer(deref(t), opts)
	if err != nil {
		return nil, nil, err
	}
	plan, err := newPlan(t, s)
	return s.append(nil), plan, err
}

func infer(t reflect.Type, opts *Options) (*schema, error) {
	for t, text := range opts.Schemas {
		if kind := wire.Kind(text); !json.Valid(text) || kind != '{' && kind != 't' && kind != 'f' {
			return nil, fmt.Errorf("schema of %s in TypeSchemas: %.100q is no schema", t, text)
		}
	}
	in := inference{opts, map[reflect.Type]bool{}}
	s, err := in.schema(t, true)
	if err != nil || opts.Schemas[t] != nil || !s.nullable {
		return s, err
	}
	// The root has one type or none, because mcp-go rejects a list with other types.
	if s.disallowNull(); t.Kind() == reflect.Map {
		return s, nil // the root is not null
	}
	return givenSchema(orNull(s.append(nil))), nil
}

// inference infers schemas.
type inference struct {
	opts   *Options
	within map[reflect.Type]bool // the named types that contain the current one
}

// schema returns the schema of a type. Only values of a map are not addressable.
func (in *inference) schema(t reflect.Type, addressable bool) (*schema, error) {
	pointer := t.Kind() == reflect.Pointer
	addressable = addressable || pointer
	t = deref(t)
	if !in.opts.Input && !addressable && byPointer(t) {
		return nil, fmt.Errorf("map values of type %s must be pointers: encoding/json does not call methods of *%[1]s", t)
	}
	if t.Name() != "" {
		if in.within[t] {
			return nil, fmt.Errorf("cycle: the type %s contains itself", t)
		}
		in.within[t] = true
		defer delete(in.within, t)
	}
	if s := in.special(t); s != nil {
		if pointer {
			s = s.allowNull()
		}
		return s, nil
	}
	s, err := in.ofKind(t, addressable)
	if err == nil && (pointer || !in.opts.Input && (t.Kind() == reflect.Slice || t.Kind() == reflect.Map)) {
		s = s.allowNull() // a nil slice or map is written as null
	}
	if err == nil && in.opts.Input && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
		s.disallowNull()
	}
	return s, err
}

var (
	rawType    = reflect.TypeFor[json.RawMessage]()
	numberType = reflect.TypeFor[json.Number]()
)

// standard contains the types of the standard library whose format is known.
var standard = map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[slog.Level](): true}

// special returns the schema of a type that is not encoded by its kind, or nil: types with their
// own JSON encoding accept any value, or strings if they encode to text; bytes are base64.
func (in *inference) special(t reflect.Type) *schema {
	switch given := in.opts.Schemas[t]; {
	case given != nil:
		return givenSchema(given)
	case t == numberType:
		return &schema{types: []string{"number"}}
	case standard[t]:
		return &schema{types: []string{"string"}}
	case t == rawType || customJSON(t):
		return &schema{}
	case in.opts.Input && has(t, textUnmarshaler), !in.opts.Input && has(t, textMarshaler):
		return &schema{types: []string{"string"}}
	case isBytes(t):
		s := &schema{types: []string{"string"}, encoding: "base64"}
		if !in.opts.Input {
			s.allowNull() // a nil slice is written as null
		}
		return s
	}
	return nil
}

// ofKind returns the schema of a type by its kind.
func (in *inference) ofKind(t reflect.Type, addressable bool) (*schema, error) {
	switch t.Kind() {
	case reflect.Bool:
		return &schema{types: []string{"boolean"}}, nil
	case reflect.String:
		return &schema{types: []string{"string"}}, nil
	case reflect.Int, reflect.Int64:
		return integers(math.MinInt64, math.MaxInt64), nil
	case reflect.Int8, reflect.Int16, reflect.Int32:
		most := int64(1)<<(t.Bits()-1) - 1
		return integers(-most-1, most), nil
	case reflect.Uint, reflect.Uint64, reflect.Uintptr:
		return integers(0, math.MaxInt64), nil
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		return integers(0, 1<<t.Bits()-1), nil
	case reflect.Float32, reflect.Float64:
		return &schema{types: []string{"number"}}, nil
	case reflect.Interface:
		return &schema{}, nil
	case reflect.Slice, reflect.Array:
		return in.list(t, addressable)
	case reflect.Map:
		if t.Key().Kind() != reflect.String && !t.Key().Implements(textMarshaler) {
			return nil, fmt.Errorf("keys of %s are not strings", t)
		}
		values, err := in.schema(t.Elem(), false)
		return &schema{types: []string{"object"}, additional: values}, err
	case reflect.Struct:
		return in.object(t, addressable)
	}
	return nil, fmt.Errorf("the type %s cannot be encoded as JSON", t)
}

// integers returns a schema of integers. The bounds of int64 are not written.
func integers(least, most int64) *schema {
	s := &schema{types: []string{"integer"}}
	if least != math.MinInt64 {
		s.setBound(&s.minimum, &s.minimumText, fmt.Append(nil, least))
	}
	if most != math.MaxInt64 {
		s.setBound(&s.maximum, &s.maximumText, fmt.Append(nil, most))
	}
	return s
}

func (in *inference) list(t reflect.Type, addressable bool) (*schema, error) {
	items, err := in.schema(t.Elem(), addressable || t.Kind() == reflect.Slice)
	if err != nil {
		return nil, err
	}
	items.describeAny()
	s := &schema{types: []string{"array"}, items: items}
	if t.Kind() == reflect.Array {
		s.minItems, s.maxItems = new(t.Len()), new(t.Len())
	}
	return s, nil
}

func (in *inference) object(t reflect.Type, addressable bool) (*schema, error) {
	fields, all, err := allFields(t)
	if err != nil {
		return nil, err
	}
	if name := ambiguous(t, fields, all); name != "" {
		return nil, fmt.Errorf("several fields have the name %q", name)
	}
	s := &schema{types: []string{"object"}, closed: !in.opts.Open, properties: make(map[string]*schema, len(fields))}
	for _, f := range fields {
		member, err := in.member(f, addressable || behindPointer(t, f))
		if err != nil {
			return nil, err
		}
		s.properties[f.name] = member
		s.order = append(s.order, f.name)
		if !f.optional && !(in.opts.Input && member.defaultValue != nil) && !in.mayBeAbsent(t, f) {
			s.required = append(s.required, f.name)
		}
	}
	return s, nil
}

// member returns the schema of a field.
func (in *inference) member(f field, addressable bool) (*schema, error) {
	s, err := in.schema(f.Type, addressable)
	if err != nil {
		return nil, fmt.Errorf("field %q: %w", f.Name, err)
	}
	if _, has := f.Tag.Lookup("header"); has && in.opts.Input {
		s.disallowNull() // a header cannot be null
	}
	if err = applyTags(f.StructField, s); err != nil {
		return nil, fmt.Errorf("field %q: %w", f.Name, err)
	}
	s.describeAny()
	return s, nil
}

// mayBeAbsent reports whether a field that is not optional may be absent: in input a pointer,
// and in output a field of an embedded pointer, which may be nil.
func (in *inference) mayBeAbsent(t reflect.Type, f field) bool {
	if in.opts.Input {
		return f.Type.Kind() == reflect.Pointer
	}
	return behindPointer(t, f)
}

// behindPointer reports whether a field is promoted through an embedded pointer.
func behindPointer(t reflect.Type, f field) bool {
	_, err := reflect.Zero(t).FieldByIndexErr(f.Index)
	return err != nil
}

// Conforms reports whether everything that encoding/json writes for a type is valid against
// the schema that [Infer] returns: no tag restricts a value, and no type has its own JSON
// encoding.
func Conforms(t reflect.Type, opts *Options) bool {
	t = deref(t)
	switch {
	case opts.Schemas[t] != nil:
		return false
	case standard[t]:
		return true
	case customJSON(t) || customText(t):
		return false
	case isBytes(t):
		return true
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return Conforms(t.Elem(), opts)
	case reflect.Struct:
		fields, err := fieldsOf(t)
		return err == nil && !slices.ContainsFunc(fields, func(f field) bool {
			return restricted(f) || !Conforms(f.Type, opts)
		})
	}
	return true
}

// restrictions are the tags that restrict the values of a type.
var restrictions = []string{"enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}

func restricted(f field) bool {
	return slices.ContainsFunc(restrictions, func(name string) bool {
		_, has := f.Tag.Lookup(name)
		return has
	})
}
