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

// Options say how a schema is made of a type.
type Options struct {
	// Input is for schemas of what comes in: pointers are optional, lists and
	// maps are never null. Otherwise it is of what encoding/json writes.
	Input bool
	// Open lets objects have members that their type does not know.
	Open bool
	// Schemas are those of types that have JSON of their own making.
	Schemas map[reflect.Type]json.RawMessage
}

// Infer makes the schema of a type. Beside the tags json and jsonschema, the
// latter for the description, fields may have title, default, enum, format,
// pattern, minimum, maximum, minLength, maxLength, minItems and maxItems, which
// are as in JSON Schema, with commas between the values of an enum, and header,
// which is "x-mcp-header".
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
			return nil, fmt.Errorf("the schema given for %s: %w", t, err)
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
		s.Type, s.Types = "object", nil // as a whole it is not null
	}
	if opts.Schemas[t] == nil && len(s.Types) == 2 && s.Types[0] == "null" {
		// The whole has one type or none: mcp-go reads no others, nor the list with them.
		s.Type, s.Types = s.Types[1], nil
		s = &jsonschema.Schema{AnyOf: []*jsonschema.Schema{{Type: "null"}, s}}
	}
	text, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("write the schema of %s: %w", t, err)
	}
	return wire.Compact(text)
}

var numberType = reflect.TypeFor[json.Number]()

// standard are the types of the standard library whose strings the library behind
// this package knows.
var standard = map[reflect.Type]bool{reflect.TypeFor[time.Time](): true, reflect.TypeFor[slog.Level](): true}

// findKnown finds the types that have JSON of their own making and gives them
// the schema that anything fits, or that of strings, and bytes, that of base64.
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

// refiner goes over a schema that was made of a type and adds what the tags say.
type refiner struct {
	opts  *Options
	known map[reflect.Type]*jsonschema.Schema
}

// refine goes over the schema of a type. Values that are not addressable are those
// of a map.
func (r *refiner) refine(t reflect.Type, s *jsonschema.Schema, addressable bool) error {
	addressable = addressable || t.Kind() == reflect.Pointer
	t = deref(t)
	if !r.opts.Input && !addressable && byPointer(t) {
		return fmt.Errorf("encoding/json does not find the methods of *%s in a map: want pointers to it there", t)
	}
	switch known := r.known[t]; {
	case known != nil && anything(known):
		s.Type, s.Types = "", nil // a pointer to anything would only be null
		return nil
	case known != nil || standard[t]:
		return nil
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		r.notNull(s)
		sayAnything(s.Items)
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

// notNull takes null from what a member may be, in input.
func (r *refiner) notNull(s *jsonschema.Schema) {
	if rest := slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" }); r.opts.Input && len(rest) == 1 {
		s.Type, s.Types = rest[0], nil
	}
}

// sayAnything keeps a schema that anything fits from being written as true,
// which is a schema but not one that every model's maker knows.
func sayAnything(s *jsonschema.Schema) {
	if anything(s) {
		s.Description = "any JSON value"
	}
}

// anything tells whether everything fits a schema.
func anything(s *jsonschema.Schema) bool {
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
			return fmt.Errorf("%s: several fields are called %q", t, name)
		}
	}
	for _, f := range fields {
		member := s.Properties[f.name]
		if err := r.refine(f.Type, member, addressable || behindPointer(t, f)); err != nil {
			return err
		}
		if _, has := f.Tag.Lookup("header"); has {
			r.notNull(member) // no header says null
		}
		if err := applyTags(f.StructField, member); err != nil {
			return fmt.Errorf("%s.%s: %w", t, f.Name, err)
		}
		sayAnything(member)
		if r.opts.Input && member.Default != nil || r.mayLack(t, f) {
			s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == f.name })
		}
	}
	return nil
}

// mayLack tells whether an object of a struct may lack a field that is not
// optional: a pointer in input, and in output what lies behind an embedded
// pointer, which may be nil.
func (r *refiner) mayLack(t reflect.Type, f field) bool {
	if r.opts.Input {
		return f.Type.Kind() == reflect.Pointer
	}
	return behindPointer(t, f)
}

// behindPointer tells whether a field is one of a struct that is embedded by a
// pointer.
func behindPointer(t reflect.Type, f field) bool {
	_, err := reflect.Zero(t).FieldByIndexErr(f.Index)
	return err != nil
}
