// Package jsontag parses the json tag of a struct field like encoding/json.
package jsontag

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"
)

// Tag is the parsed json tag of a field.
type Tag struct {
	// Name is the name of the field in JSON, or "" if the tag does not contain a name.
	Name string
	// Skipped means that JSON does not contain the field.
	Skipped bool
	// Optional means that the tag has the option omitempty or omitzero.
	Optional bool
	// Quoted means that the tag has the option string.
	Quoted bool
}

// Of parses the tag of a field. It returns an error if encoding/json does not
// accept the name in the tag. encoding/json then uses the name of the Go field.
func Of(f reflect.StructField) (tag Tag, err error) {
	text := f.Tag.Get("json")
	if text == "-" {
		return Tag{Skipped: true}, nil
	}
	name, rest, _ := strings.Cut(text, ",")
	if strings.ContainsFunc(name, reserved) {
		err = fmt.Errorf("invalid name in json tag %q", text)
	} else {
		tag.Name = name
	}
	for option := range strings.SplitSeq(rest, ",") {
		tag.Optional = tag.Optional || option == "omitempty" || option == "omitzero"
		tag.Quoted = tag.Quoted || option == "string"
	}
	return tag, err
}

// reserved reports whether a name must not contain the character r, for example a
// quote.
func reserved(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
}
