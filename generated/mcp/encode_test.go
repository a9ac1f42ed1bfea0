package mcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// defaults lists the members for which an encoder writes a default.
var defaults = []struct{ field, name, value string }{
	{"ResultType", "resultType", `"complete"`},
	{"CacheScope", "cacheScope", `"private"`},
	{"TTLMs", "ttlMs", `0`},
	{"ProtocolVersion", "io.modelcontextprotocol/protocolVersion", ""}, // the name of the revision
}

func TestEncodeAddsRequiredDefaults(t *testing.T) {
	count := 0
	for _, name := range []string{"InputRequiredResult", "CacheableResult", "RequestMeta", "ListToolsResult", "ListPromptsResult", "ListResourcesResult",
		"ListResourceTemplatesResult", "ReadResourceResult", "DiscoverResult", "CallToolResult", "GetPromptResult", "CompleteResult", "Result", "PaginatedResult"} {
		for _, d := range defaults {
			if checkDefault(t, name, d.field, d.name, d.value) {
				count++
			}
		}
	}
	require.GreaterOrEqual(t, count, 28)
}

// checkDefault sets a field to zero and requires its default in each revision that has the
// member. It reports whether the type has the field.
func checkDefault(t *testing.T, typeName, fieldName, name, value string) bool {
	t.Helper()
	typ := goTypes().structs[typeName]
	if _, ok := typ.FieldByName(fieldName); !ok {
		return false
	}
	if typeName == "InputRequiredResult" {
		value = `"input_required"`
	}
	v := filler{alternative: 1}.filled(typ) // with content that every revision has
	reflect.ValueOf(v).Elem().FieldByName(fieldName).SetZero()
	for _, r := range append([]wire.Revision{{}}, revisions()...) {
		v := v
		if r != (wire.Revision{}) {
			if in, _ := definedIn(typ); !in.Has(r) && schemas()[r.Index()].definition(typeName) != nil {
				continue // the revision has another type of this name
			}
			v = suited(schemas()[r.Index()], v)
			reflect.ValueOf(v).Elem().FieldByName(fieldName).SetZero()
		}
		if inExtra(r, name) {
			continue // it has no default
		}
		out, err := wire.Append(nil, &wire.Frame{Revision: r}, v)
		if err != nil && hasVariant(r, typ, name) {
			var failure *wire.EncodeError
			require.ErrorAs(t, err, &failure)
			require.Equal(t, "/"+name, failure.Pointer, "%v", err) // the schema does not allow the default
			continue
		}
		if err != nil {
			require.ErrorContains(t, err, "revision has no ") // the type, or a part of it
			continue
		}
		got, there := parse(out).(map[string]any)[name]
		require.Equal(t, requires(r, typ, name), there, "%v %s: %s", r, typeName, out)
		if there {
			require.Equal(t, cmp.Or(value, strconv.Quote(r.String())), string(render(got, sorted)), typeName)
		}
	}
	return true
}

// requires reports whether a revision requires a member of a type. The form of all
// revisions requires none.
func requires(r wire.Revision, typ reflect.Type, name string) bool {
	return slices.ContainsFunc(subjects(), func(s *subject) bool {
		lacks := func(s shape) bool { return !s.required(name) }
		alternatives := s.shape.alternatives()
		required := s.shape.required(name) || len(alternatives) > 0 && !slices.ContainsFunc(alternatives, lacks)
		return s.file.revision == r && reflect.TypeOf(s.fresh()) == reflect.PointerTo(typ) && required
	})
}

func revisions() (list []wire.Revision) {
	for _, r := range Revisions {
		list = append(list, r.Revision)
	}
	return list
}

func TestEncodeKeepsSetValues(t *testing.T) {
	x := &ListToolsResult{ResultType: "x-other", CacheScope: CacheScopePublic, TTLMs: 5}
	out, err := wire.Append(nil, &wire.Frame{Revision: Revision20260728}, x)
	require.NoError(t, err)
	require.JSONEq(t, `{"resultType":"x-other","tools":[],"cacheScope":"public","ttlMs":5}`, string(out))
	out, err = wire.Append(nil, &wire.Frame{Revision: Revision20251125}, x)
	require.NoError(t, err)
	require.JSONEq(t, `{"tools":[]}`, string(out))
}

// TestEncodeZeroValues lists the JSON of some zero values in the first and the last
// revision of their types.
func TestEncodeZeroValues(t *testing.T) {
	for _, x := range []struct {
		value wire.Value
		r     wire.Revision
		want  string
	}{
		{new(TextContent), Revision20241105, `{"type":"text","text":""}`},
		{new(ImageContent), Revision20241105, `{"type":"image","data":"","mimeType":""}`},
		{new(Tool), Revision20241105, `{"name":"","inputSchema":{"type":"object"}}`},
		{new(Tool), Revision20260728, `{"name":"","inputSchema":{"type":"object"}}`},
		{new(ToolUseContent), Revision20260728, `{"type":"tool_use","id":"","name":"","input":{}}`},
		{new(ToolResultContent), Revision20260728, `{"type":"tool_result","toolUseId":"","content":[]}`},
		{new(CallToolResult), Revision20241105, `{"content":[]}`},
		{new(Result), Revision20241105, `{}`},
		{new(Result), Revision20260728, `{"resultType":"complete"}`},
		{new(ElicitRequestFormParams), Revision20250618, `{"message":"","requestedSchema":{"type":"object","properties":{}}}`},
		{new(ElicitRequestFormParams), Revision20251125, `{"mode":"form","message":"","requestedSchema":{"type":"object","properties":{}}}`},
		{new(Task), Revision20251125, `{"createdAt":"","lastUpdatedAt":"","status":"working","taskId":"","ttl":null}`},
		{asParams{new(ListToolsRequest)}, Revision20251125, `{}`},
		{asParams{new(ListToolsRequest)}, Revision20260728, `{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`},
		{new(ListToolsRequest), Revision20251125, `{"method":"tools/list"}`},
		{new(LoggingMessageNotification), Revision20251125, `{"method":"notifications/message","params":{"level":"debug","data":null}}`},
	} {
		switch v := x.value.(type) {
		case *Task:
			v.Status = TaskStatusWorking
		case *LoggingMessageNotification:
			v.Level = LoggingLevelDebug
		}
		out, err := wire.Append(nil, &wire.Frame{Revision: x.r}, x.value)
		require.NoError(t, err, "%v %T", x.r, x.value)
		require.JSONEq(t, x.want, string(out), "%v %T", x.r, x.value)
	}
}

// A mutation sets a field to a value that may be invalid.
type mutation func(reflect.Value)

// mutations returns the mutations to test for a kind of field.
func mutations(v reflect.Value) (list []mutation) {
	switch v.Kind() {
	case reflect.Float64:
		for _, x := range []float64{-1e300, -1, 2, 1e300, math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1)} {
			list = append(list, func(v reflect.Value) { v.SetFloat(x) })
		}
	case reflect.Int64:
		for _, x := range []int64{math.MinInt64, -1, math.MaxInt64} {
			list = append(list, func(v reflect.Value) { v.SetInt(x) })
		}
	case reflect.String:
		for _, x := range []string{"", "invalid", "\xff", "\x00\n\u2028"} {
			list = append(list, func(v reflect.Value) { v.SetString(x) })
		}
	case reflect.Slice:
		list = append(list, func(v reflect.Value) { v.SetZero() }, func(v reflect.Value) {
			many := reflect.MakeSlice(v.Type(), 101, 101)
			for i := range many.Len() {
				many.Index(i).Set(v.Index(0))
			}
			v.Set(many)
		})
	case reflect.Map, reflect.Pointer:
		list = append(list, func(v reflect.Value) { v.SetZero() })
	}
	return list
}

// fieldsOf returns the fields of a struct that can be set, and the values that they point
// to or contain.
func fieldsOf(v reflect.Value) (list []reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		if !f.CanSet() {
			continue
		}
		list = append(list, f)
		switch {
		case f.Kind() == reflect.Pointer && f.Elem().Kind() != reflect.Struct:
			list = append(list, f.Elem())
		case f.Kind() == reflect.Slice && f.Index(0).Kind() == reflect.String:
			list = append(list, f.Index(0))
		}
	}
	return list
}

// TestEncodeRejectsInvalidValues applies every mutation to every field. Either the encoder
// rejects the value, or its JSON is valid in the revision.
func TestEncodeRejectsInvalidValues(t *testing.T) {
	written, rejected := 0, 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		typ := goTypes().structs[name]
		r, ok := newestWith(typ)
		if !ok {
			continue
		}
		for i, field := range fieldsOf(reflect.ValueOf(filler{}.filled(typ)).Elem()) {
			for _, mutate := range mutations(field) {
				v := filler{}.filled(typ)
				mutate(fieldsOf(reflect.ValueOf(v).Elem())[i])
				out, err := wire.Append(nil, &wire.Frame{Revision: r}, v)
				if err != nil {
					rejected++
					continue
				}
				written++
				requireValid(t, schemas()[r.Index()], v, out)
				requireStable(t, r, v, out)
			}
		}
	}
	t.Logf("%d values encoded, %d rejected", written, rejected)
	require.Greater(t, written, 1000)
	require.Greater(t, rejected, 100)
}

// requireStable decodes the JSON of a value and requires that it is encoded as the same
// JSON.
func requireStable(t *testing.T, r wire.Revision, v wire.Value, out []byte) {
	t.Helper()
	back := reflect.New(reflect.TypeOf(v).Elem()).Interface().(wire.Value)
	require.NoError(t, wire.Decode(out, &wire.Frame{Revision: r}, back), "%T: %s", v, out)
	again, err := wire.Append(nil, &wire.Frame{Revision: r}, back)
	require.NoError(t, err, "%T: %s", v, out)
	require.Equal(t, string(out), string(again), "%T", v)
}

// A unionValue is a place in a struct that has the type of a union.
type unionValue struct {
	union reflect.Type
	set   func(reflect.Value)
}

// unionValues returns the union values in a value at any depth, except in the values of
// maps.
func unionValues(v reflect.Value) (list []unionValue) {
	switch v.Kind() {
	case reflect.Pointer:
		return unionValues(v.Elem())
	case reflect.Interface:
		if v.Type().Implements(valueType) {
			list = append(list, unionValue{v.Type(), v.Set})
		}
		return append(list, unionValues(v.Elem())...)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				list = append(list, unionValues(v.Field(i))...)
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			list = append(list, unionValues(v.Index(i))...)
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if v.Type().Elem().Implements(valueType) {
				list = append(list, unionValue{v.Type().Elem(), func(x reflect.Value) { v.SetMapIndex(key, x) }})
			}
		}
	}
	return list
}

func TestEncodeRejectsNilUnions(t *testing.T) {
	count := 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		typ := goTypes().structs[name]
		for i := range unionValues(reflect.ValueOf(filler{}.filled(typ))) {
			v := filler{}.filled(typ)
			place := unionValues(reflect.ValueOf(v))[i]
			f := newestWriting(v, place)
			if f == nil { // another member of the value is never together with it
				continue
			}
			known := slices.IndexFunc(goTypes().unions[place.union], func(t reflect.Type) bool {
				place.set(reflect.Zero(t))
				_, err := wire.Append(nil, f, v)
				return err == nil || !strings.Contains(err.Error(), "revision has no")
			})
			require.NotEqual(t, -1, known, "%T: no type of %v is in %v", v, place.union, f.Revision)
			for _, typ := range []reflect.Type{place.union, goTypes().unions[place.union][known]} {
				place.set(reflect.Zero(typ))
				if out, err := wire.Append(nil, f, v); err == nil && typ == place.union { // the member is optional
					requireValid(t, schemas()[f.Revision.Index()], v, out)
					continue
				}
				requireNotSet(t, f, v)
				count++
			}
		}
	}
	t.Logf("%d nil values of unions", count)
	require.Greater(t, count, 30)
}

// newestWriting returns a frame for the newest revision in which a value is encoded with
// the union at a place, or nil if there is none.
func newestWriting(v wire.Value, place unionValue) *wire.Frame {
	for _, unknown := range unknowns {
		if x := reflect.ValueOf(unknown(json.RawMessage(`{"marked":0}`))); x.Type().Implements(place.union) {
			place.set(x)
		}
	}
	for _, r := range slices.Backward(Revisions) {
		f := &wire.Frame{Revision: r.Revision}
		if out, err := wire.Append(nil, f, v); err == nil && strings.Contains(string(out), `{"marked":0}`) {
			return f
		}
	}
	return nil
}

func requireNotSet(t *testing.T, f *wire.Frame, v wire.Value) {
	t.Helper()
	_, err := wire.Append(nil, f, v)
	var failure *wire.EncodeError
	require.True(t, errors.As(err, &failure), "%T: %v", v, err)
	require.ErrorContains(t, err, "is required and not set", "%T", v)
	require.NotEmpty(t, failure.Pointer, "%T: %v", v, err)
}

func TestEncodeRejectsNilPointers(t *testing.T) {
	for name, typ := range goTypes().structs {
		v := reflect.Zero(reflect.PointerTo(typ)).Interface().(wire.Value)
		_, err := wire.Marshal(v)
		require.ErrorContains(t, err, "required and not set", name)
	}
	for _, union := range forms {
		if union.value == nil {
			continue
		}
		v := union.value()
		if field := reflect.ValueOf(v).Elem().FieldByName("v"); field.IsValid() && field.Kind() == reflect.Interface {
			_, err := wire.Marshal(v)
			require.ErrorContains(t, err, "required and not set", union.definition)
		}
	}
}

// rawValues returns functions that set the raw values in a value, at any depth.
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

// everyRaw sets each raw value of each filled struct to each of the texts in turn. It
// calls visit with the struct and a pointer to the raw value.
func everyRaw(t *testing.T, texts []string, visit func(v wire.Value, f *wire.Frame, pointer, text string)) {
	t.Helper()
	count := 0
	for _, name := range slices.Sorted(maps.Keys(goTypes().structs)) {
		r, ok := newestWith(goTypes().structs[name])
		if !ok {
			continue
		}
		f := &wire.Frame{Revision: r}
		n := len(rawValues(reflect.ValueOf(filler{}.filled(goTypes().structs[name]))))
		for i := range n {
			v := filler{}.filled(goTypes().structs[name])
			set := rawValues(reflect.ValueOf(v))[i]
			set(json.RawMessage(`{"marked":0}`))
			out, err := wire.Append(nil, f, v)
			require.NoError(t, err, name)
			at, ok := find(parse(out), "marked", "") // false for a member of other revisions
			if ok && !isChecked(r, at[strings.LastIndex(at, "/")+1:]) {
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

// newestWith returns the newest revision in which a filled struct with any raw values can be
// encoded.
func newestWith(t reflect.Type) (r wire.Revision, ok bool) {
	v := filler{}.filled(t)
	for _, set := range rawValues(reflect.ValueOf(v)) {
		set(json.RawMessage(`{"marked":0}`))
	}
	for _, r := range slices.Backward(Revisions) {
		if _, err := wire.Append(nil, &wire.Frame{Revision: r.Revision}, v); err == nil {
			return r.Revision, true
		}
	}
	return wire.Revision{}, false // every revision has a schema for a raw value
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

func TestEncodeRemovesLineBreaksInRawValues(t *testing.T) {
	const raw = "\n\t{\r\n \"a\" :\n[ 1 ,\r\n\"\\n\" ] }\n"
	everyRaw(t, []string{raw}, func(v wire.Value, f *wire.Frame, at, _ string) {
		out, err := wire.Append(nil, f, v)
		require.NoError(t, err, "%T %s", v, at)
		require.NotContains(t, string(out), "\n")
		require.NotContains(t, string(out), "\r")
		require.Contains(t, string(out), "{   \"a\" : [ 1 ,  \"\\n\" ] }")
	})
}

func TestEncodeRejectsInvalidRawValues(t *testing.T) {
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

// TestEncodeDecodedValuesOnOneLine decodes documents with line breaks. Encoding must not
// write line breaks, which end a message on stdio.
func TestEncodeDecodedValuesOnOneLine(t *testing.T) {
	for _, s := range subjects() {
		var pretty strings.Builder
		e := json.NewEncoder(&pretty)
		e.SetIndent("\r\n", "\n")
		require.NoError(t, e.Encode(s.shape.largest(variedDepth+1)))
		v, err := s.decode([]byte(pretty.String()))
		require.NoError(t, err, s)
		out, err := s.encode(v)
		require.NoError(t, err, s)
		require.NotContains(t, string(out), "\n")
		require.NotContains(t, string(out), "\r")
	}
}

func TestEncodeUnknownUnionValues(t *testing.T) {
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
