package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/load"
)

// afterImport, if not nil, is called after an import has written its files. It prints
// what remains to be done.
var afterImport func(dir string, stdout io.Writer) error

// runImport imports the official schema of one revision into the schema folder: it
// writes the transcription and the index, and prints what changed. If there is an
// error, it writes nothing.
func runImport(args []string, stdout io.Writer) error {
	im, err := parseImportFlags(args, stdout)
	if err != nil {
		return err
	}
	if err := im.read(); err != nil {
		return err
	}
	if err := im.checkReplace(stdout); err != nil {
		return err
	}
	if im.unchanged() {
		_, err := fmt.Fprintf(stdout, "%s: already imported, nothing changed\n", im.path())
		return err
	}
	if err := im.report(stdout); err != nil {
		return err
	}
	if err := im.write(); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(stdout, "%s: written\n", im.path()); err != nil {
		return err
	}
	if afterImport != nil {
		return afterImport(im.dir, stdout)
	}
	return nil
}

// An importing is one run of the import command.
type importing struct {
	from, dir string
	replace   bool
	entry     load.Entry

	defaults []string    // the places of references that have a default
	raw      []byte      // the new transcription
	old      []byte      // the transcription that it replaces, or nil
	index    *load.Index // current index of the folder
	indexRaw []byte
}

func parseImportFlags(args []string, output io.Writer) (*importing, error) {
	im := &importing{}
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&im.from, "from", "", "official schema `file`")
	flags.StringVar(&im.entry.Revision, "revision", "", "revision, a `date` like 2026-07-28")
	flags.StringVar(&im.entry.Commit, "commit", "", "`commit` of the specification")
	flags.BoolVar(&im.replace, "replace", false, "replace a schema that was imported from a different file")
	flags.StringVar(&im.dir, "schema", "", "`folder` to import into (default: schema in the folder of go.mod)")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("import: %q is not a flag; see import -h", flags.Arg(0))
	case im.from == "":
		err = errors.New("import: -from is missing; set it to the official schema file (make schema FROM=…)")
	case im.entry.Revision == "":
		err = errors.New("import: -revision is missing; set it to the date of the revision (make schema REVISION=…)")
	case strings.ContainsFunc(im.entry.Commit, notInCommit):
		err = fmt.Errorf("import: commit %q contains white space or control characters", im.entry.Commit)
	case im.dir == "":
		im.dir, err = importFolder()
	}
	return im, err
}

func notInCommit(r rune) bool { return r <= ' ' || r == 0x7f }

// importFolder returns the schema folder of the module of the working directory.
func importFolder() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", fmt.Errorf("import: %w; set the folder with -schema", err)
	}
	return filepath.Join(root, "schema"), nil
}

// path returns the path of the transcription.
func (im *importing) path() string { return filepath.Join(im.dir, im.entry.File()) }

// read reads the official file and the folder, and checks the new transcription like
// every later run of the compiler.
func (im *importing) read() error {
	if err := load.CheckRevision(im.entry.Revision); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	official, err := load.ReadFile(im.from)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	c := &compilation{entry: im.entry}
	in := &input{schema: im.dir, docs: filepath.Join(im.dir, "docs.txt"), name: im.from, official: official, entry: im.entry}
	all, err := rules.All()
	if err != nil {
		return err
	}
	if err := c.transcribe(in, &load.Edits{Rules: all.Edits}); err != nil {
		return in.refuse(err, &rules)
	}
	if im.defaults, err = load.RefDefaults(im.from, official); err != nil {
		return err
	}
	im.raw, im.entry = c.raw, c.entry
	im.entry.Commit = in.entry.Commit
	if im.old, err = readOptional(im.path()); err != nil {
		return err
	}
	return im.readIndex()
}

func (im *importing) readIndex() error {
	path := filepath.Join(im.dir, load.IndexFile)
	data, err := readOptional(path)
	if err != nil {
		return err
	}
	im.index, im.indexRaw = &load.Index{}, data
	if data != nil {
		im.index, err = load.ParseIndex(path, data)
	}
	return err
}

// readOptional reads a file. It returns nil if the file does not exist.
func readOptional(path string) ([]byte, error) {
	data, err := load.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// checkReplace returns an error and prints the difference if the official file of a
// known revision has changed, unless -replace is set. If the file is the same, a known
// commit remains.
func (im *importing) checkReplace(stdout io.Writer) error {
	known, ok := im.index.Find(im.entry.Revision)
	if !ok {
		return nil
	}
	if known.Official == im.entry.Official {
		if im.entry.Commit == "" {
			im.entry.Commit = known.Commit
		}
		return nil
	}
	if err := im.printDiff(stdout, "the "+known.Revision+" imported earlier", im.old); err != nil || im.replace {
		return err
	}
	return fmt.Errorf("%s#: sha256 is %s, but %s was imported from a file with %s; if the change is intended, import it with REPLACE=1 (-replace)",
		im.from, im.entry.Official, known.Revision, known.Official)
}

// updated returns the index after the import.
func (im *importing) updated() *load.Index {
	next := &load.Index{Revisions: append([]load.Entry(nil), im.index.Revisions...)}
	next.Put(im.entry)
	return next
}

func (im *importing) unchanged() bool {
	return im.old != nil && string(im.old) == string(im.raw) && string(im.indexRaw) == string(im.updated().Bytes())
}

// report prints the differences from the previous revision, and the defaults that the transcription does
// not have.
func (im *importing) report(stdout io.Writer) error {
	for _, place := range im.defaults {
		if _, err := fmt.Fprintf(stdout, "%s#%s: the default beside $ref is not compiled\n", im.entry.Revision, place); err != nil {
			return err
		}
	}
	before, ok := im.index.Before(im.entry.Revision)
	if !ok {
		_, err := fmt.Fprintf(stdout, "%s: no older revision to compare with\n", im.entry.Revision)
		return err
	}
	old, err := readOptional(filepath.Join(im.dir, before.File()))
	if err != nil {
		return err
	}
	return im.printDiff(stdout, before.Revision, old)
}

// printDiff prints the differences from an older transcription, or that there is none
// if old is nil.
func (im *importing) printDiff(stdout io.Writer, name string, old []byte) error {
	if old == nil {
		_, err := fmt.Fprintf(stdout, "%s: %s has no file to compare with\n", im.entry.Revision, name)
		return err
	}
	lines, err := load.Diff(old, im.raw)
	switch {
	case err != nil:
		lines = []string{"cannot be compared: " + err.Error()}
	case len(lines) == 0:
		lines = []string{"only descriptions or layout"}
	}
	_, err = fmt.Fprintf(stdout, "%s, against %s:\n  %s\n", im.entry.Revision, name, strings.Join(lines, "\n  "))
	return err
}

// write writes both files. It writes temporary files first, so that only two renames
// can fail. If the second rename fails, it reverts the first.
func (im *importing) write() error {
	file, err := stage(im.path(), im.raw)
	if err != nil {
		return err
	}
	defer os.Remove(file) // exists only if a rename failed
	indexPath := filepath.Join(im.dir, load.IndexFile)
	index, err := stage(indexPath, im.updated().Bytes())
	if err != nil {
		return err
	}
	defer os.Remove(index)
	if err := os.Rename(file, im.path()); err != nil {
		return err
	}
	if err := os.Rename(index, indexPath); err != nil {
		return errors.Join(err, im.undo())
	}
	return nil
}

// stage writes data to a temporary file in the folder of path and returns its name.
func stage(path string, data []byte) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".import-*")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return "", errors.Join(err, os.Remove(f.Name()))
	}
	return f.Name(), nil
}

// undo restores the previous transcription.
func (im *importing) undo() error {
	if im.old == nil {
		return os.Remove(im.path())
	}
	return os.WriteFile(im.path(), im.old, 0o644)
}
