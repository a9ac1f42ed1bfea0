package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/skills"
)

// A scenario is a use of one of the suite's servers.
type scenario struct {
	options func(*mcpclient.Options) // changes the client's options, or nil
	run     func(context.Context, *mcpclient.Client) error
}

var scenarios = map[string]scenario{
	"initialize":                          {run: listTools},
	"tools_call":                          {run: addNumbers},
	"elicitation-sep1034-client-defaults": {acceptEmpty, callEach("test_client_elicitation_defaults")},
	"sse-retry":                           {run: callEach("test_reconnection")},
	"request-metadata":                    {declareAll, listTools},
	"sep-2322-client-request-state":       {confirm, callEach("test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type")},
	"http-standard-headers":               {run: useAll},
	"http-custom-headers":                 {run: callFromContext},
	"http-invalid-tool-headers":           {run: callAll},
	"json-schema-ref-no-deref":            {run: listTools},
	"json-schema-2020-12-preservation":    {run: echoSchema},
	"sep-2640-client-no-prefetch":         {run: listSkills},
	"sep-2640-client-verify-digest":       {run: useSkills},
	"sep-2640-client-verify-size":         {run: useSkills},
	"sep-2640-client-verify-frontmatter":  {run: useSkills},
}

// listTools lists all tools.
func listTools(ctx context.Context, c *mcpclient.Client) error {
	for _, err := range c.Tools(ctx) {
		if err != nil {
			return err
		}
	}
	return nil
}

// call calls a tool with JSON arguments.
func call(ctx context.Context, c *mcpclient.Client, name string, arguments json.RawMessage) error {
	_, err := c.CallTool(ctx, &mcp.CallToolRequest{Name: name, Arguments: arguments})
	return err
}

// callEach lists the tools and calls some of them without arguments.
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

// addNumbers calls the tool "add_numbers".
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

// acceptEmpty accepts each form without values.
func acceptEmpty(o *mcpclient.Options) {
	o.OnElicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept}, nil
	}
}

// confirm accepts each form with a confirmation.
func confirm(o *mcpclient.Options) {
	o.OnElicit = func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"confirmed": true}}, nil
	}
}

// declareAll sets a handler for each request of the server.
func declareAll(o *mcpclient.Options) {
	acceptEmpty(o)
	o.Roots = []mcp.Root{{URI: "file:///tmp", Name: "scratch"}}
	o.OnCreateMessage = func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
		return nil, mcpclient.ErrRejected
	}
}

// useAll lists and uses all tools, resources and prompts.
func useAll(ctx context.Context, c *mcpclient.Client) error {
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

// callFromContext makes the calls in the scenario's context.
func callFromContext(ctx context.Context, c *mcpclient.Client) error {
	var scenario struct {
		ToolCalls []struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &scenario); err != nil {
		return fmt.Errorf("read the scenario's context: %w", err)
	}
	if err := listTools(ctx, c); err != nil {
		return err
	}
	for _, t := range scenario.ToolCalls {
		if err := call(ctx, c, t.Name, t.Arguments); err != nil {
			return err
		}
	}
	return nil
}

// callAll calls all tools of the list.
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

// echoSchema sends a tool's schema back to the server.
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

// listSkills lists the skills.
func listSkills(ctx context.Context, c *mcpclient.Client) error {
	for _, err := range skills.List(ctx, c) {
		if err != nil {
			return err
		}
	}
	return nil
}

// useSkills loads all skills and reads their files. The server has changed them, so that loading must
// fail.
func useSkills(ctx context.Context, c *mcpclient.Client) error {
	for entry, err := range skills.List(ctx, c) {
		if err != nil {
			return err
		}
		skill, err := skills.Load(ctx, c, entry)
		if e, ok := errors.AsType[*skills.Error](err); ok && e.Problem == skills.ProblemMismatch {
			fmt.Println("skill refused:", e)
			continue
		}
		if err != nil {
			return err
		}
		for _, name := range skill.Files() {
			if _, err := skill.ReadFile(ctx, name); err != nil {
				return err
			}
		}
	}
	return nil
}
