package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"

	"github.com/mcpwright/mcp/internal/contract"
)

var diffCommand = command{
	name: "diff", usage: "[flags] OLD NEW|SERVER",
	summary: "Show which changes of a server break its users.",
	example: "mcpwright diff mcp.lock.json https://example.com/mcp",
	help: "OLD and NEW are files that mcpwright lock wrote. A change is breaking if a call that was valid may be refused, or if a result may have a form that readers do not expect. " +
		"It is risky if the effect cannot be decided. The exit status is 0 if all changes are compatible, 1 for a breaking change, and 4 for a risky one.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var d diff
		d.define(fs)
		fs.BoolVar(&d.markdown, "markdown", false, "print text for a changelog")
		return d.run
	},
}

// diff is the subcommand diff.
type diff struct {
	connection
	markdown bool
}

func (d *diff) run(ctx context.Context, e *environment, args arguments) error {
	if len(args.words) == 0 {
		return usagef("OLD is missing: give a file that mcpwright lock wrote")
	}
	before, err := readLock(e, args.words[0])
	if err != nil {
		return &usageError{err}
	}
	args.words = args.words[1:]
	after, err := d.after(ctx, e, &args)
	if err != nil {
		return err
	}
	changes := contract.Diff(before, after)
	if err := d.print(e, changes); err != nil {
		return err
	}
	switch contract.Worst(changes) {
	case contract.Breaking:
		return &reportedError{errors.New("breaking changes")}
	case contract.Risky:
		return &riskyError{&reportedError{errors.New("risky changes")}}
	}
	return nil
}

// riskyError is the error for changes that may break users.
type riskyError struct{ error }

func (e *riskyError) Unwrap() error { return e.error }

// after returns the new contract, from a file or a server.
func (d *diff) after(ctx context.Context, e *environment, args *arguments) (*contract.Lock, error) {
	if args.server == nil && len(args.words) == 1 {
		after, err := readLock(e, args.words[0])
		if !errors.Is(err, os.ErrNotExist) {
			if err != nil {
				err = &usageError{err}
			}
			return after, err
		}
	}
	s, err := d.takeServer(e, args)
	if err != nil {
		return nil, err
	}
	if len(args.words) > 0 {
		return nil, usagef("unexpected argument %q", args.words[0])
	}
	return d.contract(ctx, e, s)
}

func readLock(e *environment, name string) (*contract.Lock, error) {
	data, err := os.ReadFile(e.path(name))
	if err != nil {
		return nil, err
	}
	l, err := contract.Parse(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	return l, nil
}

func (d *diff) print(e *environment, changes []contract.Change) error {
	switch {
	case d.json:
		return e.printJSON(append([]contract.Change{}, changes...))
	case d.markdown:
		e.out.Printf("%s", contract.Markdown(changes))
	case len(changes) == 0:
		e.out.Println("There are no changes.")
	default:
		var rows [][]string
		for _, c := range changes {
			rows = append(rows, []string{c.Severity.String(), c.String()})
		}
		e.out.Table(rows)
	}
	return nil
}
