package typed

import (
	"fmt"
	"reflect"
)

// Text is a string field of a struct.
type Text struct {
	// Name is its name in JSON; Title and Description are what the tags say.
	Name, Title, Description string
	// Optional tells whether it may be absent.
	Optional bool

	index []int
}

// Set sets the field of a struct that can be set.
func (f *Text) Set(v reflect.Value, text string) { place(v, f.index).SetString(text) }

// Strings lists the fields of a struct that has nothing but strings.
func Strings(t reflect.Type) ([]Text, error) {
	if t.Kind() != reflect.Struct {
		return nil, fmt.Errorf("%s is no struct", t)
	}
	fields, err := fieldsOf(t)
	if err != nil {
		return nil, err
	}
	var list []Text
	for _, f := range fields {
		if f.Type.Kind() != reflect.String {
			return nil, fmt.Errorf("%s.%s is a %s and no string", t, f.Name, f.Type)
		}
		if err := reachable(t, f); err != nil {
			return nil, err
		}
		list = append(list, Text{
			Name: f.name, Title: f.Tag.Get("title"), Description: f.Tag.Get("jsonschema"),
			Optional: f.optional, index: f.Index,
		})
	}
	return list, nil
}
