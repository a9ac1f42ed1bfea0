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

// small is a correct file of the newer dialect.
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

// newFile wraps definitions into a file of the newer dialect.
func newFile(defs string) []byte {
	return []byte(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": ` + defs + `}`)
}

// folder is a correct schema folder with one file for each revision given.
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

func TestTheRepositorysOwnSchemas(t *testing.T) {
	files, err := Dir("../../../schema")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, f := range files {
		require.NotEmpty(t, f.Defs, f.Revision)
		for name := range f.Defs {
			s, err := f.Judge(name)
			require.NoError(t, err)
			require.NotNil(t, s)
		}
		again, err := Transcribe(f.Name, f.Raw)
		require.NoError(t, err)
		require.Equal(t, string(f.Raw), string(again), "a transcription is its own transcription")
	}
}

func TestOfficialFilesGiveTheRepositorysOwnSchemas(t *testing.T) {
	const official = "../../../../shared/spec/schema"
	if _, err := os.Stat(official); err != nil {
		t.Skip("the official schemas are not beside this repository (../shared/spec/schema)")
	}
	files, err := Dir("../../../schema")
	require.NoError(t, err)
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(official, f.Revision+".json"))
		if os.IsNotExist(err) {
			continue // a revision newer than the folder
		}
		require.NoError(t, err)
		require.Equal(t, f.Official, Sum(data), f.Revision)
		ours, err := Transcribe(f.Name, data)
		require.NoError(t, err)
		require.Equal(t, string(f.Raw), string(ours), f.Revision)
	}
}

func TestAFileIsReadWhole(t *testing.T) {
	files, err := FS(folder(small, "2025-01-01", "2024-12-31"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	require.Equal(t, "2024-12-31", files[0].Revision, "oldest first")
	f := files[1]
	require.Equal(t, "2025-01-01.json", f.Name)
	require.Equal(t, small, string(f.Raw))
	require.Equal(t, Sum([]byte(small)), f.SHA256)
	require.Equal(t, "string", f.Defs["Tool"].Properties["description"].Type[0])

	judge, err := f.Judge("Tool")
	require.NoError(t, err)
	require.NoError(t, judge.Validate(map[string]any{"description": "x"}))
	require.Error(t, judge.Validate(map[string]any{"description": true}))
	_, err = f.Judge("Nothing")
	require.EqualError(t, err, `2025-01-01.json: revision 2025-01-01 has no definition "Nothing"`)
}

func TestJudgesAssertFormatsInBothDialects(t *testing.T) {
	const defs = `{"A": {"type": "string", "format": "uri"}}`
	for _, raw := range []string{
		string(newFile(defs)),
		`{"$schema": "http://json-schema.org/draft-07/schema#", "definitions": ` + defs + `}`,
	} {
		f, err := Parse("x.json", Entry{}, []byte(raw))
		require.NoError(t, err)
		judge, err := f.Judge("A")
		require.NoError(t, err)
		require.NoError(t, judge.Validate("file:///x"))
		require.Error(t, judge.Validate("no uri"))
	}
}

func TestFoldersThatAreRefused(t *testing.T) {
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
		want []string // parts of the error
	}{
		"no index":             {remove(IndexFile), []string{"index.json: ", "import a schema"}},
		"empty index":          {edit(IndexFile, `{"revisions":[]}`), []string{"index.json#/revisions: lists no revision"}},
		"index is not JSON":    {edit(IndexFile, `{"revisions":[`), []string{"index.json#/revisions: line 1: invalid JSON"}},
		"index says more":      {replaceIndex(`"revision"`, `"extra": 1, "revision"`), []string{`index.json#: json: unknown field "extra"`}},
		"not a date":           {replaceIndex("2025-01-01", "2025-02-30"), []string{`index.json#/revisions/0/revision: revision "2025-02-30" is not a date`}},
		"not ascending":        {replaceIndex("2025-01-01", "2026-01-01"), []string{`index.json#/revisions/1/revision: "2025-06-01" must come after "2026-01-01"`}},
		"listed twice":         {replaceIndex("2025-01-01", "2025-06-01"), []string{`/revisions/1/revision: "2025-06-01" must come after "2025-06-01"`}},
		"not a hash":           {replaceIndex(Sum([]byte("official")), "xyz"), []string{`index.json#/revisions/0/official_sha256: "xyz" is not a SHA-256`}},
		"file missing":         {remove("2025-01-01.json"), []string{"2025-01-01.json: ", "import the official file"}},
		"file edited":          {edit("2025-01-01.json", small+"\n"), []string{"2025-01-01.json#: sha256 is ", Sum([]byte(small))}},
		"two faults, one list": {func(fsys fstest.MapFS) { delete(fsys, "2025-01-01.json"); delete(fsys, "2025-06-01.json") }, []string{"2025-01-01.json: ", "2025-06-01.json: "}},
		"stray file":           {edit("2027-01-01.json", small), []string{"2027-01-01.json#: not in index.json"}},
	} {
		t.Run(name, func(t *testing.T) {
			fsys := folder(small, "2025-01-01", "2025-06-01")
			test.edit(fsys)
			files, err := FS(fsys)
			require.Nil(t, files)
			require.Error(t, err)
			for _, want := range test.want {
				require.Contains(t, err.Error(), want)
			}
		})
	}
}

func TestErrorsOfAFolderNameItsFiles(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, IndexFile), []byte("{"), 0o600))
	_, err := Dir(dir)
	require.ErrorContains(t, err, filepath.ToSlash(dir)+"/index.json#: ")
}

func TestTheIndexStaysInOrder(t *testing.T) {
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
