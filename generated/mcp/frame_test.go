package mcp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// frameMeta has a new entry, entries that replace keys of the protocol, and an entry that
// replaces a key in Extra.
var frameMeta = []wire.Entry{
	{Name: "x-new", Value: json.RawMessage(`{"a":[1]}`)},
	{Name: "progressToken", Value: json.RawMessage(`"frame"`)},
	{Name: "io.modelcontextprotocol/clientInfo", Value: json.RawMessage(`{"name":"frame","version":"1"}`)},
	{Name: "io.modelcontextprotocol/serverInfo", Value: json.RawMessage(`{"name":"frame","version":"2"}`)},
	{Name: "io.modelcontextprotocol/subscriptionId", Value: json.RawMessage(`77`)},
	{Name: "x-key", Value: json.RawMessage(`"over"`)},
}

// typesWithMeta returns the structs to whose _meta a frame adds entries: requests,
// notifications, results and separate params.
func typesWithMeta() map[string]reflect.Type {
	found := map[string]reflect.Type{}
	for name, t := range goTypes().structs {
		if f, ok := t.FieldByName("Meta"); ok && f.Type.Kind() == reflect.Pointer {
			found[name] = t
		}
	}
	return found
}

// appendTop encodes a value as params or as a result.
func appendTop(f *wire.Frame, v wire.Value) ([]byte, error) {
	if p, ok := v.(wire.Params); ok {
		return wire.AppendParams(nil, f, p)
	}
	return wire.Append(nil, f, v)
}

// TestFrameMeta encodes values with and without entries of the frame. The entries must be
// in the _meta of the value, if the revision has one, and nowhere else.
func TestFrameMeta(t *testing.T) {
	merged := 0
	for name, typ := range typesWithMeta() {
		for _, r := range Revisions {
			for alternative := range 3 {
				v := filler{alternative: alternative}.filled(typ)
				plain, err := appendTop(&wire.Frame{Revision: r.Revision}, v)
				if err != nil {
					continue // the revision cannot express the value; see revisions_test.go
				}
				framed, err := appendTop(&wire.Frame{Revision: r.Revision, Meta: frameMeta}, v)
				require.NoError(t, err, name)
				require.Equal(t, withFrameMeta(parse(plain)), parse(framed), "%v %s: %s", r.Revision, name, framed)
				require.Equal(t, filler{alternative: alternative}.filled(typ), v, "the value must not change")
				merged += strings.Count(string(framed), "x-new")
			}
		}
	}
	require.Greater(t, merged, 200)
}

// withFrameMeta adds the entries of the frame to the _meta of a document.
func withFrameMeta(doc any) any {
	if meta, ok := doc.(map[string]any)["_meta"].(map[string]any); ok {
		for _, e := range frameMeta {
			meta[e.Name] = parse(e.Value)
		}
	}
	return doc
}

func TestFrameMetaWithoutMeta(t *testing.T) {
	for name, typ := range typesWithMeta() {
		for _, r := range Revisions {
			v := filler{}.filled(typ)
			with, err := appendTop(&wire.Frame{Revision: r.Revision}, v)
			if err != nil {
				continue
			}
			has := parse(with).(map[string]any)["_meta"] != nil
			reflect.ValueOf(v).Elem().FieldByName("Meta").SetZero()
			frame := &wire.Frame{Revision: r.Revision, Meta: frameMeta}
			framed, err := appendTop(frame, v)
			require.NoError(t, err, name)
			require.Equal(t, has, strings.Contains(string(framed), `"x-new":{"a":[1]}`), "%v %s: %s", r.Revision, name, framed)
		}
	}
}

func TestFrameMetaOfElicitRequest(t *testing.T) {
	x := &ElicitRequest{Params: &ElicitRequestFormParams{Message: "m"}}
	out, err := wire.AppendParams(nil, &wire.Frame{Revision: Revision20251125, Meta: frameMeta[1:2]}, x)
	require.NoError(t, err)
	require.Equal(t, "frame", field(parse(out), "_meta", "progressToken"))
	require.Equal(t, &ElicitRequest{Params: &ElicitRequestFormParams{Message: "m"}}, x)
}

func TestFrameRejectsInvalidMeta(t *testing.T) {
	for _, entries := range [][]wire.Entry{
		{{Name: "a", Value: json.RawMessage(`{} x`)}},
		{{Name: "a", Value: json.RawMessage(`{"a":1,"a":2}`)}},
		{{Name: "a"}},
		{{Name: "a", Value: json.RawMessage(`1`)}, {Name: "a", Value: json.RawMessage(`2`)}},
	} {
		for _, v := range []wire.Value{new(CallToolResult), &CallToolResult{Meta: new(ResultMeta)}} {
			_, err := wire.Append(nil, &wire.Frame{Meta: entries}, v)
			var failure *wire.EncodeError
			require.ErrorAs(t, err, &failure)
			require.True(t, strings.HasPrefix(failure.Pointer, "/_meta/a"), err)
		}
	}
}

func TestFrameMetaLineBreaks(t *testing.T) {
	f := &wire.Frame{Meta: []wire.Entry{{Name: "a", Value: json.RawMessage("{\n}")}}}
	out, err := wire.Append(nil, f, &CallToolResult{Content: []ContentBlock{}})
	require.NoError(t, err)
	require.Equal(t, `{"content":[],"_meta":{"a":{ }}}`, string(out))
}

func TestTables(t *testing.T) {
	for _, table := range Members {
		require.NotPanics(t, func() { wire.NewMembers(table.Type, table.List...) }, table.Type)
	}
	for _, enum := range Enums {
		seen := make(map[string]bool)
		for _, v := range enum.List {
			require.False(t, seen[v.Name], "%s has %q twice", enum.Type, v.Name)
			seen[v.Name] = true
		}
	}
}

// TestExtraDoesNotShadowMembers adds the names of all members of a struct to Extra.
// Encoding must write only the names that are not members in the revision.
func TestExtraDoesNotShadowMembers(t *testing.T) {
	const marked = `{"marked":0}`
	written := 0
	for _, table := range Members {
		typ := goTypes().structs[table.Type]
		require.NotNil(t, typ, table.Type)
		for _, r := range Revisions {
			v := filler{}.filled(typ)
			extra := map[string]json.RawMessage{"x-key": json.RawMessage(marked)}
			want := []string{"x-key"}
			for _, m := range table.List {
				if inExtra(r.Revision, m.Name) {
					continue
				}
				extra[m.Name] = json.RawMessage(marked)
				if !m.In.Has(r.Revision) {
					want = append(want, m.Name)
				}
			}
			reflect.ValueOf(v).Elem().FieldByName("Extra").Set(reflect.ValueOf(extra))
			out, err := appendTop(&wire.Frame{Revision: r.Revision}, v)
			if err != nil {
				continue
			}
			require.NoError(t, wire.Check(out, 0), "%v %s", r.Revision, table.Type)
			require.ElementsMatch(t, want, namesWithMember(parse(out), "marked"), "%v %s: %s", r.Revision, table.Type, out)
			written++
		}
	}
	require.Greater(t, written, 300)
}

// namesWithMember returns the names of the objects in a document that have a member.
func namesWithMember(doc any, member string) (names []string) {
	object := doc.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if inner, _ := object[name].(map[string]any); inner != nil && inner[member] != nil {
			names = append(names, name)
		}
	}
	return names
}
