package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/check"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

var testCommand = command{
	name: "test", usage: "[flags] SERVER",
	summary: "Check a server: its messages, HTTP statuses and headers, and its behavior on invalid input.",
	example: "mcpwright test -fail warning https://example.com/mcp",
	help: "It connects once for each revision of the protocol and uses everything that the server lists. Tools are called only if they are annotated as read-only, or with -call. " +
		"The exit status is 1 if there is a finding with the severity of -fail, and 3 if the server cannot be reached.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		t := test{fail: check.Error}
		t.connection.define(fs)
		fs.Lookup("timeout").DefValue = "10s"
		t.timeout = 10 * time.Second
		fs.BoolVar(&t.list, "list", false, "list the cases, and check nothing")
		fs.Var((*commaList)(&t.only), "only", "check only these `cases`, separated by commas; hostile-* is all with this beginning")
		fs.Var((*commaList)(&t.skip), "skip", "leave out these `cases`")
		fs.BoolVar(&t.call, "call", false, "call all tools, not only those that are annotated as read-only")
		fs.Var((*severityFlag)(&t.fail), "fail", "fail if a finding has at least this `severity`: error, warning or note")
		fs.Var(&t.reports, "report", "write a report as `format=file`: junit, sarif or json; without a file to standard output, instead of text; may be repeated")
		fs.StringVar(&t.sarifFile, "sarif-file", "README.md", "the `file` of the repository that SARIF results are shown in")
		return t.run
	},
}

// test is the subcommand test.
type test struct {
	connection
	list, call bool
	only, skip []string
	fail       check.Severity
	reports    reportFlag
	sarifFile  string
}

// commaList is a flag with a list of words.
type commaList []string

// String implements [flag.Value].
func (l *commaList) String() string { return strings.Join(*l, ",") }

// Set implements [flag.Value].
func (l *commaList) Set(text string) error {
	*l = append(*l, strings.Split(text, ",")...)
	return nil
}

// severityFlag is a flag with a severity.
type severityFlag check.Severity

// String implements [flag.Value].
func (f *severityFlag) String() string { return check.Severity(*f).String() }

// Set implements [flag.Value].
func (f *severityFlag) Set(text string) error {
	s, err := check.ParseSeverity(text)
	*f = severityFlag(s)
	return err
}

// report is where a report goes.
type report struct{ format, file string }

// reportFlag is a flag that collects reports.
type reportFlag []report

// String implements [flag.Value].
func (f *reportFlag) String() string { return "" }

// Set implements [flag.Value].
func (f *reportFlag) Set(text string) error {
	format, file, named := strings.Cut(text, "=")
	switch {
	case format != "junit" && format != "sarif" && format != "json":
		return fmt.Errorf("%q is not a format: use junit, sarif or json", format)
	case named && file == "":
		return errors.New("there is no file after =")
	}
	*f = append(*f, report{format, file})
	return nil
}

func (t *test) run(ctx context.Context, e *environment, args arguments) error {
	if t.json {
		t.reports = append(t.reports, report{format: "json"})
	}
	if t.list {
		return t.printCases(e)
	}
	s, err := t.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) > 0 {
		return usagef("unexpected argument %q", args.words[0])
	}
	opts := check.Options{Only: t.only, Skip: t.skip, Call: t.call, Timeout: t.timeout, Progress: t.progress(e)}
	if t.revision != "" {
		r, ok := mcp.ParseRevision(t.revision)
		if !ok {
			return usagef("%q is not a revision; the revisions are %s", t.revision, strings.Join(revisionNames(), ", "))
		}
		opts.Revisions = []mcp.Revision{r}
	}
	target, err := t.target(e, s)
	if err != nil {
		return err
	}
	found, err := check.Run(ctx, target, opts)
	switch {
	case errors.Is(err, check.ErrUnreachable):
		return &unreachableError{fmt.Errorf("cannot use %s: %w%s", s.name, err, hint(s, err))}
	case errors.Is(err, check.ErrUnknownCase):
		return &usageError{err}
	case err != nil:
		return err
	}
	if err := t.write(e, found); err != nil {
		return err
	}
	if n := found.Count(t.fail); n > 0 {
		return &reportedError{fmt.Errorf("%d findings", n)}
	}
	return nil
}

// progress returns a function that shows the case that runs, on a terminal.
func (t *test) progress(e *environment) func(mcp.Revision, string) {
	if !e.errs.IsTerminal() {
		return nil
	}
	return func(r mcp.Revision, id string) {
		if id == "" {
			e.errs.Control("\r\x1b[K")
			return
		}
		e.errs.Control(fmt.Sprintf("\r\x1b[K%v  %s", r, id))
	}
}

// target returns a server without a client.
func (c *connection) target(e *environment, s *server) (*check.Server, error) {
	if s.URL == "" {
		var stderr io.Writer
		if c.stderr {
			stderr = e.errs
		}
		env := e.childEnvironment(s)
		if !s.fromLine {
			env = append(e.fewVariables(), env...)
		}
		return &check.Server{Start: check.Command(stderr, s.Dir, env, append([]string{s.Command}, s.Args...)...)}, nil
	}
	to, err := c.endpoint(e, s)
	if err != nil {
		return nil, err
	}
	u := to.(*mcpclient.URLEndpoint)
	return &check.Server{URL: s.URL, Header: u.HTTP.Header, Client: u.HTTP.HTTPClient}, nil
}

// fewVariables returns the variables that a command of a configuration file has in the
// hosts.
func (e *environment) fewVariables() (env []string) {
	for _, v := range e.environ {
		switch name, _, _ := strings.Cut(v, "="); name {
		case "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER",
			"APPDATA", "LOCALAPPDATA", "PATHEXT", "PROGRAMFILES", "SYSTEMDRIVE", "SYSTEMROOT", "TEMP", "TMP", "USERPROFILE":
			env = append(env, v)
		}
	}
	return env
}

// write writes the reports. The text is written unless another report goes to standard
// output.
func (t *test) write(e *environment, found *check.Report) error {
	text := true
	for _, r := range t.reports {
		w, end := io.Writer(e.out), func() error { return nil }
		if r.file == "" {
			text = false
		} else {
			f, err := os.Create(r.file)
			if err != nil {
				return fmt.Errorf("write the report: %w", err)
			}
			w, end = f, f.Close
		}
		if err := errors.Join(t.writeReport(w, r.format, found), end()); err != nil {
			return fmt.Errorf("write the report: %w", err)
		}
	}
	if text {
		return found.WriteText(e.out)
	}
	return nil
}

func (t *test) writeReport(w io.Writer, format string, found *check.Report) error {
	switch format {
	case "junit":
		return found.WriteJUnit(w, t.fail)
	case "sarif":
		return found.WriteSARIF(w, t.sarifFile)
	}
	return found.WriteJSON(w)
}

// printCases prints the table of cases.
func (t *test) printCases(e *environment) error {
	if t.json {
		return check.WriteCases(e.out)
	}
	var rows [][]string
	for _, c := range check.Cases() {
		var severities []string
		for _, s := range c.Severities() {
			severities = append(severities, s.String())
		}
		revisions := c.Revisions()
		rows = append(rows, []string{c.ID, strings.Join(severities, "/"), c.Title, revisions[0].String() + " to " + revisions[len(revisions)-1].String()})
	}
	e.out.Table(rows)
	return nil
}
