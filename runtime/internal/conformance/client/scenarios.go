package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// A scenario is what the client does with one of the suite's servers.
type scenario struct {
	options func(*mcpclient.Options) // nil is none
	act     func(context.Context, *mcpclient.Client) error
}

var scenarios = map[string]scenario{
	"initialize":                          {act: listTools},
	"tools_call":                          {act: addNumbers},
	"elicitation-sep1034-client-defaults": {acceptEmpty, callEach("test_client_elicitation_defaults")},
	"sse-retry":                           {act: callEach("test_reconnection")},
	"request-metadata":                    {declareAll, listTools},
	"sep-2322-client-request-state":       {confirm, callEach("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type")},
	"http-standard-headers":               {act: useEverything},
	"http-custom-headers":                 {act: callFromContext},
	"http-invalid-tool-headers":           {act: callAll},
	"json-schema-ref-no-deref":            {act: listTools},
	"json-schema-2020-12-preservation":    {act: echoSchema},
}

// listTools goes through the list of tools.
func listTools(ctx context.Context, c *mcpclient.Client) error {
	for _, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

// call calls a tool with arguments as they stand.
func call(ctx context.Context, c *mcpclient.Client, name string, arguments json.RawMessage) error {
	_, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: name, Arguments: arguments})
	return err
}

// callEach looks at the list of tools and calls some of them without arguments.
func callEach(names ...string) func(context.Context, *mcpclient.Client) error {
	return func(ctx context.Context, c *mcpclient.Client) error {
		if err := listTools(ctx, c); err != nil {
			return err
		}
		for _, name := range names {
			if err := call(ctx, c, name, json.RawMessage(`{}`)); err != nil {
				return err
			}
		}
		return nil
	}
}

func addNumbers(ctx context.Context, c *mcpclient.Client) error {
	if err := listTools(ctx, c); err != nil {
		return err
	}
	text, err := mcpclient.CallTool[string](ctx, c, "add_numbers", map[string]int{"a": 5, "b": 3})
	if err == nil {
		fmt.Println(text)
	}
	return err
}

// acceptEmpty accepts each form without filling anything in.
func acceptEmpty(o *mcpclient.Options) {
	o.OnElicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept}, nil
	}
}

// confirm accepts each form and confirms what it asks.
func confirm(o *mcpclient.Options) {
	o.OnElicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"confirmed": true}}, nil
	}
}

// declareAll has a handler for every question that there is.
func declareAll(o *mcpclient.Options) {
	acceptEmpty(o)
	o.Roots = []mcp.Root{{URI: "file:///tmp", Name: "scratch"}}
	o.OnCreateMessage = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return nil, mcpclient.ErrRejected
	}
}

// useEverything lists and uses each kind of thing that a server may have.
func useEverything(ctx context.Context, c *mcpclient.Client) error {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		if err := call(ctx, c, tool.Name, json.RawMessage(`{}`)); err != nil {
			return err
		}
	}
	for resource, err := range c.Resources(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.ReadResource(ctx, &mcp.ReadResourceRequest{URI: resource.URI}); err != nil {
			return err
		}
	}
	for prompt, err := range c.Prompts(ctx) {
		if err != nil {
			return err
		}
		if _, err := c.GetPrompt(ctx, &mcp.GetPromptRequest{Name: prompt.Name}); err != nil {
			return err
		}
	}
	return nil
}

// callFromContext makes the calls that the suite asks for.
func callFromContext(ctx context.Context, c *mcpclient.Client) error {
	var wanted struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &wanted); err != nil {
		return fmt.Errorf("context of the scenario: %w", err)
	}
	if err := listTools(ctx, c); err != nil {
		return err
	}
	for _, w := range wanted.ToolCalls {
		if err := call(ctx, c, w.Name, w.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// callAll calls each tool that the list shows.
func callAll(ctx context.Context, c *mcpclient.Client) error {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		if err := call(ctx, c, tool.Name, json.RawMessage(`{"region":"us-east1"}`)); err != nil {
			return err
		}
	}
	return nil
}

// echoSchema sends a tool's schema back as it came.
func echoSchema(ctx context.Context, c *mcpclient.Client) error {
	for tool, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
		if tool.Name != "json_schema_2020_12_tool" {
			continue
		}
		arguments := map[string]json.RawMessage{"schema": tool.InputSchema}
		_, err := mcpclient.CallTool[*mcp.CallToolResult](ctx, c, "json_schema_echo", arguments)
		return err
	}
	return fmt.Errorf("the server has no tool %q", "json_schema_2020_12_tool")
}
