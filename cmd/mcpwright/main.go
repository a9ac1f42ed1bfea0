// Command mcpwright uses, checks and observes servers of the Model Context Protocol.
//
//	go install github.com/mcpwright/mcp/cmd/mcpwright@latest
//	mcpwright list -- npx -y @modelcontextprotocol/server-everything
//	mcpwright call https://example.com/mcp weather city=Bern
//
// Each subcommand explains itself with -h. See docs/command.md.
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
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/hostconfig"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/terminal"
	"github.com/mcpwright/mcp/runtime/auth"
)

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() { // ends with the first signal; the second ends the program
		s := <-signals
		signal.Stop(signals)
		cancel(&signalError{s})
	}()
	os.Exit(system().run(ctx, os.Args[1:]))
}

// signalError is the cause of a context that a signal has canceled.
type signalError struct{ signal os.Signal }

// Error implements error.
func (e *signalError) Error() string { return e.signal.String() + " signal received" }

// status returns the exit status of a program that the signal has ended, as a shell shows it.
func (e *signalError) status() int {
	n, _ := e.signal.(syscall.Signal)
	return 128 + int(n)
}

// environment is what a subcommand may use of the system.
type environment struct {
	stdin       io.Reader
	interactive bool // a person can answer on stdin
	out, errs   *terminal.Output
	place       hostconfig.Place
	environ     []string
	configDir   string // for tokens
	cacheDir    string // for completion, or ""
	openBrowser func(page string) error
}

// system returns the environment of the process.
func system() *environment {
	dir, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	e := &environment{
		stdin: os.Stdin, out: terminal.New(os.Stdout), errs: terminal.New(os.Stderr),
		place:   hostconfig.Place{Dir: dir, Home: home, OS: runtime.GOOS, Getenv: os.LookupEnv},
		environ: os.Environ(), openBrowser: auth.OpenBrowser,
	}
	if dir, err := os.UserConfigDir(); err == nil {
		e.configDir = filepath.Join(dir, "mcpwright")
	}
	if dir, err := os.UserCacheDir(); err == nil {
		e.cacheDir = filepath.Join(dir, "mcpwright")
	}
	e.interactive = terminal.New(os.Stdin).IsTerminal() && e.errs.IsTerminal()
	return e
}

// path returns the path of a file that a person has named.
func (e *environment) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(e.place.Dir, name)
}

// command is a subcommand.
type command struct {
	name    string
	usage   string // the arguments
	summary string
	example string
	help    string // what the flags do not explain, or ""
	// define defines the flags and returns the function that runs the command with the positional
	// arguments.
	define func(fs *flag.FlagSet) func(ctx context.Context, e *environment, args arguments) error
}

// arguments are the positional arguments of a subcommand, and the command after --.
type arguments struct {
	words  []string
	server []string // nil without --
}

// commands lists the subcommands in the order of the help.
var commands = []*command{
	&listCommand, &callCommand, &readCommand, &promptCommand, &completeCommand, &watchCommand, &infoCommand,
	&pingCommand, &inspectCommand, &testCommand, &lockCommand, &diffCommand, &clientCommand, &traceCommand, &replayCommand, &serversCommand, &loginCommand, &logoutCommand,
	&completionCommand,
}

// Exit status of the program.
const (
	statusFailed      = 1 // the server refused, or a tool failed
	statusUsage       = 2
	statusUnreachable = 3
	statusRisky       = 4 // a change of a server may break its users
)

// run runs a subcommand and returns the exit status.
func (e *environment) run(ctx context.Context, args []string) int {
	switch {
	case len(args) == 0:
		printHelp(e.errs)
		return statusUsage
	case isHelp(args[0]) && len(args) == 1:
		printHelp(e.out)
		return 0
	case isHelp(args[0]):
		args = []string{args[1], "-h"}
	case slices.Contains([]string{"version", "-version", "--version"}, args[0]):
		e.out.Printf("mcpwright %s %s\n", version(), runtime.Version())
		return 0
	case args[0] == completeWords:
		e.printCandidates(ctx, args[1:])
		return 0
	}
	i := slices.IndexFunc(commands, func(c *command) bool { return c.name == args[0] })
	if i < 0 {
		e.errs.Printf("mcpwright: unknown command %q; run mcpwright -h for the list\n", args[0])
		return statusUsage
	}
	return e.runCommand(ctx, commands[i], args[1:])
}

func isHelp(word string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, word)
}

func (e *environment) runCommand(ctx context.Context, c *command, words []string) int {
	fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	run := c.define(fs)
	args, err := parse(fs, words)
	if errors.Is(err, flag.ErrHelp) {
		c.printHelp(e.out, fs)
		return 0
	}
	if err != nil {
		err = &usageError{err}
	} else {
		err = run(ctx, e, args)
	}
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*statusError](err); ok {
		return exit.status
	}
	var silent *reportedError
	reported := errors.As(err, &silent)
	if cause, ok := errors.AsType[*signalError](context.Cause(ctx)); ok {
		if !reported {
			e.errs.Printf("mcpwright %s: interrupted\n", c.name)
		}
		return cause.status()
	}
	if !reported {
		e.errs.Printf("mcpwright %s: %v\n", c.name, err)
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		e.errs.Printf("usage: mcpwright %s %s\nmcpwright %s -h explains more.\n", c.name, c.usage, c.name)
		return statusUsage
	}
	if _, ok := errors.AsType[*unreachableError](err); ok {
		return statusUnreachable
	}
	if _, ok := errors.AsType[*riskyError](err); ok {
		return statusRisky
	}
	return statusFailed
}

// parse parses flags, which may come before, between and after the arguments. The words after -- are
// the command of a server.
func parse(fs *flag.FlagSet, words []string) (arguments, error) {
	var args arguments
	if i := slices.Index(words, "--"); i >= 0 {
		if args.server = words[i+1:]; len(args.server) == 0 {
			return args, errors.New("there is no command after --")
		}
		words = words[:i]
	}
	for {
		if err := fs.Parse(words); err != nil {
			return args, err
		}
		if words = fs.Args(); len(words) == 0 {
			return args, nil
		}
		args.words = append(args.words, words[0])
		words = words[1:]
	}
}

// usageError is an error in the arguments.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

func usagef(format string, args ...any) error { return &usageError{fmt.Errorf(format, args...)} }

// unreachableError is the error of a server that cannot be reached.
type unreachableError struct{ error }

func (e *unreachableError) Unwrap() error { return e.error }

// statusError is the exit status of a command that ran in place of this program.
type statusError struct{ status int }

// Error implements error.
func (e *statusError) Error() string { return fmt.Sprintf("exit status %d", e.status) }

// reportedError is an error that the output contains already.
type reportedError struct{ error }

func (e *reportedError) Unwrap() error { return e.error }

func printHelp(out *terminal.Output) {
	out.Printf("mcpwright uses, checks and observes servers of the Model Context Protocol.\n\n")
	var rows [][]string
	for _, c := range commands {
		rows = append(rows, []string{"  mcpwright " + c.name, c.summary})
	}
	out.Table(rows)
	out.Println()
	out.Paragraph("", serverHelp)
	out.Println("\nmcpwright COMMAND -h explains a command. mcpwright version prints the version.")
}

const serverHelp = "SERVER is a URL, the name of a server in a configuration file (see mcpwright servers), or a command at the end, after --."

func (c *command) printHelp(out *terminal.Output, fs *flag.FlagSet) {
	out.Printf("usage: mcpwright %s %s\n\n", c.name, c.usage)
	out.Paragraph("", c.summary)
	if c.help != "" {
		out.Println()
		out.Paragraph("", c.help)
	}
	if strings.Contains(c.usage, "SERVER") {
		out.Println()
		out.Paragraph("", serverHelp)
	}
	out.Printf("\nexample:\n  %s\n\nflags:\n", strings.ReplaceAll(c.example, "\n", "\n  "))
	fs.VisitAll(func(f *flag.Flag) {
		name, text := flag.UnquoteUsage(f)
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "0s" {
			text += fmt.Sprintf(" (default %s)", f.DefValue)
		}
		out.Printf("  -%s\n", strings.TrimSpace(f.Name+" "+name))
		out.Paragraph("      ", text)
	})
}
