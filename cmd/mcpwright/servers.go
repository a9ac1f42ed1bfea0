package main

import (
	"context"
	"flag"
	"strings"

	"github.com/mcpwright/mcp/cmd/mcpwright/internal/hostconfig"
)

var serversCommand = command{
	name: "servers", usage: "[flags]",
	summary: "List the servers that the configuration files of hosts declare.",
	example: "mcpwright servers",
	help:    "The files are .mcp.json, .vscode/mcp.json and .cursor/mcp.json in this folder and its parents, and the user's files of Claude Code, Claude Desktop, Cursor, VS Code and Windsurf. If several files declare a name, the first one is used.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var c connection
		fs.BoolVar(&c.json, "json", false, "print one JSON document")
		return func(_ context.Context, e *environment, args arguments) error {
			if len(args.words) > 0 || args.server != nil {
				return usagef("no arguments are expected")
			}
			return c.servers(e)
		}
	},
}

func (c *connection) servers(e *environment) error {
	files := hostconfig.Find(e.place)
	for _, f := range files {
		if f.Err != nil {
			e.errs.Printf("mcpwright: %v\n", f.Err)
		}
	}
	if c.json {
		if files == nil {
			files = []hostconfig.File{}
		}
		return e.printJSON(files)
	}
	seen := make(map[string]bool)
	for _, f := range files {
		if len(f.Servers) == 0 {
			continue
		}
		e.out.Printf("%s (%s)\n", f.Path, f.Host)
		var rows [][]string
		for _, s := range f.Servers {
			note := s.URL
			if s.Command != "" {
				note = strings.Join(append([]string{s.Command}, s.Args...), " ")
			}
			if s.Disabled {
				note += " (disabled in the host)"
			}
			if seen[s.Name] {
				note += " (a file above has the same name)"
			}
			seen[s.Name] = true
			rows = append(rows, []string{"  " + s.Name, note})
		}
		e.out.Table(rows)
	}
	if len(seen) == 0 {
		e.out.Println("No configuration file declares a server.")
	}
	return nil
}
