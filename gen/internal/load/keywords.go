package load

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A keyword is one word of JSON Schema that the compiler understands.
type keyword struct {
	holds holding
	fault func(v any) string // what is wrong with a value, "" for nothing
	of    []string           // the types that it says something about, nil for all
	alone bool               // no stage obeys what stands beside it, but its type
}

// rootKeywords may stand only at the top of a file.
var rootKeywords = map[string]keyword{
	"$schema":     {holds: plain, fault: dialect},
	"$defs":       {holds: mapping, fault: object},
	"definitions": {holds: mapping, fault: object},
}

// keywords may stand in every other schema. The list is what the protocol's
// files use, no more: a keyword that the parser reads but no later stage obeys
// would make types that accept what the schema forbids.
var keywords = map[string]keyword{
	"$ref":                 {holds: plain, fault: text, alone: true},
	"additionalProperties": {holds: schema, of: objects},
	"allOf":                {holds: list, fault: filled, alone: true},
	"anyOf":                {holds: list, fault: filled, alone: true},
	"const":                {holds: plain, fault: scalar, of: plains, alone: true},
	"enum":                 {holds: plain, fault: scalars, of: plains, alone: true},
	"format":               {holds: plain, fault: text, of: texts},
	"items":                {holds: schema, of: arrays},
	"maximum":              {holds: plain, fault: number, of: numbers},
	"maxItems":             {holds: plain, fault: count, of: arrays},
	"minimum":              {holds: plain, fault: number, of: numbers},
	"properties":           {holds: mapping, fault: object, of: objects},
	"required":             {holds: plain, fault: names, of: objects},
	"type":                 {holds: plain, fault: types},
}

// The types that keywords are about.
var (
	objects = []string{"object"}
	arrays  = []string{"array"}
	texts   = []string{"string"}
	numbers = []string{"integer", "number"}
	plains  = []string{"string", "integer", "number", "boolean"}
)

// keywordAt finds a keyword by its place; the zero keyword means unknown.
func keywordAt(at, key string) keyword {
	if at == "" {
		return rootKeywords[key]
	}
	return keywords[key]
}

func (k keyword) known() bool { return k.holds != plain || k.fault != nil }

// dialects are the two flavours of JSON Schema that the protocol has used.
var dialects = []string{
	"http://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2020-12/schema",
}

func dialect(v any) string {
	if s, ok := v.(string); !ok || !slices.Contains(dialects, s) {
		return "must be one of " + strings.Join(dialects, ", ")
	}
	return ""
}

func object(v any) string {
	if _, ok := v.(map[string]any); !ok {
		return "must be an object, not " + kind(v)
	}
	return ""
}

func filled(v any) string {
	if array, ok := v.([]any); !ok || len(array) == 0 {
		return "must be an array with at least one schema"
	}
	return ""
}

func text(v any) string {
	if s, ok := v.(string); !ok || s == "" {
		return "must be a string that is not empty"
	}
	return ""
}

// names accepts a list of distinct strings.
func names(v any) string {
	array, ok := v.([]any)
	if !ok {
		return "must be an array of strings, not " + kind(v)
	}
	seen := map[string]bool{}
	for _, v := range array {
		s, ok := v.(string)
		if !ok {
			return "must hold strings only, not " + kind(v)
		}
		if seen[s] {
			return fmt.Sprintf("names %q twice", s)
		}
		seen[s] = true
	}
	return ""
}

var typeNames = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func types(v any) string {
	if s, ok := v.(string); ok {
		v = []any{s}
	}
	if fault := names(v); fault != "" {
		return fault
	}
	array := v.([]any)
	if len(array) == 0 {
		return "must name at least one type"
	}
	for _, v := range array {
		if !slices.Contains(typeNames, v.(string)) {
			return fmt.Sprintf("has the unknown type %q; types are %s", v, strings.Join(typeNames, ", "))
		}
	}
	return ""
}

// scalar accepts what a const can be without loss: the parser reads null as
// absent and numbers as float64, and no later stage compares objects.
func scalar(v any) string {
	switch v.(type) {
	case string, bool:
		return ""
	case json.Number:
		return number(v)
	}
	return "must be a string, a boolean or a number, not " + kind(v)
}

func scalars(v any) string {
	array, ok := v.([]any)
	if !ok || len(array) == 0 {
		return "must be an array with at least one value"
	}
	for i, v := range array {
		if fault := scalar(v); fault != "" {
			return "value " + strconv.Itoa(i) + " " + fault
		}
		if slices.Contains(array[:i], v) {
			return fmt.Sprintf("holds %v twice", v)
		}
	}
	return ""
}

// decimal excludes exponents, which the validator would spell out.
var decimal = regexp.MustCompile(`^-?[0-9]{1,16}(\.[0-9]{1,16})?$`)

func number(v any) string {
	n, ok := v.(json.Number)
	if !ok {
		return "must be a number, not " + kind(v)
	}
	f, _ := strconv.ParseFloat(n.String(), 64)
	if !decimal.MatchString(n.String()) || math.Abs(f) >= 1<<53 {
		return fmt.Sprintf("has %s; write a plain decimal number below 2^53", n)
	}
	return ""
}

func count(v any) string {
	n, ok := v.(json.Number)
	if !ok {
		return "must be a whole number, not " + kind(v)
	}
	if i, err := strconv.Atoi(n.String()); err != nil || i < 1 || i > math.MaxInt32 {
		return fmt.Sprintf("has %s; write a whole number from 1 on", n)
	}
	return ""
}

// kind names a JSON value for an error.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case string:
		return "a string"
	case json.Number:
		return "a number"
	case []any:
		return "an array"
	}
	return "an object"
}
