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

// afterImport, if set, runs after an import has written its files, to say
// what is left to do.
var afterImport func(dir string, stdout io.Writer) error

// runImport takes the official schema of one revision into the schema folder:
// it writes the transcription and the index, and prints what changed. Where
// anything is wrong it writes nothing.
func runImport(args []string, stdout io.Writer) error {
	im, err := parseImportFlags(args, stdout)
	if err != nil {
		return err
	}
	if err := im.read(); err != nil {
		return err
	}
	if err := im.refuseDrift(stdout); err != nil {
		return err
	}
	if im.unchanged() {
		_, err := fmt.Fprintf(stdout, "%s: imported before, nothing changed\n", im.path())
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

	raw      []byte      // the new transcription
	old      []byte      // the one it replaces, nil if there is none
	index    *load.Index // what the folder has now
	indexRaw []byte
}

func parseImportFlags(args []string, output io.Writer) (*importing, error) {
	im := &importing{}
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	flags.SetOutput(output)
	flags.StringVar(&im.from, "from", "", "official schema `file`")
	flags.StringVar(&im.entry.Revision, "revision", "", "its revision, a `date` like 2026-07-28")
	flags.StringVar(&im.entry.Commit, "commit", "", "specification `commit` it was taken from")
	flags.BoolVar(&im.replace, "replace", false, "accept a file that differs from the one imported before")
	flags.StringVar(&im.dir, "schema", "", "`folder` to import into (default: schema beside go.mod)")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	var err error
	switch {
	case flags.NArg() > 0:
		err = fmt.Errorf("import: %q is not a flag; see import -h", flags.Arg(0))
	case im.from == "":
		err = errors.New("import: -from is missing; name the official schema file (make schema FROM=…)")
	case im.entry.Revision == "":
		err = errors.New("import: -revision is missing; give its date (make schema REVISION=…)")
	case strings.ContainsFunc(im.entry.Commit, notInCommit):
		err = fmt.Errorf("import: commit %q holds white space or control characters", im.entry.Commit)
	case im.dir == "":
		im.dir, err = importFolder()
	}
	return im, err
}

func notInCommit(r rune) bool { return r <= ' ' || r == 0x7f }

// importFolder is the schema folder of the module the command runs in.
func importFolder() (string, error) {
	root, err := moduleRoot()
	if err != nil {
		return "", fmt.Errorf("import: %w; name the folder with -schema", err)
	}
	return filepath.Join(root, "schema"), nil
}

// path is where the transcription goes.
func (im *importing) path() string { return filepath.Join(im.dir, im.entry.File()) }

// read reads the official file and what the folder has, and checks the new
// transcription the way every later run of the compiler will.
func (im *importing) read() error {
	if err := load.CheckRevision(im.entry.Revision); err != nil {
		return fmt.Errorf("import: %w", err)
	}
	official, err := os.ReadFile(im.from)
	if err != nil {
		return fmt.Errorf("import: %w", err)
	}
	if im.raw, err = load.Transcribe(im.from, official); err != nil {
		return err
	}
	im.entry.Official, im.entry.SHA256 = load.Sum(official), load.Sum(im.raw)
	if _, err := load.Parse(im.from, im.entry, im.raw); err != nil {
		return err
	}
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

// readOptional reads a file; one that does not exist is nil.
func readOptional(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// refuseDrift stops where the official file of a known revision has changed,
// unless the caller asked for that, and shows the difference. A known commit
// is kept for the same file.
func (im *importing) refuseDrift(stdout io.Writer) error {
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
	if err := im.printDiff(stdout, "the "+known.Revision+" imported before", im.old); err != nil || im.replace {
		return err
	}
	return fmt.Errorf("%s#: sha256 is %s, but %s was imported from a file with %s; if the change is right, import it with REPLACE=1 (-replace)",
		im.from, im.entry.Official, known.Revision, known.Official)
}

// updated is the index after the import.
func (im *importing) updated() *load.Index {
	next := &load.Index{Revisions: append([]load.Entry(nil), im.index.Revisions...)}
	next.Put(im.entry)
	return next
}

func (im *importing) unchanged() bool {
	return im.old != nil && string(im.old) == string(im.raw) && string(im.indexRaw) == string(im.updated().Bytes())
}

// report prints what the revision changes against the one before it.
func (im *importing) report(stdout io.Writer) error {
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

// printDiff prints the difference to an older transcription, nil if it is lost.
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
		lines = []string{"nothing but prose or layout"}
	}
	_, err = fmt.Fprintf(stdout, "%s, against %s:\n  %s\n", im.entry.Revision, name, strings.Join(lines, "\n  "))
	return err
}

// write puts both files in place. They are written out beside their places
// first, so that only two renames can still fail; if the second does, the
// first is undone.
func (im *importing) write() error {
	file, err := stage(im.path(), im.raw)
	if err != nil {
		return err
	}
	defer os.Remove(file) // gone by then, unless something failed
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

// stage writes data to a temporary file beside path and names it.
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

// undo brings back the transcription that was there before.
func (im *importing) undo() error {
	if im.old == nil {
		return os.Remove(im.path())
	}
	return os.WriteFile(im.path(), im.old, 0o644)
}
