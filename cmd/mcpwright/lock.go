package main

import (
	"context"
	"flag"

	"github.com/mcpwright/mcp/internal/contract"
)

var lockCommand = command{
	name: "lock", usage: "[flags] SERVER",
	summary: "Write what a server offers as a document, for diff and for tests.",
	example: "mcpwright lock https://example.com/mcp > mcp.lock.json",
	help:    "The document is JSON. It is sorted and has digests, so that a server without changes has the same document.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		c := new(connection)
		c.define(fs)
		return c.lock
	},
}

func (c *connection) lock(ctx context.Context, e *environment, args arguments) error {
	s, err := c.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) > 0 {
		return usagef("unexpected argument %q", args.words[0])
	}
	l, err := c.contract(ctx, e, s)
	if err != nil {
		return err
	}
	data, err := l.Encode()
	if err != nil {
		return err
	}
	_, err = e.out.Write(data)
	return err
}

// contract reads what a server offers.
func (c *connection) contract(ctx context.Context, e *environment, s *server) (*contract.Lock, error) {
	client, err := c.connect(ctx, e, s, nil)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	all, err := read(ctx, client, nil)
	if err != nil {
		return nil, e.failed(c, "list what "+s.name+" offers", err)
	}
	return contract.New(&contract.Offer{
		Revision: client.Revision().String(), Info: client.ServerInfo(), Capabilities: client.ServerCapabilities(), Instructions: client.Instructions(),
		Tools: all.Tools, Prompts: all.Prompts, Resources: all.Resources, Templates: all.ResourceTemplates,
	})
}
