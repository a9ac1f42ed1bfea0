package mcp

import (
	"encoding/json"
	"strings"
)

// scalars lists values of a shape that is neither object nor array.
func (s shape) scalars() []any {
	var list []any
	for _, kind := range s.types() {
		switch kind {
		case "string":
			list = append(list, s.texts()...)
		case "integer", "number":
			list = append(list, s.numbers(kind)...)
		case "boolean":
			list = append(list, false, true)
		case "null":
			list = append(list, nil)
		}
	}
	return list
}

func (s shape) texts() []any {
	if s.raw["format"] == "byte" {
		return []any{"", "AA==", "+/8=", "aGVsbG8sIHdvcmxk"}
	}
	return []any{"", " ", "null", "tab\tline\nquote\"back\\slash/\u0000\u001f", "é \u2028\ufeff\uffff 😀", "long" + strings.Repeat(" text", 20), "text"}
}

func (s shape) numbers(kind string) []any {
	all := []string{"0", "1", "-1", "-0", "1.0", "1e2", "9007199254740991", "9007199254740993", "9223372036854775807", "-9223372036854775808"}
	switch {
	case s.isID():
		all = []string{"0", "-1", "-0", "9007199254740993", "9223372036854775808", strings.Repeat("7", 128), "1"}
	case kind == "number":
		all = []string{"0", "1", "-0.0", "1.5", "-1e-7", "0.1", "1e-400", "1e300", "1.7976931348623157e308", "12345678901234567890"}
	}
	for _, keyword := range []string{"minimum", "maximum"} {
		if n, ok := s.bound(keyword); ok {
			all = append(all, n.String())
		}
	}
	var list []any
	for _, n := range all {
		if s.inBounds(json.Number(n)) {
			list = append(list, json.Number(n))
		}
	}
	return list
}

func (s shape) inBounds(n json.Number) bool {
	low, hasLow := s.bound("minimum")
	high, hasHigh := s.bound("maximum")
	return (!hasLow || rational(n).Cmp(rational(low)) >= 0) && (!hasHigh || rational(n).Cmp(rational(high)) <= 0)
}

// wildcards are values where anything is valid. Each call makes fresh ones.
func wildcards() []any {
	return []any{
		nil, true, "", "x", json.Number("0"), json.Number("1.50"), json.Number("123456789012345678901234567890"),
		[]any{}, map[string]any{}, []any{nil, []any{map[string]any{"": "\n"}}},
		map[string]any{"a": json.Number("1e3"), "b": []any{false, ""}, "é": map[string]any{"type": "x"}},
	}
}
