package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/mcpwright/mcp/schema"
)

// A schemaFile is the schema of one revision, patched, in a form to walk.
type schemaFile struct {
	revision wire.Revision
	defs     string // "definitions" or "$defs"
	root     map[string]any
	judge    *judge
	resolved map[string]shape
}

// schemas holds the files of all revisions, oldest first.
var schemas = sync.OnceValue(func() []*schemaFile {
	var list []*schemaFile
	for _, r := range Revisions {
		list = append(list, loadSchema(r.Revision, patches))
	}
	return list
})

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
	f.judge = newJudge(f)
	for _, name := range f.names() {
		f.resolved[name] = shape{file: f, raw: f.definition(name), name: name}.merged()
	}
	return f
}

// names lists the definitions in order.
func (f *schemaFile) names() []string {
	return slices.Sorted(maps.Keys(f.root[f.defs].(map[string]any)))
}

func (f *schemaFile) definition(name string) map[string]any {
	def, _ := f.root[f.defs].(map[string]any)[name].(map[string]any)
	return def
}

// A shape is a place in a schema. The zero raw is the schema that anything fits.
type shape struct {
	file *schemaFile
	raw  map[string]any
	name string // the definition it is, "" inside of one
}

// shape returns a definition with its references resolved.
func (f *schemaFile) shape(name string) shape {
	s, ok := f.resolved[name]
	if !ok {
		panic(fmt.Sprintf("%v has no definition %q", f.revision, name))
	}
	return s
}

// sub makes the shape of what stands below a keyword of s.
func (s shape) sub(raw any) shape {
	object, _ := raw.(map[string]any) // true is the same as {}
	if ref, ok := object["$ref"].(string); ok {
		return s.file.shape(ref[strings.LastIndexByte(ref, '/')+1:])
	}
	return shape{file: s.file, raw: object}.merged()
}

// merged follows the reference that a whole definition is, and makes one object
// of an allOf.
func (s shape) merged() shape {
	if ref, ok := s.raw["$ref"].(string); ok {
		target := ref[strings.LastIndexByte(ref, '/')+1:]
		return shape{file: s.file, raw: s.file.definition(target), name: target}.merged()
	}
	parts, ok := s.raw["allOf"].([]any)
	if !ok {
		return s
	}
	props, required := map[string]any{}, []any{}
	for _, part := range parts {
		p := shape{file: s.file, raw: part.(map[string]any)}.merged()
		own, _ := p.raw["properties"].(map[string]any)
		maps.Copy(props, own)
		more, _ := p.raw["required"].([]any)
		required = append(required, more...)
	}
	s.raw = map[string]any{"type": "object", "properties": props, "required": required}
	return s
}

// members lists the declared members of an object in order.
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

// other returns the shape of members that are not declared.
func (s shape) other() shape {
	return s.sub(s.raw["additionalProperties"])
}

// isMap reports whether s says what members of any name hold.
func (s shape) isMap() bool { return s.raw["additionalProperties"] != nil }

func (s shape) required(name string) bool {
	list, _ := s.raw["required"].([]any)
	return slices.Contains(list, any(name))
}

// items returns the shape of an array's elements.
func (s shape) items() shape { return s.sub(s.raw["items"]) }

// arms lists the alternatives of a union, those of nested unions in its place.
func (s shape) arms() []shape {
	var list []shape
	any, _ := s.raw["anyOf"].([]any)
	for _, raw := range any {
		arm := s.sub(raw)
		if inner := arm.arms(); inner != nil {
			list = append(list, inner...)
			continue
		}
		list = append(list, arm)
	}
	return list
}

// types lists what the value may be, nil for anything.
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

// is reports whether the value can only be of the given type.
func (s shape) is(kind string) bool {
	types := s.types()
	return len(types) == 1 && types[0] == kind
}

// values lists the values of a const or an enum, nil where s is neither.
func (s shape) values() []any {
	if v, ok := s.raw["const"]; ok {
		return []any{v}
	}
	list, _ := s.raw["enum"].([]any)
	return list
}

// bound returns a number that a keyword of s sets.
func (s shape) bound(keyword string) (json.Number, bool) {
	n, ok := s.raw[keyword].(json.Number)
	return n, ok
}

// isID reports whether the value is a request id or a progress token.
func (s shape) isID() bool { return s.name == "RequestId" || s.name == "ProgressToken" }

// isMessage reports whether s is a request or a notification.
func (s shape) isMessage() bool {
	method, ok := s.member("method")
	return ok && method.values() != nil
}
