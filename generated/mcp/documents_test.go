package mcp

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/runtime/wire"
)

// variedDepth is the number of levels at which all members are varied, one at a time.
// Below them, documents are as small or as large as possible.
const variedDepth = 3

// smallest returns a valid document with the required members only.
func (s shape) smallest() any { return s.fitting(s.small(), false) }

// small is like smallest, without the limits of s.
func (s shape) small() any {
	switch values, alternatives := s.values(), s.alternatives(); {
	case values != nil:
		return values[0]
	case alternatives != nil:
		return s.firstFinite(alternatives).smallest()
	case s.types() == nil:
		return nil
	}
	switch s.types()[0] {
	case "object":
		out := map[string]any{}
		for _, name := range s.members() {
			if member, _ := s.member(name); s.required(name) {
				out[name] = member.smallest()
			}
		}
		return out
	case "array":
		return []any{}
	}
	return s.scalars()[0]
}

// firstFinite returns the first alternative of a union that does not require another value of the union.
func (s shape) firstFinite(alternatives []shape) shape {
	return alternatives[max(0, slices.IndexFunc(alternatives, func(a shape) bool { return a.isFinite(s.name) }))]
}

// isFinite reports whether the smallest document of s is finite. The names of the definitions around s are in within.
func (s shape) isFinite(within ...string) bool {
	if s.name != "" && slices.Contains(within, s.name) {
		return false
	}
	within = append(slices.Clip(within), s.name)
	if alternatives := s.alternatives(); alternatives != nil {
		return slices.ContainsFunc(alternatives, func(a shape) bool { return a.isFinite(within...) })
	}
	return !slices.ContainsFunc(s.members(), func(name string) bool {
		member, _ := s.member(name)
		return s.required(name) && !member.isFinite(within...)
	})
}

// largest returns a valid document with all members, down to depth levels.
func (s shape) largest(depth int) any { return s.fitting(s.large(depth), true) }

// large is like largest, without the limits of s.
func (s shape) large(depth int) any {
	switch values, alternatives := s.values(), s.alternatives(); {
	case depth < 0:
		return s.smallest()
	case values != nil:
		return values[len(values)-1]
	case alternatives != nil:
		return alternatives[0].largest(depth)
	case s.types() == nil:
		return wildcards()[len(wildcards())-1]
	}
	switch s.types()[0] {
	case "object":
		out := map[string]any{}
		for _, name := range s.members() {
			member, _ := s.member(name)
			if v := member.largest(depth - 1); member.isValid(v) {
				out[name] = v
			}
		}
		if s.isMap() {
			out["x-more"] = s.other().largest(depth - 1)
		}
		if s.requiresInput(out) {
			out["resultType"] = string(ResultTypeComplete)
		}
		return out
	case "array":
		return []any{s.items().largest(depth - 1)}
	}
	scalars := s.scalars()
	return scalars[len(scalars)-1]
}

// documents returns valid documents, varied down to depth levels.
func (s shape) documents(depth int) []any {
	if len(s.limits) > 0 {
		return append(s.limited(), s.valid([]any{s.smallest(), s.largest(depth)})...)
	}
	if values := s.values(); values != nil {
		return values
	}
	if alternatives := s.alternatives(); alternatives != nil {
		var list []any
		for _, alternative := range alternatives {
			list = append(list, alternative.documents(depth)...)
		}
		return list
	}
	if depth < 0 {
		return []any{s.smallest()}
	}
	if s.types() == nil {
		return wildcards()
	}
	var list []any
	for _, kind := range s.types() {
		switch kind {
		case "object":
			list = append(list, s.objects(depth)...)
		case "array":
			list = append(list, s.arrays(depth)...)
		}
	}
	return append(list, s.scalars()...)
}

// objects returns the smallest and the largest object, and objects that add a single
// member to the smallest.
func (s shape) objects(depth int) []any {
	list := []any{s.smallest(), s.largest(depth + 2)}
	if !s.isMessage() && !s.isClosed() { // unknown members of a message are not stored
		object := s.smallest().(map[string]any)
		for name := range unknownMembers {
			object[name] = s.unknownMember(name)
		}
		list = append(list, object)
	}
	for _, name := range s.members() {
		member, _ := s.member(name)
		for _, v := range member.valid(member.documents(depth - 1)) {
			with := s.smallest().(map[string]any)
			with[name] = v
			list = append(list, with)
		}
	}
	if s.isOpenMeta() {
		for _, v := range append(s.undeclared(serverInfo).documents(depth-1), "none") {
			list = append(list, map[string]any{serverInfo: v})
		}
	}
	if s.isMap() && s.other().raw["properties"] == nil {
		for _, v := range s.other().documents(depth - 1) {
			with := s.smallest().(map[string]any)
			with["x"] = v
			list = append(list, with)
		}
	}
	return list
}

// unknownMembers contains members that no schema defines.
var unknownMembers = map[string]any{
	"":         nil,
	"x-é😀":     json.Number("1.50"),
	"Name":     "",
	"name\x00": false,
	"a/b~c\"":  []any{},
}

// unknownMember returns a valid value for an unknown member.
func (s shape) unknownMember(name string) any {
	if other := s.other(); other.raw != nil {
		return other.smallest()
	}
	return unknownMembers[name]
}

// arrays returns arrays with no, one, several and the maximum number of elements.
func (s shape) arrays(depth int) []any {
	items := s.items()
	list := []any{[]any{}}
	for _, v := range items.documents(depth - 1) {
		list = append(list, []any{v})
	}
	several := append(slices.Repeat([]any{items.smallest()}, 3), items.largest(depth))
	if n, ok := s.bound("maxItems"); ok {
		count, _ := n.Int64()
		several = several[max(0, len(several)-int(count)):]
		list = append(list, slices.Repeat([]any{items.smallest()}, int(count)))
	}
	return append(list, several)
}

// constants returns the strings in all consts and enums of the file, sorted.
func (f *schemaFile) constants() []string {
	found := map[string]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if text, ok := v["const"].(string); ok {
				found[text] = true
			}
			if list, ok := v["enum"].([]any); ok {
				for _, x := range list {
					if text, ok := x.(string); ok {
						found[text] = true
					}
				}
			}
			for _, x := range v {
				walk(x)
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(f.root[f.defs])
	return slices.Sorted(maps.Keys(found))
}

// scalars returns valid values that are neither objects nor arrays.
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

// wildcards returns new values for a place at which any JSON is valid.
func wildcards() []any {
	return []any{
		nil, true, "", "x", json.Number("0"), json.Number("1.50"), json.Number("123456789012345678901234567890"),
		[]any{}, map[string]any{}, []any{nil, []any{map[string]any{"": "\n"}}},
		map[string]any{"a": json.Number("1e3"), "b": []any{false, ""}, "é": map[string]any{"type": "x"}},
	}
}

// An ordering changes the order of the sorted names of an object's members.
type ordering func(names []string)

func sorted([]string)         {}
func reversed(names []string) { slices.Reverse(names) }

// A literal is text that is written into a document unchanged. It need not be JSON.
type literal string

// A withDuplicate is an object with an additional member, which is the text of an object.
type withDuplicate struct {
	object map[string]any
	member literal
}

// render returns the text of a document, with the members of each object in the given
// order.
func render(v any, order ordering) []byte { return appendAny(nil, v, order) }

func appendAny(b []byte, v any, order ordering) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return wire.AppendBool(b, v)
	case json.Number:
		return append(b, v...)
	case string:
		return wire.AppendString(b, v)
	case literal:
		return append(b, v...)
	case withDuplicate:
		b = appendAny(b, v.object, order)
		return append(append(b[:len(b)-1], ','), v.member[1:]...)
	case []any:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendAny(b, x, order)
		}
		return append(b, ']')
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		order(names)
		b = append(b, '{')
		for i, name := range names {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(wire.AppendString(b, name), ':')
			b = appendAny(b, v[name], order)
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("a document contains a %T", v))
}

// A place is the position of a value in a document. The function store replaces the value.
type place struct {
	at      *any
	pointer string
	store   func(any)
}

// places returns all places of a document, the whole document first.
func places(root *any) []place {
	list := []place{{root, "", func(v any) { *root = v }}}
	for i := 0; i < len(list); i++ {
		switch v := (*list[i].at).(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				x := v[name]
				list = append(list, place{&x, pointer(list[i].pointer, name), func(y any) { v[name] = y }})
			}
		case []any:
			for j := range v {
				list = append(list, place{&v[j], pointer(list[i].pointer, strconv.Itoa(j)), func(y any) { v[j] = y }})
			}
		}
	}
	return list
}

// clone returns a deep copy of a document.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, x := range v {
			out[name] = clone(x)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = clone(x)
		}
		return out
	}
	return v
}
