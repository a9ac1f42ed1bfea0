package typed

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	"github.com/mcpwright/mcp/runtime/internal/jsontag"
)

// field is a field of a struct, with its name in JSON.
type field struct {
	reflect.StructField
	name     string
	optional bool
	tagged   bool // the tag sets the name
}

// fieldsOf returns the fields of a struct that are part of its JSON, including promoted ones,
// according to the rules of encoding/json.
func fieldsOf(t reflect.Type) ([]field, error) {
	list, _, err := allFields(t)
	return list, err
}

// allFields is like fieldsOf. It also returns the fields with those that other fields hide.
func allFields(t reflect.Type) (list, all []field, err error) {
	embedded := false
	for _, sf := range promoted(t, nil, map[reflect.Type]bool{t: true}) {
		tag, err := jsontag.Of(sf)
		switch {
		case tag.Skipped && sf.Anonymous:
			return nil, nil, fmt.Errorf("embedded field %q cannot be omitted", sf.Name)
		case tag.Skipped || !sf.IsExported() && !sf.Anonymous:
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("field %q: %w", sf.Name, err)
		case sf.Anonymous:
			if deref(sf.Type).Kind() != reflect.Struct || tag.Name != "" {
				return nil, nil, fmt.Errorf("embedded field %q must be named, or be a struct without a json name", sf.Name)
			}
			embedded = true
			continue
		case tag.Quoted && quotable(sf.Type):
			return nil, nil, fmt.Errorf(`field %q: json tag option "string" is not supported`, sf.Name)
		}
		all = append(all, field{StructField: sf, name: cmp.Or(tag.Name, sf.Name), optional: tag.Optional, tagged: tag.Name != ""})
	}
	list = slices.DeleteFunc(slices.Clone(all), func(f field) bool { return hidden(f, all) })
	if !embedded {
		return list, all, nil
	}
	for _, f := range list {
		if !f.isVisible(t) {
			return nil, nil, fmt.Errorf("field %q, %q in JSON, is hidden by another field %[1]q", f.Name, f.name)
		}
	}
	return list, all, nil
}

// isVisible reports whether Go does not hide the field of a struct behind another one.
func (f *field) isVisible(t reflect.Type) bool {
	seen, ok := t.FieldByName(f.Name)
	return ok && slices.Equal(seen.Index, f.Index)
}

// ambiguous returns the name of several fields of a struct that encoding/json omits for that
// reason, or "".
func ambiguous(t reflect.Type, list, all []field) string {
	for _, f := range all {
		named := func(other field) bool { return other.name == f.name }
		if len(list) < len(all) && f.isVisible(t) && !slices.ContainsFunc(list, named) {
			return f.name
		}
	}
	return ""
}

// promoted returns the fields of a struct and of its embedded structs, including those that Go
// hides behind other fields of the same name.
func promoted(t reflect.Type, index []int, within map[reflect.Type]bool) (all []reflect.StructField) {
	for i := range t.NumField() {
		sf := t.Field(i)
		sf.Index = append(slices.Clone(index), i)
		all = append(all, sf)
		if inner := deref(sf.Type); sf.Anonymous && inner.Kind() == reflect.Struct && !within[inner] {
			within[inner] = true
			all = append(all, promoted(inner, sf.Index, within)...)
			delete(within, inner)
		}
	}
	return all
}

// hidden reports whether another field takes precedence over f in JSON, or conflicts with it:
// one that is less deeply embedded, or equally deep and tagged, or equal in both.
func hidden(f field, all []field) bool {
	for _, other := range all {
		if other.name != f.name || slices.Equal(other.Index, f.Index) {
			continue
		}
		switch {
		case len(other.Index) < len(f.Index):
			return true
		case len(other.Index) == len(f.Index) && (other.tagged || !f.tagged):
			return true
		}
	}
	return false
}

// quotable reports whether encoding/json supports the option "string" for the type of a field.
func quotable(t reflect.Type) bool {
	t = deref(t)
	plain := t.Kind() >= reflect.Bool && t.Kind() <= reflect.Float64 || t.Kind() == reflect.String
	return plain && !customJSON(t) && !customText(t)
}

func deref(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	marshaler       = reflect.TypeFor[json.Marshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
	textMarshaler   = reflect.TypeFor[encoding.TextMarshaler]()
)

// customJSON reports whether a type implements its own JSON encoding.
func customJSON(t reflect.Type) bool { return either(t, unmarshaler, marshaler) }

// customText reports whether a type implements its own text encoding.
func customText(t reflect.Type) bool { return either(t, textUnmarshaler, textMarshaler) }

// byPointer reports whether a type is encoded by a method with a pointer receiver.
func byPointer(t reflect.Type) bool {
	if has(t, marshaler) {
		return !t.Implements(marshaler)
	}
	return has(t, textMarshaler) && !t.Implements(textMarshaler)
}

// isBytes reports whether encoding/json encodes a type in base64: a slice of bytes, whatever
// its name and the name of its elements.
func isBytes(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8 {
		return false
	}
	return !has(t.Elem(), marshaler) && !has(t.Elem(), textMarshaler)
}

func either(t, a, b reflect.Type) bool { return has(t, a) || has(t, b) }

// has reports whether a type, or a pointer to it, implements an interface.
func has(t, methods reflect.Type) bool { return reflect.PointerTo(t).Implements(methods) }

// Text is a struct field of type string.
type Text struct {
	// Name is the name in JSON. Title and Description are set by the tags.
	Name, Title, Description string
	// Optional reports whether the field may be absent.
	Optional bool

	index []int
}

// Set sets the field of a settable struct.
func (f *Text) Set(v reflect.Value, text string) { place(v, f.index).SetString(text) }

// Strings returns the fields of a struct whose fields are all strings.
func Strings(t reflect.Type) ([]Text, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is not a struct", t)
	}
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	var list []Text
	for _, f := range fields {
		if f.Type.Kind() != reflect.String {
			return nil, fmt.Errorf("%s.%s has type %s, want string", t, f.Name, f.Type)
		}
		if err := checkReachable(t, f); err != nil {
			return nil, err
		}
		list = append(list, Text{
			Name: f.name, Title: f.Tag.Get("title"), Description: f.Tag.Get("jsonschema"),
			Optional: f.optional, index: f.Index,
		})
	}
	return list, nil
}

// checkReachable returns an error if [place] cannot set an embedded pointer on the path to a
// field.
func checkReachable(t reflect.Type, f field) error {
	for i := 1; i < len(f.Index); i++ {
		if on := t.FieldByIndex(f.Index[:i]); !on.IsExported() && on.Type.Kind() == reflect.Pointer {
			return fmt.Errorf("%s.%s: embedded pointer to unexported type %s", t, f.Name, on.Name)
		}
	}
	return nil
}

// place returns a field, and allocates the embedded structs on the path to it.
func place(v reflect.Value, index []int) reflect.Value {
	for _, i := range index {
		if v.Kind() == reflect.Pointer {
			if v.IsNil() {
				v.Set(reflect.New(v.Type().Elem()))
			}
			v = v.Elem()
		}
		v = v.Field(i)
	}
	return v
}
