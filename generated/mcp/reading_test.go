package mcp

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// An exception is a way in which the decoder reads a document otherwise than
// its schema says.
type exception uint16

const (
	unknownArm exception = 1 << iota
	mostSpecificArm
	missingDefault
	nullIsAbsent
	anyServerInfo
	strictBase64
	plainIDs
	longIntegers
	roundedBounds
	rawSchemas
	embeddedMeta
	questions
	anyCacheHint
	missingText
)

const allExceptions = exception(1<<14 - 1)

// wrong stands where the decoder refuses and the schema would not: no place
// with an exception takes a boolean.
const wrong = true

// A reader rewrites documents into what they mean to the decoder, so that the
// validator then comes to the decoder's verdict.
type reader struct {
	applies exception
}

// read rewrites one value. The original is left alone.
func (r reader) read(s shape, v any) any {
	if arms := unionOf(s); arms != nil {
		return r.union(s, arms, v)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.types() != nil {
			return r.object(s, v)
		}
	case []any:
		if s.raw["items"] != nil {
			return r.array(s, v)
		}
	case string:
		return r.text(s, v)
	case json.Number:
		return r.number(s, v)
	}
	return v
}

func (r reader) has(e exception) bool { return r.applies&e != 0 }

func (r reader) object(s shape, v map[string]any) any {
	if r.has(questions) && s.mayAsk() && v["resultType"] == string(ResultTypeInputRequired) {
		return wrong
	}
	out := make(map[string]any, len(v))
	for name, x := range v {
		member, known := s.member(name)
		switch {
		case !known:
			out[name] = r.read(s.other(), x)
		case r.drops(s, name, member, x):
		default:
			out[name] = r.member(s, name, member, x)
		}
	}
	for _, name := range []string{"resultType", "ttlMs", "cacheScope"} {
		if member, known := s.member(name); known && r.has(missingDefault) && s.required(name) {
			if _, there := out[name]; !there {
				out[name] = member.least()
			}
		}
	}
	if _, there := out["text"]; !there && s.name == "TextResourceContents" && r.has(missingText) {
		out["text"] = ""
	}
	return out
}

// mayAsk reports whether s is the result of a method that may ask for input.
func (s shape) mayAsk() bool {
	response := s.file.definition(s.name + "Response")
	return response != nil && strings.Contains(string(render(response, sorted)), `/InputRequiredResult"`)
}

func (r reader) member(s shape, name string, member shape, v any) any {
	if _, isObject := v.(map[string]any); r.has(rawSchemas) && isObject && s.name == "Tool" {
		if name == "inputSchema" || name == "outputSchema" {
			return member.least()
		}
	}
	return r.read(member, v)
}

// drops reports whether a member counts as absent.
func (r reader) drops(s shape, name string, member shape, v any) bool {
	switch name {
	case "nextCursor":
		return r.has(nullIsAbsent) && v == nil
	case "arguments":
		ofTool := member.isMap() && len(member.other().raw) == 0
		return r.has(nullIsAbsent) && v == nil && ofTool
	case "io.modelcontextprotocol/serverInfo":
		return r.has(anyServerInfo) && s.name == "ResultMetaObject"
	case "ttlMs", "cacheScope":
		return r.has(anyCacheHint)
	case "_meta":
		return r.has(embeddedMeta) && s.isEmbeddedRoots()
	}
	return false
}

// isEmbeddedRoots reports whether s is the params of roots/list inside another
// message.
func (s shape) isEmbeddedRoots() bool {
	meta, ok := s.member("_meta")
	return ok && s.file.revision.Index() >= Revision20260728.Index() && len(s.members()) == 1 && meta.isOpenMeta()
}

func (r reader) array(s shape, v []any) any {
	out := make([]any, len(v))
	for i, x := range v {
		out[i] = r.read(s.items(), x)
	}
	return out
}

func (r reader) text(s shape, v string) any {
	switch {
	case r.has(strictBase64) && s.raw["format"] == "byte":
		if _, err := base64.StdEncoding.Strict().DecodeString(v); err != nil || strings.ContainsAny(v, "\r\n") {
			return wrong
		}
	case r.has(plainIDs) && s.isID() && len(render(v, sorted)) > 128:
		return wrong
	}
	return v
}

var plainInteger = regexp.MustCompile(`^-?[0-9]+$`)

func (r reader) number(s shape, n json.Number) any {
	switch {
	case s.isID():
		if r.has(plainIDs) && (!plainInteger.MatchString(n.String()) || len(n) > 128) {
			return wrong
		}
	case slices.Contains(s.types(), "integer"):
		if exact := rational(n); r.has(longIntegers) && exact.IsInt() && !exact.Num().IsInt64() {
			return wrong
		}
	case s.is("number") && r.has(roundedBounds) && !s.inBounds(n):
		rounded, _ := n.Float64()
		text, _ := json.Marshal(rounded)
		return json.Number(text)
	}
	return n
}

func (r reader) union(s shape, arms []shape, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return r.listOfUnion(arms, v)
	}
	structs := structsOf(arms)
	switch candidates, known := candidatesFor(structs, object); {
	case !known && r.has(unknownArm):
		return structs[0].least()
	case len(candidates) == 1:
		return r.object(candidates[0], object)
	case len(candidates) > 1 && r.has(mostSpecificArm):
		return r.mostSpecific(s, candidates, object)
	}
	return v
}

// listOfUnion reads what is no object in the place of a union.
func (r reader) listOfUnion(arms []shape, v any) any {
	list, ok := v.([]any)
	for _, arm := range arms {
		if ok && arm.is("array") {
			return r.array(arm, list)
		}
	}
	return v
}

// mostSpecific has an object judged by the type that its members choose.
func (r reader) mostSpecific(union shape, candidates []shape, v map[string]any) any {
	chosen, ok := choose(candidates, v)
	if i := slices.IndexFunc(candidates, func(s shape) bool { return s.name == "TextResourceContents" }); !ok && i >= 0 && r.has(missingText) {
		chosen, ok = candidates[i], true
	}
	if !ok {
		return v // it lacks what each of them requires
	}
	at := "/" + chosen.file.defs + "/" + chosen.name
	if chosen.file.judge.accepts(at, r.object(chosen, v)) != nil {
		return wrong
	}
	return chosen.least()
}
