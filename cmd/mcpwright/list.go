package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"slices"
	"strings"

	schemas "github.com/mcpwright/mcp/cmd/mcpwright/internal/arguments"
	"github.com/mcpwright/mcp/cmd/mcpwright/internal/terminal"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

var listCommand = command{
	name: "list", usage: "[flags] SERVER [tools|resources|templates|prompts]...",
	summary: "List what a server offers: tools, resources, resource templates and prompts.",
	example: "mcpwright list -- npx -y @modelcontextprotocol/server-everything",
	help:    "An argument that may be omitted is in brackets. With -l the list has the full descriptions and all arguments.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var l list
		l.define(fs)
		fs.BoolVar(&l.long, "l", false, "print full descriptions and all arguments")
		return l.run
	},
}

// list is the subcommand list.
type list struct {
	connection
	long bool
}

// offered is what a server offers. Lists that were not asked for are nil.
type offered struct {
	Tools             []*mcp.Tool             `json:"tools,omitempty"`
	Resources         []*mcp.Resource         `json:"resources,omitempty"`
	ResourceTemplates []*mcp.ResourceTemplate `json:"resourceTemplates,omitempty"`
	Prompts           []*mcp.Prompt           `json:"prompts,omitempty"`
}

var kinds = []string{"tools", "resources", "templates", "prompts"}

func (l *list) run(ctx context.Context, e *environment, args arguments) error {
	s, err := l.takeServer(e, &args)
	if err != nil {
		return err
	}
	for _, kind := range args.words {
		if !slices.Contains(kinds, kind) {
			return usagef("unknown list %q; the lists are %s", kind, strings.Join(kinds, ", "))
		}
	}
	client, err := l.connect(ctx, e, s, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	all, err := read(ctx, client, args.words)
	if err != nil {
		return e.failed(&l.connection, "list what "+s.name+" offers", err)
	}
	if l.json {
		return e.printJSON(all)
	}
	l.print(e.out, all)
	return nil
}

// read reads lists of a server: all if kinds is empty.
func read(ctx context.Context, client *mcpclient.Client, kinds []string) (all *offered, err error) {
	all = new(offered)
	wanted := func(kind string) bool { return len(kinds) == 0 || slices.Contains(kinds, kind) }
	if wanted("tools") {
		if all.Tools, err = collect(client.Tools(ctx)); err != nil {
			return nil, fmt.Errorf("tools: %w", err)
		}
	}
	if wanted("resources") {
		if all.Resources, err = collect(client.Resources(ctx)); err != nil {
			return nil, fmt.Errorf("resources: %w", err)
		}
	}
	if wanted("templates") {
		if all.ResourceTemplates, err = collect(client.ResourceTemplates(ctx)); err != nil {
			return nil, fmt.Errorf("resource templates: %w", err)
		}
	}
	if wanted("prompts") {
		if all.Prompts, err = collect(client.Prompts(ctx)); err != nil {
			return nil, fmt.Errorf("prompts: %w", err)
		}
	}
	return all, nil
}

// maxListed limits the entries of a list, which a server may make endless.
const maxListed = 100_000

func collect[T any](entries iter.Seq2[*T, error]) ([]*T, error) {
	list := []*T{}
	for entry, err := range entries {
		if e, ok := errors.AsType[*peer.Error](err); ok && e.Code == mcp.CodeMethodNotFound && len(list) == 0 {
			return list, nil // the server has no such list
		}
		if err != nil {
			return nil, err
		}
		if list = append(list, entry); len(list) > maxListed {
			return nil, fmt.Errorf("the list has more than %d entries", maxListed)
		}
	}
	return list, nil
}

// print prints lists for a person.
func (l *list) print(out *terminal.Output, all *offered) {
	begun := false
	section := func(title string, n int, entry func(i int) (name, description string, details []schemas.Property)) {
		if n == 0 {
			return
		}
		if begun {
			out.Println()
		}
		begun = true
		out.Printf("%s (%d)\n", title, n)
		var rows [][]string
		for i := range n {
			name, description, details := entry(i)
			if !l.long {
				rows = append(rows, []string{"  " + name + signature(details), terminal.FirstLine(description, 200)})
				continue
			}
			out.Printf("  %s\n", name+signature(details))
			printEntry(out, description, details)
		}
		out.Table(rows)
	}
	section("tools", len(all.Tools), func(i int) (string, string, []schemas.Property) {
		t := all.Tools[i]
		return t.Name, title(t.Title, t.Description), schemas.Properties(t.InputSchema)
	})
	section("resources", len(all.Resources), func(i int) (string, string, []schemas.Property) {
		r := all.Resources[i]
		return r.URI, title(title(r.Title, r.Name), r.Description), nil
	})
	section("resource templates", len(all.ResourceTemplates), func(i int) (string, string, []schemas.Property) {
		r := all.ResourceTemplates[i]
		return r.URITemplate, title(title(r.Title, r.Name), r.Description), nil
	})
	section("prompts", len(all.Prompts), func(i int) (string, string, []schemas.Property) {
		p := all.Prompts[i]
		return p.Name, title(p.Title, p.Description), promptArguments(p)
	})
	if !begun {
		out.Println("The server lists nothing.")
	}
}

// title returns the description, or the title if there is none.
func title(title, description string) string {
	if description != "" {
		return description
	}
	return title
}

func promptArguments(p *mcp.Prompt) (list []schemas.Property) {
	for _, a := range p.Arguments {
		list = append(list, schemas.Property{Name: a.Name, Type: "string", Description: a.Description, Required: a.Required})
	}
	return list
}

// maxSignature limits the arguments in a line of the short list.
const maxSignature = 3

// signature returns the names of arguments in parentheses.
func signature(details []schemas.Property) string {
	if len(details) == 0 {
		return ""
	}
	var names []string
	for i, p := range details {
		if i == maxSignature {
			names = append(names, "…")
			break
		}
		if !p.Required {
			p.Name = "[" + p.Name + "]"
		}
		names = append(names, p.Name)
	}
	return "(" + strings.Join(names, ", ") + ")"
}

// printEntry prints a description and arguments.
func printEntry(out *terminal.Output, description string, details []schemas.Property) {
	if description != "" {
		out.Paragraph("      ", description)
	}
	var rows [][]string
	for _, p := range details {
		text := p.Description
		if p.Default != "" {
			text = strings.TrimSpace(text + " (default " + p.Default + ")")
		}
		if p.Required {
			text = strings.TrimSpace("required. " + text)
		}
		rows = append(rows, []string{"      " + p.Name, p.Type, strings.ReplaceAll(text, "\n", " ")})
	}
	out.Table(rows)
}
