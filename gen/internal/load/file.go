package load

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/atombender/go-jsonschema/pkg/schemas"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A File is the checked schema of one revision.
type File struct {
	Revision string // the protocol revision, a date
	Official string // SHA-256 of the official file
	SHA256   string // SHA-256 of Raw
	Commit   string // specification commit, empty when unknown

	// Name is the file's name as errors show it.
	Name string
	// Defs holds the definitions by name. Its users own it: no two Files
	// share a Type.
	Defs map[string]*schemas.Type
	// Raw is the transcription as it is kept in the folder.
	Raw []byte
	// Judge is the validator of one definition. A document must be within
	// bounds before it gets there, and a panic of the validator means no.
	Judge func(def string) (*jsonschema.Schema, error)
}

// Dir reads the folder's index.json and every schema it lists, oldest
// revision first. All that is wrong is reported together.
func Dir(dir string) ([]*File, error) {
	return readAll(os.DirFS(dir), func(name string) string {
		return filepath.ToSlash(filepath.Join(dir, name))
	})
}

// FS is Dir for any file system, so that a folder can be tried without a disk.
func FS(fsys fs.FS) ([]*File, error) {
	return readAll(fsys, func(name string) string { return name })
}

// readAll reads a folder whose files errors call by shown.
func readAll(fsys fs.FS, shown func(name string) string) ([]*File, error) {
	index, err := readIndex(fsys, shown(IndexFile))
	if err != nil {
		return nil, err
	}
	var files []*File
	errs := []error{strays(fsys, index, shown)}
	for _, e := range index.Revisions {
		f, err := read(fsys, shown(e.File()), e)
		files, errs = append(files, f), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return files, nil
}

func readIndex(fsys fs.FS, shown string) (*Index, error) {
	data, err := fs.ReadFile(fsys, IndexFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; import a schema with make schema", shown, err)
	}
	index, err := ParseIndex(shown, data)
	if err == nil && len(index.Revisions) == 0 {
		err = problemf(shown, "/revisions", "lists no revision; import a schema with make schema")
	}
	return index, err
}

// strays reports schemas that somebody put into the folder by hand.
func strays(fsys fs.FS, index *Index, shown func(string) string) error {
	names, err := fs.Glob(fsys, "*.json")
	errs := []error{err}
	listed := map[string]bool{IndexFile: true}
	for _, e := range index.Revisions {
		listed[e.File()] = true
	}
	for _, name := range names {
		if !listed[name] {
			errs = append(errs, problemf(shown(name), "", "not in %s; import the official file with make schema", IndexFile))
		}
	}
	return errors.Join(errs...)
}

// read reads one schema and holds it against its entry.
func read(fsys fs.FS, shown string, e Entry) (*File, error) {
	raw, err := fs.ReadFile(fsys, e.File())
	if err != nil {
		return nil, fmt.Errorf("%s: %w; import the official file with make schema", shown, err)
	}
	if sum := Sum(raw); sum != e.SHA256 {
		return nil, problemf(shown, "", "sha256 is %s, %s says %s; the file was changed by hand: import the official file with make schema", sum, IndexFile, e.SHA256)
	}
	return Parse(shown, e, raw)
}

// Parse checks one transcription. The file name is for errors only.
func Parse(file string, e Entry, raw []byte) (*File, error) {
	tree, err := parse(file, raw)
	if err != nil {
		return nil, err
	}
	if err := check(file, tree, false); err != nil {
		return nil, err
	}
	parsed, err := schemas.FromJSONReader(bytes.NewReader(raw))
	if err != nil {
		return nil, problemf(file, "", "%w", err)
	}
	keyword, defs := definitions(tree)
	judge, err := newJudge(file, raw, keyword, sorted(defs))
	if err != nil {
		return nil, err
	}
	return &File{
		Revision: e.Revision, Official: e.Official, SHA256: e.SHA256, Commit: e.Commit,
		Name: file, Defs: parsed.Definitions, Raw: raw,
		Judge: judge.of(file, e.Revision),
	}, nil
}

// of looks a definition up, for File.Judge.
func (j judge) of(file, revision string) func(def string) (*jsonschema.Schema, error) {
	return func(def string) (*jsonschema.Schema, error) {
		if s, ok := j[def]; ok {
			return s, nil
		}
		return nil, fmt.Errorf("%s: revision %s has no definition %q", file, revision, def)
	}
}

// definitions finds the definitions of a checked file and the keyword they
// stand under.
func definitions(tree any) (keyword string, defs map[string]any) {
	root, _ := tree.(map[string]any)
	for _, keyword := range []string{"$defs", "definitions"} {
		if defs, ok := root[keyword].(map[string]any); ok {
			return keyword, defs
		}
	}
	return "$defs", nil
}
