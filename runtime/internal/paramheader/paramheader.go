// Package paramheader implements the HTTP headers that repeat parts of a request's
// body: how text is encoded in a header, and which arguments of a tool its schema
// requires in headers.
//
//	params, err := paramheader.Parse(tool.InputSchema)
//	if err != nil {
//		return err // invalid annotations
//	}
//	headers, err := paramheader.Values(params, req.Arguments)   // at the client
//	err = paramheader.Check(params, req.Arguments, r.Header)    // at the server
package paramheader

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Param is an argument of a tool that is repeated in a header.
type Param struct {
	// Header is the name of the header in the annotation, without [Prefix].
	Header string
	// Path is the path from the arguments to the value, one name for each object.
	Path []string
	// Type is the type in the schema: "string", "integer" or "boolean".
	Type string
}

// Prefix begins the names of the headers.
const Prefix = "Mcp-Param-"

// annotation is the schema keyword that requires a header for a property.
const annotation = "x-mcp-header"

// Header is one header of a request.
type Header struct{ Name, Value string }

// Parse returns the annotated properties of a tool's input schema, in the order of
// the schema. The error wraps a *[wire.DecodeError] with the pointer to the first
// invalid annotation. An annotation is invalid in these cases:
//
//   - its value is not a header name
//   - another annotation has the same value, ignoring case
//   - the type of its property is not exactly one of string, integer and boolean
//   - its property is not reached through "properties" alone, so that the position of
//     the argument is not certain
func Parse(inputSchema json.RawMessage) ([]Param, error) {
	r := schemaReader{seen: make(map[string]bool)}
	if err := wire.Decode(inputSchema, nil, &r); err != nil {
		return nil, fmt.Errorf("read header annotations of the schema: %w", err)
	}
	return r.params, nil
}

// Values returns the headers that repeat the arguments of a call. An argument that
// is absent or null has no header. Values returns an error if a header cannot
// contain an argument: an object, an array, a number that is not an integer, or an
// integer that is not exact in float64. The error contains the path of the argument.
func Values(params []Param, arguments json.RawMessage) ([]Header, error) {
	found, err := findArguments(params, arguments)
	if err != nil {
		return nil, err
	}
	var headers []Header
	for i, raw := range found {
		text, there, err := textOf(raw)
		switch {
		case err != nil:
			return nil, fmt.Errorf("argument %q: %w", strings.Join(params[i].Path, "."), err)
		case there:
			headers = append(headers, Header{Prefix + params[i].Header, Encode(text)})
		}
	}
	return headers, nil
}

// Check returns an error unless the headers of a call match its arguments: exactly
// one header for each argument that is present, and none for the others. Check
// ignores headers that the schema does not require.
func Check(params []Param, arguments json.RawMessage, header interface{ Values(name string) []string }) error {
	found, err := findArguments(params, arguments)
	if err != nil {
		return err
	}
	for i, raw := range found {
		name := Prefix + params[i].Header
		if err := checkArgument(raw, header.Values(name)); err != nil {
			return fmt.Errorf("header %s, argument %q: %w", name, strings.Join(params[i].Path, "."), err)
		}
	}
	return nil
}

// schemaReader reads a schema.
type schemaReader struct {
	wire.ReadOnly
	params []Param
	seen   map[string]bool // header names in lower case
}

// DecodeJSON implements [wire.Value].
func (r *schemaReader) DecodeJSON(d *wire.Decoder) { r.params = r.schema(d, root) }

// position describes how a schema was reached.
type position int

const (
	root      position = iota
	property           // reached only through "properties"
	elsewhere          // reached in another way: the schema may apply to any value or to none
)

// subschemas are the keywords whose value is a schema or a list of schemas.
var subschemas = []string{
	"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items", "not", "oneOf",
	"prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}

// namedSubschemas are the keywords whose value is an object of schemas.
var namedSubschemas = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"}

var keywords = sync.OnceValue(func() *wire.Members {
	var list []wire.Member
	for _, name := range slices.Concat([]string{"properties", "type", annotation}, subschemas, namedSubschemas) {
		list = append(list, wire.Member{Name: name, In: wire.Always})
	}
	return wire.NewMembers("schema", list...)
})

// schema reads a schema and returns its parameters. Their paths are relative to the
// schema.
func (r *schemaReader) schema(d *wire.Decoder, at position) []Param {
	if d.Kind() != '{' {
		d.Skip() // a boolean schema, or invalid
		return nil
	}
	var found []Param
	var own Param
	annotated := false
	for o := d.Object(keywords()); o.Next(); {
		switch {
		case o.Name == "type":
			own.Type = textOrSkip(d)
		case o.Name == annotation:
			annotated, own.Header = true, r.header(d, at)
		case o.Name == "properties":
			found = r.properties(d, at)
		case slices.Contains(subschemas, o.Name):
			r.unannotated(d)
		case slices.Contains(namedSubschemas, o.Name):
			r.namedSchemas(d, elsewhere)
		default:
			d.Skip()
		}
	}
	if !annotated {
		return found
	}
	if !slices.Contains([]string{"string", "integer", "boolean"}, own.Type) {
		d.Fail("%q requires the type string, integer or boolean", annotation)
	}
	return append(found, own)
}

// header reads the value of an annotation.
func (r *schemaReader) header(d *wire.Decoder, at position) string {
	if at != property {
		d.Fail(`%q is allowed only on properties reached through "properties" alone`, annotation)
	}
	name := d.String()
	key := strings.ToLower(name)
	switch {
	case !isToken(name):
		d.Fail("%q must be a header name, have %q", annotation, name)
	case r.seen[key]:
		d.Fail("duplicate %q: %q", annotation, name)
	}
	r.seen[key] = true
	return name
}

// properties reads the value of the keyword "properties".
func (r *schemaReader) properties(d *wire.Decoder, at position) []Param {
	if at != elsewhere {
		at = property
	}
	return r.namedSchemas(d, at)
}

// namedSchemas reads an object of schemas.
func (r *schemaReader) namedSchemas(d *wire.Decoder, at position) []Param {
	if d.Kind() != '{' {
		d.Skip()
		return nil
	}
	var all []Param
	wire.OrderedMap(d, func(d *wire.Decoder, name string, _ *struct{}) {
		for _, p := range r.schema(d, at) {
			p.Path = slices.Insert(p.Path, 0, name)
			all = append(all, p)
		}
	})
	return all
}

// unannotated reads a schema, or a list of schemas, in which annotations are
// invalid.
func (r *schemaReader) unannotated(d *wire.Decoder) {
	if d.Kind() == '[' {
		wire.List(d, func(d *wire.Decoder) []Param { return r.schema(d, elsewhere) })
		return
	}
	r.schema(d, elsewhere)
}

func textOrSkip(d *wire.Decoder) string {
	if d.Kind() != '"' {
		d.Skip()
		return ""
	}
	return d.String()
}

// isToken reports whether s is a valid header name.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// checkArgument compares an argument with the headers of its name.
func checkArgument(raw json.RawMessage, values []string) error {
	want, there, err := textOf(raw)
	switch {
	case err != nil:
		return err
	case len(values) > 1:
		return errors.New("header is set more than once")
	case !there && len(values) == 1:
		return errors.New("header is set but the argument is absent")
	case !there:
		return nil
	case len(values) == 0:
		return errors.New("header is missing")
	}
	got, err := Decode(strings.Trim(values[0], " \t"))
	switch {
	case err != nil:
		return err
	case got == want || raw[0] != '"' && sameInteger(got, want):
		return nil
	}
	return errors.New("header does not match the argument")
}

func sameInteger(a, b string) bool {
	n, okA := integer(a)
	m, okB := integer(b)
	return okA && okB && n == m
}

// textOf returns the text of an argument. there is false if the argument is absent
// or null.
func textOf(raw json.RawMessage) (text string, there bool, err error) {
	if raw == nil {
		return "", false, nil
	}
	switch raw[0] {
	case 'n':
		return "", false, nil
	case 't', 'f':
		return string(raw), true, nil
	case '"':
		err := json.Unmarshal(raw, &text)
		return text, true, err
	case '{', '[':
		return "", true, errors.New("a header cannot contain an object or an array")
	}
	n, ok := integer(string(raw))
	if !ok {
		return "", true, errors.New("a header can contain only integers within ±(2^53-1)")
	}
	return strconv.FormatInt(n, 10), true, nil
}

// integer parses a number whose value is an integer that is exact in float64.
func integer(s string) (int64, bool) {
	var n exactInt
	err := wire.Decode([]byte(s), nil, &n)
	return int64(n), err == nil
}

// exactInt reads an integer. Writing it fails.
type exactInt int64

// AppendJSON implements [wire.Value].
func (*exactInt) AppendJSON(b []byte, e *wire.Encoder) []byte { return e.Missing(b, "an integer") }

// DecodeJSON implements [wire.Value].
func (n *exactInt) DecodeJSON(d *wire.Decoder) {
	const most = 1<<53 - 1
	*n = exactInt(d.Int(-most, most))
}

// findArguments returns the raw argument of each parameter, or nil for an argument
// that is absent.
func findArguments(params []Param, arguments json.RawMessage) ([]json.RawMessage, error) {
	if len(params) == 0 {
		return nil, nil
	}
	f := argumentReader{params: params, found: make([]json.RawMessage, len(params))}
	if arguments == nil {
		return f.found, nil
	}
	if err := wire.Decode(arguments, nil, &f); err != nil {
		return nil, fmt.Errorf("read arguments: %w", err)
	}
	return f.found, nil
}

// argumentReader reads the arguments of a call.
type argumentReader struct {
	wire.ReadOnly
	params []Param
	found  []json.RawMessage
	path   []string // the path to the current member
}

// DecodeJSON implements [wire.Value].
func (f *argumentReader) DecodeJSON(d *wire.Decoder) {
	if d.Kind() != '{' {
		d.Skip()
		return
	}
	for o := d.Object(nil); o.Next(); {
		f.path = append(f.path, o.Key())
		f.member(d)
		f.path = f.path[:len(f.path)-1]
	}
}

// member reads the value of the member at f.path.
func (f *argumentReader) member(d *wire.Decoder) {
	nested := false // whether a parameter is below this member
	for i, p := range f.params {
		switch n := len(f.path); {
		case len(p.Path) < n || !slices.Equal(p.Path[:n], f.path):
		case len(p.Path) == n:
			f.found[i] = d.Raw()
			return
		default:
			nested = true
		}
	}
	if nested {
		f.DecodeJSON(d)
	} else {
		d.Skip()
	}
}
