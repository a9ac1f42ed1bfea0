package load

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

// small is a valid file in the 2020-12 dialect.
const small = `{
  "$defs": {
    "Tool": {
      "properties": {
        "description": {
          "type": "string"
        },
        "next": {
          "$ref": "#/$defs/Tool"
        }
      },
      "required": [
        "description"
      ],
      "type": "object"
    }
  },
  "$schema": "https://json-schema.org/draft/2020-12/schema"
}
`

// newFile returns a file in the 2020-12 dialect with the given definitions.
func parseFile(name string, e Entry, raw []byte) (*File, error) {
	return new(Edits).Parse(name, e, raw)
}

func transcribe(name string, official []byte) ([]byte, error) {
	return new(Edits).Transcribe(name, "", "", official)
}

func newFile(defs string) []byte {
	return []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": ` + defs + `}`)
}

// folder returns a valid schema folder with one file for each revision.
func folder(raw string, revisions ...string) fstest.MapFS {
	index := &Index{}
	fsys := fstest.MapFS{}
	for _, revision := range revisions {
		e := Entry{Revision: revision, Official: Sum([]byte("official")), SHA256: Sum([]byte(raw))}
		index.Put(e)
		fsys[e.File()] = &fstest.MapFile{Data: []byte(raw)}
	}
	fsys[IndexFile] = &fstest.MapFile{Data: index.Bytes()}
	return fsys
}

func TestRepositorySchemas(t *testing.T) {
	files, err := Dir("../../../schema")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NotEmpty(t, f.Defs, f.Revision)
		for name := range f.Defs {
			s, err := f.Validator(name)
			require.NoError(t, err)
			require.NotNil(t, s)
		}
		again, err := transcribe(f.Name, f.Raw)
		require.NoError(t, err)
		require.Equal(t, string(f.Raw), string(again), "Transcribe must not change a transcription")
	}
}

func TestTranscribeOfficialFiles(t *testing.T) {
	const official = "../../../../shared/spec/schema"
	if _, err := os.Stat(official); err != nil {
		t.Skip("no official schemas in ../shared/spec/schema")
	}
	files, err := Dir("../../../schema")
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(official, f.Revision+".json"))
		if os.IsNotExist(err) {
			continue // the folder does not have this revision
		}
		require.NoError(t, err)
		require.Equal(t, f.Official, Sum(data), f.Revision)
		ours, err := transcribe(f.Name, data)
		require.NoError(t, err)
		require.Equal(t, string(f.Raw), string(ours), f.Revision)
	}
}

func TestFS(t *testing.T) {
	files, err := (*Edits)(nil).FS(folder(small, "2025-01-01", "2024-12-31"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Equal(t, "2024-12-31", files[0].Revision, "oldest first")
	f := files[1]
	require.Equal(t, "2025-01-01.json", f.Name)
	require.Equal(t, small, string(f.Raw))
	require.Equal(t, Sum([]byte(small)), f.SHA256)
	require.Equal(t, "string", f.Defs["Tool"].Properties["description"].Type[0])

	validator, err := f.Validator("Tool")
	require.NoError(t, err)
	require.NoError(t, validator.Validate(map[string]any{"description": "x"}))
	require.Error(t, validator.Validate(map[string]any{"description": true}))
	_, err = f.Validator("Nothing")
	require.EqualError(t, err, `2025-01-01.json: revision 2025-01-01 has no definition "Nothing"`)
}

func TestValidatorChecksFormatsInBothDialects(t *testing.T) {
	const defs = `{"A": {"type": "string", "format": "uri"}}`
	for _, raw := range []string{
		string(newFile(defs)),
		`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": ` + defs + `}`,
	} {
		f, err := parseFile("x.json", Entry{}, []byte(raw))
		require.NoError(t, err)
		validator, err := f.Validator("A")
		require.NoError(t, err)
		require.NoError(t, validator.Validate("file:///x"))
		require.Error(t, validator.Validate("no uri"))
	}
}

func TestInvalidFolders(t *testing.T) {
	edit := func(name, data string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) { fsys[name] = &fstest.MapFile{Data: []byte(data)} }
	}
	remove := func(name string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) { delete(fsys, name) }
	}
	replaceIndex := func(old, new string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) {
			data := fsys[IndexFile].Data
			fsys[IndexFile] = &fstest.MapFile{Data: bytes.Replace(data, []byte(old), []byte(new), 1)}
		}
	}
	for name, test := range map[string]struct {
		edit func(fstest.MapFS)
		want []string // substrings of the error
	}{
		"no index":          {remove(IndexFile), []string{"index.json: ", "import a schema"}},
		"empty index":       {edit(IndexFile, `{"revisions":[]}`), []string{"index.json#/revisions: has no revisions"}},
		"index is not JSON": {edit(IndexFile, `{"revisions":[`), []string{"index.json#/revisions: line 1: invalid JSON"}},
		"unknown field":     {replaceIndex(`"revision"`, `"extra": 1, "revision"`), []string{`index.json#: json: unknown field "extra"`}},
		"not a date":        {replaceIndex("2025-01-01", "2025-02-30"), []string{`index.json#/revisions/0/revision: revision "2025-02-30" is not a date`}},
		"not ascending":     {replaceIndex("2025-01-01", "2026-01-01"), []string{`index.json#/revisions/1/revision: "2025-06-01" must come after "2026-01-01"`}},
		"listed twice":      {replaceIndex("2025-01-01", "2025-06-01"), []string{`/revisions/1/revision: "2025-06-01" must come after "2025-06-01"`}},
		"not a hash":        {replaceIndex(Sum([]byte("official")), "xyz"), []string{`index.json#/revisions/0/official_sha256: "xyz" is not a SHA-256`}},
		"file missing":      {remove("2025-01-01.json"), []string{"2025-01-01.json: ", "import the official file"}},
		"file edited":       {edit("2025-01-01.json", small+"\n"), []string{"2025-01-01.json#: sha256 is ", Sum([]byte(small))}},
		"two problems":      {func(fsys fstest.MapFS) { delete(fsys, "2025-01-01.json"); delete(fsys, "2025-06-01.json") }, []string{"2025-01-01.json: ", "2025-06-01.json: "}},
		"unlisted file":     {edit("2027-01-01.json", small), []string{"2027-01-01.json#: not in index.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := folder(small, "2025-01-01", "2025-06-01")
			test.edit(fsys)
			files, err := (*Edits)(nil).FS(fsys)
			require.Nil(t, files)
			require.Error(t, err)
			for _, want := range test.want {
				require.Contains(t, err.Error(), want)
			}
		})
	}
}

func TestDirErrorsContainPath(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexFile), []byte("{"), 0o600))
	_, err := Dir(dir)
	require.ErrorContains(t, err, filepath.ToSlash(dir)+"/index.json#: ")
}

func TestIndexOrder(t *testing.T) {
	x := &Index{}
	for _, revision := range []string{"2025-06-18", "2024-11-05", "2026-07-28", "2025-06-18"} {
		x.Put(Entry{Revision: revision})
	}
	var order []string
	for _, e := range x.Revisions {
		order = append(order, e.Revision)
	}
	require.Equal(t, "2024-11-05 2025-06-18 2026-07-28", strings.Join(order, " "))

	before, ok := x.Before("2026-01-01")
	require.True(t, ok)
	require.Equal(t, "2025-06-18", before.Revision)
	_, ok = x.Before("2024-11-05")
	require.False(t, ok)
	_, ok = x.Find("2026-01-01")
	require.False(t, ok)
}

func TestTranscribeRemovesDescriptions(t *testing.T) {
	official := `{
	"description": "words",
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$defs": {"Tool": {"type": "object", "description": "words",
      "required": ["description"],
      "properties": {
        "next": {"$ref": "#/$defs/Tool", "description": "words"},
        "description": {"type": "string", "description": "words"}}}}}`
	ours, err := transcribe("x.json", []byte(official))
	require.NoError(t, err)
	require.Equal(t, small, string(ours))
}

func TestTranscribeKeepsValues(t *testing.T) {
	official := newFile(`{"A": {"anyOf": [
		{"minimum": 1.0, "type": "number"}, {"const": "<a> & \u00e9"}, {"type": "object", "properties": {}}, {"enum": ["b", "a"]}]}}`)
	ours, err := transcribe("x.json", official)
	require.NoError(t, err)
	text := string(ours)
	require.Contains(t, text, `"minimum": 1.0,`, "numbers are unchanged")
	require.Contains(t, text, `"const": "<a> & é"`, "no HTML escapes")
	require.Contains(t, text, `"properties": {}`, "empty objects remain")
	require.Regexp(t, `(?s)"b",\s+"a"`, text, "arrays keep their order")
	require.NotContains(t, text, "\r")
}

func TestTranscribeChecksKeywords(t *testing.T) {
	_, err := transcribe("x.json", newFile(`{"A": {"description": "x", "unevaluatedItems": {}}}`))
	require.EqualError(t, err, `x.json#/$defs/A/unevaluatedItems: unsupported keyword "unevaluatedItems"; gen must implement it first`)
}

func TestTranscribeLimitsSize(t *testing.T) {
	_, err := transcribe("x.json", make([]byte, 100<<20))
	require.EqualError(t, err, "x.json#: the file has more bytes than the limit of 16777216")
}
