package paramheader

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Prefix is what the names of the headers begin with.
const Prefix = "Mcp-Param-"

// annotation is the keyword that asks for a header.
const annotation = "x-mcp-header"

// Param is an argument that a header repeats.
type Param struct {
	// Header is the name of the header without [Prefix], as it is annotated.
	Header string
	// Path leads from the arguments to the value, one name for each object.
	Path []string
	// Type is what the schema wants: "string", "integer" or "boolean".
	Type string
}

// Parse finds the annotated properties of a tool's input schema, in the order of
// the schema. The error is a *[wire.DecodeError] that points at the first
// annotation that breaks a rule: its value is no header name or is there twice,
// whatever the case; its property has another type, or several; or an argument
// may be somewhere else than the way through "properties" says.
func Parse(inputSchema json.RawMessage) ([]Param, error) {
	r := reader{seen: make(map[string]bool)}
	if err := wire.Decode(inputSchema, nil, &r); err != nil {
		return nil, fmt.Errorf("header annotations of the schema: %w", err)
	}
	return r.params, nil
}

// reader reads a schema.
type reader struct {
	wire.ReadOnly
	params []Param
	seen   map[string]bool // header names in lower case
}

// DecodeJSON implements [wire.Value].
func (r *reader) DecodeJSON(d *wire.Decoder) { r.params = r.schema(d, root) }

// where says how a schema was reached.
type where int

const (
	root      where = iota
	property        // by "properties" all the way
	elsewhere       // it may hold for any value, or for none
)

// The keywords with schemas in them, one or a list of them.
var subschemas = []string{
	"additionalItems", "additionalProperties", "allOf", "anyOf", "contains", "contentSchema", "else", "if", "items", "not", "oneOf",
	"prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}

// The keywords with schemas in them that have names.
var namedSubschemas = []string{"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"}

var keywords = func() *wire.Members {
	var list []wire.Member
	for _, name := range slices.Concat([]string{"properties", "type", annotation}, subschemas, namedSubschemas) {
		list = append(list, wire.Member{Name: name, In: wire.Always})
	}
	return wire.NewMembers("schema", list...)
}()

// schema reads a schema and returns its parameters, with the way to each from
// here.
func (r *reader) schema(d *wire.Decoder, at where) []Param {
	if d.Kind() != '{' {
		d.Skip() // true, false, or none of our business
		return nil
	}
	var found []Param
	var own Param
	annotated := false
	for o := d.Object(keywords); o.Next(); {
		switch {
		case o.Name == "type":
			own.Type = textOrSkip(d)
		case o.Name == annotation:
			annotated, own.Header = true, r.header(d, at)
		case o.Name == "properties":
			found = r.properties(d, at)
		case slices.Contains(subschemas, o.Name):
			r.outside(d)
		case slices.Contains(namedSubschemas, o.Name):
			r.named(d, elsewhere)
		default:
			d.Skip()
		}
	}
	if !annotated {
		return found
	}
	if !slices.Contains([]string{"string", "integer", "boolean"}, own.Type) {
		d.Fail("%q needs the type string, integer or boolean", annotation)
	}
	return append(found, own)
}

// header reads the value of an annotation.
func (r *reader) header(d *wire.Decoder, at where) string {
	if at != property {
		d.Fail(`%q belongs on a property that "properties" alone lead to`, annotation)
	}
	name := d.String()
	key := strings.ToLower(name)
	switch {
	case !token(name):
		d.Fail("%q has to be the name of a header, not %q", annotation, name)
	case r.seen[key]:
		d.Fail("%q names the header %q a second time", annotation, name)
	}
	r.seen[key] = true
	return name
}

// properties reads the schemas of an object's members.
func (r *reader) properties(d *wire.Decoder, at where) []Param {
	if at != elsewhere {
		at = property
	}
	return r.named(d, at)
}

// named reads schemas that have names.
func (r *reader) named(d *wire.Decoder, at where) []Param {
	if d.Kind() != '{' {
		d.Skip()
		return nil
	}
	var all []Param
	for _, member := range wire.NamedList(d, func(d *wire.Decoder) []Param { return r.schema(d, at) }) {
		for _, p := range member.Value {
			p.Path = slices.Insert(p.Path, 0, member.Name)
			all = append(all, p)
		}
	}
	return all
}

// outside reads a schema, or a list of them, that may hold no annotation.
func (r *reader) outside(d *wire.Decoder) {
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

// token tells whether a text can be the name of a header.
func token(s string) bool {
	for i := range len(s) {
		c := s[i]
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (c < '0' || c > '9') && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}
