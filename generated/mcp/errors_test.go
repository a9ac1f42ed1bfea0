package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
)

func TestErrorsRoundTrip(t *testing.T) {
	count := 0
	for _, file := range schemas() {
		for _, f := range forms {
			if f.code == 0 || !f.in.Has(file.revision) {
				continue
			}
			at := "/" + file.defs + "/" + f.definition
			for _, doc := range errorDocuments(file.shape(f.definition)) {
				require.NoError(t, file.validator.validate(at, doc), "%s: %s", f.definition, render(doc, sorted))
				requireErrorRoundTrip(t, file.revision, doc)
				count++
			}
		}
	}
	t.Logf("%d errors", count)
	require.Greater(t, count, 100)
}

// errorDocuments returns valid errors. Their members vary less than in the round trip of
// the data, which tests the permitted differences.
func errorDocuments(s shape) []any {
	list := []any{s.smallest()}
	if inner, ok := s.member("error"); ok {
		for _, v := range inner.documents(1) {
			list = append(list, map[string]any{"jsonrpc": "2.0", "id": "1", "error": v})
		}
		return list
	}
	return append(list, s.documents(2)...)
}

func TestErrorsWithDataAreTyped(t *testing.T) {
	for _, file := range schemas() {
		for _, f := range forms {
			if f.code == 0 || !f.in.Has(file.revision) {
				continue
			}
			typed := false
			if inner, ok := file.shape(f.definition).member("error"); ok {
				data, _ := inner.member("data")
				typed = data.raw["properties"] != nil
			}
			require.Equal(t, typed, errorData[f.code] != nil, f.definition)
		}
	}
}

func TestErrorsWithInvalidDataStayPlain(t *testing.T) {
	for code := range errorData {
		for _, data := range []string{"", "null", "[]", "{}", `{"a":1}x`} {
			e := &peer.Error{Code: code, Message: "m", Data: []byte(data)}
			require.Same(t, e, ErrorFrom(e), "%d %s", code, data)
		}
	}
	e := &peer.Error{Code: 1, Data: []byte(`{}`)}
	require.Same(t, e, ErrorFrom(e))
}
