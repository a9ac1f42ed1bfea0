package main

import (
	"context"
	"encoding/json"
	"flag"
	"maps"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

var infoCommand = command{
	name: "info", usage: "[flags] SERVER",
	summary: "Show the name, version, revision, capabilities and instructions of a server.",
	example: "mcpwright info https://example.com/mcp",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		c := new(connection)
		c.define(fs)
		return c.info
	},
}

// serverInfo is what a server declares about itself.
type serverInfo struct {
	Server       *mcp.Implementation     `json:"server"`
	Revision     string                  `json:"revision"`
	Supported    []string                `json:"supportedRevisions,omitempty"` // only since 2026-07-28
	Capabilities *mcp.ServerCapabilities `json:"capabilities"`
	Instructions string                  `json:"instructions,omitempty"`
}

func (c *connection) info(ctx context.Context, e *environment, args arguments) error {
	s, err := c.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) > 0 {
		return usagef("unexpected argument %q", args.words[0])
	}
	client, err := c.connect(ctx, e, s, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	info := infoOf(ctx, client)
	if c.json {
		return e.printJSON(info)
	}
	return info.print(e)
}

func infoOf(ctx context.Context, client *mcpclient.Client) *serverInfo {
	info := &serverInfo{
		Server: client.ServerInfo(), Revision: client.Revision().String(),
		Capabilities: client.ServerCapabilities(), Instructions: client.Instructions(),
	}
	if client.NoHandshake() {
		if res, err := client.Discover(ctx, &mcp.DiscoverRequest{}); err == nil {
			info.Supported = res.SupportedVersions
		}
	}
	return info
}

func (i *serverInfo) print(e *environment) error {
	var rows [][]string
	add := func(name, text string) {
		if text != "" {
			rows = append(rows, []string{name, text})
		}
	}
	if i.Server != nil {
		add("name", i.Server.Name)
		add("title", i.Server.Title)
		add("version", i.Server.Version)
		add("description", i.Server.Description)
		add("website", i.Server.WebsiteURL)
	}
	add("revision", i.Revision)
	add("supports", strings.Join(i.Supported, ", "))
	names, err := capabilityNames(i.Capabilities)
	if err != nil {
		return err
	}
	add("capabilities", strings.Join(names, ", "))
	e.out.Table(rows)
	if i.Instructions != "" {
		e.out.Println()
		e.out.Paragraph("", i.Instructions)
	}
	return nil
}

// capabilityNames returns the names of capabilities with their options.
func capabilityNames(caps *mcp.ServerCapabilities) (names []string, err error) {
	data, err := json.Marshal(caps)
	if err != nil {
		return nil, err
	}
	var all map[string]any
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		members, _ := all[name].(map[string]any) // a capability that this program does not define may be anything
		options := slices.DeleteFunc(slices.Sorted(maps.Keys(members)), func(o string) bool { return members[o] == false })
		if len(options) > 0 {
			name += " (" + strings.Join(options, ", ") + ")"
		}
		names = append(names, name)
	}
	return names, nil
}
