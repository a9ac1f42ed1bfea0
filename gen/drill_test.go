package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/atombender/go-jsonschema/pkg/schemas"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/emit"
	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// unseen is a revision that nobody has seen: the drills make it by editing
// the newest schema.
const unseen = "2027-03-01"

// base is the newest of the revisions that the drills stand on, however many have
// come since.
const base = "2026-07-28"

// object is a JSON object, and an edit changes the definitions of a schema.
type (
	object = map[string]any
	edit   func(defs object)
)

// parsed reads a JSON text written out in a test.
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

// undefine removes definitions; the unions must not list them any more.
func undefine(names ...string) edit {
	return func(defs object) {
		for _, name := range names {
			delete(defs, name)
		}
	}
}

// renamed gives a definition another name, wherever it is referred to.
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

// requireMembers adds members to the required ones of a definition.
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

// arm adds a definition to a union.
func arm(union, def string) edit {
	return func(defs object) {
		u := defs[union].(object)
		u["anyOf"] = append(u["anyOf"].([]any), parsed(`{"$ref": "#/$defs/`+def+`"}`))
	}
}

// disarm removes a definition from a union.
func disarm(union, def string) edit {
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

// together makes one edit of several.
func together(edits ...edit) edit {
	return func(defs object) {
		for _, e := range edits {
			e(defs)
		}
	}
}

// unseenSchema is the newest schema with edits, in the form of an official
// file: with prose, which must not get any further.
func unseenSchema(t *testing.T, edits ...edit) string {
	t.Helper()
	text, err := os.ReadFile("../schema/" + base + ".json")
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

// prose stands for a sentence of an official file.
const prose = "Nobody may ever read this sentence in generated code."

// copySchemas copies the schemas up to base, without the texts.
func copySchemas(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	data, err := os.ReadFile(filepath.Join("../schema", load.IndexFile))
	require.NoError(t, err)
	index, err := load.ParseIndex(load.IndexFile, data)
	require.NoError(t, err)
	index.Revisions = slices.DeleteFunc(index.Revisions, func(e load.Entry) bool { return e.Revision > base })
	require.NotEmpty(t, index.Revisions)
	for _, e := range index.Revisions {
		data, err := os.ReadFile(filepath.Join("../schema", e.File()))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, e.File()), data, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, load.IndexFile), index.Bytes(), 0o600))
	return dir
}

// drill imports the unseen revision into a copy of the schema folder, as make
// schema does.
func drill(t *testing.T, edits ...edit) *job {
	t.Helper()
	dir := copySchemas(t)
	mustImport(t, dir, unseenSchema(t, edits...), unseen)
	return &job{schema: dir, docs: "../schema/docs.txt", out: filepath.Join(t.TempDir(), "mcp")}
}

// compile runs the compiler, as make generate does, and gives what it printed
// and wrote.
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

// known are the schemas up to base, loaded once: compiling only reads them.
var known = sync.OnceValues(func() ([]*load.File, error) {
	files, err := load.Dir("../schema")
	return slices.DeleteFunc(files, func(f *load.File) bool { return f.Revision > base }), err
})

// quick is a drill that leaves the disk out: the model of the known revisions
// and the unseen one.
func quick(t *testing.T, edits ...edit) (*ir.Package, error) {
	t.Helper()
	files, err := known()
	require.NoError(t, err)
	return build(append(slices.Clone(files), unseenFile(t, edits...)), "../schema/docs.txt")
}

// unseenFile is the unseen revision as the compiler loads it, without the
// judge, which the drills that use the disk have.
func unseenFile(t *testing.T, edits ...edit) *load.File {
	t.Helper()
	raw, err := load.Transcribe("official.json", []byte(unseenSchema(t, edits...)))
	require.NoError(t, err)
	schema, err := schemas.FromJSONReader(bytes.NewReader(raw))
	require.NoError(t, err)
	return &load.File{Revision: unseen, Name: unseen + ".json", SHA256: load.Sum(raw), Defs: schema.Definitions, Raw: raw}
}

// sources is what the model is made of.
func sources(files []*load.File) []*ir.Source {
	var list []*ir.Source
	for _, f := range files {
		list = append(list, &ir.Source{Revision: f.Revision, File: f.Name, SHA256: f.SHA256, Defs: f.Defs})
	}
	return list
}

// model compiles the known revisions, or the first n of them.
func model(t *testing.T, n int) *ir.Package {
	t.Helper()
	files, err := known()
	require.NoError(t, err)
	p, err := build(files[:n], "../schema/docs.txt")
	require.NoError(t, err)
	return p
}

// current compiles the schemas of the repository, the newest left out so many times.
func current(t *testing.T, without int) *ir.Package {
	t.Helper()
	files, err := load.Dir("../schema")
	require.NoError(t, err)
	p, err := build(files[:len(files)-without], "../schema/docs.txt")
	require.NoError(t, err)
	return p
}

// printed prints a model.
func printed(t *testing.T, p *ir.Package) map[string][]byte {
	t.Helper()
	files, err := emit.Files(p)
	require.NoError(t, err)
	return files
}
