package load

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A keyword is a keyword of JSON Schema that the compiler supports.
type keyword struct {
	holds     contents           // what its value contains
	fault     func(v any) string // describes what is wrong with a value, or ""
	types     []string           // types that it applies to, nil for all
	restricts bool               // no Go type has it, so that the codec checks it
	newer     bool               // draft 7 does not have it
}

// rootKeywords are allowed only at the top of a file.
var rootKeywords = map[string]keyword{
	"$schema":     {holds: plain, fault: dialect},
	"$defs":       {holds: mapping, fault: object},
	"definitions": {holds: mapping, fault: object},
}

// keywords are allowed in every other schema. A keyword that later stages ignore would produce
// types that accept values the schema forbids.
var keywords = map[string]keyword{
	"$ref":                 {holds: plain, fault: nonEmptyString},
	"additionalProperties": {holds: schema, types: objectType},
	"allOf":                {holds: list, fault: schemaArray},
	"anyOf":                {holds: list, fault: schemaArray},
	"const":                {holds: plain, fault: constant},
	"enum":                 {holds: plain, fault: constants},
	"format":               {holds: plain, fault: nonEmptyString, types: stringType},
	"items":                {holds: schema, types: arrayType},
	"maximum":              {holds: plain, fault: number, types: numberTypes},
	"maxItems":             {holds: plain, fault: positiveInteger, types: arrayType},
	"minimum":              {holds: plain, fault: number, types: numberTypes},
	"properties":           {holds: mapping, fault: object, types: objectType},
	"required":             {holds: plain, fault: distinctStrings, types: objectType},
	"type":                 {holds: plain, fault: types},

	"contains":          {holds: schema, restricts: true},
	"dependentRequired": {holds: plain, fault: listsOfStrings, restricts: true, newer: true},
	"dependentSchemas":  {holds: mapping, fault: object, restricts: true, newer: true},
	"else":              {holds: schema, restricts: true},
	"exclusiveMaximum":  {holds: plain, fault: number, restricts: true},
	"exclusiveMinimum":  {holds: plain, fault: number, restricts: true},
	"if":                {holds: schema, restricts: true},
	"maxContains":       {holds: plain, fault: size, restricts: true, newer: true},
	"maxLength":         {holds: plain, fault: size, restricts: true},
	"maxProperties":     {holds: plain, fault: size, restricts: true},
	"minContains":       {holds: plain, fault: size, restricts: true, newer: true},
	"minItems":          {holds: plain, fault: size, restricts: true},
	"minLength":         {holds: plain, fault: size, restricts: true},
	"minProperties":     {holds: plain, fault: size, restricts: true},
	"multipleOf":        {holds: plain, fault: positiveNumber, restricts: true},
	"not":               {holds: schema, restricts: true},
	"oneOf":             {holds: list, fault: schemaArray, restricts: true},
	"pattern":           {holds: plain, fault: expression, restricts: true},
	"patternProperties": {holds: mapping, fault: expressions, restricts: true},
	"prefixItems":       {holds: list, fault: schemaArray, restricts: true, newer: true},
	"propertyNames":     {holds: schema, restricts: true},
	"then":              {holds: schema, restricts: true},
	"uniqueItems":       {holds: plain, fault: aBoolean, restricts: true},
}

// annotations are keywords that describe a schema and restrict no value, with functions
// that describe what is wrong with their values. An official file may have them beside
// any keyword, and a transcription has none.
var annotations = map[string]func(v any) string{
	"$anchor": aString, "$comment": aString, "$id": aString, "contentEncoding": aString, "contentMediaType": aString, "description": aString, "title": aString,
	"deprecated": aBoolean, "readOnly": aBoolean, "writeOnly": aBoolean,
	"default":  func(any) string { return "" },
	"examples": anArray,
}

// isAnnotation reports whether a keyword is an annotation. Keywords that begin with x- are
// annotations of other programs.
func isAnnotation(key string) bool { return annotations[key] != nil || strings.HasPrefix(key, "x-") }

// The types that keywords apply to.
var (
	objectType  = []string{"object"}
	arrayType   = []string{"array"}
	stringType  = []string{"string"}
	numberTypes = []string{"integer", "number"}
)

// keywordAt returns the keyword for a place. The zero keyword is unknown.
func keywordAt(at, key string) keyword {
	if at == "" {
		return rootKeywords[key]
	}
	return keywords[key]
}

func (k keyword) known() bool { return k.holds != plain || k.fault != nil }

// dialects are the versions of JSON Schema that the protocol uses.
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

func aString(v any) string {
	if _, ok := v.(string); !ok {
		return "must be a string, not " + kind(v)
	}
	return ""
}

func aBoolean(v any) string {
	if _, ok := v.(bool); !ok {
		return "must be a boolean, not " + kind(v)
	}
	return ""
}

func anArray(v any) string {
	if _, ok := v.([]any); !ok {
		return "must be an array, not " + kind(v)
	}
	return ""
}

func schemaArray(v any) string {
	if array, ok := v.([]any); !ok || len(array) == 0 {
		return "must be an array with at least one schema"
	}
	return ""
}

// isAnyName reports whether a schema allows every name.
func isAnyName(v any) bool {
	object, ok := v.(map[string]any)
	return v == true || ok && len(object) == 0 || len(object) == 1 && object["type"] == "string"
}

// expression accepts regular expressions that Go supports.
func expression(v any) string {
	text, ok := v.(string)
	if !ok {
		return "must be a string, not " + kind(v)
	}
	if _, err := regexp.Compile(text); err != nil {
		return "must be a regular expression that Go supports: " + err.Error()
	}
	return ""
}

// expressions accepts an object whose names are regular expressions.
func expressions(v any) string {
	fault := object(v)
	if fields, ok := v.(map[string]any); ok {
		for _, text := range sorted(fields) {
			fault = cmp.Or(fault, expression(text))
		}
	}
	return fault
}

// listsOfStrings accepts an object of lists of strings.
func listsOfStrings(v any) string {
	fault := object(v)
	if fields, ok := v.(map[string]any); ok {
		for _, name := range sorted(fields) {
			fault = cmp.Or(fault, distinctStrings(fields[name]))
		}
	}
	return fault
}

func nonEmptyString(v any) string {
	if s, ok := v.(string); !ok || s == "" {
		return "must be a string that is not empty"
	}
	return ""
}

// distinctStrings accepts a list of distinct strings.
func distinctStrings(v any) string {
	array, ok := v.([]any)
	if !ok {
		return "must be an array of strings, not " + kind(v)
	}
	seen := map[string]bool{}
	for _, v := range array {
		s, ok := v.(string)
		if !ok {
			return "must contain only strings, not " + kind(v)
		}
		if seen[s] {
			return fmt.Sprintf("contains %q twice", s)
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
	if fault := distinctStrings(v); fault != "" {
		return fault
	}
	array := v.([]any)
	if len(array) == 0 {
		return "must contain at least one type"
	}
	for _, v := range array {
		if !slices.Contains(typeNames, v.(string)) {
			return fmt.Sprintf("has the unknown type %q; types are %s", v, strings.Join(typeNames, ", "))
		}
	}
	return ""
}

// constant accepts the values that a const can have without loss, because the parser reads
// numbers as float64.
func constant(v any) string {
	var faults []string
	switch v := v.(type) {
	case json.Number:
		return number(v)
	case []any:
		for _, v := range v {
			faults = append(faults, constant(v))
		}
	case map[string]any:
		for _, name := range sorted(v) {
			faults = append(faults, constant(v[name]))
		}
	}
	return strings.Join(slices.DeleteFunc(faults, func(fault string) bool { return fault == "" }), "; ")
}

func constants(v any) string {
	array, ok := v.([]any)
	if !ok || len(array) == 0 {
		return "must be an array with at least one value"
	}
	if len(array) > maxValues {
		return fmt.Sprintf("has %d values, more than the limit of %d", len(array), maxValues)
	}
	seen := make(map[string]bool)
	for i, v := range array {
		if fault := constant(v); fault != "" {
			return "value " + strconv.Itoa(i) + " " + fault
		}
		text := string(format(v))
		if seen[text] {
			return fmt.Sprintf("contains %v twice", v)
		}
		seen[text] = true
	}
	return ""
}

// maxValues limits the values of an enum.
const maxValues = 10_000

// decimal excludes exponents, which the validator would expand.
var decimal = regexp.MustCompile(`^-?[0-9]{1,16}(\.[0-9]{1,16})?$`)

func number(v any) string {
	n, ok := v.(json.Number)
	if !ok {
		return "must be a number, not " + kind(v)
	}
	f, _ := strconv.ParseFloat(n.String(), 64)
	if !decimal.MatchString(n.String()) || math.Abs(f) >= 1<<53 {
		return fmt.Sprintf("is %s; want a decimal number below 2^53", n)
	}
	short := n.String()
	if strings.Contains(short, ".") {
		short = strings.TrimRight(strings.TrimRight(short, "0"), ".")
	}
	if exact := strconv.FormatFloat(f, 'f', -1, 64); exact != short && f != 0 {
		return fmt.Sprintf("is %s; want a number with fewer digits, like %s", n, exact)
	}
	return ""
}

func positiveInteger(v any) string {
	if fault := size(v); fault != "" || v != json.Number("0") {
		return fault
	}
	return "is 0; want an integer greater than 0"
}

// size accepts integers that are not negative.
func size(v any) string {
	n, ok := v.(json.Number)
	if !ok {
		return "must be an integer, not " + kind(v)
	}
	if i, err := strconv.Atoi(n.String()); err != nil || i < 0 || i > math.MaxInt32 {
		return fmt.Sprintf("is %s; want an integer that is not negative", n)
	}
	return ""
}

func positiveNumber(v any) string {
	fault := number(v)
	if n, ok := v.(json.Number); ok && fault == "" {
		if f, _ := n.Float64(); f <= 0 {
			return fmt.Sprintf("is %s; want a number greater than 0", n)
		}
	}
	return fault
}

// kind returns the name of a JSON value's kind for errors.
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

// contents is what the value of a keyword contains. It separates keywords from member
// names: in "properties", a key "description" or "enum" is a member of the protocol,
// and in a schema it is a keyword.
type contents int

const (
	plain   contents = iota // data
	schema                  // one schema
	list                    // an array of schemas
	mapping                 // an object whose keys are names and whose values are schemas
)

// walk calls visit for the schema v and for every schema in it: outer schemas first,
// keys in order. It skips values of the wrong kind, which visit reports for the schema
// that contains them.
func walk(at string, v any, visit func(at string, v any)) {
	visit(at, v)
	object, _ := v.(map[string]any)
	for _, key := range sorted(object) {
		visitSchemas(child(at, key), keywordAt(at, key).holds, object[key], func(at string, v any) {
			walk(at, v, visit)
		})
	}
}

// visitSchemas calls visit for each schema in the value of a keyword.
func visitSchemas(at string, holds contents, v any, visit func(at string, v any)) {
	switch holds {
	case schema:
		visit(at, v)
	case list:
		array, _ := v.([]any)
		for i, v := range array {
			visit(element(at, i), v)
		}
	case mapping:
		object, _ := v.(map[string]any)
		for _, name := range sorted(object) {
			visit(child(at, name), object[name])
		}
	}
}

// sorted returns the keys of m in order, so that all results are deterministic.
func sorted[V any](m map[string]V) []string {
	return slices.Sorted(maps.Keys(m))
}

// definitions returns the definitions of a checked file and their keyword.
func definitions(tree any) (keyword string, defs map[string]any) {
	root, _ := tree.(map[string]any)
	for _, keyword := range []string{"$defs", "definitions"} {
		if defs, ok := root[keyword].(map[string]any); ok {
			return keyword, defs
		}
	}
	return "$defs", nil
}
