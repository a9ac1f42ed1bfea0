package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/gen/internal/load"
)

// invalidFiles are files that are no schema, with the error of all commands after the name of the file.
var invalidFiles = map[string]struct{ text, want string }{
	"empty":                   {"", "#: file is empty"},
	"white space":             {" \n", "#: file is empty"},
	"truncated":               {official[:120], "#/$defs/Tool: line 4: invalid JSON: the document ends too early"},
	"not JSON":                {"package main\n", "#: line 1: invalid JSON: "},
	"not UTF-8":               {strings.Replace(official, "words", "w\xffrds", 1), "#: file is not valid UTF-8"},
	"a byte order mark":       {"\ufeff" + official, "#: file begins with a byte order mark"},
	"half a surrogate":        {strings.Replace(official, "words", `\ud800`, 1), "#/$defs/Tool/description: line 4: string contains half a surrogate pair"},
	"a member twice":          {strings.Replace(official, `"type": "object"`, `"type": "object", "type": "object"`, 1), "#/$defs/Tool/type: line 4: duplicate key"},
	"nested too deep":         {`{"$defs": {"A": ` + strings.Repeat(`{"items": `, 1<<20), "#/$defs/A/items/items/"},
	"arrays nested too deep":  {strings.Repeat("[", 1<<20), "#/0/0/0/0/"},
	"text after the document": {official + "{", "#: line 6: text after the JSON document"},
	"a reference to nothing":  {strings.Replace(official, `{"type": "string"}`, `{"$ref": "#/$defs/Nothing"}`, 1), `#/$defs/Tool/properties/description/$ref: $ref "#/$defs/Nothing" has no definition`},
	"a path to nothing":       {strings.Replace(official, `{"type": "string"}`, `{"$ref": "#/$defs/Tool/properties/no"}`, 1), `#/$defs/Tool/properties/description/$ref: $ref "#/$defs/`},
	"a reference to itself":   {strings.Replace(official, `"Tool"`, `"Self": {"$ref": "#/$defs/Self"}, "Tool"`, 1), "#/$defs/Self: "},
	"references in a circle":  {strings.Replace(official, `"Tool"`, `"A": {"$ref": "#/$defs/B"}, "B": {"$ref": "#/$defs/A"}, "Tool"`, 1), "#/$defs/A: "},
	"a part that is itself":   {strings.Replace(official, `"Tool"`, `"Self": {"allOf": [{"$ref": "#/$defs/Self"}]}, "Tool"`, 1), "#/$defs/Self: "},
	"a union that is itself":  {strings.Replace(official, `"Tool"`, `"Self": {"anyOf": [{"$ref": "#/$defs/Self"}]}, "Tool"`, 1), "#/$defs/Self: "},
	"a number":                {"3", "#: "},
	"null":                    {"null", "#: "},
	"an array":                {"[]", "#: "},
	"an object":               {"{}", "#: "},
}

// A command runs one command of the compiler in a folder, in which it must not change anything. It
// returns the name of the file that it was given.
type command func(t *testing.T, dir string, write func(name string)) (file string, err error)

// commands are all commands that read schemas.
var commands = map[string]command{
	"gen": func(t *testing.T, dir string, write func(string)) (string, error) {
		schema := filepath.Join(dir, "schema")
		require.NoError(t, os.Mkdir(schema, 0o700))
		file := filepath.Join(schema, futureRevision+".json")
		write(file)
		raw, _ := load.ReadFile(file) // the index also lists files that cannot be read
		index := &load.Index{}
		index.Put(load.Entry{Revision: futureRevision, Official: load.Sum(raw), SHA256: load.Sum(raw)})
		require.NoError(t, os.WriteFile(filepath.Join(schema, load.IndexFile), index.Bytes(), 0o600))
		before := tree(t, dir)
		err := run([]string{"-schema", schema, "-docs", "../schema/docs.txt", "-out", filepath.Join(dir, "out"), "-extensions", ""}, io.Discard)
		require.Equal(t, before, tree(t, dir))
		return file, err
	},
	"gen import": func(t *testing.T, dir string, write func(string)) (string, error) {
		file := filepath.Join(dir, "official.json")
		write(file)
		before := tree(t, dir)
		err := runImport([]string{"-from", file, "-revision", futureRevision, "-schema", dir}, io.Discard)
		require.Equal(t, before, tree(t, dir))
		return file, err
	},
	"gen extension": func(t *testing.T, dir string, write func(string)) (string, error) {
		file := filepath.Join(dir, "weather.json")
		write(file)
		before := tree(t, dir)
		err := run([]string{"extension", "-schema", file, "-name", "com.example/weather", "-own", "-out", filepath.Join(dir, "weather")}, io.Discard)
		require.Equal(t, before, tree(t, dir))
		return file, err
	},
}

// tree returns the sizes of all files in a folder.
func tree(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	sizes := make(map[string]int64)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sizes[path] = info.Size()
		}
		return err
	}))
	return sizes
}

func TestInvalidFiles(t *testing.T) {
	for name, run := range commands {
		for kind, test := range invalidFiles {
			t.Run(name+"/"+kind, func(t *testing.T) {
				skipMost(t)
				file, err := run(t, t.TempDir(), func(name string) {
					require.NoError(t, os.WriteFile(name, []byte(test.text), 0o600))
				})
				require.ErrorContains(t, err, test.want)
				require.ErrorContains(t, err, filepath.Base(file))
			})
		}
	}
}

// unreadableFiles write files that cannot be read, or not as a whole.
var unreadableFiles = map[string]struct {
	write func(name string) error
	want  string
}{
	"a folder":           {func(name string) error { return os.Mkdir(name, 0o700) }, "is a directory"},
	"no file":            {func(string) error { return nil }, "no such file"},
	"a link to itself":   {func(name string) error { return os.Symlink(name, name) }, "too many levels of symbolic links"},
	"a file of 100 MB":   {large, "#: the file has more bytes than the limit of 16777216"},
	"a file without end": {func(name string) error { return os.Symlink("/dev/zero", name) }, "#: the file has more bytes than the limit of 16777216"},
}

// large writes a file of 100 MB.
func large(name string) error {
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		return err
	}
	return os.Truncate(name, 100<<20)
}

func TestUnreadableFiles(t *testing.T) {
	for name, run := range commands {
		for kind, test := range unreadableFiles {
			t.Run(name+"/"+kind, func(t *testing.T) {
				file, err := run(t, t.TempDir(), func(name string) { require.NoError(t, test.write(name)) })
				require.ErrorContains(t, err, test.want)
				require.ErrorContains(t, err, filepath.Base(file))
			})
		}
	}
}
