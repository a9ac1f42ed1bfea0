package typed

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

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
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		numberType:                         {Type: "number"},
	}
	for t, text := range opts.Schemas {
		known[t] = new(jsonschema.Schema)
		err := json.Unmarshal(text, known[t])
		if err == nil {
			err = exactNumbers(text)
		}
		if err != nil {
			return nil, fmt.Errorf("schema of %s in TypeSchemas: %w", t, err)
		}
	}
	findKnown(t, opts, known, map[reflect.Type]bool{})
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err != nil {
		return nil, err
	}
	r := refiner{opts: opts, known: known}
	if err := r.refine(t, s, true); err != nil {
		return nil, err
	}
	if t.Kind() == reflect.Map {
		s.Type, s.Types = "object", nil // the root is not null
	}
	if opts.Schemas[t] == nil && len(s.Types) == 2 && s.Types[0] == "null" {
		// The root has one type or none, because mcp-go rejects a list with other types.
		s.Type, s.Types = s.Types[1], nil
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, s}}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode schema of %s: %w", t, err)
	}
	return wire.Compact(text)
}

var numberType = reflect.TypeFor[json.Number]()

// standard contains the types of the standard library whose format the schema library
// supports.
var standard = map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[slog.Level](): true}

// findKnown adds the types that the schema library cannot infer: types with their own JSON
// encoding accept any value, or strings if they encode to text; bytes are base64.
func findKnown(t reflect.Type, opts *Options, known map[reflect.Type]*jsonschema.Schema, seen map[reflect.Type]bool) {
	if t = deref(t); seen[t] || known[t] != nil || standard[t] {
		return
	}
	seen[t] = true
	switch {
	case customJSON(t):
		known[t] = &jsonschema.Schema{}
		return
	case opts.Input && has(t, textUnmarshaler), !opts.Input && has(t, textMarshaler):
		known[t] = &jsonschema.Schema{Type: "string"}
		return
	case isBytes(t):
		known[t] = &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
		if !opts.Input { // a nil slice is written as null
			known[t].Type, known[t].Types = "", []string{"null", "string"}
		}
		return
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		findKnown(t.Elem(), opts, known, seen)
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			findKnown(f.Type, opts, known, seen)
		}
	}
}

// refiner changes a schema that was inferred from a type according to the tags.
type refiner struct {
	opts  *Options
	known map[reflect.Type]*jsonschema.Schema
}

// refine changes the schema of a type. Only values of a map are not addressable.
func (r *refiner) refine(t reflect.Type, s *jsonschema.Schema, addressable bool) error {
	addressable = addressable || t.Kind() == reflect.Pointer
	t = deref(t)
	if !r.opts.Input && !addressable && byPointer(t) {
		return fmt.Errorf("map values of type %s must be pointers: encoding/json does not call methods of *%[1]s", t)
	}
	switch known := r.known[t]; {
	case known != nil && acceptsAll(known):
		s.Type, s.Types = "", nil // the schema of a pointer would only accept null
		return nil
	case known != nil || standard[t]:
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		r.notNull(s)
		describeAny(s.Items)
		return r.refine(t.Elem(), s.Items, addressable || t.Kind() == reflect.Slice)
	case reflect.Map:
		if !r.opts.Input { // a nil map is written as null
			s.Type, s.Types = "", []string{"null", "object"}
		}
		r.notNull(s)
		return r.refine(t.Elem(), s.AdditionalProperties, false)
	case reflect.Struct:
		return r.object(t, s, addressable)
	}
	return nil
}

// notNull removes null from the types of a member, in input.
func (r *refiner) notNull(s *jsonschema.Schema) {
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); r.opts.Input && len(rest) == 1 {
		s.Type, s.Types = rest[0], nil
	}
}

// describeAny adds a description to a schema that accepts any value. Otherwise it is encoded
// as true, which some model providers reject.
func describeAny(s *jsonschema.Schema) {
	if acceptsAll(s) {
		s.Description = "any JSON value"
	}
}

// acceptsAll reports whether a schema accepts any value.
func acceptsAll(s *jsonschema.Schema) bool {
	if s.Type != "" || s.Types != nil {
		return false // encoding takes long
	}
	text, err := json.Marshal(s)
	return err == nil && string(text) == "true"
}

func (r *refiner) object(t reflect.Type, s *jsonschema.Schema, addressable bool) error {
	fields, err := fieldsOf(t)
	if err != nil {
		return err
	}
	if r.opts.Open {
		s.AdditionalProperties = nil
	}
	for name := range s.Properties {
		if !slices.ContainsFunc(fields, func(f field) bool { return f.name == name }) {
			return fmt.Errorf("%s: several fields have the name %q", t, name)
		}
	}
	for _, f := range fields {
		member := s.Properties[f.name]
		if err := r.refine(f.Type, member, addressable || behindPointer(t, f)); err != nil {
			return err
		}
		if _, has := f.Tag.Lookup("header"); has {
			r.notNull(member) // a header cannot be null
		}
		if err := applyTags(f.StructField, member); err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		describeAny(member)
		if r.opts.Input && member.Default != nil || r.mayBeAbsent(t, f) {
			s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == f.name })
		}
	}
	return nil
}

// mayBeAbsent reports whether a field that is not optional may be absent: in input a pointer,
// and in output a field of an embedded pointer, which may be nil.
func (r *refiner) mayBeAbsent(t reflect.Type, f field) bool {
	if r.opts.Input {
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
