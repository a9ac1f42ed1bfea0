package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/gen/internal/emit"
	"github.com/mcpwright/mcp/gen/internal/extension"
	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
	"github.com/mcpwright/mcp/schema"
)

// extensions are the extensions in this repository.
var extensions = []extension.Config{
	{Name: "io.modelcontextprotocol/tasks", Package: "tasks", Own: true, Client: "TasksExtensionCapability", Server: "TasksExtensionCapability",
		NameMembers: []string{"tasks/get=taskId", "tasks/update=taskId", "tasks/cancel=taskId"},
		Raw:         []ir.KeepRaw{{At: "*.result", Why: "only the caller of the request that created the task can decode its result"}},
		Tolerances: []ir.Tolerance{
			{At: "*.ttlMs", Kind: ir.MayBeMissing, Why: "an absent duration means that the task does not expire"},
			{At: "*.ttlMs", Kind: ir.AnyShape, Why: "an invalid hint must not invalidate the task"},
			{At: "UpdateTaskRequest.inputResponses", Kind: ir.AnyShape, Why: "responses to unknown requests are ignored, whatever they are; an invalid one is nil"},
			{At: "*.pollIntervalMs", Kind: ir.AnyShape, Why: "an invalid hint must not invalidate the task"},
		}},
	{Name: "io.modelcontextprotocol/ui", Package: "apps", Trim: "McpUi", Client: "McpUiClientCapabilities",
		Metas: []string{"ui=McpUiToolMeta", "ui=McpUiResourceMeta"}},
	{Name: "io.modelcontextprotocol/skills", Package: "skills", Own: true, Server: "SkillsCapability",
		Raw: []ir.KeepRaw{{At: "Skill.resources", Zero: `"dynamic"`, Why: "a list of SkillResource, or the string \"dynamic\""}}},
}

// texts is a flag that may be repeated.
type texts []string

func (t *texts) String() string     { return strings.Join(*t, " ") }
func (t *texts) Set(s string) error { *t = append(*t, s); return nil }

// runExtension compiles the schema of an extension into a package.
func runExtension(args []string, stdout io.Writer) error {
	var c extension.Config
	var out, rewrite, decisions string
	var check bool
	flags := flag.NewFlagSet("gen extension", flag.ContinueOnError)
	flags.StringVar(&c.Schema, "schema", "", "file with the JSON schema of the extension")
	flags.StringVar(&c.Name, "name", "", `identifier of the extension, such as "com.example/weather"`)
	flags.StringVar(&out, "out", ".", "folder of the generated files")
	flags.StringVar(&c.Package, "package", "", "name of the package (the name of the folder)")
	flags.StringVar(&c.Trim, "trim", "", "prefix to remove from the names of definitions")
	flags.BoolVar(&c.Inlined, "inlined", false, "the schema repeats definitions of the protocol without their names")
	flags.BoolVar(&c.Own, "own", false, "all definitions are the extension's own, also if the protocol has definitions with their names")
	flags.StringVar(&c.Client, "client", "", "definition of the settings that clients declare")
	flags.StringVar(&c.Server, "server", "", "definition of the settings that servers declare")
	flags.Var((*texts)(&c.Metas), "meta", "key=Definition of a value in _meta; may be repeated")
	flags.Var((*texts)(&c.NameMembers), "name-member", "method=member whose value is in the header Mcp-Name; may be repeated")
	flags.StringVar(&decisions, "rules", "", "file with rules for parts of the schema that the compiler refuses, as it prints them")
	flags.StringVar(&rewrite, "rewrite", "", "only write the schema to this file, in the form that the compiler uses")
	flags.BoolVar(&check, "check", false, "write nothing; fail if a file is not up to date")
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), "Usage: gen extension -schema FILE -name NAME [flags]\n\nIt compiles the JSON schema of an extension into a Go package.\n\n")
		flags.PrintDefaults()
		fmt.Fprint(flags.Output(), "\nExample:\n  gen extension -schema weather.json -name com.example/weather -server WeatherCapability\n")
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.Schema == "" || c.Name == "" || flags.NArg() > 0 {
		return errors.New("an extension has a schema and a name, such as -schema weather.json -name com.example/weather; gen extension -h lists the flags")
	}
	if c.Package == "" {
		dir, err := filepath.Abs(out)
		if err != nil {
			return err
		}
		c.Package = filepath.Base(dir)
	}
	if decisions != "" {
		var err error
		if c.Decisions, err = readRules(decisions); err != nil {
			return err
		}
	}
	protocol, err := embeddedProtocol()
	if err != nil {
		return err
	}
	if rewrite != "" {
		return rewriteExtension(&c, protocol, rewrite)
	}
	return compileExtension(&c, protocol, out, check, stdout)
}

// compileExtensions compiles the extensions in this repository into folders of out.
func compileExtensions(p *extension.Protocol, schemas, out string, check bool, stdout io.Writer) error {
	for _, c := range extensions {
		c.Schema = filepath.Join(schemas, c.Package+".json")
		if err := compileExtension(&c, p, filepath.Join(out, c.Package), check, stdout); err != nil {
			return err
		}
	}
	return nil
}

// embeddedProtocol compiles the schemas of the protocol that are part of this program. Nothing changes the
// result.
var embeddedProtocol = sync.OnceValues(func() (*extension.Protocol, error) {
	all, err := rules.All()
	if err != nil {
		return nil, err
	}
	files, err := (&load.Edits{Rules: all.Edits}).FS(schema.FS)
	if err != nil {
		return nil, err
	}
	p, err := merged(files, ir.NoDocs{}, &rules)
	if err != nil {
		return nil, err
	}
	return newProtocol(p, files), nil
})

func newProtocol(p *ir.Package, files []*load.File) *extension.Protocol {
	all, _ := rules.All() // the package was compiled with them
	return &extension.Protocol{Package: p, File: files[len(files)-1], Path: emit.Protocol, Rules: all, Older: files[:len(files)-1]}
}

// rewriteExtension writes the schema of an extension in the form that the compiler uses. Descriptions in an
// existing file remain. The descriptions of the schema are not written, because they are texts of others.
func rewriteExtension(c *extension.Config, p *extension.Protocol, to string) error {
	raw, err := load.ReadFile(c.Schema)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	x, err := extension.Read(raw, c, p)
	if err != nil {
		return err
	}
	if old, err := load.ReadFile(to); err == nil {
		before := *c
		before.Schema = to
		if y, err := extension.Read(old, &before, p); err == nil {
			x.UseTexts(y)
		}
	}
	return os.WriteFile(to, x.Bytes(), 0o644)
}

// compileExtension compiles one extension into a folder, or checks the files there.
func compileExtension(c *extension.Config, p *extension.Protocol, out string, check bool, stdout io.Writer) error {
	raw, err := load.ReadFile(c.Schema)
	if err != nil {
		return fmt.Errorf("read schema: %w", err)
	}
	_, noDoc := os.Stat(filepath.Join(out, "doc.go"))
	x, pkg, files, err := printExtension(raw, c, p, noDoc == nil)
	if err != nil {
		return refuseExtension(err, raw, c, p)
	}
	fmt.Fprintf(stdout, "%s: %d types, %d methods\n", c.Name, len(pkg.Types), len(pkg.Methods))
	for _, n := range x.Notices {
		fmt.Fprintf(stdout, "  %s\n", n)
	}
	if check {
		return stale(out, files)
	}
	return write(out, files)
}

// printExtension compiles an extension and prints the code into memory.
func printExtension(raw []byte, c *extension.Config, p *extension.Protocol, hasDoc bool) (x *extension.Schema, pkg *ir.Package, files map[string][]byte, err error) {
	if x, pkg, err = extension.Build(raw, c, p); err != nil {
		return nil, nil, nil, err
	}
	e, err := extensionOf(c, pkg, load.Sum(raw))
	if err != nil {
		return nil, nil, nil, err
	}
	e.HasDoc = hasDoc
	if files, err = emit.ExtensionFiles(pkg, e); err != nil {
		c.Relabel(err, p)
	}
	return x, pkg, files, err
}

// refuseExtension returns the form for an error.
func refuseExtension(err error, raw []byte, c *extension.Config, p *extension.Protocol) error {
	x, failed := extension.Read(raw, c, p)
	if failed != nil {
		return err // the file is not a schema
	}
	base, newest := &ir.Rules{Decisions: c.Decisions}, *p
	newest.Older = nil // the error is about the newest revision
	return newForm(err, "the file of -rules", base, map[string][]byte{c.File(): x.Bytes()}, func(r *ir.Rules) error {
		trial := *c
		trial.Decisions = r.Decisions
		_, _, _, err := printExtension(raw, &trial, &newest, false)
		return err
	})
}

// extensionOf returns the description of an extension for the emitter.
func extensionOf(c *extension.Config, p *ir.Package, sum string) (*emit.Extension, error) {
	e := &emit.Extension{Package: c.Package, Name: c.Name, Schema: c.Schema, SHA256: sum}
	var errs []error
	object := func(def string) *ir.Type {
		i := slices.IndexFunc(p.Forms, func(f ir.Form) bool { return f.Definition == def && f.Type != nil })
		if i < 0 {
			if def != "" {
				errs = append(errs, fmt.Errorf("%s: there is no definition %q with members", c.Schema, def))
			}
			return nil
		}
		t := p.Forms[i].Type
		if _, ok := t.Shape.(*ir.Struct); !ok {
			errs = append(errs, fmt.Errorf("%s#/$defs/%s: settings and values in _meta are objects", c.Schema, def))
		}
		return t
	}
	e.Client, e.Server = object(c.Client), object(c.Server)
	for _, m := range c.Metas {
		key, def, _ := strings.Cut(m, "=")
		if def == "" {
			return nil, fmt.Errorf("%q is not a key and a definition; write it like ui=ToolMeta", m)
		}
		e.Metas = append(e.Metas, emit.Meta{Key: key, Type: object(def)})
	}
	return e, errors.Join(errs...)
}
