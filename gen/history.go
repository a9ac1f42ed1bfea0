package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/emit"
	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
)

// nextRevision is the date under which a state of a draft is compiled. It is later
// than the date of any released revision.
const nextRevision = "2099-01-01"

// runHistory compiles each state of a draft as the revision after all others, without
// writing any file, and prints a table of the outcomes.
func runHistory(args []string, stdout io.Writer) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	flags := flag.NewFlagSet("history", flag.ContinueOnError)
	flags.SetOutput(stdout)
	from := flags.String("from", "", "`folder` with one official schema file for each state")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *from == "" {
		return errors.New("history: -from is missing; set it to a folder of schema files (make history FROM=…)")
	}
	states, err := filepath.Glob(filepath.Join(*from, "*.json"))
	if err != nil || len(states) == 0 {
		return errors.Join(fmt.Errorf("history: no schema files in %q", *from), err)
	}
	released, err := load.Dir(filepath.Join(root, "schema"))
	if err != nil {
		return err
	}
	compiled := 0
	for _, state := range states {
		name := strings.TrimSuffix(filepath.Base(state), ".json")
		p, err := compileState(released, state, filepath.Join(root, "schema", "docs.txt"))
		if err != nil {
			fmt.Fprintf(stdout, "%s\trefused\t%s\n", name, strings.ReplaceAll(err.Error(), "\n", "\n\t"))
			continue
		}
		compiled++
		fmt.Fprintf(stdout, "%s\tcompiles\t%d types, %d methods\n", name, len(p.Types), len(p.Methods))
	}
	fmt.Fprintf(stdout, "%d of %d states compile\n", compiled, len(states))
	return nil
}

// compileState compiles the official file of a state after the released revisions.
func compileState(released []*load.File, state, docs string) (*ir.Package, error) {
	official, err := os.ReadFile(state)
	if err != nil {
		return nil, err
	}
	raw, err := load.Transcribe(nextRevision, official)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	entry := load.Entry{Revision: nextRevision, Official: load.Sum(official), SHA256: load.Sum(raw)}
	file, err := load.Parse(nextRevision, entry, raw)
	if err != nil {
		return nil, fmt.Errorf("import: %w", err)
	}
	p, err := build(append(released[:len(released):len(released)], file), docs)
	if err != nil {
		return nil, err
	}
	if _, err := emit.Files(p); err != nil {
		return nil, err
	}
	return p, nil
}
