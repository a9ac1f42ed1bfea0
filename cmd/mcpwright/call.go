package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"strings"

	values "github.com/mcpwright/mcp/cmd/mcpwright/internal/arguments"
	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
)

var callCommand = command{
	name: "call", usage: "[flags] SERVER TOOL [ARGUMENT]...",
	summary: "Call a tool.",
	example: "mcpwright call greet name=gopher -- go run ./examples/hello",
	help: "An ARGUMENT is name=value, with a value of the type in the tool's schema. Repeat it for an array. name:=JSON is a value as JSON, " +
		"name=@FILE the text of a file, and {…}, @FILE or - (standard input) a JSON object with several arguments.\n" +
		"The exit status is 1 if the tool failed.",
	define: func(fs *flag.FlagSet) func(context.Context, *environment, arguments) error {
		var c call
		c.connection.define(fs)
		c.answers.define(fs)
		fs.StringVar(&c.save, "save", "", "save images and other files in this `folder` (default a new folder for temporary files)")
		fs.StringVar(&c.logLevel, "log", "", "print log messages of the server from this `level` on, such as info")
		return c.run
	},
}

// call is the subcommand call.
type call struct {
	connection
	answers  answers
	save     string
	logLevel string
}

func (c *call) run(ctx context.Context, e *environment, args arguments) error {
	s, err := c.takeServer(e, &args)
	if err != nil {
		return err
	}
	if len(args.words) == 0 {
		return usagef("TOOL is missing; mcpwright list shows the tools")
	}
	name := args.words[0]
	opts, err := c.answers.options(e)
	if err != nil {
		return err
	}
	client, err := c.connect(ctx, e, s, opts)
	if err != nil {
		return err
	}
	defer client.Close()
	tool, err := findTool(ctx, client, name)
	if err != nil {
		return e.failed(&c.connection, fmt.Sprintf("call tool %q of %s", name, s.name), err)
	}
	input, err := values.Parse(tool.InputSchema, args.words[1:], e.stdin)
	if err != nil {
		return usagef("tool %q: %w", name, err)
	}
	res, err := c.call(ctx, e, client, &mcp.CallToolRequest{Name: name, Arguments: input})
	if err != nil {
		return e.failed(&c.connection, fmt.Sprintf("call tool %q of %s", name, s.name), err)
	}
	return c.print(e, name, res)
}

// findTool returns the entry of a tool. A tool that is not listed may still exist, and then has no
// schema.
func findTool(ctx context.Context, client *mcpclient.Client, name string) (*mcp.Tool, error) {
	for tool, err := range client.Tools(ctx) {
		if err != nil {
			return nil, fmt.Errorf("list tools: %w", err)
		}
		if tool.Name == name {
			return tool, nil
		}
	}
	return &mcp.Tool{Name: name}, nil
}

// call calls the tool and shows its progress and log messages on standard error.
func (c *call) call(ctx context.Context, e *environment, client *mcpclient.Client, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	bar := &progressBar{out: e.errs}
	var opts []peer.CallOption
	if e.errs.IsTerminal() {
		opts = append(opts, peer.OnProgress(bar.show))
	}
	if c.logLevel != "" {
		opts = append(opts, mcpclient.OnLog(mcp.LoggingLevel(c.logLevel), func(n *mcp.LoggingMessageNotification) {
			bar.clear()
			e.errs.Printf("%s: %s\n", strings.TrimSpace(string(n.Level)+" "+n.Logger), logText(n.Data))
		}))
	}
	defer bar.clear()
	return client.With(opts...).CallTool(ctx, req)
}

func logText(data json.RawMessage) string {
	var text string
	if json.Unmarshal(data, &text) == nil {
		return text
	}
	return string(data)
}

var errTool = errors.New("the tool failed")

// print prints a result. The text of a tool that failed goes to standard error.
func (c *call) print(e *environment, name string, res *mcp.CallToolResult) error {
	if c.json {
		if err := e.printJSON(res); err != nil || !res.IsError {
			return err
		}
		return &reportedError{errTool}
	}
	to := *e
	if res.IsError {
		to.out = e.errs
		e.errs.Printf("mcpwright call: tool %q failed:\n", name)
	}
	files := &saver{dir: c.save}
	for _, block := range res.Content {
		if err := to.printContent(files, block); err != nil {
			return err
		}
	}
	if res.StructuredContent != nil && !repeats(res) {
		if err := to.printJSON(res.StructuredContent); err != nil {
			return err
		}
	}
	if res.IsError {
		return &reportedError{errTool}
	}
	return nil
}

// repeats reports whether the text of a result is its structured content.
func repeats(res *mcp.CallToolResult) bool {
	for _, block := range res.Content {
		if text, ok := block.(*mcp.TextContent); ok && sameJSON([]byte(text.Text), res.StructuredContent) {
			return true
		}
	}
	return false
}

func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
