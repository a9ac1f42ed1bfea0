package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/emit"
	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// job is one run of the compiler.
type job struct {
	schema, docs, out string
	check, dump       bool
	// extensions is the folder with the schemas of extensions, or "". Their packages are beside out.
	extensions string
}

func (j *job) run(stdout io.Writer) error {
	in := &input{schema: j.schema, docs: j.docs}
	c, err := in.compile(&rules)
	if err != nil {
		return in.refuse(err, &rules)
	}
	if j.dump {
		c.pkg.Dump(stdout)
		return nil
	}
	if err := j.print(c, stdout); err != nil || j.extensions == "" {
		return err
	}
	return compileExtensions(newProtocol(c.pkg, c.files), j.extensions, filepath.Dir(j.out), j.check, stdout)
}

// print writes or checks the package of the protocol.
func (j *job) print(c *compilation, stdout io.Writer) error {
	if j.check {
		if err := stale(j.out, c.printed); err != nil {
			return err
		}
	} else if err := write(j.out, c.printed); err != nil {
		return err
	}
	summarize(stdout, c.pkg)
	return nil
}

// input has the schemas and texts of one run.
type input struct {
	schema, docs string
	// released has the files in the folder schema, if they are known.
	released []*load.File
	// official is the official file of a revision that is not in the folder, or nil. Its name is only
	// used in errors.
	official []byte
	name     string
	entry    load.Entry // of official
}

// compilation is the result of a compilation.
type compilation struct {
	pkg     *ir.Package
	files   []*load.File
	printed map[string][]byte
	entry   load.Entry // of the official file
	raw     []byte     // the transcription of the official file
}

// compile compiles the input with some rules, and prints the code into memory.
func (in *input) compile(rules *ir.Rules) (*compilation, error) {
	all, err := rules.All()
	if err != nil {
		return nil, err
	}
	edits := &load.Edits{Rules: all.Edits}
	c := &compilation{files: in.released, entry: in.entry}
	if in.released == nil || slices.ContainsFunc(all.Edits, func(e ir.Edit) bool { return e.In != in.entry.Revision }) {
		c.files, err = edits.Dir(in.schema)
		c.files = slices.DeleteFunc(c.files, func(f *load.File) bool { return f.Revision == in.entry.Revision })
	}
	if errors.Is(err, fs.ErrNotExist) && in.official != nil { // the first import into a folder
		return c, c.transcribe(in, edits)
	}
	if in.official != nil && err == nil {
		err = c.transcribe(in, edits)
	}
	if err != nil {
		return nil, err
	}
	c.pkg, c.printed, err = buildAndPrint(c.files, in.docs, rules)
	return c, err
}

// buildAndPrint builds the package and prints it. New definitions whose Go names generated code has get
// other names.
func buildAndPrint(files []*load.File, docs string, rules *ir.Rules) (*ir.Package, map[string][]byte, error) {
	for named := *rules; ; {
		p, err := buildWith(files, docs, &named)
		if p == nil {
			return nil, nil, err
		}
		printed, failed := emit.Files(p)
		taken := takenNames(p, rules.OrderFrom, failed)
		if len(taken) == 0 || len(named.Taken) > maxTaken {
			return p, printed, errors.Join(failed, err)
		}
		named.Taken = append(slices.Clip(named.Taken), taken...)
	}
}

// maxTaken limits the names that get a suffix.
const maxTaken = 100

// takenNames returns the definitions in an error of the emitter that are newer than the revision orderFrom,
// and whose names generated code has.
func takenNames(p *ir.Package, orderFrom string, err error) (list []string) {
	refusals, _ := refusal.In(err)
	for _, r := range refusals {
		for _, c := range r.Choices {
			rule, ok := c.Rules[0].(ir.Name)
			isNew := func(t *ir.Type) bool { return t.Definition() == rule.At && p.Revisions[t.Since()].Name > orderFrom }
			if ok && !slices.Contains(list, rule.At) && slices.ContainsFunc(p.Types, isNew) {
				list = append(list, rule.At)
			}
		}
	}
	return list
}

// transcribe adds the official file.
func (c *compilation) transcribe(in *input, edits *load.Edits) (err error) {
	if c.raw, err = edits.Transcribe(in.name, in.entry.Revision, in.schema, in.official); err != nil {
		return err
	}
	c.entry.Official, c.entry.SHA256 = load.Sum(in.official), load.Sum(c.raw)
	c.entry.Edits = edits.Pointers(in.entry.Revision)
	file, err := edits.Parse(in.name, c.entry, c.raw)
	c.files = append(slices.Clip(c.files), file)
	return err
}

// refuse returns the form for an error.
func (in *input) refuse(err error, rules *ir.Rules) error {
	raw := make(map[string][]byte)
	names, _ := filepath.Glob(filepath.Join(in.schema, "*.json")) // the pattern is valid
	for _, name := range names {
		if data, err := load.ReadFile(name); err == nil { // otherwise it is one of the errors
			raw[strings.TrimSuffix(filepath.Base(name), ".json")] = data
		}
	}
	if in.official != nil {
		raw[in.entry.Revision] = in.official
	}
	return newForm(err, "Decisions in gen/rules.go", rules, raw, func(r *ir.Rules) error {
		_, err := in.compile(r)
		return err
	})
}

// buildWith loads the texts and merges the schemas. If only texts are missing, it returns the package,
// too.
func buildWith(files []*load.File, docsFile string, rules *ir.Rules) (*ir.Package, error) {
	text, err := load.ReadFile(docsFile)
	if err != nil {
		return nil, fmt.Errorf("read documentation texts: %w", err)
	}
	docs, err := load.ParseDocs(docsFile, text)
	if err != nil {
		return nil, err
	}
	p, err := merged(files, docs, rules)
	if err != nil {
		return nil, err
	}
	return p, checkDocs(p, docs)
}

// merged merges the schemas.
func merged(files []*load.File, docs ir.Docs, rules *ir.Rules) (*ir.Package, error) {
	var sources []*ir.Source
	for _, f := range files {
		sources = append(sources, &ir.Source{Revision: f.Revision, File: f.Name, SHA256: f.SHA256, Defs: f.Defs, Restrictions: f.Restrictions})
	}
	return ir.Build(sources, rules, docs)
}

// textError is an error about a text in docs.txt.
type textError string

func (e textError) Error() string { return string(e) }

// checkDocs returns an error for texts whose names do not exist, unless a schema that
// may have the name is missing. It also returns an error for names without a text that
// docs.txt should cover.
func checkDocs(p *ir.Package, docs *load.Docs) error {
	var errs []error
	if p.Has(docs.Covers) {
		for _, key := range docs.Unused() {
			errs = append(errs, textError(key+": no such name; delete the text or correct its key"))
		}
	}
	for _, u := range p.Undocumented {
		if u.Since <= docs.Covers {
			errs = append(errs, textError(fmt.Sprintf("%q has no text, but the texts cover %s; write one in docs.txt:\n\t%s: ", u.Key, docs.Covers, u.Key)))
		}
	}
	return errors.Join(errs...)
}

// write writes changed files and removes generated files that are not in files.
func write(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, files[name]) {
			continue
		}
		if err := os.WriteFile(path, files[name], 0o644); err != nil {
			return err
		}
	}
	extra, err := leftovers(dir, files)
	for _, name := range extra {
		err = errors.Join(err, os.Remove(filepath.Join(dir, name)))
	}
	return err
}

// stale returns an error if files are missing, different or superfluous.
func stale(dir string, files map[string][]byte) error {
	var wrong []string
	for _, name := range slices.Sorted(maps.Keys(files)) {
		switch old, err := os.ReadFile(filepath.Join(dir, name)); {
		case errors.Is(err, fs.ErrNotExist):
			wrong = append(wrong, name+" is missing")
		case err != nil:
			return err
		case !bytes.Equal(old, files[name]):
			wrong = append(wrong, name+" is stale")
		}
	}
	extra, err := leftovers(dir, files)
	if err != nil {
		return err
	}
	for _, name := range extra {
		wrong = append(wrong, name+" is no longer generated")
	}
	if len(wrong) > 0 {
		return fmt.Errorf("%s: %s; run make generate", dir, strings.Join(wrong, ", "))
	}
	return nil
}

// leftovers returns the generated files in dir that are not in files.
func leftovers(dir string, files map[string][]byte) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, ".go") && files[name] == nil && isGenerated(filepath.Join(dir, name)) {
			names = append(names, name)
		}
	}
	return names, nil
}

func isGenerated(path string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && ast.IsGenerated(f)
}

// summarize prints what was compiled and what the newest revision added.
func summarize(w io.Writer, p *ir.Package) {
	newest := p.Revisions[len(p.Revisions)-1]
	types, methods := p.AddedIn(len(p.Revisions) - 1)
	fmt.Fprintf(w, "%d revisions, %d types, %d methods, %d error codes\n", len(p.Revisions), len(p.Types), len(p.Methods), len(p.Errors))
	fmt.Fprintf(w, "%s adds %d types and %d methods", newest.Name, len(types), len(methods))
	if len(methods) > 0 {
		fmt.Fprintf(w, ": %s", strings.Join(methods, ", "))
	}
	fmt.Fprintln(w)
	for _, j := range p.Joins {
		fmt.Fprintf(w, "joined %v\n", j)
	}
	if n := len(p.Undocumented); n > 0 {
		fmt.Fprintf(w, "%d names have no text in docs.txt:\n", n)
		for _, u := range p.Undocumented {
			fmt.Fprintf(w, "  %s\n", u.Key)
		}
	}
}

// hintAfterImport prints what an imported schema needs next: rules, if it does not
// merge, and texts. It returns nil because the import has succeeded.
func hintAfterImport(dir string, stdout io.Writer) error {
	in := &input{schema: dir, docs: filepath.Join(dir, "docs.txt")}
	c, err := in.compile(&rules)
	if err != nil {
		fmt.Fprintf(stdout, "the schemas do not compile:\n%v\n", in.refuse(err, &rules))
		return nil
	}
	if n := len(c.pkg.Undocumented); n > 0 {
		fmt.Fprintf(stdout, "%d names have no text in docs.txt; make generate lists them\n", n)
	}
	return nil
}
