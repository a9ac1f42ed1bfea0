// Command gate runs the official conformance suite with a server and a client. Its
// requirements for the suite's reports are stricter than the suite's own.
//
//	go run ./internal/conformance/gate server replicas client
//
// The side "replicas" is the server with three replicas, which share sessions behind a balancer.
//
// The suite passes a scenario without any checks, so a client that exits immediately
// or a server that has failed passes some scenarios. The gate requires a minimum number
// of successful checks in each scenario, no failures, no warnings, and the exit status
// 0 of each client. The file expect.json has the numbers, and the exceptions with their
// reasons.
//
// The programs under test are this module's fixtures, or the program in -command:
//
//	go run ./internal/conformance/gate -command "./other -stateless" -revision 2026-07-28 server
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
)

type options struct {
	suite, command, revision, out string
}

func main() { os.Exit(command(os.Args[1:], os.Stderr)) }

// command runs the program with arguments, and returns its exit status.
func command(args []string, stderr io.Writer) int {
	if len(args) > 0 && args[0] == recordExitVerb {
		return recordExit(args[1:])
	}
	var o options
	flags := flag.NewFlagSet("gate", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.suite, "suite", ".ci/conformance", "folder with the suite's package-lock.json")
	flags.StringVar(&o.command, "command", "", "program to test instead of this module's fixture")
	flags.StringVar(&o.revision, "revision", "", "test only this revision")
	flags.StringVar(&o.out, "out", "", "store the suite's reports in this folder")
	flags.Usage = func() {
		fmt.Fprintln(stderr, "usage: gate [flags] server|replicas|client...")
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

// run tests the sides.
func run(ctx context.Context, o options, sides []string) error {
	if len(sides) == 0 || slices.ContainsFunc(sides, func(s string) bool { return s != "server" && s != "replicas" && s != "client" }) {
		return errors.New("no side to test: want server, replicas or client")
	}
	e, err := readExpectations()
	if err != nil {
		return err
	}
	s, err := prepareSuite(ctx, o.suite)
	if err != nil {
		return err
	}
	out, done, err := reportFolder(o.out)
	if err != nil {
		return err
	}
	problems := 0
	for _, side := range sides {
		n, err := test(ctx, o, s, e, side, out)
		if err != nil {
			return fmt.Errorf("%w (reports in %s)", err, out)
		}
		problems += n
	}
	if problems > 0 {
		return fmt.Errorf("%d problems (reports in %s)", problems, out)
	}
	return done()
}

// reportFolder returns the folder for the suite's reports, and a function to call if
// there are no problems. The function deletes a temporary folder.
func reportFolder(dir string) (string, func() error, error) {
	if dir != "" {
		return dir, func() error { return nil }, os.MkdirAll(dir, 0o755)
	}
	dir, err := os.MkdirTemp("", "conformance-")
	return dir, func() error { return os.RemoveAll(dir) }, err
}

// test runs the suite for one side, and returns the number of problems.
func test(ctx context.Context, o options, s *suite, e *expectations, side, out string) (int, error) {
	arguments := ""
	if side == "replicas" {
		side, arguments, out = "server", " -replicas=3", filepath.Join(out, side)
		if err := os.MkdirAll(out, 0o755); err != nil {
			return 0, err
		}
	}
	f, err := startFixture(ctx, side, o.command, arguments, out)
	if err != nil {
		return 0, err
	}
	defer f.stop()
	problems, runs := 0, 0
	for _, r := range e.Runs {
		if r.Side != side || o.revision != "" && o.revision != r.Revision {
			continue
		}
		runs++
		dir, err := s.run(ctx, f, r, out)
		if err != nil {
			return 0, err
		}
		reports, err := readReports(dir)
		if err != nil {
			return 0, err
		}
		res := e.compare(r, reports)
		res.print(os.Stdout)
		problems += res.countProblems()
		if err := f.checkRunning(); err != nil {
			return 0, err
		}
	}
	if runs == 0 {
		return 0, fmt.Errorf("expect.json has no %s with revision %q", side, o.revision)
	}
	return problems, nil
}
