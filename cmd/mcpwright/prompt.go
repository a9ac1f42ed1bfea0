package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
)

var promptCommand = command{
	name: "prompt", usage: "[flags] SERVER NAME [ARGUMENT=TEXT]...",
	summary: "Get the messages of a prompt.",
	example: "mcpwright prompt args-prompt city=Bern -- npx -y @modelcontextprotocol/server-everything",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var p getPrompt
		p.connection.define(fs)
		p.answers.define(fs)
		return p.run
	},
}

// getPrompt is the subcommand prompt.
type getPrompt struct {
	connection
	answers answers
}

func (p *getPrompt) run(ctx context.Context, e *environment, args arguments) error {
	s, err := p.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) == 0 {
		return usagef("NAME is missing; mcpwright list shows the prompts")
	}
	req := &mcp.GetPromptRequest{Name: args.words[0]}
	for _, word := range args.words[1:] {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return usagef("argument %q is not name=text", word)
		}
		if req.Arguments == nil {
			req.Arguments = make(map[string]string)
		}
		req.Arguments[name] = text
	}
	opts, err := p.answers.options(e)
	if err != nil {
		return err
	}
	client, err := p.connect(ctx, e, s, opts)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := client.GetPrompt(ctx, req)
	if err != nil {
		return e.failed(&p.connection, fmt.Sprintf("get prompt %q of %s", req.Name, s.name), err)
	}
	if p.json {
		return e.printJSON(res)
	}
	return e.printPrompt(res)
}

func (e *environment) printPrompt(res *mcp.GetPromptResult) error {
	files := new(saver)
	for i, m := range res.Messages {
		if i > 0 {
			e.out.Println()
		}
		e.out.Printf("%s:\n", m.Role)
		if err := e.printContent(files, m.Content); err != nil {
			return err
		}
	}
	return nil
}
