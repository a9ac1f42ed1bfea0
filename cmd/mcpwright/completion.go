package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	schemas "github.com/mcpwright/mcp/cmd/mcpwright/internal/arguments"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/hostconfig"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/terminal"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

var completionCommand = command{
	name: "completion", usage: "[flags] bash|zsh|fish",
	summary: "Print a script that completes the arguments of mcpwright in a shell.",
	example: "mcpwright completion bash",
	help: "For bash, add this line to ~/.bashrc:\n  source <(mcpwright completion bash)\nFor zsh, add this line to ~/.zshrc, after compinit:\n  source <(mcpwright completion zsh)\n" +
		"For fish, run:\n  mcpwright completion fish > ~/.config/fish/completions/mcpwright.fish\n" +
		"Names of tools, resources, prompts and arguments come from the server: from a URL, or a name in a configuration file. They are stored in the cache folder for 5 minutes. A command after -- is not started.",
	define: func(*flag.FlagSet) func(context.Context, *environment, arguments) error {
		return func(_ context.Context, e *environment, args arguments) error {
			if len(args.words) != 1 || completionScripts[args.words[0]] == "" {
				return usagef("give one shell: bash, zsh or fish")
			}
			e.out.Printf("%s", completionScripts[args.words[0]])
			return nil
		}
	},
}

// completeWords is the hidden subcommand that the scripts run. Its arguments are the words up to the
// cursor. It prints a line for each candidate, with a description after a tab.
const completeWords = "__complete"

// candidate is a word that the shell may insert.
type candidate struct{ word, text string }

// Limits of completion.
const (
	completionTime     = 2 * time.Second        // for the answers of a server
	completionPatience = 400 * time.Millisecond // with a server that does not end, twice
	completionAge      = 5 * time.Minute
	completionWidth    = 60 // characters of a description
)

// printCandidates prints the candidates for the last word. It prints nothing if something fails,
// since the user is typing.
func (e *environment) printCandidates(ctx context.Context, words []string) {
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	quiet := *e
	quiet.errs, quiet.interactive = terminal.NewFixed(io.Discard, 0), false
	if len(words) == 0 {
		words = []string{""}
	}
	found := make(chan []candidate, 1)
	go func() { found <- quiet.candidates(ctx, words) }() // ends soon after ctx, or with the program
	var list []candidate
	select {
	case list = <-found:
	case <-time.After(completionTime + 3*completionPatience): // the server cannot be ended
	}
	for _, c := range list {
		if !strings.HasPrefix(c.word, words[len(words)-1]) || hasControl(c.word) {
			continue
		}
		line := c.word
		if text := terminal.FirstLine(c.text, completionWidth); text != "" && !hasControl(text) {
			line += "\t" + text
		}
		e.out.Println(line)
	}
}

// hasControl reports whether a text has a character that a terminal or a shell may interpret.
func hasControl(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.Is(unicode.C, r) || r == unicode.ReplacementChar })
}

// candidates returns the candidates for the last of the words.
func (e *environment) candidates(ctx context.Context, words []string) (list []candidate) {
	current := words[len(words)-1]
	if len(words) == 1 {
		for _, c := range commands {
			list = append(list, candidate{c.name, c.summary})
		}
		return list
	}
	i := slices.IndexFunc(commands, func(c *command) bool { return c.name == words[0] })
	if i < 0 || slices.Contains(words[:len(words)-1], "--") {
		return nil
	}
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	commands[i].define(fs)
	before, value := split(fs, words[1:len(words)-1])
	switch {
	case value == "revision":
		return plainCandidates(revisionNames())
	case value != "":
		return nil
	case strings.HasPrefix(current, "-"):
		fs.VisitAll(func(f *flag.Flag) {
			_, text := flag.UnquoteUsage(f)
			list = append(list, candidate{"-" + f.Name, text})
		})
		return list
	}
	t := typed{environment: e, command: commands[i], words: before, current: current}
	if f := fs.Lookup("config"); f != nil {
		t.connection.config = f.Value.String()
	}
	if f := fs.Lookup("revision"); f != nil {
		t.connection.revision = f.Value.String()
	}
	return t.positional(ctx)
}

func plainCandidates(words []string) (list []candidate) {
	for _, word := range words {
		list = append(list, candidate{word: word})
	}
	return list
}

// split sets the flags among the words, and returns the others. If the last word is a flag that
// needs a value, it returns its name.
func split(fs *flag.FlagSet, words []string) (before []string, value string) {
	for i := 0; i < len(words); i++ {
		name := strings.TrimLeft(words[i], "-")
		f := fs.Lookup(name)
		switch {
		case !strings.HasPrefix(words[i], "-") || words[i] == "-":
			before = append(before, words[i])
		case f == nil: // unknown, or with its value
			if name, text, ok := strings.Cut(name, "="); ok {
				_ = fs.Set(name, text) // an invalid flag is an error when the command runs
			}
		case isBool(f):
		case i+1 == len(words):
			return before, f.Name
		default:
			i++
			_ = fs.Set(f.Name, words[i])
		}
	}
	return before, ""
}

func isBool(f *flag.Flag) bool {
	b, ok := f.Value.(interface{ IsBoolFlag() bool })
	return ok && b.IsBoolFlag()
}

// typed is a command line up to the cursor.
type typed struct {
	*environment
	connection connection
	command    *command
	words      []string // positional arguments before the current one
	current    string
}

// positional returns the candidates for a positional argument. The usage of the command names it.
func (t *typed) positional(ctx context.Context) []candidate {
	kinds := strings.Fields(t.command.usage)[1:] // without [flags]
	if len(kinds) == 0 {
		return nil
	}
	n := min(len(t.words), len(kinds)-1)
	kind := strings.TrimSuffix(kinds[n], "...")
	if len(t.words) > n && kind == kinds[n] { // it is not repeated
		return nil
	}
	kind = strings.Trim(kind, "[]")
	switch {
	case strings.HasSuffix(kind, "SERVER"):
		return t.servers()
	case strings.ToLower(kind) == kind:
		return plainCandidates(strings.Split(kind, "|"))
	case kinds[0] != "SERVER":
		return nil
	}
	s, err := t.connection.takeServer(t.environment, &arguments{words: t.words})
	if err != nil {
		return nil
	}
	return t.offered(ctx, s, kind)
}

// servers returns the names of the servers in configuration files.
func (t *typed) servers() (list []candidate) {
	files := hostconfig.Find(t.place)
	if t.connection.config != "" {
		f, err := hostconfig.Read(t.connection.config)
		if err != nil {
			return nil
		}
		files = []hostconfig.File{f}
	}
	seen := make(map[string]bool)
	for _, f := range files {
		for _, s := range f.Servers {
			if !seen[s.Name] {
				seen[s.Name] = true
				list = append(list, candidate{s.Name, f.Path})
			}
		}
	}
	return list
}

// offered returns the candidates that a server offers.
func (t *typed) offered(ctx context.Context, s *server, kind string) (list []candidate) {
	all, err := t.cached(ctx, s)
	if err != nil {
		return nil
	}
	switch kind {
	case "TOOL":
		for _, tool := range all.Tools {
			list = append(list, candidate{tool.Name, tool.Description})
		}
	case "URI":
		for _, r := range all.Resources {
			list = append(list, candidate{r.URI, cmp.Or(r.Title, r.Name)})
		}
	case "NAME", "PROMPT|TEMPLATE":
		for _, p := range all.Prompts {
			list = append(list, candidate{p.Name, p.Description})
		}
		if kind == "NAME" {
			return list
		}
		for _, r := range all.ResourceTemplates {
			list = append(list, candidate{r.URITemplate, r.Description})
		}
	case "ARGUMENT":
		return t.toolArguments(all)
	case "ARGUMENT=TEXT":
		return t.promptArguments(ctx, s, all)
	}
	return list
}

// toolArguments returns the arguments of a tool, or the values of one.
func (t *typed) toolArguments(all *offered) (list []candidate) {
	if t.command != &callCommand {
		for _, p := range all.Prompts {
			for _, a := range p.Arguments {
				if p.Name == t.words[1] {
					list = append(list, candidate{a.Name, a.Description})
				}
			}
		}
		return list
	}
	i := slices.IndexFunc(all.Tools, func(tool *mcp.Tool) bool { return tool.Name == t.words[1] })
	if i < 0 {
		return nil
	}
	name, _, value := strings.Cut(t.current, "=")
	for _, p := range schemas.Properties(all.Tools[i].InputSchema) {
		if !value {
			list = append(list, candidate{p.Name + "=", p.Description})
		} else if p.Name == name {
			for _, choice := range p.Choices {
				list = append(list, candidate{word: name + "=" + choice})
			}
		}
	}
	return list
}

// promptArguments returns the arguments of a prompt, or the values of one, which the server
// completes.
func (t *typed) promptArguments(ctx context.Context, s *server, all *offered) (list []candidate) {
	name, text, value := strings.Cut(t.current, "=")
	if value {
		client, err := t.connect(ctx, s)
		if err != nil {
			return nil
		}
		defer client.Close()
		res, err := client.Complete(ctx, &mcp.CompleteRequest{
			Ref: &mcp.PromptReference{Name: t.words[1]}, Argument: mcp.CompletionArgument{Name: name, Value: text},
		})
		if err != nil {
			return nil
		}
		for _, v := range res.Completion.Values {
			list = append(list, candidate{word: name + "=" + v})
		}
		return list
	}
	for _, p := range all.Prompts {
		for _, a := range p.Arguments {
			if p.Name == t.words[1] {
				list = append(list, candidate{a.Name + "=", a.Description})
			}
		}
	}
	return list
}

// connect connects to a server that ends soon after the connection.
func (t *typed) connect(ctx context.Context, s *server) (*mcpclient.Client, error) {
	t.connection.timeout, t.connection.patience = completionTime, completionPatience
	return t.connection.connect(ctx, t.environment, s, nil)
}

// cached returns what a server offers: from the cache, or from the server.
func (t *typed) cached(ctx context.Context, s *server) (*offered, error) {
	path := t.cacheFile(s)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < completionAge {
		var all offered
		if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &all) == nil {
			return &all, nil
		}
	}
	client, err := t.connect(ctx, s)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	all, err := read(ctx, client, nil)
	if err != nil {
		return nil, err
	}
	if path != "" {
		_ = store(path, all) // the next completion asks the server again
	}
	return all, nil
}

// cacheFile returns the file for a server, or "" if there is no folder for it. Its name is a digest
// of all that selects the server, which may include secrets.
func (t *typed) cacheFile(s *server) string {
	if t.cacheDir == "" {
		return ""
	}
	key, err := json.Marshal([]any{s.URL, s.Command, s.Args, s.Dir, s.Env, s.Headers, t.connection.revision})
	if err != nil {
		return ""
	}
	return filepath.Join(t.cacheDir, "completion", fmt.Sprintf("%x.json", sha256.Sum256(key)))
}

// store writes a file that only the user may read.
func store(path string, all *offered) error {
	data, err := json.Marshal(all)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-") // with the mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := cmp.Or(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return err
	}
	return os.Rename(f.Name(), path)
}
