package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// everyValue visits, for each struct, values that hold everything: one for each
// way in which its unions and enums can be filled.
func everyValue(visit func(name string, v wire.Value)) (count int) {
	structs := goTypes().structs
	for _, name := range slices.Sorted(maps.Keys(structs)) {
		seen := map[string]bool{}
		for arm := range mostArms {
			v := filler{arm}.filled(structs[name])
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

func TestWhatHoldsEverythingIsValidOrRefusedInEachRevision(t *testing.T) {
	var written, refused int
	count := everyValue(func(name string, v wire.Value) {
		for _, file := range schemas() {
			out, err := wire.Append(nil, &wire.Frame{Revision: file.revision}, v)
			if err != nil {
				requireNamesWhatIsLacking(t, file, err)
				refused++
				continue
			}
			written++
			requireValid(t, file, v, out)
			requireComplete(t, file, v, out)
			requireNothingForeign(t, file.revision, v, out)
		}
	})
	t.Logf("%d values of %d types: %d times written, %d times refused", count, len(goTypes().structs), written, refused)
	require.Greater(t, written, 1000)
	require.Greater(t, refused, 100)
}

// requireValid judges by every definition that has v's type as its Go form.
func requireValid(t *testing.T, file *schemaFile, v wire.Value, out []byte) {
	t.Helper()
	for _, s := range subjects() {
		if s.file == file && reflect.TypeOf(s.fresh()) == reflect.TypeOf(v) {
			require.NoError(t, file.judge.acceptsText(s.pointer, out), "%v: %s", s, out)
		}
	}
}

// requireComplete checks that every member that the schema has was written.
func requireComplete(t *testing.T, file *schemaFile, v wire.Value, out []byte) {
	t.Helper()
	for _, s := range subjects() {
		if s.file == file && reflect.TypeOf(s.fresh()) == reflect.TypeOf(v) {
			require.Empty(t, s.shape.unsaid(parse(out), ""), "%v: %s", s, out)
		}
	}
}

// unsaid returns a pointer to a member that a document does not use, "" if it
// uses all. The schemas of a tool are not looked into, and the _meta that is an
// exception is none.
func (s shape) unsaid(v any, at string) string {
	s = s.armFor(v)
	switch v := v.(type) {
	case map[string]any:
		for _, name := range s.members() {
			if _, said := v[name]; !said && !s.isEmbeddedRoots() {
				return pointer(at, name)
			}
			member, _ := s.member(name)
			if name == "inputSchema" || name == "outputSchema" {
				continue
			}
			if missing := member.unsaid(v[name], pointer(at, name)); missing != "" {
				return missing
			}
		}
	case []any:
		for i, x := range v {
			if missing := s.items().unsaid(x, pointer(at, strconv.Itoa(i))); missing != "" {
				return missing
			}
		}
	}
	return ""
}

// requireNothingForeign reads what was written: members that the revision does
// not have would be found in Extra, beside the one that the filler put there.
func requireNothingForeign(t *testing.T, r wire.Revision, v wire.Value, out []byte) {
	t.Helper()
	back := reflect.New(reflect.TypeOf(v).Elem())
	require.NoError(t, wire.Decode(out, &wire.Frame{Revision: r}, back.Interface().(wire.Value)), "%v %T: %s", r, v, out)
	extras(back, func(extra map[string]json.RawMessage) {
		for name := range extra {
			require.Equal(t, "x-key", name, "%v %T: %s", r, v, out)
		}
	})
}

var lacking = regexp.MustCompile(`revision has no ([[:word:]]+)(?: in [[:word:]]+)?(?:(?: with (?:type|method|mode))? "(.+)")?$|revision has no list of strings here$`)

// requireNamesWhatIsLacking checks that a refusal names what the revision does
// not have, and that the revision does not have it.
func requireNamesWhatIsLacking(t *testing.T, file *schemaFile, err error) {
	t.Helper()
	var failure *wire.EncodeError
	require.True(t, errors.As(err, &failure), err)
	require.Equal(t, file.revision, failure.Revision)
	found := lacking.FindStringSubmatch(failure.Err.Error())
	require.NotNil(t, found, err)
	switch {
	case found[2] != "":
		require.NotContains(t, file.everything(), found[2], err)
	case found[1] != "":
		require.NotContains(t, file.names(), found[1], err)
	}
}

func TestTheFormOfAllRevisionsKeepsEverything(t *testing.T) {
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

func TestZeroValuesAreWrittenOrRefused(t *testing.T) {
	for name, typ := range goTypes().structs {
		for _, file := range schemas() {
			v := reflect.New(typ).Interface().(wire.Value)
			out, err := wire.Append(nil, &wire.Frame{Revision: file.revision}, v)
			if err != nil {
				require.Regexp(t, `revision has no |required|required and not set|has no value ""|one value here`, err, name)
				continue
			}
			requireValid(t, file, v, out)
		}
	}
}
