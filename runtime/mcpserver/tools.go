package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/judge"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/wire"
)

// tool is a tool as it is registered. It never changes.
type tool struct {
	mcp.Tool
	call        func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)
	headers     []paramheader.Param
	olderOutput bool // revisions with a handshake may see the output schema
}

// AddTool registers a Go function as a tool. In, a struct in most cases, is what
// the arguments are read into after they were judged by the tool's InputSchema;
// without one, the schema is made of In. Out is what the tool gives:
//
//   - a string is plain text;
//   - a *[mcp.CallToolResult] is the result as it is;
//   - struct{} is nothing at all;
//   - anything else is written as JSON, as structured content and as text. It has
//     the tool's OutputSchema or, without one, a schema made of Out. An interface
//     has none.
//
// A type's schema is made of its fields. The tag json names a field, and makes it
// optional with omitempty or omitzero; the tag jsonschema describes it. The tags
// title, default, enum, format, pattern, minimum, maximum, minLength, maxLength,
// minItems and maxItems are those of JSON Schema, with commas between the values
// of an enum; header is the "x-mcp-header" of the field. In arguments, pointers
// and fields with a default are optional, too.
//
// AddTool panics where the name, a schema or a type cannot be used.
func AddTool[In, Out any](s *Server, t *mcp.Tool, h func(context.Context, *mcp.ServerSession, In) (Out, error)) {
	def := *t
	in, schema, err := newInput[In](s, t.InputSchema)
	if err != nil {
		panic(registration(KindTool, t.Name, err))
	}
	def.InputSchema = schema
	out, schema, err := newOutput[Out](s, t.OutputSchema)
	if err != nil {
		panic(registration(KindTool, t.Name, err))
	}
	def.OutputSchema = schema
	err = s.addTool(&tool{Tool: def, call: func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		arguments, err := in.read(req.Arguments)
		if err != nil {
			return nil, err
		}
		value, err := h(ctx, mcp.SessionFrom(ctx), arguments)
		if err != nil {
			return nil, err
		}
		return out(value)
	}})
	if err != nil {
		panic(registration(KindTool, t.Name, err))
	}
}

// AddRawTool registers a tool whose schemas are given and whose handler reads the
// arguments itself, for tools that come from elsewhere, such as another server.
// Schemas are kept byte for byte, apart from white space. The handler's arguments
// have been judged by the InputSchema, and its result is by the OutputSchema.
func (s *Server) AddRawTool(t *mcp.Tool, h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)) error {
	def := *t
	if def.InputSchema == nil {
		def.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	schema, err := compileObject(def.InputSchema)
	if err != nil {
		return registration(KindTool, t.Name, fmt.Errorf("input schema: %w", err))
	}
	check, err := resultCheck(t.OutputSchema)
	if err != nil {
		return registration(KindTool, t.Name, err)
	}
	err = s.addTool(&tool{Tool: def, call: func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return callRaw(ctx, req, schema, check, h)
	}})
	if err != nil {
		return registration(KindTool, t.Name, err)
	}
	return nil
}

func callRaw(ctx context.Context, req *mcp.CallToolRequest, schema *judge.Schema, check func(*mcp.CallToolResult) error,
	h func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error),
) (*mcp.CallToolResult, error) {
	if err := schema.Validate(argumentsOf(req.Arguments)); err != nil {
		return nil, badArguments(err)
	}
	res, err := h(ctx, req)
	if err != nil {
		return nil, err
	}
	return res, check(res)
}

// RemoveTools takes tools away. Names that no tool has are ignored.
func (s *Server) RemoveTools(names ...string) {
	s.change(Event{Method: mcp.MethodToolListChanged}, func(c *catalog) (changed bool) {
		c.tools, changed = c.tools.without(names)
		return changed
	})
}

var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// addTool registers a tool whose schemas have been compiled.
func (s *Server) addTool(t *tool) (err error) {
	if !toolName.MatchString(t.Name) {
		return errors.New("want a name of 1 to 128 letters, digits, dots, hyphens and underscores")
	}
	if t.InputSchema, err = wire.Compact(t.InputSchema); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if t.OutputSchema != nil {
		if t.OutputSchema, err = wire.Compact(t.OutputSchema); err != nil {
			return fmt.Errorf("output schema: %w", err)
		}
		t.olderOutput = forObjects(t.OutputSchema)
	}
	if t.headers, err = paramheader.Parse(t.InputSchema); err != nil {
		return err
	}
	if t.Tool, err = clean(&t.Tool); err != nil {
		return err
	}
	s.change(Event{Method: mcp.MethodToolListChanged}, func(c *catalog) bool {
		c.tools = c.tools.with(t.Name, t)
		return true
	})
	return nil
}

// registration is what is wrong with something to be registered.
func registration(kind Kind, name string, err error) error {
	return fmt.Errorf("mcpserver: %s %q: %w", kind, name, err)
}

func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Tools == nil {
		return nil, notOffered(mcp.MethodCallTool)
	}
	t := c.tools.find(req.Name)
	if t == nil || !s.visible(ctx, KindTool, req.Name) {
		return nil, unknown(KindTool, req.Name)
	}
	if err := t.checkHeaders(ctx, req); err != nil {
		return nil, err
	}
	res, err := t.call(ctx, req)
	if err != nil {
		return s.toolFailure(ctx, req.Name, err)
	}
	if res, err = s.fitResult(ctx, res); err != nil {
		return s.toolFailure(ctx, req.Name, err)
	}
	return res, nil
}

func (s *Server) listTools(ctx context.Context, req *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
	c := s.catalog.Load()
	if c.capabilities.Tools == nil {
		return nil, notOffered(mcp.MethodListTools)
	}
	older := handshake(ctx)
	res := &mcp.ListToolsResult{Tools: make([]mcp.Tool, 0, s.room(len(c.tools)))}
	var err error
	res.NextCursor, err = page(ctx, s, KindTool, c.tools, req.Cursor, func(t *tool) {
		def := t.Tool
		if older && !t.olderOutput {
			def.OutputSchema = nil
		}
		res.Tools = append(res.Tools, def)
	})
	if err != nil {
		return nil, err
	}
	s.hint(mcp.MethodListTools, &res.TTLMs, &res.CacheScope)
	return res, nil
}
