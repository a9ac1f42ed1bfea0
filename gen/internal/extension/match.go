package extension

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// matcher finds the definitions that schemas inside other schemas repeat.
type matcher struct {
	protocol *ir.Package
	types    map[string]*ir.Type // types of the protocol, by the name of the definition
	defs     object              // definitions of the extension
	own      map[string]string   // names of its objects and enums, by their text
	inlined  bool                // also look for definitions of the protocol
	notices  []string
}

func newMatcher(protocol *ir.Package, names []string, defs object, inlined bool) *matcher {
	m := &matcher{protocol: protocol, types: make(map[string]*ir.Type), defs: defs, own: make(map[string]string), inlined: inlined}
	for _, f := range protocol.Forms {
		if f.Type != nil && !f.Params && slices.Contains(names, f.Definition) {
			m.types[f.Definition] = f.Type
		}
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		x, _ := defs[name].(object)
		props, _ := x["properties"].(object)
		enum, _ := x["enum"].([]any)
		union, _ := x["anyOf"].([]any)
		if _, known := m.own[text(x)]; !known && (len(props) > 0 && props["method"] == nil || len(enum) > 1 || len(union) > 1) {
			m.own[text(x)] = name
		}
	}
	return m
}

// text returns a schema as JSON, with the names of members in order.
func text(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic("extension: " + err.Error()) // cannot happen for a parsed schema
	}
	return string(data)
}

// replace replaces each repetition of a definition inside v by a reference.
func (m *matcher) replace(v any, within string) any {
	switch x := v.(type) {
	case []any:
		for i, e := range x {
			x[i] = m.replace(e, within)
		}
	case object:
		if name := m.own[text(x)]; name != "" && name != within {
			return object{"$ref": "#/$defs/" + name}
		}
		if name := m.inProtocol(x); name != "" {
			m.noteKeywords(within, name, x)
			return object{"$ref": "#/$defs/" + name}
		}
		for key, e := range x {
			if key == "properties" { // its keys are names of members
				for name, p := range e.(object) {
					e.(object)[name] = m.replace(p, within)
				}
			} else if key != "enum" && key != "const" && key != "required" {
				x[key] = m.replace(e, within)
			}
		}
	}
	return v
}

// noteKeywords adds a notice for each keyword of a schema that restricts values and is ignored, because
// the definition of the protocol replaces the schema.
func (m *matcher) noteKeywords(within, name string, v any) {
	for _, key := range load.Restricting(v) {
		text := fmt.Sprintf("#/$defs/%s: %s is not checked, because the definition %q of the protocol replaces the schema", within, key, name)
		if !slices.Contains(m.notices, text) {
			m.notices = append(m.notices, text)
		}
	}
}

// inProtocol returns the definition of the protocol that has all members of x, and the fewest
// others. It returns "" if there is none.
func (m *matcher) inProtocol(x object) string {
	props, _ := x["properties"].(object)
	if !m.inlined || len(props) < 2 && x["anyOf"] == nil && !isID(x) || props["method"] != nil {
		return ""
	}
	if isID(x) {
		return "RequestId"
	}
	best, fewest := "", 0
	for _, name := range slices.Sorted(maps.Keys(m.types)) {
		t := m.types[name]
		if !isRepeated(t) || !m.fits(x, t) {
			continue
		}
		if others := size(t) - max(len(props), count(x)); best == "" || others < fewest {
			best, fewest = name, others
		}
	}
	return best
}

// isRepeated reports whether other schemas repeat a type of the protocol: an object that is no message
// and no result, or a union.
func isRepeated(t *ir.Type) bool {
	switch s := t.Shape.(type) {
	case *ir.Struct:
		return s.Role == ir.Plain && s.Method == nil
	case *ir.Union:
		return true
	}
	return false
}

// isID reports whether a schema is a request id.
func isID(x object) bool { return text(x) == `{"type":["string","integer"]}` }

func count(x object) int { list, _ := x["anyOf"].([]any); return len(list) }

// size returns the number of members of a type.
func size(t *ir.Type) int {
	switch s := t.Shape.(type) {
	case *ir.Struct:
		return len(s.Fields) + len(s.Consts)
	case *ir.Union:
		return len(s.Members)
	}
	return 0
}

// fits reports whether each value that a schema allows is a value of a type, apart from members
// that both allow to be unknown.
func (m *matcher) fits(v any, t *ir.Type) bool {
	x, _ := v.(object)
	if ref, ok := x["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		return m.types[name] != nil && isPart(m.types[name], t) || m.defs[name] != nil && m.fits(m.defs[name], t)
	}
	switch s := t.Shape.(type) {
	case *ir.Struct:
		return s.Method != nil && isMessage(x) || m.fitsStruct(x, s)
	case *ir.Union:
		return m.fitsUnion(x, s)
	case *ir.Enum:
		return fitsEnum(x, s)
	case *ir.Alias:
		return m.fitsExpr(x, s.Of)
	}
	return false
}

// isPart reports whether a type of the protocol is the type t, or part of the union t.
func isPart(part, t *ir.Type) bool {
	u, ok := t.Shape.(*ir.Union)
	if part == t || !ok {
		return part == t
	}
	if inner, ok := part.Shape.(*ir.Union); ok {
		return !slices.ContainsFunc(inner.Members, func(mem *ir.Member) bool { return !isPart(mem.Type, t) })
	}
	return slices.ContainsFunc(u.Members, func(mem *ir.Member) bool { return mem.Type == part })
}

func (m *matcher) fitsStruct(x object, s *ir.Struct) bool {
	props, _ := x["properties"].(object)
	required, _ := x["required"].([]any)
	if x["type"] != "object" || len(props) == 0 {
		return false
	}
	seen := 0
	for _, c := range s.Consts {
		p, _ := props[c.JSON].(object)
		if p == nil || p["const"] != c.Value {
			return false
		}
		seen++
	}
	for _, f := range s.Fields {
		p := props[f.JSON]
		if p == nil {
			if f.Always {
				return false
			}
			continue
		}
		if seen++; f.Always && !slices.Contains(required, any(f.JSON)) || f.JSON != "_meta" && !m.fitsExpr(p, f.Type) {
			return false
		}
	}
	return seen == len(props)
}

func (m *matcher) fitsUnion(x object, u *ir.Union) bool {
	list, ok := x["anyOf"].([]any)
	if !ok {
		list = []any{x}
	}
	for _, v := range list {
		if !slices.ContainsFunc(u.Members, func(mem *ir.Member) bool { return m.fits(v, mem.Type) }) {
			return false
		}
	}
	return true
}

func fitsEnum(x object, e *ir.Enum) bool {
	values, _ := x["enum"].([]any)
	if c := x["const"]; c != nil {
		values = []any{c}
	}
	if len(values) == 0 {
		return e.Open && x["type"] == "string"
	}
	for _, v := range values {
		if !e.Open && !slices.ContainsFunc(e.Values, func(have *ir.Value) bool { return have.JSON == v }) {
			return false
		}
	}
	return true
}

func (m *matcher) fitsExpr(v any, e ir.Expr) bool {
	x, _ := v.(object)
	switch t := e.(type) {
	case ir.Named:
		return m.fits(v, t.Type)
	case ir.List:
		return x["type"] == "array" && m.fitsExpr(x["items"], t.Elem)
	case ir.OneOrMany:
		list, ok := x["anyOf"].([]any)
		if !ok {
			list = []any{x}
		}
		return !slices.ContainsFunc(list, func(v any) bool {
			one, _ := v.(object)
			return !m.fitsExpr(v, t.Elem) && !(one["type"] == "array" && m.fitsExpr(one["items"], t.Elem))
		})
	case ir.Map:
		return x["type"] == "object" && m.fitsExpr(x["additionalProperties"], t.Elem)
	case ir.Ordered:
		return x["type"] == "object" && m.fitsExpr(x["additionalProperties"], t.Elem)
	case ir.Scalar:
		return fitsScalar(x, t.Kind)
	}
	return false
}

func fitsScalar(x object, kind ir.Kind) bool {
	typ := text(x["type"])
	switch kind {
	case ir.String, ir.Bytes:
		return typ == `"string"`
	case ir.Bool:
		return typ == `"boolean"`
	case ir.Int, ir.Float: // some libraries print integers as numbers
		return typ == `"number"` || typ == `"integer"`
	case ir.ID, ir.Token:
		return typ == `["string","integer"]` || x["$ref"] == "#/$defs/RequestId"
	case ir.RawObject, ir.Object:
		return typ == `"object"` || x["$ref"] != nil
	}
	return true // any JSON, or any primitive value
}

// nameRepeated gives a definition to each object and enum that occurs in several places. Its name is the
// shortest name of its places.
func (m *matcher) nameRepeated() {
	places := make(map[string][]string)
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		m.eachInline(m.defs[name], name, false, func(x object, place string) { places[text(x)] = append(places[text(x)], place) })
	}
	names := make(map[string]string)
	repeated := make(object)
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		m.eachInline(m.defs[name], name, false, func(x object, _ string) {
			t := text(x)
			if len(places[t]) < 2 || names[t] != "" {
				return
			}
			best := slices.MinFunc(places[t], func(a, b string) int { return cmp.Or(len(a)-len(b), strings.Compare(a, b)) })
			if m.defs[best] == nil && repeated[best] == nil {
				names[t], repeated[best] = best, maps.Clone(x)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(m.defs)) {
		m.eachInline(m.defs[name], name, false, func(x object, _ string) {
			if def := names[text(x)]; def != "" {
				clear(x)
				x["$ref"] = "#/$defs/" + def
			}
		})
	}
	maps.Copy(m.defs, repeated)
}

// eachInline calls visit for each object and enum inside a definition, outer ones first, with a name that
// is made of the names of the members around it.
func (m *matcher) eachInline(v any, place string, inside bool, visit func(x object, place string)) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			m.eachInline(e, place, inside, visit)
		}
	case object:
		props, _ := x["properties"].(object)
		enum, _ := x["enum"].([]any)
		if inside && (len(props) > 1 || len(enum) > 1 || x["allOf"] != nil) {
			visit(x, place)
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			switch key {
			case "properties":
				for _, name := range slices.Sorted(maps.Keys(props)) {
					params := name == "params" && props["method"] != nil
					next := place
					if !params {
						next += capitalized(name)
					}
					m.eachInline(props[name], next, !params, visit)
				}
			case "enum", "const", "required":
			default:
				m.eachInline(x[key], place, inside && key != "allOf", visit)
			}
		}
	}
}
