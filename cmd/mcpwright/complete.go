package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
)

var completeCommand = command{
	name: "complete", usage: "[flags] SERVER PROMPT|TEMPLATE ARGUMENT [PREFIX] [OTHER=TEXT]...",
	summary: "Complete an argument of a prompt, or a variable of a resource template.",
	example: "mcpwright complete completable-prompt department E -- npx -y @modelcontextprotocol/server-everything",
	help:    "OTHER=TEXT are values of other arguments.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		c := new(connection)
		c.define(fs)
		return c.complete
	},
}

func (c *connection) complete(ctx context.Context, e *environment, args arguments) error {
	s, err := c.takeServer(e, &args)
	if err != nil {
		return err
	}
	req, err := completion(args.words)
	if err != nil {
		return err
	}
	client, err := c.connect(ctx, e, s, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	res, err := client.Complete(ctx, req)
	if err != nil {
		return e.failed(c, fmt.Sprintf("complete argument %q of %q", req.Argument.Name, args.words[0]), err)
	}
	if c.json {
		return e.printJSON(res)
	}
	for _, value := range res.Completion.Values {
		e.out.Println(value)
	}
	if res.Completion.HasMore {
		e.errs.Println("There are more values.")
	}
	return nil
}

// completion returns the request that words describe.
func completion(words []string) (*mcp.CompleteRequest, error) {
	if len(words) < 2 {
		return nil, usagef("PROMPT or TEMPLATE, and ARGUMENT are needed")
	}
	req := &mcp.CompleteRequest{Ref: &mcp.PromptReference{Name: words[0]}, Argument: mcp.CompletionArgument{Name: words[1]}}
	if strings.ContainsAny(words[0], "{}") || strings.Contains(words[0], "://") {
		req.Ref = &mcp.ResourceTemplateReference{URI: words[0]}
	}
	words = words[2:]
	if len(words) > 0 && !strings.Contains(words[0], "=") {
		req.Argument.Value, words = words[0], words[1:]
	}
	for _, word := range words {
		name, text, ok := strings.Cut(word, "=")
		if !ok {
			return nil, usagef("argument %q is not name=text", word)
		}
		if req.Context == nil {
			req.Context = &mcp.CompletionContext{Arguments: make(map[string]string)}
		}
		req.Context.Arguments[name] = text
	}
	return req, nil
}
