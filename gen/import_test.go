package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/load"
)

// official is an official file with descriptions.
const official = `{
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {
        "Tool": {"description": "words", "type": "object", "properties": {"description": {"type": "string"}}}
    }
}`

// importInto imports text into dir and returns what the command printed.
func importInto(t *testing.T, dir, text, revision string, more ...string) (string, error) {
	t.Helper()
	from := filepath.Join(t.TempDir(), "official.json")
	require.NoError(t, os.WriteFile(from, []byte(text), 0o600))
	var out bytes.Buffer
	err := runImport(append([]string{"-from", from, "-revision", revision, "-schema", dir}, more...), &out)
	return out.String(), err
}

func mustImport(t *testing.T, dir, text, revision string, more ...string) string {
	t.Helper()
	out, err := importInto(t, dir, text, revision, more...)
	require.NoError(t, err)
	return out
}

// contents returns the contents of the files in a folder by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	files := map[string]string{}
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		files[e.Name()] = string(data)
	}
	return files
}

func TestImportOfOfficialFiles(t *testing.T) {
	const from, ours = "../../shared/spec/schema", "../schema"
	entries, err := os.ReadDir(from)
	if err != nil {
		t.Skip("no official schemas in ../shared/spec/schema")
	}
	dir := t.TempDir()
	index, err := os.ReadFile(filepath.Join(ours, load.IndexFile))
	require.NoError(t, err)
	known, err := load.ParseIndex(load.IndexFile, index)
	require.NoError(t, err)
	for i := range entries { // newest first, because the order must not matter
		name := entries[len(entries)-1-i].Name()
		entry, _ := known.Find(strings.TrimSuffix(name, ".json"))
		args := []string{"-from", filepath.Join(from, name), "-revision", entry.Revision, "-commit", entry.Commit, "-schema", dir}
		require.NoError(t, runImport(args, io.Discard))
	}
	want := contents(t, ours)
	for name, data := range contents(t, dir) {
		require.Equal(t, want[name], data, name)
	}
}

func TestImportWritesSchemaAndIndex(t *testing.T) {
	dir := t.TempDir()
	out := mustImport(t, dir, official, "2025-01-01", "-commit", "abc123")
	require.Contains(t, out, "2025-01-01: no older revision to compare with\n")
	files, err := load.Dir(dir)
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.Equal(t, "abc123", files[0].Commit)
	require.Equal(t, load.Sum([]byte(official)), files[0].Official)
	require.Contains(t, files[0].Defs["Tool"].Properties, "description")
	require.NotContains(t, string(files[0].Raw), "words")
}

func TestImportKeepsRevisionsInOrder(t *testing.T) {
	dir := t.TempDir()
	mustImport(t, dir, official, "2025-01-01")
	mustImport(t, dir, strings.Replace(official, "Tool", "Task", 1), "2026-01-01")
	out := mustImport(t, dir, strings.Replace(official, `"description": {`, `"x": {`, 1), "2025-06-01")
	require.Contains(t, out, "2025-06-01, against 2025-01-01:\n  Tool: + x, - description\n")
	files, err := load.Dir(dir)
	require.NoError(t, err)
	var order []string
	for _, f := range files {
		order = append(order, f.Revision)
	}
	require.Equal(t, []string{"2025-01-01", "2025-06-01", "2026-01-01"}, order)
}

func TestImportOfSameFile(t *testing.T) {
	dir := t.TempDir()
	mustImport(t, dir, official, "2025-01-01", "-commit", "abc123")
	before := contents(t, dir)
	out := mustImport(t, dir, official, "2025-01-01", "-replace")
	require.Equal(t, filepath.Join(dir, "2025-01-01.json")+": already imported, nothing changed\n", out)
	require.Equal(t, before, contents(t, dir))
}

func TestImportRepairsDamagedTranscription(t *testing.T) {
	dir := t.TempDir()
	mustImport(t, dir, official, "2025-01-01")
	before := contents(t, dir)
	for _, damage := range []func(path string) error{
		os.Remove,
		func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
	} {
		require.NoError(t, damage(filepath.Join(dir, "2025-01-01.json")))
		mustImport(t, dir, official, "2025-01-01")
		require.Equal(t, before, contents(t, dir))
	}
}

func TestImportOfChangedFileNeedsReplace(t *testing.T) {
	dir := t.TempDir()
	mustImport(t, dir, official, "2024-01-01")
	mustImport(t, dir, official, "2025-01-01", "-commit", "abc123")
	before := contents(t, dir)
	changed := strings.Replace(official, `"type": "string"`, `"type": "integer"`, 1)

	out, err := importInto(t, dir, changed, "2025-01-01")
	require.ErrorContains(t, err, load.Sum([]byte(official)))
	require.ErrorContains(t, err, load.Sum([]byte(changed)))
	require.ErrorContains(t, err, "REPLACE=1")
	require.Equal(t, "2025-01-01, against the 2025-01-01 imported earlier:\n  Tool: ~ description string -> integer\n", out)
	require.Equal(t, before, contents(t, dir))

	out = mustImport(t, dir, changed, "2025-01-01", "-replace")
	require.Contains(t, out, "against the 2025-01-01 imported earlier:\n  Tool: ~ description string -> integer\n")
	require.Contains(t, out, "2025-01-01, against 2024-01-01:\n  Tool: ~ description string -> integer\n")
	files, err := load.Dir(dir)
	require.NoError(t, err)
	require.Equal(t, load.Sum([]byte(changed)), files[1].Official)
	require.Empty(t, files[1].Commit, "the commit belongs to the previous file")
}

func TestImportOfChangedDescriptionsNeedsReplace(t *testing.T) {
	dir := t.TempDir()
	mustImport(t, dir, official, "2025-01-01")
	out, err := importInto(t, dir, strings.Replace(official, "words", "other words", 1), "2025-01-01")
	require.ErrorContains(t, err, "REPLACE=1")
	require.Contains(t, out, "only descriptions or layout")
}

func TestFailedImportWritesNothing(t *testing.T) {
	edit := func(old, new string) string { return strings.Replace(official, old, new, 1) }
	for name, test := range map[string]struct{ text, revision, want string }{
		"invalid JSON":    {edit("]", "") + "}", "2025-02-01", "official.json#: line 6: text after the JSON document"},
		"unknown keyword": {edit(`"type": "object"`, `"$defs": {}`), "2025-02-01", `official.json#/$defs/Tool/$defs: unsupported keyword "$defs"`},
		"not a date":      {official, "2025-02-30", `revision "2025-02-30" is not a date; write it like 2026-07-28`},
		"a path":          {official, "../2025-02-01", `revision "../2025-02-01" is not a date`},
		"changed file":    {edit("words", "other words"), "2025-01-01", "REPLACE=1"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			mustImport(t, dir, official, "2025-01-01")
			before := contents(t, dir)
			_, err := importInto(t, dir, test.text, test.revision)
			require.ErrorContains(t, err, test.want)
			require.Equal(t, before, contents(t, dir))
		})
	}
}

func TestImportWithInvalidIndex(t *testing.T) {
	dir := t.TempDir()
	index := filepath.Join(dir, load.IndexFile)
	require.NoError(t, os.WriteFile(index, []byte("{}}"), 0o600))
	_, err := importInto(t, dir, official, "2025-01-01")
	require.ErrorContains(t, err, index+"#: line 1: text after the JSON document")
	require.Len(t, contents(t, dir), 1)
}

func TestFailedRenameRestoresFolder(t *testing.T) {
	dir := t.TempDir()
	mustImport(t, dir, official, "2025-01-01")
	im := &importing{dir: dir, entry: load.Entry{Revision: "2025-01-01"}, raw: []byte("new"), index: &load.Index{}}
	im.old, _ = os.ReadFile(im.path())
	index := filepath.Join(dir, load.IndexFile)
	require.NoError(t, os.Remove(index))
	require.NoError(t, os.Mkdir(index, 0o700)) // a file cannot replace it
	require.Error(t, im.write())
	data, err := os.ReadFile(im.path())
	require.NoError(t, err)
	require.Equal(t, string(im.old), string(data))
	left, err := filepath.Glob(filepath.Join(dir, ".import-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestImportFlags(t *testing.T) {
	for want, args := range map[string][]string{
		"-from is missing":               {"-revision", "2025-01-01"},
		"-revision is missing":           {"-from", "x.json"},
		`"more" is not a flag`:           {"-from", "x.json", "-revision", "2025-01-01", "more"},
		"flag provided but not defined":  {"-form", "x.json"},
		"commit \"a b\" contains":        {"-from", "x.json", "-revision", "2025-01-01", "-commit", "a b"},
		"missing.json: no such file":     {"-from", "missing.json", "-revision", "2025-01-01", "-schema", t.TempDir()},
		"is not a date; write it like":   {"-from", "x.json", "-revision", "soon"},
		"no such file or directory":      {"-from", "import.go.json", "-revision", "2025-01-01", "-schema", "missing"},
		"invalid character 'p' looking ": {"-from", "import.go", "-revision", "2025-01-01", "-schema", t.TempDir()},
	} {
		require.ErrorContains(t, runImport(args, io.Discard), want)
	}
}

func TestAfterImportRunsOnlyAfterWriting(t *testing.T) {
	calls := 0
	kept := afterImport
	t.Cleanup(func() { afterImport = kept })
	afterImport = func(dir string, stdout io.Writer) error {
		calls++
		_, err := io.WriteString(stdout, "missing docs in "+dir)
		return err
	}
	dir := t.TempDir()
	require.Contains(t, mustImport(t, dir, official, "2025-01-01"), "missing docs in "+dir)
	mustImport(t, dir, official, "2025-01-01")
	require.Equal(t, 1, calls)

	afterImport = func(string, io.Writer) error { return errors.New("no") }
	_, err := importInto(t, dir, official, "2026-01-01")
	require.EqualError(t, err, "no")
}

// importWithHints runs the import command like make schema, with hints.
func importWithHints(t *testing.T, edits ...edit) string {
	t.Helper()
	kept := afterImport
	t.Cleanup(func() { afterImport = kept })
	dir := copySchemas(t)
	texts, err := os.ReadFile("../schema/docs.txt")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "docs.txt"), texts, 0o600))
	from := filepath.Join(t.TempDir(), "official.json")
	require.NoError(t, os.WriteFile(from, []byte(futureSchema(t, edits...)), 0o600))
	var out strings.Builder
	require.NoError(t, run([]string{"import", "-from", from, "-revision", futureRevision, "-schema", dir}, &out))
	return out.String()
}

func TestImportPrintsChangesAndMissingDocs(t *testing.T) {
	out := importWithHints(t, newEmbeddedRequest, newEnumValue)
	require.Contains(t, out, "2027-03-01, against 2026-07-28:\n")
	for _, line := range []string{"+ method location/get", "+ definition GetLocationResult", "InputRequest: + anyOf GetLocationRequest", `LoggingLevel: + enum "trace"`} {
		require.Contains(t, out, "\n  "+line+"\n")
	}
	require.True(t, strings.HasSuffix(out, "2027-03-01.json: written\n8 names have no text in docs.txt; make generate lists them\n"), out)
}

func TestImportPrintsDefaultsOfReferences(t *testing.T) {
	out := importWithHints(t, member("Tool", "mood", `{"$ref": "#/$defs/Role", "default": "user", "title": "Mood", "description": "A mood."}`), member("Tool", "hot", `{"type": "boolean", "default": false}`))
	require.True(t, strings.HasPrefix(out, "2027-03-01#/$defs/Tool/properties/mood: the default beside $ref is not compiled\n2027-03-01, against 2026-07-28:\n"), out)
}

func TestImportPrintsMergeErrors(t *testing.T) {
	out := importWithHints(t, member("CallToolResult", "_meta", `{"type": "string"}`))
	require.Contains(t, out, "2027-03-01.json: written\nthe schemas do not compile:\nmerge: 2027-03-01#/$defs/CallToolResult/properties/_meta: ")
}
