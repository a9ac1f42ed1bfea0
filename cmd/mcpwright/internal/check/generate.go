package check

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// errRemote is returned for a reference to another document, which is never loaded.
var errRemote = errors.New("the schema refers to another document")

// compile compiles a schema. Without $schema, its dialect is 2020-12.
func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.LoadURL = func(string) (io.ReadCloser, error) { return nil, errRemote }
	if err := c.AddResource("mem:schema", strings.NewReader(string(schema))); err != nil {
		return nil, err
	}
	return c.Compile("mem:schema")
}

// validateBy validates a value by a schema, and returns the first problem with its
// pointer, or "". A schema that does not compile allows everything; another case reports
// it.
func validateBy(schema, value json.RawMessage) (problem, pointer string) {
	compiled, err := compile(schema)
	if err != nil {
		return "", ""
	}
	var v any
	d := json.NewDecoder(strings.NewReader(string(value)))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		return err.Error(), ""
	}
	err = compiled.Validate(v)
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "", ""
	}
	for len(invalid.Causes) > 0 {
		invalid = invalid.Causes[0]
	}
	return invalid.Message, invalid.InstanceLocation
}

// A shape is a way to fill in a schema.
type shape uint8

const (
	required shape = iota // only required members
	all                   // all members
	lowest                // all members, with small values
	highest               // all members, with large values
)

// generate returns arguments that a schema allows: only the required ones, all, and all
// with values at the limits. It returns none if it cannot make arguments.
func generate(schema json.RawMessage) []map[string]any {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	var list []map[string]any
	for _, s := range []shape{required, all, lowest, highest} {
		g := generator{root: root, shape: s}
		value, ok := g.value(root, 0).(map[string]any)
		if !ok {
			value = map[string]any{}
		}
		if problem, _ := validateBy(schema, marshal(value)); problem != "" {
			continue
		}
		if !slices.ContainsFunc(list, func(other map[string]any) bool { return reflect.DeepEqual(other, value) }) {
			list = append(list, value)
		}
	}
	return list
}

// invalid returns arguments that a schema does not allow, or nil if there are none.
func invalid(schema json.RawMessage) map[string]any {
	var root map[string]any
	if json.Unmarshal(schema, &root) != nil {
		return nil
	}
	g := generator{root: root, shape: required}
	arguments, ok := g.value(root, 0).(map[string]any)
	if !ok {
		return nil
	}
	for _, name := range names(root["required"]) {
		delete(arguments, name)
		if problem, _ := validateBy(schema, marshal(arguments)); problem != "" {
			return arguments
		}
	}
	return nil
}

// generator makes values for a schema.
type generator struct {
	root  map[string]any
	shape shape
}

// maxDepth limits the depth of a value.
const maxDepth = 8

// value returns a value for a schema. The value may be invalid, if the schema has
// keywords that the generator does not use.
func (g generator) value(schema any, depth int) any {
	s, ok := schema.(map[string]any)
	if !ok || depth > maxDepth {
		return nil
	}
	s = g.resolve(s, 0)
	for _, name := range []string{"const", "default"} {
		if v, ok := s[name]; ok {
			return v
		}
	}
	for _, name := range []string{"enum", "examples"} {
		if list, _ := s[name].([]any); len(list) > 0 {
			if g.shape == highest {
				return list[len(list)-1]
			}
			return list[0]
		}
	}
	switch g.kind(s) {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "string":
		return g.text(s)
	case "integer":
		return g.number(s, 1)
	case "number":
		return g.number(s, 0.5)
	case "boolean":
		return g.shape == highest
	}
	return nil
}

// resolve follows references and takes the first alternative of a union.
func (g generator) resolve(s map[string]any, depth int) map[string]any {
	if depth > maxDepth {
		return s
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, ok := g.lookup(ref).(map[string]any); ok {
			return g.resolve(target, depth+1)
		}
	}
	merged := map[string]any{}
	for _, name := range []string{"anyOf", "oneOf"} {
		if list, _ := s[name].([]any); len(list) > 0 {
			if first, ok := list[0].(map[string]any); ok {
				merge(merged, g.resolve(first, depth+1))
			}
		}
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		if p, ok := part.(map[string]any); ok {
			merge(merged, g.resolve(p, depth+1))
		}
	}
	merge(merged, s)
	return merged
}

// merge adds the members of a schema to another one.
func merge(to, from map[string]any) {
	for name, value := range from {
		old, both := to[name].(map[string]any)
		if more, ok := value.(map[string]any); ok && both && name == "properties" {
			joined := maps.Clone(old) // the schema itself stays as it is
			merge(joined, more)
			to[name] = joined
			continue
		}
		if old, ok := to[name].([]any); ok && name == "required" {
			more, _ := value.([]any)
			to[name] = append(slices.Clone(old), more...)
			continue
		}
		to[name] = value
	}
}

// lookup returns the value of a local reference, or nil.
func (g generator) lookup(ref string) any {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	var v any = g.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if name == "" {
			continue
		}
		members, _ := v.(map[string]any)
		v = members[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
	}
	return v
}

// kind returns the type of a schema's values.
func (g generator) kind(s map[string]any) string {
	switch t := s["type"].(type) {
	case string:
		return t
	case []any:
		for _, one := range t {
			if name, _ := one.(string); name != "null" {
				return name
			}
		}
	}
	for _, hint := range []struct{ keyword, kind string }{{"properties", "object"}, {"required", "object"}, {"items", "array"}, {"pattern", "string"}, {"minimum", "number"}} {
		if _, ok := s[hint.keyword]; ok {
			return hint.kind
		}
	}
	return "string"
}

func names(v any) (list []string) {
	values, _ := v.([]any)
	for _, value := range values {
		if name, ok := value.(string); ok {
			list = append(list, name)
		}
	}
	return list
}

func (g generator) object(s map[string]any, depth int) map[string]any {
	value := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	needed := names(s["required"])
	for name, p := range properties {
		if slices.Contains(needed, name) || g.shape != required && depth < 3 {
			if v := g.value(p, depth+1); v != nil {
				value[name] = v
			}
		}
	}
	for _, name := range needed {
		if _, ok := value[name]; !ok && properties[name] == nil {
			value[name] = "test"
		}
	}
	return value
}

func (g generator) array(s map[string]any, depth int) []any {
	count := limit(s, "minItems", 0)
	if g.shape == all {
		count = max(count, 1)
	} else if g.shape == highest {
		count = max(count, min(limit(s, "maxItems", 3), 10))
	}
	list := make([]any, 0, int(count))
	for range int(min(count, 100)) {
		if v := g.value(s["items"], depth+1); v != nil {
			list = append(list, v)
		} else {
			list = append(list, "test")
		}
	}
	return list
}

// formats are examples of the formats of strings.
var formats = map[string]string{
	"date-time": "2026-07-28T12:00:00Z", "date": "2026-07-28", "time": "12:00:00Z", "email": "test@example.com",
	"uri": "https://example.com/test", "uri-reference": "/test", "uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8",
	"hostname": "example.com", "ipv4": "127.0.0.1", "ipv6": "::1", "regex": "test", "duration": "PT1S",
}

func (g generator) text(s map[string]any) string {
	if format, ok := formats[fmt.Sprint(s["format"])]; ok {
		return format
	}
	value := "test"
	low, high := limit(s, "minLength", 0), limit(s, "maxLength", 1000)
	if _, ok := s["pattern"]; !ok {
		switch g.shape {
		case lowest:
			value = ""
		case highest:
			value = strings.Repeat("x", int(min(high, 1000)))
		}
	}
	if n := int(min(low, 10000)) - len(value); n > 0 {
		value += strings.Repeat("x", n)
	}
	return value[:min(len(value), int(min(high, 10000)))]
}

// number returns a number within the limits. The step is 1 for integers.
func (g generator) number(s map[string]any, step float64) any {
	low, high := limit(s, "minimum", math.Inf(-1)), limit(s, "maximum", math.Inf(1))
	low = max(low, limit(s, "exclusiveMinimum", math.Inf(-1))+step)
	high = min(high, limit(s, "exclusiveMaximum", math.Inf(1))-step)
	value := min(max(1, low), high)
	switch {
	case g.shape == lowest && !math.IsInf(low, 0):
		value = low
	case g.shape == lowest:
		value = min(0, high)
	case g.shape == highest && !math.IsInf(high, 0) && high < 1e6:
		value = high
	}
	if step == 1 {
		value = math.Ceil(value)
	}
	if multiple := limit(s, "multipleOf", 0); multiple > 0 {
		value = math.Ceil(value/multiple) * multiple
	}
	if value == math.Trunc(value) && math.Abs(value) < 1e15 {
		return int64(value)
	}
	return value
}

// limit returns the number of a keyword, or a default.
func limit(s map[string]any, keyword string, def float64) float64 {
	if v, ok := s[keyword].(float64); ok {
		return v
	}
	return def
}
