package typed

import (
	"bytes"
	"encoding/json"
	"math/big"
	"slices"
	"strconv"

	"github.com/mcpwright/mcp/runtime/wire"
)

// givenSchema returns a schema that was not inferred.
func givenSchema(text json.RawMessage) *schema {
	if compact, err := wire.Compact(text); err == nil {
		text = compact
	}
	if string(text) == "{}" || string(text) == "true" {
		return &schema{}
	}
	s := parseSchema(text)
	s.given = text
	return s
}

// orNull returns the text of a schema that also accepts null.
func orNull(text json.RawMessage) json.RawMessage {
	return slices.Concat(json.RawMessage(`{"anyOf":[{"type":"null"},`), text, json.RawMessage("]}"))
}

// allowNull returns the schema with the type null, or another one in its place.
func (s *schema) allowNull() *schema {
	switch {
	case s.nullable || s.acceptsAny() && s.given == nil:
		return s
	case s.given != nil && s.types == nil:
		return givenSchema(orNull(s.given))
	}
	s.types = append([]string{"null"}, s.types...)
	s.nullable = true
	if s.given != nil {
		return givenSchema(withMember(s.given, "type", s.appendTypes(nil)))
	}
	return s
}

// disallowNull removes the type null from an inferred schema with another type.
func (s *schema) disallowNull() {
	if s.nullable && len(s.types) == 2 && s.given == nil {
		s.types, s.nullable = s.types[1:], false
	}
}

// describeAny adds a description to a schema that accepts any value. Otherwise it is encoded
// as true, which some model providers reject.
func (s *schema) describeAny() {
	if s.given == nil && s.acceptsAny() && len(s.tagged()) == 0 {
		s.description = "any JSON value"
	}
}

// setBound sets a bound and its text, which is JSON.
func (s *schema) setBound(bound **big.Rat, text *json.RawMessage, value json.RawMessage) {
	*text = value
	if !readBound(value, bound) {
		s.unsupported = true
	}
}

// withMember returns a JSON object with a member in place of one with the same name, or at the end.
func withMember(object json.RawMessage, name string, value json.RawMessage) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(object))
	if _, err := d.Token(); err != nil {
		return object
	}
	changed, found := []byte("{"), false
	add := func(name string, value json.RawMessage) {
		if len(changed) > 1 {
			changed = append(changed, ',')
		}
		changed = append(append(wire.AppendString(changed, name), ':'), value...)
	}
	for d.More() {
		key, err := d.Token()
		old, isName := key.(string)
		var kept json.RawMessage
		if err != nil || !isName || d.Decode(&kept) != nil {
			return object
		}
		if old == name {
			kept, found = value, true
		}
		add(old, kept)
	}
	if !found {
		add(name, value)
	}
	return append(changed, '}')
}

// annotate adds the keywords that tags have set to a schema that was not inferred.
func (s *schema) annotate() {
	text := s.given
	for _, k := range s.tagged() {
		text = withMember(text, k.name, k.value)
	}
	*s = *givenSchema(text)
}

// keyword is a member of a schema.
type keyword struct {
	name  string
	value json.RawMessage
}

// tagged returns the keywords that tags can set.
func (s *schema) tagged() (list []keyword) {
	add := func(name string, value json.RawMessage) {
		if value != nil {
			list = append(list, keyword{name, value})
		}
	}
	text := func(name, value string) {
		if value != "" {
			add(name, wire.AppendString(nil, value))
		}
	}
	number := func(name string, value *int) {
		if value != nil {
			add(name, strconv.AppendInt(nil, int64(*value), 10))
		}
	}
	text("title", s.title)
	text("description", s.description)
	add("default", s.defaultValue)
	if s.enumText != nil {
		add("enum", slices.Concat([]byte("["), bytes.Join(s.enumText, []byte(",")), []byte("]")))
	}
	add("minimum", s.minimumText)
	add("maximum", s.maximumText)
	number("minLength", s.minLength)
	number("maxLength", s.maxLength)
	text("pattern", s.pattern)
	number("minItems", s.minItems)
	number("maxItems", s.maxItems)
	text("contentEncoding", s.encoding)
	text("format", s.format)
	if s.header != nil {
		add("x-mcp-header", wire.AppendString(nil, *s.header))
	}
	return list
}

// append appends the text of the schema.
func (s *schema) append(b []byte) []byte {
	if s.given != nil {
		return append(b, s.given...)
	}
	start := len(b)
	name := func(name string) { b = append(append(append(b, `,"`...), name...), `":`...) }
	if s.types != nil {
		name("type")
		b = s.appendTypes(b)
	}
	if s.order != nil {
		name("properties")
		from := len(b)
		for _, property := range s.order {
			b = append(wire.AppendString(append(b, ','), property), ':')
			b = s.properties[property].append(b)
		}
		b = wire.CloseObject(b, from)
	}
	if s.items != nil {
		name("items")
		b = s.items.append(b)
	}
	for _, k := range s.tagged() {
		name(k.name)
		b = append(b, k.value...)
	}
	if s.required != nil {
		name("required")
		b = wire.AppendStrings(b, s.required)
	}
	switch {
	case s.closed:
		name("additionalProperties")
		b = append(b, "false"...)
	case s.additional != nil:
		name("additionalProperties")
		b = s.additional.append(b)
	}
	if len(b) == start {
		return append(b, "true"...)
	}
	return wire.CloseObject(b, start)
}

// appendTypes appends the value of the keyword type.
func (s *schema) appendTypes(b []byte) []byte {
	if len(s.types) == 1 {
		return wire.AppendString(b, s.types[0])
	}
	return wire.AppendStrings(b, s.types)
}
