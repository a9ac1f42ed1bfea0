package mcpclient

import (
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
)

// ToolError says that a tool ran and failed. What it says is for the model, and
// its user, to read.
type ToolError struct {
	// Tool is the name of the tool.
	Tool string
	// Result is all of what the tool gave back.
	Result *mcp.CallToolResult
}

// Error implements error.
func (e *ToolError) Error() string { return fmt.Sprintf("tool %q failed: %s", e.Tool, e.Text()) }

// Text is what the tool says in words.
func (e *ToolError) Text() string { return mcp.TextOf(e.Result.Content) }

// OutputError says that what a tool gave back is not what was expected of it.
type OutputError struct {
	// Tool is the name of the tool.
	Tool string
	// Result is all of what the tool gave back.
	Result *mcp.CallToolResult
	// Err is what is wrong with it.
	Err error
}

// Error implements error.
func (e *OutputError) Error() string { return fmt.Sprintf("tool %q: its output: %v", e.Tool, e.Err) }

// Unwrap returns Err.
func (e *OutputError) Unwrap() error { return e.Err }

// CallTool calls a tool with a Go value and reads what it gives back into
// another. The arguments are whatever package json makes an object of; nil is
// none.
//
// What the tool gives back is its structured content, checked against the output
// schema of the tool; where it has none, it is JSON in its text. A string takes
// the text as it is, one of a type with another name where no string is in the
// structured content, a *[mcp.CallToolResult] everything, and struct{} nothing. A
// tool that failed is a *[ToolError], and output that is not what it should be an
// *[OutputError]: also where the name of a member is not that of a field's tag, but
// in another case.
func CallTool[Out any](ctx context.Context, c *Client, name string, arguments any, opts ...peer.CallOption) (Out, error) {
	var none Out // looking at its type, not at its address, keeps it off the heap
	switch any(none).(type) {
	case *mcp.CallToolResult:
		res, err := c.callTool(ctx, name, arguments, opts)
		out, _ := any(res).(Out)
		return out, err
	case string:
		res, err := c.callTool(ctx, name, arguments, opts)
		if err != nil {
			return none, err
		}
		out, _ := any(mcp.TextOf(res.Content)).(Out)
		return out, nil
	case struct{}:
		_, err := c.callTool(ctx, name, arguments, opts)
		return none, err
	}
	out := new(Out)
	if isText(out) {
		res, err := c.callTool(ctx, name, arguments, opts)
		if err == nil && json.Unmarshal(res.StructuredContent, out) != nil { // nothing, or no string
			reflect.ValueOf(out).Elem().SetString(mcp.TextOf(res.Content))
		}
		return *out, err
	}
	err := c.callInto(ctx, out, name, arguments, opts)
	return *out, err
}

// isText tells whether out points to a string of another name, which the server
// kit takes for text as well, and not to one with JSON of its own making.
func isText(out any) bool {
	switch out.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return false
	}
	return reflect.TypeOf(out).Elem().Kind() == reflect.String
}

// callInto calls a tool and reads its output into what out points to.
func (c *Client) callInto(ctx context.Context, out any, name string, arguments any, opts []peer.CallOption) error {
	known := c.toolForCall(ctx, name) // before the call, which may need headers
	res, err := c.callTool(ctx, name, arguments, opts)
	if err != nil {
		return err
	}
	doc, err := known.read(res)
	if err != nil { // it may promise something else since
		doc, err = c.toolForCall(ctx, name).read(res)
	}
	if err == nil {
		err = unmarshal(doc, out)
	}
	if err != nil {
		return &OutputError{name, res, err}
	}
	return nil
}

func (c *Client) callTool(ctx context.Context, name string, arguments any, opts []peer.CallOption) (*mcp.CallToolResult, error) {
	req := &mcp.CallToolRequest{Name: name}
	if arguments != nil {
		var err error
		if req.Arguments, err = json.Marshal(arguments); err != nil {
			return nil, fmt.Errorf("call tool %q: its arguments: %w", name, err)
		}
	}
	res, err := peer.SendRequest(ctx, c, req, opts...)
	switch {
	case err != nil:
		return nil, err
	case res.IsError:
		return nil, &ToolError{name, res}
	}
	return res, nil
}

// read returns the JSON that a tool gave back, checked against its schema. Nothing
// may be known about the tool.
func (t *knownTool) read(res *mcp.CallToolResult) (json.RawMessage, error) {
	if t == nil || t.output == nil {
		if res.StructuredContent != nil {
			return res.StructuredContent, nil
		}
		text := mcp.TextOf(res.Content)
		if text == "" {
			return nil, errors.New("it has neither structured content nor text")
		}
		return json.RawMessage(text), nil
	}
	if res.StructuredContent == nil {
		return nil, errors.New("it has no structured content, which its schema promises")
	}
	schema, err := t.output()
	if err != nil {
		return nil, fmt.Errorf("its schema: %w", err)
	}
	return res.StructuredContent, schema.Validate(res.StructuredContent)
}
