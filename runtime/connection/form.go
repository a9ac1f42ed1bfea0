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

// FormOf makes a form of a flat struct, one field for each of its exported
// fields, in their order:
//
//	type booking struct {
//		Name   string    `json:"name" jsonschema:"Who is coming" minLength:"1"`
//		Guests int       `json:"guests" minimum:"1" maximum:"12" default:"2"`
//		Day    time.Time `json:"day"`
//		Menu   string    `json:"menu,omitempty" title:"Menu" enum:"fish,meat,neither"`
//	}
//
// Strings, numbers, booleans and times, types that read themselves from text,
// pointers to them, and lists of strings to choose from can be fields. The tag json
// names a field and, with omitempty or omitzero, makes it optional, as does a
// pointer; jsonschema describes it. The tags title, default, enum, format, minimum,
// maximum, minLength, maxLength, minItems and maxItems are those of JSON Schema,
// lists with commas; one that a form cannot have for the field, such as an enum of
// numbers, is an error. An integer has the limits of its type besides: 0 where it
// is unsigned, those of 8, 16 and 32 bits, and for all ±(2^53-1), as far as every
// client counts to the digit.
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
		return errors.New("forms are flat: a struct cannot be embedded")
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
		return fmt.Errorf("forms have no fields of type %s", sf.Type)
	case key != "":
		return fmt.Errorf("forms have no %s for a field of type %s", key, sf.Type)
	}
	form.Properties = append(form.Properties, mcp.FormField{Name: name, Value: field})
	if !tag.Optional {
		form.Required = append(form.Required, name)
	}
	return nil
}

// fieldTags reads the tags of a field. The first one that makes no sense is
// kept.
type fieldTags struct {
	tag  reflect.StructTag
	err  error
	read []string // the keys looked up
}

// ignored returns a tag that limits a field, and that the form's field has not
// taken over; empty if there is none.
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

// field makes a form's field of a Go type, nil where there is none for it.
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
			limit(field, t)
		}
		return field
	}
	return nil
}

var (
	unmarshaler     = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// isText tells whether a type is a string in JSON: by its kind, or because it reads
// itself from one.
func isText(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return t.Kind() == reflect.String || p.Implements(textUnmarshaler) && !p.Implements(unmarshaler)
}

// mostExact is the last of the integers that every program reads to the digit.
const mostExact = 1<<53 - 1

// limit keeps a field within the limits of an integer type.
func limit(field *mcp.NumberSchema, t reflect.Type) {
	least, most := 0.0, math.Ldexp(1, t.Bits())-1
	if t.Kind() <= reflect.Int64 {
		most = math.Ldexp(1, t.Bits()-1) - 1
		least = -most - 1
	}
	least, most = max(least, -mostExact), min(most, mostExact)
	if field.Minimum == nil || *field.Minimum < least {
		field.Minimum = &least
	}
	if field.Maximum == nil || *field.Maximum > most {
		field.Maximum = &most
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
