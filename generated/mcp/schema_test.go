package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/mcpwright/mcp/schema"
)

// A schemaFile is the patched schema of a revision.
type schemaFile struct {
	revision  wire.Revision
	defs      string // "definitions" or "$defs"
	root      map[string]any
	validator *validator
	resolved  map[string]shape
}

// schemas returns the files of all revisions, oldest first.
var schemas = sync.OnceValue(func() []*schemaFile {
	var list []*schemaFile
	for _, r := range Revisions {
		list = append(list, loadSchema(r.Revision, patches))
	}
	return list
})

// loadSchema parses the schema of a revision and applies patches.
func loadSchema(r wire.Revision, patches []patch) *schemaFile {
	data, err := schema.Bytes(r.String())
	if err != nil {
		panic(err)
	}
	f := &schemaFile{revision: r, defs: "$defs", resolved: map[string]shape{}}
	f.root = parse(data).(map[string]any)
	if f.root[f.defs] == nil {
		f.defs = "definitions"
	}
	for _, p := range patches {
		p.apply(f)
	}
	f.validator = newValidator(f)
	for _, name := range f.names() {
		f.resolved[name] = shape{file: f, raw: f.definition(name), name: name}.merged()
	}
	return f
}

// names returns the names of the definitions, sorted.
func (f *schemaFile) names() []string {
	return slices.Sorted(maps.Keys(f.root[f.defs].(map[string]any)))
}

// definition returns the JSON of a definition, or nil.
func (f *schemaFile) definition(name string) map[string]any {
	def, _ := f.root[f.defs].(map[string]any)[name].(map[string]any)
	return def
}

// A shape is a part of a schema. If raw is nil, any JSON is valid.
type shape struct {
	file *schemaFile
	raw  map[string]any
	name string // the name of the definition, or "" inside a definition
	// limits has schemas whose keywords raw does not have.
	limits []any
}

// shape returns a definition with its references resolved.
func (f *schemaFile) shape(name string) shape {
	s, ok := f.resolved[name]
	if !ok {
		panic(fmt.Sprintf("%v has no definition %q", f.revision, name))
	}
	return s
}

// sub returns the shape for the value of a keyword of s.
func (s shape) sub(raw any) shape {
	object, isObject := raw.(map[string]any) // true is equivalent to {}
	if ref, ok := object["$ref"].(string); ok {
		return s.file.shape(ref[strings.LastIndexByte(ref, '/')+1:]).withLimits(raw)
	}
	if !isObject {
		return shape{file: s.file}.withLimits(raw)
	}
	return shape{file: s.file, raw: object}.merged()
}

// merged resolves a reference, and merges the parts of an allOf.
func (s shape) merged() shape {
	s = s.withLimits(s.raw)
	if ref, ok := s.raw["$ref"].(string); ok {
		target := ref[strings.LastIndexByte(ref, '/')+1:]
		return shape{file: s.file, raw: s.file.definition(target), name: target, limits: s.limits}.merged()
	}
	parts, ok := s.raw["allOf"].([]any)
	if !ok {
		return s
	}
	others := maps.Clone(s.raw)
	delete(others, "allOf")
	parts = append(slices.Clone(parts), others)
	props, required, keywords := map[string]any{}, []any{}, map[string]any{}
	for _, part := range parts {
		p := shape{file: s.file, raw: part.(map[string]any)}.merged()
		s.limits = append(slices.Clip(s.limits), p.limits...)
		maps.Copy(keywords, p.raw)
		own, _ := p.raw["properties"].(map[string]any)
		maps.Copy(props, own)
		more, _ := p.raw["required"].([]any)
		required = append(required, more...)
	}
	if plain := (shape{file: s.file, raw: keywords}); plain.types() != nil && !plain.is("object") {
		plain.limits = s.limits
		return plain // of values that are no objects, the last part has the fewest
	}
	s.raw = map[string]any{"type": "object", "properties": props, "required": required}
	return s
}

// members returns the names of the declared members of an object, sorted.
func (s shape) members() []string {
	props, _ := s.raw["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(props))
}

// member returns the shape of a declared member.
func (s shape) member(name string) (shape, bool) {
	props, _ := s.raw["properties"].(map[string]any)
	raw, ok := props[name]
	if !ok {
		return shape{}, false
	}
	return s.sub(raw), true
}

// other returns the shape of undeclared members.
func (s shape) other() shape {
	return s.sub(s.raw["additionalProperties"])
}

// isMap reports whether s declares the type of undeclared members.
func (s shape) isMap() bool { return s.raw["additionalProperties"] != nil && !s.isClosed() }

// isClosed reports whether s has no members other than the declared ones.
func (s shape) isClosed() bool { return s.raw["additionalProperties"] == false }

// required reports whether a member is required.
func (s shape) required(name string) bool {
	list, _ := s.raw["required"].([]any)
	return slices.Contains(list, any(name))
}

// element returns the shape of an array's element.
func (s shape) element(i int) shape {
	if first, _ := s.raw["prefixItems"].([]any); i < len(first) {
		return s.sub(first[i])
	}
	return s.items()
}

// items returns the shape of an array's elements.
func (s shape) items() shape { return s.sub(s.raw["items"]) }

// alternatives returns the alternatives of a union, with nested unions expanded, or nil.
func (s shape) alternatives() []shape {
	var list []shape
	choices, _ := s.raw["anyOf"].([]any)
	if choices == nil {
		choices, _ = s.raw["oneOf"].([]any)
	}
	if s.raw["properties"] != nil {
		return nil // they are conditions
	}
	for _, raw := range choices {
		alternative := s.sub(raw)
		if inner := alternative.alternatives(); inner != nil {
			list = append(list, inner...)
			continue
		}
		list = append(list, alternative)
	}
	return list
}

// types returns the permitted types of the value. Nil means any type.
func (s shape) types() []string {
	switch t := s.raw["type"].(type) {
	case string:
		return []string{t}
	case []any:
		var list []string
		for _, x := range t {
			list = append(list, x.(string))
		}
		return list
	}
	return nil
}

// is reports whether the value must have the given type.
func (s shape) is(kind string) bool {
	types := s.types()
	return len(types) == 1 && types[0] == kind
}

// values returns the values of a const or an enum, or nil.
func (s shape) values() []any {
	if v, ok := s.raw["const"]; ok {
		return []any{v}
	}
	list, _ := s.raw["enum"].([]any)
	return list
}

// bound returns the number of a keyword of s.
func (s shape) bound(keyword string) (json.Number, bool) {
	n, ok := s.raw[keyword].(json.Number)
	return n, ok
}

// isID reports whether the value is a request ID or a progress token.
func (s shape) isID() bool { return s.name == "RequestId" || s.name == "ProgressToken" }

// isMessage reports whether s is a request or a notification.
func (s shape) isMessage() bool {
	method, ok := s.member("method")
	return ok && method.values() != nil
}

// shapesOf returns the shapes of all places of a valid document by their pointers.
func (s shape) shapesOf(doc any) map[string]shape {
	found := map[string]shape{}
	s.findShapes(doc, "", found)
	return found
}

func (s shape) findShapes(v any, at string, found map[string]shape) {
	s = s.alternativeFor(v)
	found[at] = s
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			member, known := s.member(name)
			if !known {
				member = s.other()
			}
			member.findShapes(x, pointer(at, name), found)
		}
	case []any:
		for i, x := range v {
			s.element(i).findShapes(x, pointer(at, strconv.Itoa(i)), found)
		}
	}
}

// alternativeFor returns the type of a valid value of a union, or s if it is not a union.
func (s shape) alternativeFor(v any) shape {
	alternatives := unionOf(s)
	if alternatives == nil {
		return s
	}
	object, ok := v.(map[string]any)
	if !ok {
		if i := slices.IndexFunc(alternatives, func(alternative shape) bool { return alternative.is("array") }); i >= 0 {
			return alternatives[i]
		}
		return s
	}
	structs := structsOf(alternatives)
	candidates, _ := candidatesFor(structs, object)
	if len(candidates) == 1 {
		return candidates[0]
	}
	alternative, _ := choose(candidates, object)
	return alternative
}

// structsOf returns the alternatives that are objects with members.
func structsOf(alternatives []shape) []shape {
	return slices.DeleteFunc(slices.Clone(alternatives), func(alternative shape) bool { return alternative.raw["properties"] == nil })
}

// A patch corrects a schema in memory, if it is less exact than the protocol or describes
// something outside this package.
type patch struct {
	why   string
	apply func(*schemaFile)
}

var patches = []patch{
	{"jsonrpc and id are part of the framing, which runtime/wire reads and writes", dropFraming},
	{"a form may ask for a number, so 1.5 is a valid value; schema.ts has number", allowFractions},
	{"JSON has numbers and null, which the schema of JSONValue lacks", completeJSONValue},
	{"every message that is not embedded in another may have _meta, but only the base definitions and shared params declare it", addMetaToMessages},
}

func dropFraming(f *schemaFile) {
	for _, name := range f.names() {
		s := shape{file: f, raw: f.definition(name)}
		method, _ := field(s.raw, "properties", "method").(map[string]any)
		if method["const"] == nil {
			continue
		}
		props := s.raw["properties"].(map[string]any)
		var required []any
		for _, member := range s.raw["required"].([]any) {
			if member != "jsonrpc" && member != "id" {
				required = append(required, member)
			}
		}
		s.raw["required"] = required
		delete(props, "jsonrpc")
		delete(props, "id")
	}
}

func allowFractions(f *schemaFile) {
	content, ok := field(f.definition("ElicitResult"), "properties", "content", "additionalProperties").(map[string]any)
	if !ok {
		return
	}
	if alternatives, ok := content["anyOf"].([]any); ok {
		content = alternatives[len(alternatives)-1].(map[string]any)
	}
	if kinds, ok := content["type"].([]any); ok {
		content["type"] = append(slices.Clone(kinds), "number")
	}
}

func completeJSONValue(f *schemaFile) {
	alternatives, _ := f.definition("JSONValue")["anyOf"].([]any)
	for _, x := range alternatives {
		if scalar := x.(map[string]any); reflect.DeepEqual(scalar["type"], []any{"string", "integer", "boolean"}) {
			scalar["type"] = []any{"string", "number", "boolean", "null"}
		}
	}
}

func addMetaToMessages(f *schemaFile) {
	for _, name := range f.names() {
		def := f.definition(name)
		params, _ := field(def, "properties", "params", "properties").(map[string]any)
		if params == nil || params["_meta"] != nil || field(def, "properties", "method", "const") == nil {
			continue
		}
		if m := MethodByName(field(def, "properties", "method", "const").(string)); !m.FromClient.Has(f.revision) && !m.FromServer.Has(f.revision) {
			continue // it is embedded in a result
		}
		base := baseMessage(name)
		meta := field(f.definition(base), "properties", "params", "properties", "_meta")
		if shared := f.definition(base + "Params"); shared != nil {
			meta = field(shared, "properties", "_meta")
		}
		params["_meta"] = meta
	}
}

// baseMessage returns the name of the base definition of a message.
func baseMessage(definition string) string {
	const notification = "Notification"
	if len(definition) > len(notification) && definition[len(definition)-len(notification):] == notification {
		return notification
	}
	return "Request"
}

// field returns the value at a path of member names, or nil.
func field(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}
