package mcp

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// exceptions lists all differences between the decoder and the schemas, each with an
// example.
var exceptions = []struct {
	exception
	name, why  string
	revision   wire.Revision
	definition string
	document   string
	accepted   bool
}{
	{unknownAlternative, "unknown discriminator",
		"a union stores a value that the revision does not define as Unknown…, with its raw JSON",
		Revision20241105, "PromptMessage", `{"role":"user","content":{"type":"audio"}}`, true},
	{mostSpecificAlternative, "most specific alternative",
		"if several types have the same discriminator, the other members select the type to validate against",
		Revision20251125, "PrimitiveSchemaDefinition", `{"type":"string","oneOf":5}`, false},
	{missingDefault, "missing default",
		"resultType, ttlMs and cacheScope may be missing, because some servers omit them; they have safe defaults",
		Revision20260728, "CacheableResult", `{}`, true},
	{nullIsAbsent, "null is absent",
		"a null nextCursor and null arguments are treated as absent, because SDKs in other languages write them",
		Revision20250618, "ListToolsResult", `{"tools":[],"nextCursor":null}`, true},
	{anyServerInfo, "any serverInfo",
		"serverInfo in a result's _meta is for display only; an invalid one must not invalidate the result",
		Revision20260728, "ResultMetaObject", `{"io.modelcontextprotocol/serverInfo":5}`, true},
	{strictBase64, "strict base64",
		"validators ignore the format byte of the schema; the decoder requires valid base64",
		Revision20250326, "AudioContent", `{"type":"audio","mimeType":"","data":"AB=="}`, false},
	{plainIDs, "plain ids",
		"an ID is stored digit for digit, so 1.0 and 1e0, which are integers for a schema, are rejected, as are more than 128 bytes",
		Revision20250326, "RequestId", `1.0`, false},
	{longIntegers, "long integers",
		"integers are int64 in Go; larger values are errors and are not rounded",
		Revision20251125, "TaskMetadata", `{"ttl":9223372036854775808}`, false},
	{roundedBounds, "rounded bounds",
		"numbers are float64 in Go; limits apply to the rounded value",
		Revision20250326, "Annotations", `{"priority":1.0000000000000000001}`, true},
	{rawSchemas, "raw schemas",
		"the schemas of a tool are stored byte for byte; they are validated when the tool is registered",
		Revision20241105, "Tool", `{"name":"","inputSchema":{}}`, true},
	{embeddedMeta, "embedded _meta",
		"the embedded roots/list of 2026-07-28 has a _meta of any form, which is stored in Extra and not validated",
		Revision20260728, "ListRootsRequest", `{"method":"roots/list","params":{"_meta":5}}`, true},
	{inputRequired, "input required",
		"a result that requires input is decoded as InputRequiredResult and returned as an error; input_required_test.go tests it",
		Revision20260728, "CallToolResult", `{"content":[],"resultType":"input_required"}`, false},
	{anyCacheHint | missingDefault, "any cache hint",
		"an invalid ttlMs or cacheScope is treated as absent, because a hint must not invalidate the result",
		Revision20260728, "CacheableResult", `{"resultType":"complete","ttlMs":-1,"cacheScope":"private"}`, true},
	{missingText, "missing text",
		"contents of a resource without text and blob are an empty text, which the official Go SDK omits",
		Revision20250618, "TextResourceContents", `{"uri":"file:///empty"}`, true},
	{missingText | mostSpecificAlternative, "missing text in a union",
		"the same applies to a union of text and blob",
		Revision20251125, "ReadResourceResult", `{"contents":[{"uri":"file:///empty"}]}`, true},
}

// passedThrough contains the exceptions that also apply to encoded values, because these
// values are sent as they were received.
const passedThrough = unknownAlternative | mostSpecificAlternative | rawSchemas | embeddedMeta

func TestExceptions(t *testing.T) {
	var all exception
	for _, e := range exceptions {
		all |= e.exception
		x := newComparison(subjectFor(e.revision, e.definition), []byte(e.document))
		_, err := x.subject.decode(x.text)
		require.Equal(t, e.accepted, err == nil, "%s: %v", e.name, err)
		require.Equal(t, e.accepted, x.validate(e.exception) == nil, "%s: the validator must agree if the exception applies", e.name)
		require.Equal(t, e.accepted, x.validate(0) != nil, "%s: the validator must disagree without the exception", e.name)
	}
	require.Equal(t, allExceptions, all)
}

// An exception is a difference between the decoder and the schemas.
type exception uint16

const (
	unknownAlternative exception = 1 << iota
	mostSpecificAlternative
	missingDefault
	nullIsAbsent
	anyServerInfo
	strictBase64
	plainIDs
	longIntegers
	roundedBounds
	rawSchemas
	embeddedMeta
	inputRequired
	anyCacheHint
	missingText
)

const allExceptions = exception(1<<14 - 1)

// invalid replaces a value that the decoder rejects and the schema accepts. No place with
// an exception accepts a boolean.
const invalid = true

// A rewriter applies exceptions to documents: it rewrites a document so that the validator
// agrees with the decoder.
type rewriter struct {
	applies exception
	raw     bool // the value is raw JSON, which its schema validates
}

// rewrite returns the rewritten value. It does not modify v.
func (r rewriter) rewrite(s shape, v any) any {
	if alternatives := unionOf(s); alternatives != nil {
		return r.union(s, alternatives, v)
	}
	switch v := v.(type) {
	case map[string]any:
		if s.types() != nil {
			return r.object(s, v)
		}
	case []any:
		if s.raw["items"] != nil || s.raw["prefixItems"] != nil {
			return r.array(s, v)
		}
	case string:
		return r.text(s, v)
	case json.Number:
		return r.number(s, v)
	}
	return v
}

func (r rewriter) has(e exception) bool { return r.applies&e != 0 }

func (r rewriter) object(s shape, v map[string]any) any {
	if r.has(inputRequired) && s.mayRequireInput() && v["resultType"] == string(ResultTypeInputRequired) {
		return invalid
	}
	out := make(map[string]any, len(v))
	for name, x := range v {
		member, known := s.member(name)
		switch {
		case !known:
			out[name] = r.rewrite(s.other(), x)
		case r.drops(s, name, member, x):
		default:
			out[name] = r.member(s, name, member, x)
		}
	}
	for _, name := range []string{"resultType", "ttlMs", "cacheScope"} {
		if member, known := s.member(name); known && r.has(missingDefault) && s.required(name) && s.hasDefault(name) {
			if _, there := out[name]; !there {
				out[name] = member.smallest()
			}
		}
	}
	if _, there := out["text"]; !there && s.name == "TextResourceContents" && r.has(missingText) && s.variant("text").at == "" {
		out["text"] = ""
	}
	return out
}

// mayRequireInput reports whether s is the result of a method that may return an
// InputRequiredResult.
func (s shape) mayRequireInput() bool {
	response := s.file.definition(s.name + "Response")
	return response != nil && strings.Contains(string(render(response, sorted)), `/InputRequiredResult"`)
}

func (r rewriter) member(s shape, name string, member shape, v any) any {
	if _, isObject := v.(map[string]any); r.has(rawSchemas) && isObject && s.name == "Tool" {
		if name == "inputSchema" || name == "outputSchema" {
			return member.smallest()
		}
	}
	if s.variant(name).extra {
		r.raw = true
		r.applies &^= missingDefault | missingText // the schema validates it
	}
	return r.rewrite(member, v)
}

// accepts reports whether a document is valid where s is.
func (s shape) accepts(doc any) bool {
	return s.raw == nil || s.file.validator.limit(s.raw).Validate(doc) == nil && s.isValid(doc)
}

// hasDefault reports whether the codec uses a default for a member: the schema allows the default, and no variant
// has another schema.
func (s shape) hasDefault(name string) bool {
	for _, d := range defaults {
		if member, ok := s.member(name); ok && d.name == name {
			return s.variant(name).at == "" && member.accepts(parse([]byte(d.value)))
		}
	}
	return false
}

// drops reports whether the decoder treats a member as absent.
func (r rewriter) drops(s shape, name string, member shape, v any) bool {
	switch name {
	case "nextCursor":
		return r.has(nullIsAbsent) && v == nil && !member.accepts(nil)
	case "arguments":
		ofTool := member.isMap() && len(member.other().raw) == 0 && !s.variant(name).extra && s.file.callsTools()
		return r.has(nullIsAbsent) && v == nil && ofTool
	case "io.modelcontextprotocol/serverInfo":
		return r.has(anyServerInfo) && s.name == "ResultMetaObject"
	case "ttlMs", "cacheScope":
		return r.has(anyCacheHint) && (s.hasDefault(name) || !s.required(name) && s.variant(name).at == "")
	case "_meta":
		return r.has(embeddedMeta) && s.isEmbeddedRoots()
	}
	return false
}

// callsTools reports whether CallToolRequest has the method of the Go type of this name.
func (f *schemaFile) callsTools() bool {
	method := field(f.definition("CallToolRequest"), "properties", "method", "const")
	return method == nil || method == MethodCallTool
}

// isEmbeddedRoots reports whether s is the params of a roots/list request inside another
// message.
func (s shape) isEmbeddedRoots() bool {
	meta, ok := s.member("_meta")
	return ok && s.name == "" && s.file.definition("InputRequest") != nil && len(s.members()) == 1 && meta.isOpenMeta()
}

func (r rewriter) array(s shape, v []any) any {
	out := make([]any, len(v))
	for i, x := range v {
		out[i] = r.rewrite(s.element(i), x)
	}
	return out
}

func (r rewriter) text(s shape, v string) any {
	switch {
	case r.has(strictBase64) && s.raw["format"] == "byte":
		if _, err := base64.StdEncoding.Strict().DecodeString(v); err != nil || strings.ContainsAny(v, "\r\n") {
			return invalid
		}
	case r.has(plainIDs) && s.isID() && len(render(v, sorted)) > 128:
		return invalid
	}
	return v
}

var plainInteger = regexp.MustCompile(`^-?[0-9]+$`)

func (r rewriter) number(s shape, n json.Number) any {
	switch {
	case s.isID():
		if r.has(plainIDs) && (!plainInteger.MatchString(n.String()) || len(n) > 128) {
			return invalid
		}
	case slices.Contains(s.types(), "integer"):
		if exact := rational(n); r.has(longIntegers) && exact.IsInt() && !exact.Num().IsInt64() {
			return invalid
		}
	case s.is("number") && r.has(roundedBounds) && !s.inBounds(n):
		rounded, _ := n.Float64()
		text, _ := json.Marshal(rounded)
		return json.Number(text)
	}
	return n
}

func (r rewriter) union(s shape, alternatives []shape, v any) any {
	object, ok := v.(map[string]any)
	if !ok {
		return r.listOfUnion(alternatives, v)
	}
	structs := structsOf(alternatives)
	if s.isStruct() || r.raw && s.name == "" {
		if slices.ContainsFunc(alternatives, func(a shape) bool { return a.raw["properties"] == nil && a.accepts(v) }) {
			return v
		}
		return r.anyStruct(s, structs, object)
	}
	switch candidates, known := candidatesFor(structs, object); {
	case !known && r.has(unknownAlternative):
		return structs[0].smallest()
	case len(candidates) == 1:
		return r.object(candidates[0], object)
	case len(candidates) > 1 && r.has(mostSpecificAlternative):
		return r.mostSpecific(s, candidates, object)
	}
	return v
}

// anyStruct rewrites a value of a union that has no Go type of its own: it is valid if any alternative accepts it.
func (r rewriter) anyStruct(union shape, alternatives []shape, v map[string]any) any {
	r.applies &^= missingDefault | anyCacheHint | nullIsAbsent // the schema validates the members
	for _, s := range alternatives {
		out := r.object(s, v)
		if s.name == "" && s.accepts(out) || s.name != "" && s.file.validator.validate("/"+s.file.defs+"/"+s.name, out) == nil {
			return out
		}
	}
	if !union.accepts(v) {
		return v
	}
	return invalid
}

// listOfUnion rewrites a value of a union that is not an object.
func (r rewriter) listOfUnion(alternatives []shape, v any) any {
	list, ok := v.([]any)
	for _, alternative := range alternatives {
		if ok && alternative.is("array") {
			return r.array(alternative, list)
		}
	}
	return v
}

// mostSpecific validates an object against the type that its members select.
func (r rewriter) mostSpecific(union shape, candidates []shape, v map[string]any) any {
	chosen, ok := choose(candidates, v)
	if i := slices.IndexFunc(candidates, func(s shape) bool { return s.name == "TextResourceContents" }); !ok && i >= 0 && r.has(missingText) {
		chosen, ok = candidates[i], true
	}
	if !ok {
		return v // it lacks the required members of all types
	}
	at := "/" + chosen.file.defs + "/" + chosen.name
	if chosen.file.validator.validate(at, r.object(chosen, v)) != nil {
		return invalid
	}
	return chosen.smallest()
}
