package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// tool is a tool as it is registered. It never changes.
type tool struct {
	mcp.Tool
	texts
	call        rounds.Handler // of its requests; the one function between a round and the tool's own
	headers     []paramheader.Param
	olderOutput bool // revisions with a handshake may see the output schema
	olderTasks  bool // and how it runs as a task
}

// AddTool registers a Go function as a tool. In, a struct in most cases, is what
// the arguments are read into after they were judged by the tool's InputSchema;
// without one, the schema is made of In. Out is what the tool gives:
//
//   - a string is plain text;
//   - a *[mcp.CallToolResult] is the result as it is;
//   - struct{} is nothing at all;
//   - anything else is written as JSON, as structured content and as text, unless a
//     method ModelText() string has another text. It has the tool's OutputSchema
//     or, without one, a schema made of Out. An interface has none, nor has a type
//     with JSON of its own making. A nil slice is null; a nil pointer or map is no
//     result, and an error.
//
// A type's schema is made of its fields. The tag json names a field, and makes it
// optional with omitempty or omitzero; the tag jsonschema describes it. The tags
// title, default, enum, format, pattern, minimum, maximum, minLength, maxLength,
// minItems and maxItems are those of JSON Schema, with commas between the values
// of an enum; header is the "x-mcp-header" of the field. In arguments, pointers
// and fields with a default are optional, too.
//
// The rest of the request, such as its Meta, is what connection.RequestFromContext returns.
//
// AddTool panics where the name, a schema or a type cannot be used.
func AddTool[In, Out any](s *Server, t *mcp.Tool, h func(context.Context, *mcp.ServerSession, In) (Out, error)) {
	registration(KindTool, t.Name, addTool(s, *t, h))
}

func addTool[In, Out any](s *Server, def mcp.Tool, h func(context.Context, *mcp.ServerSession, In) (Out, error)) error {
	if !toolName.MatchString(def.Name) {
		return errors.New("want a name of 1 to 128 letters, digits, dots, hyphens and underscores")
	}
	in, schema, err := newInput[In](s, def.InputSchema)
	if err != nil {
		return err
	}
	def.InputSchema = schema
	out, schema, err := newOutput[Out](s, def.OutputSchema)
	if err != nil {
		return err
	}
	def.OutputSchema = schema
	return s.add(&tool{Tool: def, call: func(ctx context.Context, m peer.Message) (wire.Value, error) {
		req := m.(*mcp.CallToolRequest)
		var res *mcp.CallToolResult
		arguments, err := in.read(req.Arguments)
		if err == nil {
			var value Out
			if value, err = h(ctx, mcp.SessionFromContext(ctx), arguments); err == nil {
				res, err = out(value)
			}
		}
		return s.outcome(ctx, req.Name, res, err)
	}}, h != nil)
}

// ToolHandler is the function of a tool that reads its arguments itself.
type ToolHandler func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// AddRawTool registers a tool whose schemas are given and whose handler reads the
// arguments itself, for tools that come from elsewhere, such as another server:
// see [Try]. Schemas are kept byte for byte, apart from white space. The handler's
// arguments have been judged by the InputSchema, and its result is by the
// OutputSchema. The tool may have any name: the log has a word about one that does
// not suit every client, see [mcp.Tool]. AddRawTool panics where there is no name, or
// a schema cannot be used.
func (s *Server) AddRawTool(t *mcp.Tool, call ToolHandler) {
	registration(KindTool, t.Name, s.addRawTool(*t, call))
}

func (s *Server) addRawTool(def mcp.Tool, call ToolHandler) error {
	if def.Name == "" {
		return errors.New("want a name")
	}
	if def.InputSchema == nil {
		def.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	schema, err := compileObject(def.InputSchema)
	if err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	check, err := resultCheck(def.OutputSchema)
	if err != nil {
		return err
	}
	err = s.add(&tool{Tool: def, call: func(ctx context.Context, m peer.Message) (wire.Value, error) {
		req := m.(*mcp.CallToolRequest)
		if err := schema.Validate(argumentsOf(req.Arguments)); err != nil {
			return s.outcome(ctx, req.Name, nil, badArguments(err))
		}
		res, err := call(ctx, req)
		if err == nil {
			err = check(res)
		}
		return s.outcome(ctx, req.Name, res, err)
	}}, call != nil)
	if err == nil && !toolName.MatchString(def.Name) {
		s.opts.Logger.Warn("the name of a tool does not suit every client: up to 128 letters, digits, dots, hyphens and underscores do", "tool", def.Name)
	}
	return err
}

// RemoveTools takes tools away. Names that no tool has are ignored.
func (s *Server) RemoveTools(names ...string) {
	s.change(Event{Method: mcp.MethodToolListChanged}, func(c *catalog) (changed bool) {
		c.tools, changed = c.tools.without(names)
		return changed
	})
}

// toolName is a name that suits every client. Those of a program's own tools are like
// this; what comes from elsewhere has its name already.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

// add registers a tool whose schemas have been compiled, and that has a function
// of its own.
func (s *Server) add(t *tool, handled bool) (err error) {
	if !handled {
		return errNoHandler
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
	t.olderTasks = s.opts.Capabilities.Tasks != nil
	if t.headers, err = paramheader.Parse(t.InputSchema); err != nil {
		return err
	}
	if t.Tool, err = clean(&t.Tool); err != nil {
		return err
	}
	t.texts = newTexts(t.shown)
	s.change(Event{Method: mcp.MethodToolListChanged}, func(c *catalog) bool {
		c.tools = c.tools.with(t.Name, t)
		return true
	})
	return nil
}

// pick finds what handles a request: of a call, the tool itself.
func (s *Server) pick(ctx context.Context, m peer.Message) (rounds.Handler, error) {
	req, ok := m.(*mcp.CallToolRequest)
	if !ok {
		return nil, nil
	}
	c := s.catalog.Load()
	t := c.tools.find(req.Name)
	switch {
	case t == nil && c.capabilities.Tools == nil:
		return nil, notOffered(mcp.MethodCallTool)
	case t == nil || !s.visible(ctx, KindTool, req.Name):
		return nil, unknown(KindTool, req.Name)
	}
	if err := t.checkHeaders(ctx, req); err != nil {
		return nil, err
	}
	return t.call, nil
}

// callTool is what the table of methods has for calls. A round goes past it.
func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest) (wire.Value, error) {
	call, err := s.pick(ctx, req)
	if err != nil {
		return nil, err
	}
	return call(ctx, req)
}

// outcome is what a client is told of what came of a tool.
func (s *Server) outcome(ctx context.Context, name string, res *mcp.CallToolResult, err error) (wire.Value, error) {
	if err == nil && !fitsAll(res) {
		res, err = s.fitResult(ctx, res)
	}
	if err != nil {
		if res, err = s.toolFailure(ctx, name, err); err != nil {
			return nil, err
		}
	}
	return res, nil
}

func (s *Server) listTools(ctx context.Context, req *mcp.ListToolsRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Tools == nil {
		return nil, notOffered(mcp.MethodListTools)
	}
	tools, next, err := page(ctx, s, KindTool, c.tools, req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListToolsResult{NextCursor: next}
	s.hint(mcp.MethodListTools, &res.TTLMs, &res.CacheScope)
	if s.onWire(ctx) {
		return newListing(res, `"tools":[]`, tools), nil
	}
	res.Tools = make([]mcp.Tool, len(tools))
	for i, x := range tools {
		res.Tools[i] = *x.item.definition(revisionOf(ctx))
	}
	return res, nil
}

// definition is the tool as a revision has it.
func (t *tool) definition(r wire.Revision) *mcp.Tool {
	if !eras.Handshake(r) || t.olderOutput && t.olderTasks {
		return &t.Tool
	}
	def := t.Tool
	if !t.olderOutput {
		def.OutputSchema = nil
	}
	if !t.olderTasks {
		def.Execution = nil
	}
	return &def
}

func (t *tool) shown(r wire.Revision) wire.Value { return t.definition(r) }
