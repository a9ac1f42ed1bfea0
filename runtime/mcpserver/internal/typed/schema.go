package typed

import (
	"encoding/json"
	"math"
	"math/big"
	"slices"
)

// schema contains the parts of a JSON schema that a plan can validate. Nil accepts any value.
type schema struct {
	types               []string // nil for all
	nullable            bool     // types contains null
	enum                []string // the allowed strings; nil for all
	minimum             *big.Rat
	maximum             *big.Rat
	minLength           *int
	maxLength           *int
	minItems            *int
	maxItems            *int
	items               *schema
	properties          map[string]*schema
	required            []string
	additional          *schema         // for members that are not in properties
	closed              bool            // only members in properties are allowed
	defaultValue        json.RawMessage // or nil
	unsupported         bool            // has keywords that a plan cannot validate
	unsupportedAnywhere bool            // here or in a part

	// These describe inferred schemas.
	given                    json.RawMessage // the text of a schema that was not inferred
	order                    []string        // the names of properties, in the order of the fields
	title, description       string
	enumText                 [][]byte // JSON
	minimumText, maximumText json.RawMessage
	pattern, format          string
	encoding                 string
	header                   *string
}

// parseSchema parses a schema.
func parseSchema(text json.RawMessage) *schema {
	var always bool
	if json.Unmarshal(text, &always) == nil {
		return &schema{unsupported: !always}
	}
	var keywords map[string]json.RawMessage
	s := new(schema)
	if json.Unmarshal(text, &keywords) != nil {
		s.unsupported = true
	}
	for name, value := range keywords {
		if !s.keyword(name, value) {
			s.unsupported = true
		}
	}
	if keywords["prefixItems"] != nil {
		s.items = nil // applies to the remaining items only
	}
	if keywords["patternProperties"] != nil {
		s.additional = nil // applies to the remaining members only
	}
	return s
}

// findUnsupported sets unsupportedAnywhere.
func (s *schema) findUnsupported() {
	s.unsupportedAnywhere = s.unsupported
	for _, part := range s.parts() {
		part.findUnsupported()
		s.unsupportedAnywhere = s.unsupportedAnywhere || part.unsupportedAnywhere
	}
}

// parts returns the schemas that are part of a schema.
func (s *schema) parts() []*schema {
	var parts []*schema
	for _, p := range s.properties {
		parts = append(parts, p)
	}
	for _, p := range []*schema{s.items, s.additional} {
		if p != nil {
			parts = append(parts, p)
		}
	}
	return parts
}

// keyword parses one keyword, and reports whether a plan can validate it.
func (s *schema) keyword(name string, value json.RawMessage) bool {
	switch name {
	case "title", "description", "examples", "deprecated", "readOnly", "writeOnly", "format",
		"contentEncoding", "contentMediaType", "x-mcp-header", "$comment":
		return true
	case "$schema":
		return string(value) == `"https://json-schema.org/draft/2020-12/schema"`
	case "type":
		return s.readTypes(value)
	case "enum":
		return s.readEnum(value)
	case "minimum":
		return readBound(value, &s.minimum)
	case "maximum":
		return readBound(value, &s.maximum)
	case "minLength":
		return json.Unmarshal(value, &s.minLength) == nil
	case "maxLength":
		return json.Unmarshal(value, &s.maxLength) == nil
	case "minItems":
		return json.Unmarshal(value, &s.minItems) == nil
	case "maxItems":
		return json.Unmarshal(value, &s.maxItems) == nil
	case "items":
		s.items = parseSchema(value)
		return true
	case "properties":
		return s.readProperties(value)
	case "required":
		return json.Unmarshal(value, &s.required) == nil
	case "additionalProperties":
		s.closed = string(value) == "false"
		if !s.closed {
			s.additional = parseSchema(value)
		}
		return true
	case "default":
		s.defaultValue = value
		return true
	}
	return false
}

func (s *schema) readTypes(value json.RawMessage) bool {
	var one string
	if json.Unmarshal(value, &one) == nil {
		s.types = []string{one}
	} else if json.Unmarshal(value, &s.types) != nil || s.types == nil {
		return false
	}
	s.nullable = slices.Contains(s.types, "null")
	return true
}

// readEnum parses a list of strings. It rejects null, which is not the empty string. An empty
// list accepts any value, as in [validate.Schema].
func (s *schema) readEnum(value json.RawMessage) bool {
	var list []*string
	if json.Unmarshal(value, &list) != nil || list == nil || slices.Contains(list, nil) {
		return false
	}
	for _, text := range list {
		s.enum = append(s.enum, *text)
	}
	return true
}

func (s *schema) readProperties(value json.RawMessage) bool {
	var list map[string]json.RawMessage
	if json.Unmarshal(value, &list) != nil {
		return false
	}
	s.properties = make(map[string]*schema, len(list))
	for name, text := range list {
		s.properties[name] = parseSchema(text)
	}
	return true
}

var (
	leastInteger = new(big.Rat).SetInt64(math.MinInt64)
	mostInteger  = new(big.Rat).SetInt64(math.MaxInt64)
)

// readBound parses a bound. It rejects bounds outside of the range of int64.
func readBound(value json.RawMessage, to **big.Rat) bool {
	bound, ok := new(big.Rat).SetString(string(value))
	if !ok || bound.Cmp(leastInteger) < 0 || bound.Cmp(mostInteger) > 0 {
		return false
	}
	*to = bound
	return true
}

// only reports whether a value must have one type, or be null.
func (s *schema) only(name string) bool {
	rest := slices.DeleteFunc(slices.Clone(s.types), func(t string) bool { return t == "null" })
	return len(rest) == 1 && rest[0] == name
}

// acceptsAny reports whether a schema has no effect apart from annotations.
func (s *schema) acceptsAny() bool {
	return s == nil || s.types == nil && !s.isRestricted()
}

// isRestricted reports whether a schema has keywords other than type.
func (s *schema) isRestricted() bool {
	return s.enum != nil || s.minimum != nil || s.maximum != nil || s.minLength != nil || s.maxLength != nil ||
		s.minItems != nil || s.maxItems != nil || s.items != nil || s.properties != nil || s.required != nil ||
		s.closed || s.additional != nil || s.unsupported
}
