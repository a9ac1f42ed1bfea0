package typed

import (
	"reflect"
	"slices"
)

// Conforms tells whether whatever encoding/json writes of a type fits the schema
// that [Infer] makes of it: no tag restricts a value, and no type has JSON of its
// own making.
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

// restrictions are the tags that not every value of a type fits.
var restrictions = []string{"enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"}

func restricted(f field) bool {
	return slices.ContainsFunc(restrictions, func(name string) bool {
		_, has := f.Tag.Lookup(name)
		return has
	})
}
