package typed

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/wire"
)

// applyTags applies the tags of a field to its schema.
func applyTags(sf reflect.StructField, s *schema) error {
	g := tags{tag: sf.Tag}
	g.describe(s)
	s.title, s.pattern, s.format = sf.Tag.Get("title"), sf.Tag.Get("pattern"), sf.Tag.Get("format")
	if deref(sf.Type) == reflect.TypeFor[time.Time]() && s.format == "" && s.given == nil {
		s.format = "date-time"
	}
	g.bound(s, "minimum", &s.minimum, &s.minimumText)
	g.bound(s, "maximum", &s.maximum, &s.maximumText)
	g.length("minLength", &s.minLength)
	g.length("maxLength", &s.maxLength)
	g.length("minItems", &s.minItems)
	g.length("maxItems", &s.maxItems)
	if header, has := sf.Tag.Lookup("header"); has {
		s.header = &header
	}
	s.unsupported = s.unsupported || s.pattern != ""
	g.enum(s)
	g.defaultValue(s)
	if s.given != nil && g.err == nil {
		s.annotate()
	}
	return g.err
}

// tags parses the tags of a field, and stores the first error.
type tags struct {
	tag reflect.StructTag
	err error
}

func (g *tags) fail(key string, err error) {
	if g.err == nil {
		g.err = fmt.Errorf("tag %s: %w", key, err)
	}
}

// describe sets the description. A text that begins like the tags of other packages is an error.
func (g *tags) describe(s *schema) {
	text, has := g.tag.Lookup("jsonschema")
	if !has {
		return
	}
	word, _, assigns := strings.Cut(text, "=")
	switch {
	case text == "":
		g.fail("jsonschema", errors.New("the description is empty"))
	case assigns && !strings.ContainsAny(word, " \t\n"):
		g.fail("jsonschema", fmt.Errorf("the tag is a description, which must not begin with %q; constraints have tags of their own, such as minimum:\"1\"", word+"="))
	}
	s.description = text
}

// length sets a limit of a length.
func (g *tags) length(key string, to **int) {
	text, has := g.tag.Lookup(key)
	if !has {
		return
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		g.fail(key, fmt.Errorf("%q is not an integer", text))
	}
	*to = &n
}

// bound sets a bound of a number.
func (g *tags) bound(s *schema, key string, to **big.Rat, value *json.RawMessage) {
	text, has := g.tag.Lookup(key)
	if !has {
		return
	}
	if !json.Valid([]byte(text)) || !isNumber(text) {
		g.fail(key, fmt.Errorf("%q is not a number", text))
		return
	}
	s.setBound(to, value, json.RawMessage(text))
}

// isNumber reports whether valid JSON is a number.
func isNumber(text string) bool { return text[0] == '-' || text[0] >= '0' && text[0] <= '9' }

// enum sets the values that a field, or each item of a list, may have.
func (g *tags) enum(s *schema) {
	text, has := g.tag.Lookup("enum")
	if !has {
		return
	}
	if s.items != nil && s.given != nil {
		g.fail("enum", errors.New("the type of the list has a schema of its own"))
		return
	}
	if s.items != nil {
		s = s.items
	}
	s.enum, s.enumText = nil, nil
	for word := range strings.SplitSeq(text, ",") {
		v, err := value(s, word)
		if err != nil {
			g.fail("enum", err)
		}
		s.enum, s.enumText = append(s.enum, word), append(s.enumText, v)
	}
	if s.nullable {
		s.enumText = append(s.enumText, []byte("null")) // a pointer may also be null
	}
	if s.nullable || !hasType(s, "string") {
		s.enum, s.unsupported = nil, true
	}
	if s.given != nil {
		s.annotate()
	}
}

// defaultValue sets the default of a field: the text itself for strings, and JSON for other
// types.
func (g *tags) defaultValue(s *schema) {
	text, has := g.tag.Lookup("default")
	if !has {
		return
	}
	v, err := value(s, text)
	if err != nil {
		g.fail("default", err)
		return
	}
	s.defaultValue = v
}

// value converts a text to a value of the schema's type.
func value(s *schema, text string) (json.RawMessage, error) {
	if hasType(s, "string") {
		return wire.AppendString(nil, text), nil
	}
	v, err := wire.Compact([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("%q is not valid JSON: %w", text, err)
	}
	return v, nil
}

func hasType(s *schema, name string) bool { return slices.Contains(s.types, name) }
