// Package jsontag reads the tag json of a field as encoding/json does.
package jsontag

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// Tag is what the tag json says of a field.
type Tag struct {
	// Name is the field's name in JSON, empty where the tag has none.
	Name string
	// Skipped tells that JSON does not have the field.
	Skipped bool
	// Optional is the option omitempty or omitzero, Quoted the option string.
	Optional, Quoted bool
}

// Of reads the tag of a field. The error is a name that encoding/json does not
// take: it calls the field by its own name then.
func Of(f reflect.StructField) (tag Tag, err error) {
	text := f.Tag.Get("json")
	if text == "-" {
		return Tag{Skipped: true}, nil
	}
	name, rest, _ := strings.Cut(text, ",")
	if strings.ContainsFunc(name, reserved) {
		err = fmt.Errorf("the json tag %q: encoding/json takes no such name", text)
	} else {
		tag.Name = name
	}
	for option := range strings.SplitSeq(rest, ",") {
		tag.Optional = tag.Optional || option == "omitempty" || option == "omitzero"
		tag.Quoted = tag.Quoted || option == "string"
	}
	return tag, err
}

// reserved tells whether a name cannot have a character, such as a quote.
func reserved(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
}
