package jsontag_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/jsontag"
)

func TestTagsMatchEncodingJSON(t *testing.T) {
	for text, valid := range map[string]bool{
		"": true, "-": true, "-,": true, ",": true, "a": true, "a,omitempty": true, "a,omitzero": true, "a,string": true, ",string,omitempty": true,
		"a, omitempty": true, "größe": true, "a.b/c-d_e$": true, "a b": true, "<&>": true, "日本": true,
		"it's": false, `a"b`: false, `a\b`: false, "a`b": false, "😀": false, "a\tb": false, "a\u00a0b": false, "\x7f": false,
	} {
		f := reflect.StructField{Name: "X", Type: reflect.TypeFor[int](), Tag: reflect.StructTag(fmt.Sprintf("json:%q", text))}
		tag, err := jsontag.Of(f)
		require.Equal(t, valid, err == nil, text)
		v := reflect.New(reflect.StructOf([]reflect.StructField{f})).Elem()
		zero := members(t, v)
		v.Field(0).SetInt(1)
		for name, value := range members(t, v) {
			want := tag.Name
			if want == "" {
				want = "X"
			}
			require.Equal(t, want, name, text)
			require.Equal(t, tag.Quoted, value == "1", text)
			require.Equal(t, tag.Optional, len(zero) == 0, text)
		}
		require.Equal(t, tag.Skipped, len(members(t, v)) == 0, text)
	}
}

// members returns the members that encoding/json writes for v.
func members(t *testing.T, v reflect.Value) (list map[string]any) {
	t.Helper()
	text, err := json.Marshal(v.Interface())
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &list))
	return list
}
