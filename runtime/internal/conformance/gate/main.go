// Command gate runs the official conformance suite against a server and a
// client, and judges its reports more strictly than the suite does.
//
//	go run ./runtime/internal/conformance/gate server client
//
// The suite passes a scenario in which nothing was checked: a client that exits
// at once, or a server that is dead, gets some green marks. The gate wants of
// each scenario a number of successful checks, no failure, no warning, and of
// each client a clean exit. What it wants is written down in expect.json, and
// every exception there has its reason.
//
// The programs are this module's fixtures unless -command names another one:
//
//	go run ./runtime/internal/conformance/gate -command "./other -stateless" -revision 2026-07-28 server
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
)

type options struct {
	suite, command, revision, out string
}

func main() { os.Exit(command(os.Args[1:], os.Stderr)) }

// command is the program: what it is called with, where it complains, and its
// exit status.
func command(args []string, stderr io.Writer) int {
	if len(args) > 0 && args[0] == witnessVerb {
		return witness(args[1:])
	}
	var o options
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.suite, "suite", ".ci/conformance", "the folder with the suite's package-lock.json")
	flags.StringVar(&o.command, "command", "", "the program to test in place of this module's fixture")
	flags.StringVar(&o.revision, "revision", "", "test this revision only")
	flags.StringVar(&o.out, "out", "", "keep the suite's reports in this folder")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: gate [flags] server|client...")
		flags.PrintDefaults()
	}
	if flags.Parse(args) != nil {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, flags.Args()); err != nil {
		fmt.Fprintln(stderr, "conformance:", err)
		return 1
	}
	return 0
}

func run(ctx context.Context, o options, sides []string) error {
	if len(sides) == 0 || slices.ContainsFunc(sides, func(s string) bool { return s != "server" && s != "client" }) {
		return errors.New("say what to test: server, client or both")
	}
	e, err := readExpectations()
	if err != nil {
		return err
	}
	s, err := prepare(ctx, o.suite)
	if err != nil {
		return err
	}
	out, done, err := reports(o.out)
	if err != nil {
		return err
	}
	bad := 0
	for _, side := range sides {
		n, err := test(ctx, o, s, e, side, out)
		if err != nil {
			return fmt.Errorf("%w (reports in %s)", err, out)
		}
		bad += n
	}
	if bad > 0 {
		return fmt.Errorf("%d of what was asked is missing (reports in %s)", bad, out)
	}
	return done()
}

// reports returns the folder for the suite's reports, and what to do with it
// when all is well.
func reports(dir string) (string, func() error, error) {
	if dir != "" {
		return dir, func() error { return nil }, os.MkdirAll(dir, 0o755)
	}
	dir, err := os.MkdirTemp("", "conformance-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// test runs the legs of one side and returns how many complaints there are.
func test(ctx context.Context, o options, s *suite, e *expectations, side, out string) (int, error) {
	f, err := startFixture(ctx, side, o.command, out)
	if err != nil {
		return 0, err
	}
	defer f.stop()
	bad, legs := 0, 0
	for _, l := range e.Legs {
		if l.Side != side || o.revision != "" && o.revision != l.Revision {
			continue
		}
		legs++
		dir, err := s.run(ctx, f, l, out)
		if err != nil {
			return 0, err
		}
		found, err := collect(dir)
		if err != nil {
			return 0, err
		}
		v := e.judge(l, found)
		v.print(os.Stdout)
		bad += v.complaints()
		if err := f.alive(); err != nil {
			return 0, err
		}
	}
	if legs == 0 {
		return 0, fmt.Errorf("the suite has nothing for a %s of revision %q", side, o.revision)
	}
	return bad, nil
}
