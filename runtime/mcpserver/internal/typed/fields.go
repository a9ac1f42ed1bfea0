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

// field is a field of a struct as JSON sees it.
type field struct {
	reflect.StructField
	name     string
	optional bool
	tagged   bool // the name is the tag's
}

// fieldsOf lists the fields of a struct that JSON has, those of embedded structs
// among them, where encoding/json would have them.
func fieldsOf(t reflect.Type) ([]field, error) {
	var all []field
	for _, sf := range promoted(t, nil, map[reflect.Type]bool{t: true}) {
		tag, err := jsontag.Of(sf)
		switch {
		case tag.Skipped && sf.Anonymous:
			return nil, fmt.Errorf("%s: the embedded %s cannot be left out", t, sf.Name)
		case tag.Skipped || !sf.IsExported() && !sf.Anonymous:
			continue
		case err != nil:
			return nil, fmt.Errorf("%s.%s: %w", t, sf.Name, err)
		case sf.Anonymous:
			if deref(sf.Type).Kind() != reflect.Struct || tag.Name != "" {
				return nil, fmt.Errorf("%s: the embedded %s: give the field a name, or embed a struct without one", t, sf.Name)
			}
			continue
		case tag.Quoted && quotable(sf.Type):
			return nil, fmt.Errorf(`%s.%s: want a json tag without the option "string"`, t, sf.Name)
		}
		all = append(all, field{StructField: sf, name: cmp.Or(tag.Name, sf.Name), optional: tag.Optional, tagged: tag.Name != ""})
	}
	list := slices.DeleteFunc(slices.Clone(all), func(f field) bool { return hidden(f, all) })
	for _, f := range list {
		if seen, ok := t.FieldByName(f.Name); !ok || !slices.Equal(seen.Index, f.Index) {
			return nil, fmt.Errorf("%s: the field %s that JSON calls %q is hidden by another field %[2]s: rename one of them", t, f.Name, f.name)
		}
	}
	return list, nil
}

// promoted lists the fields of a struct and of those that it embeds, in any depth
// and also where Go hides them behind others of their name.
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

// hidden tells whether another field has the name: one that lies less deep, or
// as deep and tagged, or with equal rights, in which case nobody has it.
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

// quotable tells whether encoding/json heeds the option "string" of a field of
// the type.
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

// customJSON tells whether a type has JSON of its own making.
func customJSON(t reflect.Type) bool { return either(t, unmarshaler, marshaler) }

// customText tells whether a type is a string in JSON by its own making.
func customText(t reflect.Type) bool { return either(t, textUnmarshaler, textMarshaler) }

// byPointer tells whether a type has JSON of its own making only where a pointer
// to the value can be taken.
func byPointer(t reflect.Type) bool {
	if has(t, marshaler) {
		return !t.Implements(marshaler)
	}
	return has(t, textMarshaler) && !t.Implements(textMarshaler)
}

// isBytes tells whether encoding/json writes a type in base64: a slice of bytes,
// whatever the names of the two.
func isBytes(t reflect.Type) bool {
	if t.Kind() != reflect.Slice || t.Elem().Kind() != reflect.Uint8 {
		return false
	}
	return !has(t.Elem(), marshaler) && !has(t.Elem(), textMarshaler)
}

func either(t, a, b reflect.Type) bool { return has(t, a) || has(t, b) }

// has tells whether a type, or a pointer to one, has the methods of an interface.
func has(t, methods reflect.Type) bool { return reflect.PointerTo(t).Implements(methods) }
