package connection

import (
	"cmp"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/jsontag"
)

// FormOf returns a form for a flat struct. The form has a field for each exported field of the
// struct, in their order:
//
//	type booking struct {
//		Name   string    `json:"name" jsonschema:"Who is coming" minLength:"1"`
//		Guests int       `json:"guests" minimum:"1" maximum:"12" default:"2"`
//		Day    time.Time `json:"day"`
//		Menu   string    `json:"menu,omitempty" title:"Menu" enum:"fish,meat,neither"`
//	}
//
// A field can be a string, a number, a boolean, a [time.Time], a type that implements
// [encoding.TextUnmarshaler], a pointer to one of these, or a list of strings with options. The
// tag json contains the name. A pointer is optional, and so is a field with omitempty or
// omitzero. The tag jsonschema contains the description. The tags title, default, enum, format,
// minimum, maximum, minLength, maxLength, minItems and maxItems have the meaning that they have
// in JSON Schema; lists are separated by commas. A tag that the form's field cannot have, such
// as enum for a number, is an error.
//
// An integer also has the limits of its type: the minimum 0 if it is unsigned, the limits of 8,
// 16 and 32 bits, and for all types ±(2^53-1), because larger integers are not exact in every
// client.
func FormOf[T any]() (mcp.RequestedSchema, error) {
	t := reflect.TypeFor[T]()
	if t.Kind() != reflect.Struct {
		return mcp.RequestedSchema{}, fmt.Errorf("form of %s: want a struct", t)
	}
	form := mcp.RequestedSchema{Properties: []mcp.FormField{}}
	for i := range t.NumField() {
		if err := addField(&form, t.Field(i)); err != nil {
			return mcp.RequestedSchema{}, fmt.Errorf("form of %s: field %q: %w", t, t.Field(i).Name, err)
		}
	}
	if err := CheckForm(&form); err != nil {
		return mcp.RequestedSchema{}, fmt.Errorf("form of %s: %w", t, err)
	}
	return form, nil
}

func addField(form *mcp.RequestedSchema, sf reflect.StructField) error {
	tag, err := jsontag.Of(sf)
	switch {
	case tag.Skipped || !sf.IsExported() && !sf.Anonymous:
		return nil
	case sf.Anonymous:
		return errors.New("embedded structs are not allowed in forms")
	case err != nil:
		return err
	case tag.Quoted:
		return errors.New(`want a json tag without the option "string"`)
	}
	t, name := sf.Type, cmp.Or(tag.Name, sf.Name)
	if t.Kind() == reflect.Pointer {
		t, tag.Optional = t.Elem(), true
	}
	tags := fieldTags{tag: sf.Tag}
	field := tags.field(t)
	switch key := tags.ignored(); {
	case tags.err != nil:
		return tags.err
	case field == nil:
		return fmt.Errorf("type %s not allowed in forms", sf.Type)
	case key != "":
		return fmt.Errorf("tag %s not allowed for a field of type %s", key, sf.Type)
	}
	form.Properties = append(form.Properties, mcp.FormField{Name: name, Schema: field})
	if !tag.Optional {
		form.Required = append(form.Required, name)
	}
	return nil
}

// fieldTags reads the tags of a field. It stores the first error.
type fieldTags struct {
	tag  reflect.StructTag
	err  error
	read []string // the keys looked up
}

// ignored returns the key of a tag that limits the field and was not looked up, or the empty
// string.
func (g *fieldTags) ignored() string {
	for _, key := range []string{"enum", "pattern", "minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"} {
		if _, has := g.tag.Lookup(key); has && !slices.Contains(g.read, key) {
			return key
		}
	}
	return ""
}

func (g *fieldTags) lookup(key string) (string, bool) {
	g.read = append(g.read, key)
	return g.tag.Lookup(key)
}

// field returns the field of a form for a Go type, or nil if forms do not have such fields.
func (g *fieldTags) field(t reflect.Type) mcp.PrimitiveSchemaDefinition {
	title, description := g.tag.Get("title"), g.tag.Get("jsonschema")
	switch {
	case t == reflect.TypeFor[time.Time]():
		return &mcp.StringSchema{
			Title: title, Description: description, Default: g.text("default"), Format: mcp.StringFormatDateTime,
		}
	case !isText(t) && reflect.PointerTo(t).Implements(unmarshaler):
		return nil
	case t.Kind() == reflect.Bool && !isText(t):
		return &mcp.BooleanSchema{Title: title, Description: description, Default: parsed(g, "default", strconv.ParseBool)}
	case isText(t) && g.list("enum") != nil:
		return &mcp.UntitledSingleSelectEnumSchema{
			Title: title, Description: description, Default: g.text("default"), Enum: g.list("enum"),
		}
	case isText(t):
		return &mcp.StringSchema{
			Title: title, Description: description, Default: g.text("default"),
			Format:    mcp.StringFormat(g.tag.Get("format")),
			MinLength: parsed(g, "minLength", parseInt), MaxLength: parsed(g, "maxLength", parseInt),
		}
	case t.Kind() == reflect.Slice && isText(t.Elem()) && g.list("enum") != nil:
		return &mcp.UntitledMultiSelectEnumSchema{
			Title: title, Description: description, Default: g.list("default"),
			Items:    mcp.UntitledMultiSelectEnumSchemaItems{Enum: g.list("enum")},
			MinItems: parsed(g, "minItems", parseInt), MaxItems: parsed(g, "maxItems", parseInt),
		}
	}
	if kind := numberType(t); kind != "" {
		field := &mcp.NumberSchema{
			Type: kind, Title: title, Description: description, Default: parsed(g, "default", parseFloat),
			Minimum: parsed(g, "minimum", parseFloat), Maximum: parsed(g, "maximum", parseFloat),
		}
		if kind == mcp.NumberTypeInteger {
			restrict(field, t)
		}
		return field
	}
	return nil
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isText reports whether the JSON of a type is a string, because of its kind or because it
// implements [encoding.TextUnmarshaler].
func isText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() == reflect.String || p.Implements(textUnmarshaler) && !p.Implements(unmarshaler)
}

// maxExact is the largest integer that is exact in every program.
const maxExact = 1<<53 - 1

// restrict restricts a field to the range of an integer type.
func restrict(field *mcp.NumberSchema, t reflect.Type) {
	minimum, maximum := 0.0, math.Ldexp(1, t.Bits())-1
	if t.Kind() <= reflect.Int64 {
		maximum = math.Ldexp(1, t.Bits()-1) - 1
		minimum = -maximum - 1
	}
	minimum, maximum = max(minimum, -maxExact), min(maximum, maxExact)
	if field.Minimum == nil || *field.Minimum < minimum {
		field.Minimum = &minimum
	}
	if field.Maximum == nil || *field.Maximum > maximum {
		field.Maximum = &maximum
	}
}

func numberType(t reflect.Type) mcp.NumberType {
	switch {
	case t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64:
		return mcp.NumberTypeNumber
	case reflect.Int <= t.Kind() && t.Kind() <= reflect.Uint64:
		return mcp.NumberTypeInteger
	}
	return ""
}

func (g *fieldTags) text(key string) *string {
	if text, has := g.lookup(key); has {
		return &text
	}
	return nil
}

func (g *fieldTags) list(key string) []string {
	if text, has := g.lookup(key); has {
		return strings.Split(text, ",")
	}
	return nil
}

func parsed[T any](g *fieldTags, key string, parse func(string) (T, error)) *T {
	text, has := g.lookup(key)
	if !has {
		return nil
	}
	v, err := parse(text)
	if err != nil && g.err == nil {
		g.err = fmt.Errorf("tag %s: %w", key, err)
	}
	return &v
}

func parseInt(text string) (int64, error)     { return strconv.ParseInt(text, 10, 64) }
func parseFloat(text string) (float64, error) { return strconv.ParseFloat(text, 64) }
