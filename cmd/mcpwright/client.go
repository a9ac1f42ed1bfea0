package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/typedclient"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/wiretrace"
	"github.com/mcpwright/mcp/generated/mcp"
)

var clientCommand = command{
	name: "client", usage: "[flags] SERVER",
	summary: "Write a Go client with a method for each tool of a server.",
	example: "mcpwright client -package everything -- npx -y @modelcontextprotocol/server-everything",
	help: "The types of arguments and results are made from the schemas of the tools. A part of a schema that has no Go type becomes json.RawMessage, with a notice. " +
		"The same tools result in the same file. It contains a line for go generate, without the flags -header. With -check the file is not written, and the exit status is 1 if it would change, except for the line of go generate.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var g goClient
		g.define(fs)
		fs.StringVar(&g.pkg, "package", "", "the `name` of the Go package (the folder of -out if it is missing)")
		fs.StringVar(&g.out, "out", "", "write this `file` instead of standard output")
		fs.BoolVar(&g.check, "check", false, "compare the file of -out, and do not write it")
		return g.run
	},
}

// goClient is the subcommand client.
type goClient struct {
	connection
	pkg, out string
	check    bool
}

func (g *goClient) run(ctx context.Context, e *environment, args arguments) error {
	given := args
	s, err := g.takeServer(e, &args)
	if err == nil && len(args.words) > 0 {
		err = usagef("unexpected argument %q", args.words[0])
	}
	if err == nil {
		err = g.complete(e)
	}
	if err != nil {
		return err
	}
	client, err := g.connect(ctx, e, s, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	all, err := read(ctx, client, []string{"tools"})
	if err != nil {
		return e.failed(&g.connection, "list the tools of "+s.name, err)
	}
	tools := make([]mcp.Tool, len(all.Tools))
	for i, t := range all.Tools {
		tools[i] = *t
	}
	opts := &typedclient.Options{Package: g.pkg, Generate: g.directive(e, &given)}
	if info := client.ServerInfo(); info != nil {
		opts.Server = info.Name
	}
	source, notices, err := typedclient.Write(tools, opts)
	if err != nil {
		return err
	}
	for _, n := range notices {
		e.errs.Printf("notice: %s\n", n)
	}
	return g.deliver(e, source)
}

// complete checks the flags, and sets the name of the package.
func (g *goClient) complete(e *environment) error {
	if g.check && g.out == "" {
		return usagef("-check needs the file of -out")
	}
	if g.pkg == "" {
		if g.out == "" {
			return usagef("-package is missing")
		}
		g.pkg = filepath.Base(filepath.Dir(e.path(g.out)))
	}
	if err := typedclient.CheckPackage(g.pkg); err != nil {
		return usagef("-package: %w", err)
	}
	return nil
}

// directive returns the command for go generate, which runs it in the folder of the file. It is ""
// if the command would contain a secret.
func (g *goClient) directive(e *environment, args *arguments) string {
	words := []string{"mcpwright", "client", "-package", g.pkg}
	if g.out != "" {
		words = append(words, "-out", filepath.Base(g.out))
	}
	if g.revision != "" {
		words = append(words, "-revision", g.revision)
	}
	if g.config != "" {
		words = append(words, "-config", g.fromFile(e, g.config))
	}
	if hasSecret(args) {
		e.errs.Printf("notice: the file has no line for go generate, because the server is named with what may be a secret\n")
		return ""
	}
	words = append(words, args.words...)
	if args.server != nil {
		words = append(words, "--")
		for _, word := range args.server {
			if word == "." || word == ".." || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../") {
				word = g.fromFile(e, word)
			}
			words = append(words, word)
		}
	}
	for i, word := range words {
		word = strings.ReplaceAll(word, "$", "${DOLLAR}") // go generate replaces variables
		if word == "" || strings.ContainsAny(word, " \t\r\n\"\\`") {
			word = strconv.Quote(word)
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// hasSecret reports whether the words that name a server may contain a secret.
func hasSecret(args *arguments) bool {
	isSecret := func(word string) bool {
		u, err := url.Parse(word)
		return err == nil && (u.User != nil || u.RawQuery != "")
	}
	return slices.ContainsFunc(args.words, isSecret) || !slices.Equal(wiretrace.NewMask().Words(args.server), args.server)
}

// fromFile returns a relative path as it is in the folder of the file.
func (g *goClient) fromFile(e *environment, path string) string {
	if g.out == "" || filepath.IsAbs(path) {
		return path
	}
	relative, err := filepath.Rel(filepath.Dir(e.path(g.out)), e.path(path))
	if err != nil {
		return path
	}
	if relative = filepath.ToSlash(relative); !strings.HasPrefix(relative, ".") {
		relative = "./" + relative
	}
	return relative
}

// deliver writes the source, or compares it.
func (g *goClient) deliver(e *environment, source []byte) error {
	if g.out == "" {
		_, err := e.out.Write(source)
		return err
	}
	path := e.path(g.out)
	if !g.check {
		err := os.MkdirAll(filepath.Dir(path), 0o777)
		if err == nil {
			err = os.WriteFile(path, source, 0o666)
		}
		if err != nil {
			return fmt.Errorf("write the client: %w", err)
		}
		return nil
	}
	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the client: %w", err)
	}
	line, was, is := firstDifference(old, source)
	if line == 0 {
		return nil
	}
	e.errs.Printf("%s:%d: the file is not up to date with the tools of the server\n-%s\n+%s\n", g.out, line, was, is)
	return &reportedError{errors.New("the client is not up to date")}
}

// firstDifference returns the first line that differs in two texts, or 0. The lines of go generate may
// differ, because the server may have another address during the check.
func firstDifference(old, source []byte) (line int, was, is string) {
	before, after := strings.Split(string(old), "\n"), strings.Split(string(source), "\n")
	for i := range max(len(before), len(after)) {
		was, is = "", ""
		if i < len(before) {
			was = before[i]
		}
		if i < len(after) {
			is = after[i]
		}
		const directive = "//go:generate mcpwright client "
		if was != is && (!strings.HasPrefix(was, directive) || !strings.HasPrefix(is, directive)) {
			return i + 1, was, is
		}
	}
	if len(before) != len(after) {
		return min(len(before), len(after)), "", ""
	}
	return 0, "", ""
}
