// Package load reads and checks the schemas for the compiler. It also converts
// official schema files to the transcriptions in the schema folder.
//
// The checks are strict so that later stages do not need any: a schema has no
// duplicate key, no unsupported keyword, no reference without a definition, and it
// compiles as JSON Schema. All problems are reported together, each as
// "file#/json/pointer: text".
package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	Commit   string // commit of the specification, empty if unknown

	// Name is the file's name in error messages.
	Name string
	// Defs has the definitions by name. No two Files share a Type, so the caller may
	// change them.
	Defs map[string]*schemas.Type
	// Restrictions has schemas that values must match in addition to Defs, by JSON pointer. Their
	// keywords have no Go type.
	Restrictions map[string]any
	// Raw is the content of the transcription.
	Raw []byte
	// Validator returns the validator of a definition. The caller must limit the size
	// of documents, and treat a panic of the validator as invalid.
	Validator func(def string) (*jsonschema.Schema, error)
}

// Dir reads the folder's index.json and the schemas in it, oldest revision first. It
// reports all problems together.
func Dir(dir string) ([]*File, error) { return (*Edits)(nil).Dir(dir) }

// Dir is like the function [Dir], with rules that change the schemas.
func (x *Edits) Dir(dir string) ([]*File, error) {
	return x.readAll(os.DirFS(dir), func(name string) string {
		return filepath.ToSlash(filepath.Join(dir, name))
	})
}

// FS is like Dir for a file system.
func (x *Edits) FS(fsys fs.FS) ([]*File, error) {
	return x.readAll(fsys, func(name string) string { return name })
}

// readAll reads a folder. shown returns the name of a file for error messages.
func (x *Edits) readAll(fsys fs.FS, shown func(name string) string) ([]*File, error) {
	index, err := readIndex(fsys, shown(IndexFile))
	if err != nil {
		return nil, err
	}
	if err := x.useFolder(fsys, shown); err != nil {
		return nil, err
	}
	var files []*File
	errs := []error{unlistedFiles(fsys, index, shown)}
	for _, e := range index.Revisions {
		f, err := x.read(fsys, shown(e.File()), e)
		files, errs = append(files, f), append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return files, nil
}

func readIndex(fsys fs.FS, shown string) (*Index, error) {
	data, err := readFile(fsys, IndexFile)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; import a schema with make schema", shown, err)
	}
	index, err := ParseIndex(shown, data)
	if err == nil && len(index.Revisions) == 0 {
		err = problemf(shown, "/revisions", "has no revisions; import a schema with make schema")
	}
	return index, err
}

// unlistedFiles reports schemas that are in the folder and not in the index.
func unlistedFiles(fsys fs.FS, index *Index, shown func(string) string) error {
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

// read reads one schema and compares it with its index entry.
func (x *Edits) read(fsys fs.FS, shown string, e Entry) (*File, error) {
	raw, err := readFile(fsys, e.File())
	if err != nil {
		return nil, fmt.Errorf("%s: %w; import the official file with make schema", shown, err)
	}
	if sum := Sum(raw); sum != e.SHA256 {
		return nil, problemf(shown, "", "sha256 is %s, but %s has %s; the file was changed by hand: import the official file with make schema", sum, IndexFile, e.SHA256)
	}
	return x.Parse(shown, e, raw)
}

// Parse checks a transcription, after rules have changed it. The file name is only used in errors.
func (x *Edits) Parse(file string, e Entry, raw []byte) (*File, error) {
	tree, err := parse(file, raw)
	if err != nil {
		return nil, err
	}
	switch edited, err := x.apply(file, e.Revision, e.Edits, tree, false); {
	case err != nil:
		return nil, err
	case edited:
		raw = format(tree)
	}
	if err := check(file, e.Revision, tree, false); err != nil {
		return nil, err
	}
	keyword, defs := definitions(tree)
	shapes, restrictions := separate(tree)
	parsed, err := schemas.FromJSONReader(bytes.NewReader(format(shapes)))
	if err != nil {
		return nil, problemf(file, "", "%w", err)
	}
	validators, err := compileValidators(file, raw, keyword, sorted(defs))
	if err != nil {
		return nil, err
	}
	return &File{
		Revision: e.Revision, Official: e.Official, SHA256: e.SHA256, Commit: e.Commit,
		Name: file, Defs: parsed.Definitions, Restrictions: restrictions, Raw: raw,
		Validator: validators.lookup(file, e.Revision),
	}, nil
}

// Transcribe converts an official schema file to the form in the schema folder: it has
// all definitions, members, bounds and unions, no annotations such as descriptions, and
// a fixed layout.
// The file name is only used in errors. The rules change the schema of the revision, and may copy schemas
// of other revisions in the folder dir. Transcribe does not change a transcription.
func (x *Edits) Transcribe(file, revision, dir string, official []byte) ([]byte, error) {
	tree, err := parse(file, official)
	if err != nil {
		return nil, err
	}
	if err := x.useFolder(os.DirFS(dir), func(name string) string { return name }); err != nil {
		return nil, err
	}
	if _, err := x.apply(file, revision, nil, tree, true); err != nil {
		return nil, err
	}
	if err := check(file, revision, tree, true); err != nil {
		return nil, err
	}
	walk("", tree, func(_ string, v any) {
		if object, ok := v.(map[string]any); ok {
			if v, ok := object["const"]; ok && v == nil { // to the parser, it is no constant
				delete(object, "const")
				object["enum"] = []any{nil}
			}
			maps.DeleteFunc(object, func(key string, _ any) bool { return isAnnotation(key) })
		}
	})
	return format(tree), nil
}

// validators are the compiled definitions of a file.
type validators map[string]*jsonschema.Schema

// compileValidators compiles a file as a whole and each of its definitions. The
// compiler cannot open other files, and a panic of the compiler is returned as an
// error.
func compileValidators(file string, raw []byte, defs string, names []string) (v validators, err error) {
	at := ""
	defer func() {
		if p := recover(); p != nil {
			v, err = nil, problemf(file, at, "compile schema: panic: %v", p)
		}
	}()
	const url = "mem:///schema.json"
	c := jsonschema.NewCompiler()
	c.AssertFormat = true // draft 7 always does
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not part of this file", url)
	}
	if err := c.AddResource(url, bytes.NewReader(raw)); err != nil {
		return nil, problemf(file, at, "%w", err)
	}
	if _, err := c.Compile(url); err != nil {
		return nil, problemf(file, at, "%w", err)
	}
	v = validators{}
	for _, name := range names {
		at = child("/"+defs, name)
		if v[name], err = c.Compile(url + "#" + at); err != nil {
			return nil, problemf(file, at, "%w", err)
		}
	}
	return v, nil
}

// lookup returns the function for [File.Validator].
func (v validators) lookup(file, revision string) func(def string) (*jsonschema.Schema, error) {
	return func(def string) (*jsonschema.Schema, error) {
		if s, ok := v[def]; ok {
			return s, nil
		}
		return nil, fmt.Errorf("%s: revision %s has no definition %q", file, revision, def)
	}
}
