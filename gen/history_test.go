package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHistoryPrintsAllOutcomes(t *testing.T) {
	states := t.TempDir()
	for name, text := range map[string]string{
		"1-compiles":  futureSchema(t, unlistedMessages),
		"2-refused":   futureSchema(t, member("Tool", "description", `{"type": "integer"}`), member("Tool", "annotations", `{"type": "string"}`)),
		"3-truncated": futureSchema(t)[:1000],
	} {
		require.NoError(t, os.WriteFile(filepath.Join(states, name+".json"), []byte(text), 0o600))
	}
	var out strings.Builder
	require.NoError(t, run([]string{"history", "-from", states}, &out))
	table := out.String()
	require.Contains(t, table, "1-compiles\tcompiles\t176 types, 34 methods\n")
	require.Contains(t, table, "2-refused\trefused\tmerge: 2099-01-01#/$defs/Tool/properties/annotations: ")
	require.Contains(t, table, "\n\tmerge: 2099-01-01#/$defs/Tool/properties/description: ")
	require.Contains(t, table, "3-truncated\trefused\timport: 2099-01-01#/$defs")
	require.Contains(t, table, "the document ends too early")
	require.True(t, strings.HasSuffix(table, "\n1 of 3 states compile\n"))

	require.ErrorContains(t, run([]string{"history"}, &out), "-from is missing")
	require.ErrorContains(t, run([]string{"history", "-from", t.TempDir()}, &out), "no schema files")
}
