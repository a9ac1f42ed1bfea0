package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// everyValue calls visit with filled values of each struct: one value for each alternative
// of its unions and enums. It returns the number of values.
func everyValue(visit func(name string, v wire.Value)) (count int) {
	structs := goTypes().structs
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		seen := map[string]bool{}
		for alternative := range maxAlternatives {
			v := filler{alternative: alternative}.filled(structs[name])
			text, err := wire.Marshal(v)
			if err != nil {
				panic(err)
			}
			if !seen[string(text)] {
				seen[string(text)] = true
				visit(name, v)
				count++
			}
		}
	}
	return count
}

func TestFullValuesInEachRevision(t *testing.T) {
	var written, rejected int
	count := everyValue(func(name string, v wire.Value) {
		for _, file := range schemas() {
			v := suited(file, v)
			out, err := wire.Append(nil, &wire.Frame{Revision: file.revision}, v)
			if err != nil {
				requireNamesMissingPart(t, file, err)
				rejected++
				continue
			}
			written++
			requireValid(t, file, v, out)
			requireComplete(t, file, v, out)
			requireOnlyKnownMembers(t, file.revision, v, out)
		}
	})
	t.Logf("%d values of %d types: encoded %d times, rejected %d times", count, len(goTypes().structs), written, rejected)
	require.Greater(t, written, 1000)
	require.Greater(t, rejected, 100)
}

// requireValid validates JSON against every definition of v's type.
func requireValid(t *testing.T, file *schemaFile, v wire.Value, out []byte) {
	t.Helper()
	for _, s := range subjects() {
		if s.file == file && reflect.TypeOf(s.fresh()) == reflect.TypeOf(v) {
			require.NoError(t, file.validator.validateText(s.pointer, out), "%v: %s", s, out)
		}
	}
}

// requireComplete checks that the JSON has all members of the schema.
func requireComplete(t *testing.T, file *schemaFile, v wire.Value, out []byte) {
	t.Helper()
	for _, s := range subjects() {
		if s.file == file && reflect.TypeOf(s.fresh()) == reflect.TypeOf(v) {
			require.Empty(t, s.shape.unusedMember(parse(out), ""), "%v: %s", s, out)
		}
	}
}

// unusedMember returns a pointer to a member of the schema that a document does not have,
// or "". It does not check the schemas of a tool, the _meta of an embedded roots/list, schemas with limits, which may
// forbid a member, and a definition inside itself, in which the filler ends. The names of the definitions around v
// are in within.
func (s shape) unusedMember(v any, at string, within ...string) string {
	s = s.alternativeFor(v)
	if len(s.limits) > 0 || s.name != "" && slices.Contains(within, s.name) {
		return ""
	}
	within = append(slices.Clip(within), s.name)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.members() {
			member, _ := s.member(name)
			if _, there := v[name]; !there && !s.isEmbeddedRoots() && !s.omittable(name, member, true, member.largest(0)) {
				return pointer(at, name)
			}
			if name == "inputSchema" || name == "outputSchema" || isChecked(s.file.revision, name) {
				continue // raw JSON
			}
			if missing := member.unusedMember(v[name], pointer(at, name), within...); missing != "" {
				return missing
			}
		}
	case []any:
		for i, x := range v {
			if missing := s.items().unusedMember(x, pointer(at, strconv.Itoa(i)), within...); missing != "" {
				return missing
			}
		}
	}
	return ""
}

// requireOnlyKnownMembers decodes JSON and requires that Extra has no member except the
// one that the filler added.
func requireOnlyKnownMembers(t *testing.T, r wire.Revision, v wire.Value, out []byte) {
	t.Helper()
	back := reflect.New(reflect.TypeOf(v).Elem())
	require.NoError(t, wire.Decode(out, &wire.Frame{Revision: r}, back.Interface().(wire.Value)), "%v %T: %s", r, v, out)
	extras(back, func(extra map[string]json.RawMessage) {
		for name := range extra {
			if inExtra(r, name) || isLimitedIn(r) || name == "x-more" && len(variantsIn(r, reflect.TypeOf(v).Elem())) > 0 {
				continue
			}
			require.Equal(t, "x-key", name, "%v %T: %s", r, v, out)
		}
	})
}

// isLimitedIn reports whether a schema of a revision has keywords that need other members in Extra.
func isLimitedIn(r wire.Revision) bool {
	return slices.ContainsFunc(variants, func(x variant) bool {
		return x.field == "" && x.in.Has(r) && slices.ContainsFunc(schemas(), func(f *schemaFile) bool {
			return f.revision == r && len(f.at(x.at).limits) > 0
		})
	})
}

// missingPart matches errors about a part of a value that a revision does not have.
var missingPart = regexp.MustCompile(`revision has no ([[:word:]]+)(?: in ([[:word:]]+))?(?:(?: with (?:type|method|mode))? "(.+)")?$|revision has no list of strings here$|want an integer, have 0\.5$|has no value "text"$`)

// requireNamesMissingPart checks that an error names the missing part of the revision, and
// that the revision does not have it.
func requireNamesMissingPart(t *testing.T, file *schemaFile, err error) {
	t.Helper()
	var failure *wire.EncodeError
	require.True(t, errors.As(err, &failure), err)
	require.Equal(t, file.revision, failure.Revision)
	found := missingPart.FindStringSubmatch(failure.Err.Error())
	require.NotNil(t, found, err)
	switch {
	case found[3] != "" && file.definition(found[1]) != nil:
		for _, alternative := range file.shape(found[1]).alternatives() {
			for _, constant := range strings.Split(found[3], `" or "`) {
				require.NotContains(t, string(render(alternative.raw, sorted)), `{"const":"`+constant+`"`, err)
			}
		}
	case found[3] != "":
		for _, name := range file.names() {
			if file.refersTo(name) {
				one := &schemaFile{defs: file.defs, root: map[string]any{file.defs: map[string]any{name: file.definition(name)}}}
				require.NotContains(t, one.constants(), found[3], err)
			}
		}
	case file.definition(found[2]) != nil:
		for _, alternative := range file.shape(found[2]).alternatives() {
			require.NotEqual(t, found[1], alternative.name, err)
		}
	case goTypes().structs[found[1]] != nil: // the revision may have another definition of this name
		in, _ := definedIn(goTypes().structs[found[1]])
		require.False(t, in.Has(file.revision), err)
	case found[1] != "":
		require.NotContains(t, file.names(), found[1], err)
	}
}

// refersTo reports whether any schema of the file refers to a definition.
func (f *schemaFile) refersTo(name string) bool {
	return strings.Contains(string(render(f.root, sorted)), `"#/`+f.defs+`/`+name+`"`)
}

func TestEncodingJSONKeepsAllMembers(t *testing.T) {
	everyValue(func(name string, v wire.Value) {
		text, err := json.Marshal(v)
		require.NoError(t, err, name)
		byValue, err := json.Marshal(reflect.ValueOf(v).Elem().Interface())
		require.NoError(t, err, name)
		require.Equal(t, string(text), string(byValue))
		back := reflect.New(reflect.TypeOf(v).Elem()).Interface()
		require.NoError(t, json.Unmarshal(text, back), "%s", text)
		require.Equal(t, v, back, "%s", text)
	})
}

func TestZeroValuesInEachRevision(t *testing.T) {
	for name, typ := range goTypes().structs {
		for _, file := range schemas() {
			v := reflect.New(typ).Interface().(wire.Value)
			out, err := wire.Append(nil, &wire.Frame{Revision: file.revision}, v)
			var failure *wire.EncodeError
			if errors.As(err, &failure) && file.forbidsZero(failure.Pointer[strings.LastIndex(failure.Pointer, "/")+1:]) {
				require.Regexp(t, `want at (least|most) `, err, name)
				continue
			}
			if err != nil {
				require.Regexp(t, `revision has no |required|required and not set|has no value ""|one value here|missing member|is not one of|want one of|types, want one|form that is not allowed|are required|want array, have an object`, err, name)
				continue
			}
			requireValid(t, file, v, out)
		}
	}
}

// forbidsZero reports whether the bounds of any number with a name exclude 0.
func (f *schemaFile) forbidsZero(member string) (found bool) {
	s := shape{file: f, raw: f.root}
	s.each(func(raw map[string]any) {
		properties, _ := raw["properties"].(map[string]any)
		if bounded, ok := properties[member].(map[string]any); ok {
			found = found || !(shape{file: f, raw: bounded}).inBounds("0")
		}
	})
	return found
}

// unnamed lists the structs that some revisions have without a definition of that name.
var unnamed = map[string]string{
	"Annotations":                    "2024-11-05 repeats the definition at each use",
	"ElicitRequestFormParams":        "2025-06-18 has no other kind of elicitation",
	"LegacyTitledEnumSchema":         "EnumSchema in 2025-06-18",
	"UntitledSingleSelectEnumSchema": "EnumSchema in 2025-06-18",
	"RequestMeta":                    "every revision has a _meta in requests",
	"NotificationMeta":               "every revision has a _meta in notifications",
	"ResultMeta":                     "every revision has a _meta in results",
}

// TestTypesOfOtherRevisionsAreRejected encodes every struct for the revisions that do not
// define it.
func TestTypesOfOtherRevisionsAreRejected(t *testing.T) {
	applied := map[string]bool{}
	rejected := 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		in, defined := definedIn(goTypes().structs[name])
		for _, r := range revisions() {
			if !defined || in.Has(r) {
				continue
			}
			var out []byte
			var err error
			for i := 1; i <= 3 && (i == 1 || err != nil); i++ { // the revision may lack the first value of an enum
				out, err = wire.Append(nil, &wire.Frame{Revision: r}, suited(schemas()[r.Index()], filler{alternative: i}.filled(goTypes().structs[name])))
			}
			if at := schemas()[r.Index()].generalResult(name); at != "" {
				require.NoError(t, err, "%v %s", r, name)
				require.NoError(t, schemas()[r.Index()].validator.validateText(at, out), "%v %s: %s", r, name, out)
				continue
			}
			switch {
			case err == nil && unnamed[name] != "":
				applied[name] = true
				continue
			case err == nil && schemas()[r.Index()].hasInline(parse(out).(map[string]any)):
				continue // a newer revision gives it a name
			}
			require.ErrorContains(t, err, "revision has no", "%v %s", r, name)
			rejected++
		}
	}
	require.Len(t, applied, len(unnamed))
	t.Logf("%d rejected", rejected)
	require.Greater(t, rejected, 100)
}

// hasInline reports whether any object inside a definition declares all members of a document.
func (f *schemaFile) hasInline(doc map[string]any) bool {
	for _, name := range f.names() {
		def := f.shape(name)
		for _, member := range def.members() {
			inner, _ := def.member(member)
			declares := func(name string) bool { _, ok := inner.member(name); return ok || name == "x-key" }
			undeclared := slices.ContainsFunc(slices.Collect(maps.Keys(doc)), func(name string) bool { return !declares(name) })
			if inner.name == "" && inner.raw["properties"] != nil && !undeclared {
				return true
			}
		}
	}
	return false
}

// generalResult returns the place of the schema that a result or its metadata has in a revision with
// the request, but without a result of its own: Result, or the result of another request. It returns "" for other
// definitions.
func (f *schemaFile) generalResult(name string) string {
	result, isMeta := strings.CutSuffix(name, "Meta")
	request, ok := strings.CutSuffix(result, "Result")
	if !ok || request == "" || f.definition(request+"Request") == nil {
		return ""
	}
	if in, _ := definedIn(goTypes().structs[request+"Request"]); !in.Has(f.revision) {
		return "" // the request has the method of another one
	}
	general := "Result"
	if f.definition(request+"ResultResponse") != nil {
		member, _ := f.shape(request + "ResultResponse").member("result")
		general = member.name
	}
	at := "/" + f.defs + "/" + general
	if isMeta {
		at += "/properties/_meta"
	}
	if f.definition(general) == nil {
		return ""
	}
	return at
}

// definedIn returns the revisions that define a struct, and reports whether there are any.
func definedIn(t reflect.Type) (in wire.Window, ok bool) {
	for _, s := range subjects() {
		if reflect.TypeOf(s.fresh()) == reflect.PointerTo(t) {
			in |= 1 << s.file.revision.Index()
			ok = true
		}
	}
	return in, ok
}

// TestUnionsKeepUnknownAlternatives decodes documents of a union in revisions that do not
// define their type.
func TestUnionsKeepUnknownAlternatives(t *testing.T) {
	count := 0
	for _, s := range subjects() {
		alternatives := unionOf(s.shape)
		name := discriminator(alternatives)
		if name == "" {
			continue
		}
		for _, file := range schemas() {
			other := subjectFor(file.revision, s.definition)
			if other == nil {
				continue
			}
			for _, alternative := range unionOf(other.shape) {
				doc := alternative.smallest().(map[string]any)
				if candidates, known := candidatesFor(alternatives, doc); candidates == nil && !known {
					requireUnknown(t, s, doc)
					count++
				}
			}
		}
	}
	t.Logf("%d documents", count)
	require.NotZero(t, count)
}

// requireUnknown checks that a document is stored as an unknown value and encoded
// unchanged.
func requireUnknown(t *testing.T, s *subject, doc any) {
	t.Helper()
	text := render(doc, reversed)
	v, err := s.decode(text)
	require.NoError(t, err, "%v: %s", s, text)
	held := reflect.ValueOf(v).Elem().FieldByName("v").Elem()
	require.Contains(t, held.Type().String(), "Unknown", "%v: %s", s, text)
	out, err := s.encode(v)
	require.NoError(t, err, "%v: %s", s, text)
	require.Equal(t, string(text), string(out), s)
}

func TestUnionsRejectOtherJSON(t *testing.T) {
	for _, s := range subjects() {
		if !strings.HasPrefix(fmt.Sprintf("%T", s.fresh()), "*mcp.box[") || discriminator(unionOf(s.shape)) == "" {
			continue
		}
		for _, text := range []string{`null`, `5`, `"text"`, `[]`, `true`, `{}`, `{"type":5,"method":5,"mode":5}`} {
			_, err := s.decode([]byte(text))
			require.Error(t, err, "%v: %s", s, text)
		}
	}
}

func TestElicitationModesBefore20251125(t *testing.T) {
	x := new(ElicitRequest)
	doc := []byte(`{"message":"m","requestedSchema":{"type":"object","properties":{}},"mode":"url"}`)
	require.NoError(t, wire.DecodeParams(doc, &wire.Frame{Revision: Revision20250618}, x))
	form, ok := x.Params.(*ElicitRequestFormParams)
	require.True(t, ok)
	require.Equal(t, `"url"`, string(form.Extra["mode"]))
}
