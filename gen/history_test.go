package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHistorySamplesAreSpread(t *testing.T) {
	dir := t.TempDir()
	for i := range 40 {
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%02d.json", i)), nil, 0o600))
	}
	seen := map[string]bool{}
	for seed := range 100 {
		states, err := (&history{from: dir, sample: 4, seed: strconv.Itoa(seed)}).states()
		require.NoError(t, err)
		require.Len(t, states, 4)
		for _, s := range states {
			seen[s] = true
		}
	}
	require.Len(t, seen, 40, "every state is in the sample of some seed")
	all, err := (&history{from: dir, sample: 50}).states()
	require.NoError(t, err)
	require.Len(t, all, 40)
}

// contained adds types that contain themselves.
var contained = combine(
	member("Tool", "subtools", `{"type": "array", "items": {"$ref": "#/$defs/Tool"}}`),
	define("GroupContent", `{"type": "object", "required": ["blocks", "type"], "properties": {"type": {"type": "string", "const": "group"},
		"blocks": {"type": "array", "items": {"$ref": "#/$defs/ContentBlock"}}, "note": {"type": ["string", "null"]}}}`),
	addToUnion("ContentBlock", "GroupContent"),
	define("Filter", `{"anyOf": [{"$ref": "#/$defs/NotFilter"}, {"$ref": "#/$defs/NameFilter"}]}`),
	define("NotFilter", `{"type": "object", "required": ["not", "op"], "properties": {"op": {"type": "string", "const": "not"}, "not": {"$ref": "#/$defs/Filter"}}}`),
	define("NameFilter", `{"type": "object", "required": ["name", "op"], "properties": {"op": {"type": "string", "const": "name"}, "name": {"type": "string"}}}`),
	member("PaginatedRequestParams", "filter", `{"$ref": "#/$defs/Filter"}`),
)

// resultUnion makes a result, and a member of another one, a union of objects.
var resultUnion = combine(
	func(defs object) {
		defs["CallToolResult"] = object{"anyOf": []any{defs["CallToolResult"],
			parsed(`{"type": "object", "required": ["job", "resultType"], "properties": {"_meta": {"$ref": "#/$defs/ResultMetaObject"}, "resultType": {"type": "string"}, "job": {"type": "string"}}}`)}}
	},
	member("CompleteResult", "completion", `{"anyOf": [{"type": "object", "required": ["values"], "properties": {"values": {"type": "array", "items": {"type": "string"}, "maxItems": 100}}},
		{"type": "object", "required": ["ranked"], "properties": {"ranked": {"type": "object", "additionalProperties": {"type": "number"}}}}]}`),
)

// TestHistoryProvesStates builds and tests the code of a state, which takes a minute.
func TestHistoryProvesStates(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and tests a copy of the module")
	}
	states := t.TempDir()
	for name, text := range map[string]string{
		"same":      futureSchema(t),
		"recursive": futureSchema(t, contained, resultUnion, define("JSONValue", `{}`)),
		"alternatives": futureSchema(t, widened["a union that replaces an object"].edit, widened["fewer values of an enum than at other places"].edit,
			widened["more values of an enum at one place"].edit, widened["one request in place of the embedded ones"].edit,
			define("EnumSchema", `{"type": "object", "required": ["enum", "type"], "properties": {"type": {"type": "string", "const": "string"}, "title": {"type": "string"},
				"description": {"type": "string"}, "enum": {"type": "array", "items": {"type": "string"}}, "enumNames": {"type": "array", "items": {"type": "string"}}}}`), // as in 2025-06-18
			define("ModelHint", `{"anyOf": [{"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}, {"type": "object", "required": ["family"], "properties": {"family": {"type": "string"}}}]}`)),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(states, name+".json"), []byte(text), 0o600))
	}
	var out strings.Builder
	require.NoError(t, run([]string{"history", "-from", states, "-prove"}, &out), out.String())
	require.Contains(t, out.String(), "same\tcompiles\t")
	require.Contains(t, out.String(), "recursive\tcompiles\t")
	require.Contains(t, out.String(), "alternatives\tcompiles\t")
}

func TestHistoryPrintsAllOutcomes(t *testing.T) {
	states := t.TempDir()
	for name, text := range map[string]string{
		"1-compiles":  futureSchema(t, unlistedMessages),
		"2-refused":   futureSchema(t, member("ListToolsResult", "_meta", `{"type": "string"}`), member("CallToolResult", "_meta", `{"type": "string"}`)),
		"3-truncated": futureSchema(t)[:1000],
	} {
		require.NoError(t, os.WriteFile(filepath.Join(states, name+".json"), []byte(text), 0o600))
	}
	var out strings.Builder
	require.NoError(t, run([]string{"history", "-from", states}, &out))
	table := out.String()
	require.Contains(t, table, "1-compiles\tcompiles\t176 types, 34 methods, 0 joins\n")
	require.Contains(t, table, "2-refused\trefused\tmerge: 2099-01-01#/$defs/CallToolResult/properties/_meta: ")
	require.Contains(t, table, "\n\tmerge: 2099-01-01#/$defs/ListToolsResult/properties/_meta: ")
	require.Contains(t, table, "3-truncated\trefused\t2099-01-01#/$defs")
	require.Contains(t, table, "the document ends too early")
	require.True(t, strings.HasSuffix(table, "\n1 of 3 states compile\n"))

	require.ErrorContains(t, run([]string{"history"}, &out), "-from is missing")
	require.ErrorContains(t, run([]string{"history", "-from", t.TempDir()}, &out), "no schema files")
}
