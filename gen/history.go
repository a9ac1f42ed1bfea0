package main

import (
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/load"
)

// nextRevision is the date under which a state of a draft is compiled. It is later
// than the date of any released revision.
const nextRevision = "2099-01-01"

// history is one run of the history command.
type history struct {
	from   string
	only   string
	prove  bool
	sample int
	seed   string
}

// runHistory compiles each state of a draft as the revision after all others, and prints
// a table of the outcomes. It writes no file in the module.
func runHistory(args []string, stdout io.Writer) error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	h := &history{}
	flags := flag.NewFlagSet("history", flag.ContinueOnError)
	flags.SetOutput(stdout)
	flags.StringVar(&h.from, "from", "", "`folder` with one official schema file for each state")
	flags.BoolVar(&h.prove, "prove", false, "also build and test the generated code of each state, in a copy of the module; fail if any of it is wrong")
	flags.StringVar(&h.only, "only", "", "compile only states whose names begin with one of these `texts`, separated by commas")
	flags.IntVar(&h.sample, "sample", 0, "`number` of states to compile; 0 means all")
	flags.StringVar(&h.seed, "seed", "", "`text` that selects the sample, such as a commit")
	if err := flags.Parse(args); err != nil {
		return err
	}
	states, err := h.states()
	if err != nil {
		return err
	}
	released, err := load.Dir(filepath.Join(root, "schema"))
	if err != nil {
		return err
	}
	return h.run(root, released, states, stdout)
}

// states returns the files of the sample, or of all states.
func (h *history) states() ([]string, error) {
	if h.from == "" {
		return nil, errors.New("history: -from is missing; set it to a folder of schema files (make history FROM=…)")
	}
	states, err := filepath.Glob(filepath.Join(h.from, "*.json"))
	if err != nil || len(states) == 0 {
		return nil, errors.Join(fmt.Errorf("history: no schema files in %q", h.from), err)
	}
	states = slices.DeleteFunc(states, func(state string) bool { return !h.selects(filepath.Base(state)) })
	if h.sample <= 0 || h.sample >= len(states) {
		return states, nil
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(h.seed)) // never fails
	first := int(hash.Sum32() % uint32(len(states)))
	var sample []string
	for i := range h.sample {
		sample = append(sample, states[(first+i*len(states)/h.sample)%len(states)])
	}
	return sample, nil
}

// selects reports whether the flag -only selects a state.
func (h *history) selects(name string) bool {
	return slices.ContainsFunc(strings.Split(h.only, ","), func(text string) bool { return strings.HasPrefix(name, text) })
}

// run compiles states and prints the table: state, outcome, joins.
func (h *history) run(root string, released []*load.File, states []string, stdout io.Writer) error {
	var p *prover
	if h.prove {
		var err error
		if p, err = newProver(root); err != nil {
			return fmt.Errorf("history: %w", err)
		}
		defer p.close()
	}
	compiled, wrong := 0, 0
	for _, state := range states {
		name := strings.TrimSuffix(filepath.Base(state), ".json")
		s, err := compileState(released, state, filepath.Join(root, "schema"))
		outcome := "refused"
		if err == nil && p != nil {
			outcome = "wrong"
			err = p.prove(s)
		}
		switch {
		case err == nil:
			compiled++
			fmt.Fprintf(stdout, "%s\tcompiles\t%d types, %d methods, %d joins\n", name, len(s.pkg.Types), len(s.pkg.Methods), len(s.pkg.Joins))
			continue
		case outcome == "wrong":
			wrong++
		}
		fmt.Fprintf(stdout, "%s\t%s\t%s\n", name, outcome, strings.ReplaceAll(err.Error(), "\n", "\n\t"))
	}
	fmt.Fprintf(stdout, "%d of %d states compile\n", compiled, len(states))
	if wrong > 0 {
		return fmt.Errorf("history: the code of %d states is wrong", wrong)
	}
	return nil
}

// compileState compiles the official file of a state after the released revisions.
func compileState(released []*load.File, state, schema string) (*compilation, error) {
	official, err := load.ReadFile(state)
	if err != nil {
		return nil, err
	}
	in := &input{schema: schema, docs: filepath.Join(schema, "docs.txt"), released: released,
		official: official, name: nextRevision, entry: load.Entry{Revision: nextRevision}}
	c, err := in.compile(&rules)
	if err != nil {
		return nil, in.refuse(err, &rules)
	}
	return c, nil
}
