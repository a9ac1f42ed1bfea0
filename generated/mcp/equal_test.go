package mcp

import (
	"encoding/json"
	"math/big"
	"reflect"
	"strconv"
)

// keepsEmpty names the optional members whose empty value says something else
// than their absence; in Go they are pointers.
var keepsEmpty = map[string]bool{
	"cursor": true, "nextCursor": true, "requestState": true, "default": true,
	"destructiveHint": true, "openWorldHint": true,
}

// fillsEmpty names the required members that an encoder fills in when they are
// empty.
var fillsEmpty = map[string]bool{
	"resultType": true, "io.modelcontextprotocol/protocolVersion": true,
}

// differs compares a document with what became of it, and tells the first
// difference, "" if there is none. Equivalent are:
//   - an explicit false or "" of an optional member and its absence, unless
//     keepsEmpty; an empty required member that fillsEmpty and its default;
//   - an optional member with a constant value, and its absence;
//   - params that say nothing, and their absence;
//   - content of one element, and the element itself;
//   - spellings of a number that is not an id;
//   - a message with and without members beside method and params;
//   - a _meta with and without a serverInfo that is no Implementation;
//   - a ttlMs that Go has no integer for, and 0.
func (s shape) differs(want, got any, at string) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	if arms := s.arms(); arms != nil {
		return differsInAll(arms, want, got, at)
	}
	switch want := want.(type) {
	case map[string]any:
		if got, ok := got.(map[string]any); ok && s.is("object") {
			return s.objectsDiffer(want, got, at)
		}
	case []any:
		got, ok := got.([]any)
		if !ok || !s.is("array") || len(want) != len(got) {
			return at + " differs"
		}
		for i := range want {
			if d := s.items().differs(want[i], got[i], pointer(at, strconv.Itoa(i))); d != "" {
				return d
			}
		}
		return ""
	case json.Number:
		if got, ok := got.(json.Number); ok && s.sameNumber(want, got) {
			return ""
		}
	}
	return at + " differs"
}

// differsInAll compares the values of a union.
func differsInAll(arms []shape, want, got any, at string) (first string) {
	if list, ok := want.([]any); ok && len(list) == 1 && arms[0].is("object") {
		if _, many := got.([]any); !many {
			want = list[0]
		}
	}
	for _, arm := range arms {
		d := arm.differs(want, got, at)
		if d == "" {
			return ""
		}
		if len(d) > len(first) {
			first = d
		}
	}
	return first
}

func (s shape) objectsDiffer(want, got map[string]any, at string) string {
	for name, w := range want {
		member, known := s.member(name)
		if !known {
			member = s.undeclared(name)
		}
		g, there := got[name]
		switch {
		case !there && s.vanishes(name, member, known, w):
			continue
		case !there:
			return pointer(at, name) + " is gone"
		case known && fillsEmpty[name] && w == "" && g != nil && g != "":
			continue
		case known && name == "ttlMs" && isLong(w) && g == json.Number("0"):
			continue
		}
		if d := member.differs(w, g, pointer(at, name)); d != "" {
			return d
		}
	}
	for name, g := range got {
		member, _ := s.member(name)
		if _, there := want[name]; !there && (member.raw["const"] == nil || member.raw["const"] != g) {
			return pointer(at, name) + " is new"
		}
	}
	return ""
}

// serverInfo is read as an Implementation also where it is not declared, in an
// open _meta that is a [ResultMeta] in Go, which writes nothing else.
const serverInfo = "io.modelcontextprotocol/serverInfo"

// isOpenMeta reports whether s is a _meta without declared members.
func (s shape) isOpenMeta() bool { return s.name == "MetaObject" }

// undeclared is the type of a member that s does not declare.
func (s shape) undeclared(name string) shape {
	if name == serverInfo && s.isOpenMeta() {
		return s.file.shape("Implementation")
	}
	return s.other()
}

// isLong reports whether v is an integer beyond an int64.
func isLong(v any) bool {
	n, ok := v.(json.Number)
	return ok && rational(n).IsInt() && !rational(n).Num().IsInt64()
}

// vanishes reports whether a member need not be written.
func (s shape) vanishes(name string, member shape, known bool, v any) bool {
	switch {
	case !known && name == serverInfo && s.isOpenMeta():
		return s.file.judge.accepts("/"+s.file.defs+"/Implementation", v) != nil
	case !known:
		return s.isMessage()
	case s.required(name) || keepsEmpty[name]:
		return false
	case name == "params" && s.isMessage():
		return member.differs(v, map[string]any{}, "") == ""
	}
	return v == "" && member.is("string") || v == false && member.is("boolean")
}

// sameNumber compares as Go sees numbers: ids by their digits, integers by
// their value, others as float64. Where anything is valid, spelling counts.
func (s shape) sameNumber(a, b json.Number) bool {
	switch {
	case s.isID() || s.types() == nil:
		return a == b
	case s.is("integer"):
		return rational(a).Cmp(rational(b)) == 0
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	return errX == nil && errY == nil && x == y
}

// rational is the exact value of a number within float64.
func rational(n json.Number) *big.Rat {
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		panic("no number: " + n.String())
	}
	return r
}
