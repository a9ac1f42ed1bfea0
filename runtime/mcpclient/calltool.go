package mcpclient

import (
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/jsontag"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ToolError reports that a tool has run and failed. Its text is for the model and the user.
type ToolError struct {
	// Tool is the name of the tool.
	Tool string
	// Result is the result of the tool.
	Result *mcp.CallToolResult
}

// Error implements error.
func (e *ToolError) Error() string { return fmt.Sprintf("tool %q failed: %s", e.Tool, e.Text()) }

// Text returns the text of the result.
func (e *ToolError) Text() string { return mcp.TextOf(e.Result.Content) }

// OutputError reports that the output of a tool is invalid or cannot be decoded.
type OutputError struct {
	// Tool is the name of the tool.
	Tool string
	// Result is the result of the tool.
	Result *mcp.CallToolResult
	// Err is the cause.
	Err error
}

// Error implements error.
func (e *OutputError) Error() string { return fmt.Sprintf("output of tool %q: %v", e.Tool, e.Err) }

// Unwrap returns Err.
func (e *OutputError) Unwrap() error { return e.Err }

// CallTool calls a tool with a Go value and decodes its output into another. Package json must
// encode the arguments as an object. Nil, also a nil map, means no arguments.
//
// The output is the structured content of the result, validated by the output schema of the tool.
// If the tool has no output schema and the result has no structured content, the output is the JSON
// in its text. Some types of output are special:
//
//   - string receives the text
//   - another string type receives the structured content if that is a string, otherwise the text
//   - *[mcp.CallToolResult] receives the whole result
//   - struct{} receives nothing
//
// If the tool fails, the error is a *[ToolError]. If the output is invalid, the error is an
// *[OutputError], also if the name of a member differs from the name in a field's tag only in case.
func CallTool[Out any](ctx context.Context, c *Client, name string, arguments any, opts ...peer.CallOption) (Out, error) {
	var none Out // a type switch on the value, not on its address, avoids an allocation
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
		if err == nil && json.Unmarshal(res.StructuredContent, out) != nil { // missing, or not a string
			reflect.ValueOf(out).Elem().SetString(mcp.TextOf(res.Content))
		}
		return *out, err
	}
	err := c.callInto(ctx, out, name, arguments, opts)
	return *out, err
}

// isText reports whether out points to a string type without its own JSON encoding. The server kit
// also sends such types as text.
func isText(out any) bool {
	switch out.(type) {
	case json.Unmarshaler, encoding.TextUnmarshaler:
		return false
	}
	return reflect.TypeOf(out).Elem().Kind() == reflect.String
}

// callInto calls a tool and decodes its output into out, a pointer.
func (c *Client) callInto(ctx context.Context, out any, name string, arguments any, opts []peer.CallOption) error {
	tool := c.toolForCall(ctx, name) // before the call, which may need its headers
	res, err := c.callTool(ctx, name, arguments, opts)
	if err != nil {
		return err
	}
	doc, err := tool.outputOf(ctx, res)
	if err != nil { // the schema may have changed
		doc, err = c.toolForCall(ctx, name).outputOf(ctx, res)
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
			return nil, fmt.Errorf("call tool %q: encode arguments: %w", name, err)
		}
		if string(req.Arguments) == "null" { // a nil map or pointer
			req.Arguments = nil
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

// outputOf returns the output of a tool as JSON, validated by its schema. The receiver may be nil.
func (t *toolInfo) outputOf(ctx context.Context, res *mcp.CallToolResult) (json.RawMessage, error) {
	if t == nil || t.output == nil {
		if res.StructuredContent != nil {
			return res.StructuredContent, nil
		}
		text := mcp.TextOf(res.Content)
		if text == "" {
			return nil, errors.New("result has no structured content and no text")
		}
		return json.RawMessage(text), nil
	}
	if res.StructuredContent == nil {
		return nil, errors.New("result has no structured content, but the tool has an output schema")
	}
	schema, err := t.output.compile(ctx)
	if err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	return res.StructuredContent, schema.Validate(res.StructuredContent)
}

// unmarshal decodes JSON with package json and then checks the names of members: package json
// ignores case, but schemas do not. It returns an error if a name in another case would be decoded
// into a field with a name in its tag, or into a field that is present under its own name too.
func unmarshal(doc json.RawMessage, out any) error {
	if err := json.Unmarshal(doc, out); err != nil {
		return err
	}
	return wire.Decode(doc, nil, &nameCheck{of: reflect.TypeOf(out)})
}

// nameCheck checks the names of members for a type.
type nameCheck struct {
	wire.ReadOnly
	of reflect.Type
}

// DecodeJSON implements [wire.Value].
func (x *nameCheck) DecodeJSON(d *wire.Decoder) { checkNames(d, x.of) }

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

func checkNames(d *wire.Decoder, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := d.Kind()
	switch {
	case reflect.PointerTo(t).Implements(unmarshaler):
		d.Skip()
	case kind == '{' && t.Kind() == reflect.Struct:
		checkMembers(d, fieldsOf(t, nil))
	case kind == '{' && t.Kind() == reflect.Map:
		for o := d.Object(nil); o.Next(); {
			checkNames(d, t.Elem())
		}
	case kind == '[' && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array):
		wire.List(d, func(d *wire.Decoder) (none struct{}) {
			checkNames(d, t.Elem())
			return none
		})
	default:
		d.Skip()
	}
}

func checkMembers(d *wire.Decoder, fields []field) {
	for o := d.Object(nil); o.Next(); {
		name := o.Key()
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if i < 0 {
			i = slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, name) })
		}
		if i < 0 {
			d.Skip()
			continue
		}
		f := &fields[i]
		if f.seen || f.tagged && f.name != name {
			d.Fail("member %q would be decoded as %q", name, f.name)
			return
		}
		f.seen = true
		checkNames(d, f.of)
	}
}

// field is a field of a struct, as package json decodes it.
type field struct {
	name   string
	tagged bool
	of     reflect.Type
	seen   bool
}

// fieldsOf lists the fields of a struct. The fields of embedded structs are last.
func fieldsOf(t reflect.Type, within []reflect.Type) (list []field) {
	var inner []field
	for f := range t.Fields() {
		tag, _ := jsontag.Of(f)
		of := f.Type
		if of.Kind() == reflect.Pointer {
			of = of.Elem()
		}
		switch {
		case tag.Skipped:
		case f.Anonymous && tag.Name == "" && of.Kind() == reflect.Struct:
			if !slices.Contains(within, of) {
				inner = append(inner, fieldsOf(of, append(within, t))...)
			}
		case f.IsExported():
			list = append(list, field{name: cmp.Or(tag.Name, f.Name), tagged: tag.Name != "", of: f.Type})
		}
	}
	return append(list, inner...)
}
