package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// rawValues lists the setters of the raw values in a struct, at any depth.
func rawValues(v reflect.Value) (setters []func(json.RawMessage)) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		return rawValues(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				setters = append(setters, rawValues(v.Field(i))...)
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if v.Type().Elem() == reflect.TypeFor[json.RawMessage]() {
				setters = append(setters, func(raw json.RawMessage) { v.SetMapIndex(key, reflect.ValueOf(raw)) })
			} else {
				setters = append(setters, rawValues(v.MapIndex(key))...)
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			return []func(json.RawMessage){func(raw json.RawMessage) { v.SetBytes(raw) }}
		}
		for i := range v.Len() {
			setters = append(setters, rawValues(v.Index(i))...)
		}
	}
	return setters
}

// everyRaw fills each struct and puts texts into each of its raw values in turn.
func everyRaw(t *testing.T, texts []string, visit func(v wire.Value, f *wire.Frame, pointer, text string)) {
	t.Helper()
	count := 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		f := &wire.Frame{Revision: newestWith(goTypes().structs[name])}
		n := len(rawValues(reflect.ValueOf(filler{}.filled(goTypes().structs[name]))))
		for i := range n {
			v := filler{}.filled(goTypes().structs[name])
			set := rawValues(reflect.ValueOf(v))[i]
			set(json.RawMessage(`{"marked":0}`))
			out, err := wire.Append(nil, f, v)
			require.NoError(t, err, name)
			if at, ok := find(parse(out), "marked", ""); ok { // not a member of other revisions
				for _, text := range texts {
					set(json.RawMessage(text))
					visit(v, f, at, text)
				}
				count++
			}
		}
	}
	t.Logf("%d raw values", count)
	require.Greater(t, count, 200)
}

// newestWith returns the newest revision in which everything can be said.
func newestWith(t reflect.Type) wire.Revision {
	for _, r := range slices.Backward(Revisions) {
		if _, err := wire.Append(nil, &wire.Frame{Revision: r.Revision}, (filler{}).filled(t)); err == nil {
			return r.Revision
		}
	}
	panic("no revision can say " + t.Name())
}

// find returns a pointer to the object that has a member.
func find(doc any, name, at string) (string, bool) {
	for _, p := range places(&doc) {
		if object, _ := (*p.at).(map[string]any); object[name] != nil {
			return p.pointer, true
		}
	}
	return "", false
}

func TestLineBreaksInRawValuesDoNotBreakAFrame(t *testing.T) {
	const raw = "\n\t{\r\n \"a\" :\n[ 1 ,\r\n\"\\n\" ] }\n"
	everyRaw(t, []string{raw}, func(v wire.Value, f *wire.Frame, at, _ string) {
		out, err := wire.Append(nil, f, v)
		require.NoError(t, err, "%T %s", v, at)
		require.NotContains(t, string(out), "\n")
		require.NotContains(t, string(out), "\r")
		require.Contains(t, string(out), "{   \"a\" : [ 1 ,  \"\\n\" ] }")
	})
}

func TestGarbageInRawValuesIsRefused(t *testing.T) {
	everyRaw(t, []string{
		`{} x`, `{}{}`, `{}}`, `{},"isError":true`, `{"a":1,"a":2}`, `{"b":{"a":1,"\u0061":2}}`, `{`, `{"a":"\ud800"}`, "{\"a\":\"\xff\"}",
		`{"a":1e309}`, strings.Repeat(`{"a":`, 300) + `1` + strings.Repeat("}", 300), "\ufeff{}", `{a:1}`, `{"a":01}`,
	}, func(v wire.Value, f *wire.Frame, at, text string) {
		_, err := wire.Append(nil, f, v)
		var failure *wire.EncodeError
		require.True(t, errors.As(err, &failure), "%T %s: %q", v, at, text)
		require.True(t, strings.HasPrefix(failure.Pointer, at), "%T %s: %q: %v", v, at, text, err)
	})
}

// TestWhatIsReadNeverBreaksAFrame writes pretty-printed documents again.
func TestWhatIsReadNeverBreaksAFrame(t *testing.T) {
	for _, s := range subjects() {
		var pretty strings.Builder
		e := json.NewEncoder(&pretty)
		e.SetIndent("\r\n", "\n")
		require.NoError(t, e.Encode(s.shape.most(deepest+1)))
		v, err := s.decode([]byte(pretty.String()))
		require.NoError(t, err, s)
		out, err := s.encode(v)
		require.NoError(t, err, s)
		require.NotContains(t, string(out), "\n")
		require.NotContains(t, string(out), "\r")
	}
}

// unknowns are the values that stand for what a revision does not know.
var unknowns = []func(json.RawMessage) wire.Value{
	func(raw json.RawMessage) wire.Value { return &UnknownClientNotification{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownClientRequest{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownCompletionReference{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownContentBlock{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownElicitRequestParams{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownEnumSchema{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownInputRequest{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownInputResponse{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownMultiSelectEnumSchema{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownPrimitiveSchemaDefinition{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownResourceContents{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownSamplingMessageContentBlock{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownServerNotification{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownServerRequest{Raw: raw} },
	func(raw json.RawMessage) wire.Value { return &UnknownSingleSelectEnumSchema{Raw: raw} },
}

func TestUnknownValuesAreOneObject(t *testing.T) {
	require.Len(t, unknowns, len(goTypes().unions))
	for _, unknown := range unknowns {
		for _, raw := range []string{"", "null", "5", "[]", `"x"`, "{}{}", "{} x", `{"a":1,"a":2}`} {
			_, err := wire.Marshal(unknown(json.RawMessage(raw)))
			require.Error(t, err, "%T %q", unknown(nil), raw)
		}
		out, err := wire.Marshal(unknown(json.RawMessage("{\n\"a\":1}")))
		require.NoError(t, err)
		require.Equal(t, `{ "a":1}`, string(out))
	}
}
