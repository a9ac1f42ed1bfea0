package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// imported runs the import command as make schema does, hints included.
func imported(t *testing.T, edits ...edit) string {
	t.Helper()
	kept := afterImport
	t.Cleanup(func() { afterImport = kept })
	dir := copySchemas(t)
	texts, err := os.ReadFile("../schema/docs.txt")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docs.txt"), texts, 0o600))
	from := filepath.Join(t.TempDir(), "official.json")
	require.NoError(t, os.WriteFile(from, []byte(unseenSchema(t, edits...)), 0o600))
	var out strings.Builder
	require.NoError(t, run([]string{"import", "-from", from, "-revision", unseen, "-schema", dir}, &out))
	return out.String()
}

func TestAnImportSaysWhatChangedAndWhichTextsAreMissing(t *testing.T) {
	out := imported(t, newEmbeddedRequest, newEnumValue)
	require.Contains(t, out, "2027-03-01, against 2026-07-28:\n")
	for _, line := range []string{"+ method location/get", "+ definition GetLocationResult", "InputRequest: + anyOf GetLocationRequest", `LoggingLevel: + enum "trace"`} {
		require.Contains(t, out, "\n  "+line+"\n")
	}
	require.True(t, strings.HasSuffix(out, "2027-03-01.json: written\n8 names have no text in docs.txt yet; make generate lists them\n"), out)
}

func TestAnImportOfWhatDoesNotMergeSaysWhichRuleToWrite(t *testing.T) {
	out := imported(t, member("Tool", "title", `{"type": "array", "items": {"type": "string"}}`))
	require.Contains(t, out, "2027-03-01.json: written\nit does not compile yet:\nmerge: 2027-03-01#/$defs/Tool/properties/title: ")
}
