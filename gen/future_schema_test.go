package main

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/emit"
	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// futureRevision is a revision that does not exist. Its schema is an edited copy of
// the schema of baseRevision.
const futureRevision = "2027-03-01"

// baseRevision is the newest of the revisions that these tests use, even if there are
// newer ones.
const baseRevision = "2026-07-28"

// An object is a JSON object. An edit changes the definitions of a schema.
type (
	object = map[string]any
	edit   func(defs object)
)

// parsed parses a JSON text.
func parsed(text string) any {
	var v any
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		panic(err.Error() + " in " + text)
	}
	return v
}

// define adds or replaces a definition.
func define(name, schema string) edit {
	return func(defs object) { defs[name] = parsed(schema) }
}

// undefine removes definitions. No union may contain them.
func undefine(names ...string) edit {
	return func(defs object) {
		for _, name := range names {
			delete(defs, name)
		}
	}
}

// renamed changes the name of a definition, also in references.
func renamed(old, now string) edit {
	return func(defs object) {
		text, err := json.Marshal(defs)
		if err != nil {
			panic(err)
		}
		maps.Copy(defs, parsed(strings.ReplaceAll(string(text), `"#/$defs/`+old+`"`, `"#/$defs/`+now+`"`)).(object))
		defs[now] = defs[old]
		delete(defs, old)
	}
}

// member adds or replaces a member of a definition.
func member(def, name, schema string) edit {
	return func(defs object) { defs[def].(object)["properties"].(object)[name] = parsed(schema) }
}

// requireMembers marks members of a definition as required.
func requireMembers(def string, names ...string) edit {
	return func(defs object) {
		d := defs[def].(object)
		list, _ := d["required"].([]any)
		for _, name := range names {
			list = append(list, name)
		}
		d["required"] = list
	}
}

// addToUnion adds a definition to a union.
func addToUnion(union, def string) edit {
	return func(defs object) {
		u := defs[union].(object)
		u["anyOf"] = append(u["anyOf"].([]any), parsed(`{"$ref": "#/$defs/`+def+`"}`))
	}
}

// removeFromUnion removes a definition from a union.
func removeFromUnion(union, def string) edit {
	return func(defs object) {
		u := defs[union].(object)
		var rest []any
		for _, x := range u["anyOf"].([]any) {
			if x.(object)["$ref"] != "#/$defs/"+def {
				rest = append(rest, x)
			}
		}
		u["anyOf"] = rest
	}
}

// values adds values to an enum.
func values(def string, more ...any) edit {
	return func(defs object) {
		d := defs[def].(object)
		d["enum"] = append(d["enum"].([]any), more...)
	}
}

// combine returns an edit that applies all edits.
func combine(edits ...edit) edit {
	return func(defs object) {
		for _, e := range edits {
			e(defs)
		}
	}
}

// futureSchema returns the schema of baseRevision with edits, as an official file with
// descriptions.
func futureSchema(t *testing.T, edits ...edit) string {
	t.Helper()
	text, err := os.ReadFile("../schema/" + baseRevision + ".json")
	require.NoError(t, err)
	root := parsed(string(text)).(object)
	defs := root["$defs"].(object)
	for _, e := range edits {
		e(defs)
	}
	for _, d := range defs {
		d.(object)["description"] = prose
	}
	data, err := json.MarshalIndent(root, "", "    ")
	require.NoError(t, err)
	return string(data)
}

// prose is the description of each definition in the official file.
const prose = "This sentence must not occur in generated code."

// copySchemas copies the schemas up to baseRevision, without docs.txt.
func copySchemas(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("../schema", load.IndexFile))
	require.NoError(t, err)
	index, err := load.ParseIndex(load.IndexFile, data)
	require.NoError(t, err)
	index.Revisions = slices.DeleteFunc(index.Revisions, func(e load.Entry) bool { return e.Revision > baseRevision })
	require.NotEmpty(t, index.Revisions)
	for _, e := range index.Revisions {
		data, err := os.ReadFile(filepath.Join("../schema", e.File()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, e.File()), data, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, load.IndexFile), index.Bytes(), 0o600))
	return dir
}

// importFuture imports the future revision into a copy of the schema folder, like make
// schema.
func importFuture(t *testing.T, edits ...edit) *job {
	t.Helper()
	dir := copySchemas(t)
	mustImport(t, dir, futureSchema(t, edits...), futureRevision)
	return &job{schema: dir, docs: "../schema/docs.txt", out: filepath.Join(t.TempDir(), "mcp")}
}

// compile runs the compiler, like make generate, and returns what it printed and the
// files it wrote.
func compile(t *testing.T, j *job) (summary string, files map[string][]byte) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, j.run(&out))
	files = make(map[string][]byte)
	for name, text := range contents(t, j.out) {
		files[name] = []byte(text)
	}
	return out.String(), files
}

// known returns the schemas up to baseRevision. They are loaded once and must not be
// changed.
var known = sync.OnceValues(func() ([]*load.File, error) {
	files, err := load.Dir("../schema")
	return slices.DeleteFunc(files, func(f *load.File) bool { return f.Revision > baseRevision }), err
})

// skipMost skips three of four subtests with -short, for tests that build a model in each.
func skipMost(t *testing.T) {
	if testing.Short() && crc32.ChecksumIEEE([]byte(t.Name()))%4 != 0 {
		t.Skip("-short runs a quarter of the subtests")
	}
}

// futureModel returns the model of the known revisions and the future one. It does not
// use the disk.
func futureModel(t *testing.T, edits ...edit) (*ir.Package, error) {
	t.Helper()
	files, err := known()
	require.NoError(t, err)
	return build(append(slices.Clone(files), futureFile(t, edits...)), "../schema/docs.txt")
}

// futureCode is like futureModel, and prints the code with the names that are free.
func futureCode(t *testing.T, edits ...edit) (*ir.Package, map[string][]byte) {
	t.Helper()
	files, err := known()
	require.NoError(t, err)
	p, printed, err := buildAndPrint(append(slices.Clone(files), futureFile(t, edits...)), "../schema/docs.txt", &rules)
	require.NoError(t, err)
	return p, printed
}

// build compiles schemas with the rules of this repository.
func build(files []*load.File, docsFile string) (*ir.Package, error) {
	return buildWith(files, docsFile, &rules)
}

// futureFile returns the future revision as the compiler loads it.
func futureFile(t *testing.T, edits ...edit) *load.File {
	t.Helper()
	raw, err := (*load.Edits)(nil).Transcribe("official.json", "", "", []byte(futureSchema(t, edits...)))
	require.NoError(t, err)
	f, err := (*load.Edits)(nil).Parse(futureRevision+".json", load.Entry{Revision: futureRevision, SHA256: load.Sum(raw)}, raw)
	require.NoError(t, err)
	return f
}

// sources converts files to the input of the model.
func sources(files []*load.File) []*ir.Source {
	var list []*ir.Source
	for _, f := range files {
		list = append(list, &ir.Source{Revision: f.Revision, File: f.Name, SHA256: f.SHA256, Defs: f.Defs, Restrictions: f.Restrictions})
	}
	return list
}

// modelOf compiles the first n of the known revisions.
func modelOf(t *testing.T, n int) *ir.Package {
	t.Helper()
	files, err := known()
	require.NoError(t, err)
	p, err := build(files[:n], "../schema/docs.txt")
	require.NoError(t, err)
	return p
}

// current compiles the schemas of the repository without the newest ones.
func current(t *testing.T, without int) *ir.Package {
	t.Helper()
	files, err := load.Dir("../schema")
	require.NoError(t, err)
	p, err := build(files[:len(files)-without], "../schema/docs.txt")
	require.NoError(t, err)
	return p
}

// printed returns the files of a model.
func printed(t *testing.T, p *ir.Package) map[string][]byte {
	t.Helper()
	files, err := emit.Files(p)
	require.NoError(t, err)
	return files
}
