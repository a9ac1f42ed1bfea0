package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/failure"
	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/verified"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// AddTool registers a Go function as a tool. In, usually a struct, is the type of the
// arguments. They are validated against the tool's InputSchema, which is inferred from In if
// it is nil. Out is the type of the result:
//
//   - a string is sent as text, unless the tool has an OutputSchema;
//   - a *[mcp.CallToolResult] is sent unchanged;
//   - struct{} is an empty result;
//   - any other value is sent as JSON, in the structured content and as text. If Out has a
//     method ModelText() string, it returns the text instead. The result is validated against
//     the tool's OutputSchema, which is inferred from Out if it is nil. No schema is inferred
//     from an interface, or from a type with its own JSON encoding. A nil slice is sent as
//     null; a nil pointer or map is an error.
//
// Schemas are inferred from the fields of a type. The tag json names a field, and omitempty or
// omitzero makes it optional; the tag jsonschema describes it. The tags title, default, enum,
// format, pattern, minimum, maximum, minLength, maxLength, minItems and maxItems have the
// meaning that they have in JSON Schema, with commas between the values of an enum. The tag
// header sets "x-mcp-header". In arguments, pointers and fields with a default are optional
// too.
//
// [connection.RequestFromContext] returns the whole request, for example to read its Meta.
//
// AddTool replaces a tool of the same name. A name that some clients reject is logged; see
// [mcp.Tool]. AddTool panics with a [*RegistrationError] if a schema or a type is invalid, or t or h
// is nil. [Server.Validate] finds the errors that take longer to find.
func AddTool[In, Out any](s *Server, t *mcp.Tool, h func(context.Context, *mcp.ServerSession, In) (Out, error)) {
	x := newTypedTool(s, t, reflect.TypeFor[In](), reflect.TypeFor[Out]())
	made, err := x.complete(t, newTypedCall(x, h))
	must(err)
	s.addTool(made)
}

// typedTool is a tool that is a Go function, without that function.
type typedTool struct {
	server *Server
	name   string
	in     *input
	out    *output
	err    error // the tool cannot be registered
}

// newTypedTool returns the tool of a function with types of arguments and results.
func newTypedTool(s *Server, def *mcp.Tool, arguments, results reflect.Type) *typedTool {
	x := &typedTool{server: s}
	if def == nil {
		x.err = errNoDefinition
		return x
	}
	x.name = def.Name
	if x.in, x.err = s.newInput(def.Name, arguments, def.InputSchema); x.err == nil {
		x.out, x.err = s.newOutput(results, def.OutputSchema)
	}
	return x
}

// newTypedCall returns the handler of a tool, or nil if h is nil. Programs compile it for each tool, so it
// has only code that depends on the types.
func newTypedCall[In, Out any](x *typedTool, h func(context.Context, *mcp.ServerSession, In) (Out, error)) rounds.Handler {
	if h == nil {
		return nil
	}
	return func(ctx context.Context, m peer.Message) (wire.Value, error) {
		var arguments In
		if err := x.read(m, &arguments); err != nil {
			return x.failed(ctx, err)
		}
		value, err := h(ctx, mcp.SessionFromContext(ctx), arguments)
		if err != nil {
			return x.failed(ctx, err)
		}
		if text, is := any(value).(string); is {
			return x.text(ctx, text)
		}
		return x.result(ctx, addressable(value))
	}
}

// complete returns the tool with its handler, or a [*RegistrationError]. A nil handler is an error.
func (x *typedTool) complete(def *mcp.Tool, call rounds.Handler) (made *tool, err error) {
	if err = x.err; err == nil {
		made, err = x.server.completeTool(&tool{Tool: *def, input: x.in.schema, output: x.out.schema, call: call}, call != nil)
	}
	return made, registrationError(KindTool, x.name, err)
}

// read decodes and validates the arguments of a call.
func (x *typedTool) read(call peer.Message, arguments any) error {
	return x.in.read(call.(*mcp.CallToolRequest).Arguments, arguments)
}

// failed returns the outcome of a call with an error.
func (x *typedTool) failed(ctx context.Context, err error) (wire.Value, error) {
	return x.server.outcome(ctx, x.name, nil, err)
}

// text returns the outcome of a call of a function that returns strings.
func (x *typedTool) text(ctx context.Context, text string) (wire.Value, error) {
	if !x.out.text {
		return x.result(ctx, new(text))
	}
	return x.server.outcome(ctx, x.name, mcp.TextResult(text), nil)
}

// result returns the outcome of a call for a value that [addressable] has returned.
func (x *typedTool) result(ctx context.Context, value any) (wire.Value, error) {
	res, err := x.out.result(value)
	return x.server.outcome(ctx, x.name, res, err)
}

// AddRawTool registers a tool with given schemas, whose handler decodes the arguments itself, see
// [ReadArguments], for example a tool of another server. The schemas are sent as they are, apart from white
// space. Arguments are validated against the InputSchema before call is called, as
// [Options].Validation states, and results against the OutputSchema unless
// [Options].UncheckedResults is set. A nil InputSchema accepts
// any object. The protocol requires an InputSchema with "type": "object": the
// member is added if the schema has no type, and replaces a list of types with "object".
//
// The name may be any string. A name that some clients reject is logged; see [mcp.Tool].
// AddRawTool replaces a tool of the same name. It panics with a [*RegistrationError] if a
// schema is invalid, or t or call is nil. With [ValidateOff] an invalid InputSchema is logged instead if
// it is an object with "type": "object", because nothing is validated against it.
func (s *Server) AddRawTool(t *mcp.Tool, call ToolHandler) { must(s.TryAddRawTool(t, call)) }

// TryAddRawTool is like [Server.AddRawTool], but returns the [*RegistrationError] instead of
// panicking, for tools whose definitions come from elsewhere.
func (s *Server) TryAddRawTool(t *mcp.Tool, call ToolHandler) error {
	made, err := s.newRawTool(t, call)
	if err != nil {
		return err
	}
	s.addTool(made)
	return nil
}

// newRawTool returns the tool of a handler that decodes its arguments, or a [*RegistrationError].
func (s *Server) newRawTool(def *mcp.Tool, call ToolHandler) (*tool, error) {
	if def == nil {
		return nil, registrationError(KindTool, "", errNoDefinition)
	}
	made, err := s.compileRawTool(*def, call)
	return made, registrationError(KindTool, def.Name, err)
}

func (s *Server) compileRawTool(def mcp.Tool, call ToolHandler) (*tool, error) {
	validation := s.opts.validation(def.Name)
	input, err := inputSchemaOf(def.InputSchema)
	if err != nil && validation == ValidateOff {
		input, err = s.unusedSchema(def.Name, def.InputSchema, err)
	}
	if err != nil {
		return nil, err
	}
	output, err := outputSchemaOf(def.OutputSchema)
	if err != nil {
		return nil, err
	}
	return s.completeTool(&tool{Tool: def, input: input, output: output, call: func(ctx context.Context, m peer.Message) (wire.Value, error) {
		req := m.(*mcp.CallToolRequest)
		req, err := input.validateRequest(req, validation)
		if err != nil {
			return s.outcome(ctx, def.Name, nil, err)
		}
		res, err := call(ctx, req)
		if err == nil && !s.opts.UncheckedResults {
			err = output.validateResult(res)
		}
		return s.outcome(ctx, req.Name, res, err)
	}}, call != nil)
}

// RemoveTools removes tools. Names that are not registered are ignored.
func (s *Server) RemoveTools(names ...string) {
	s.change(Event{Method: mcp.MethodToolListChanged}, func(c *catalog) (changed bool) {
		c.tools, changed = c.tools.without(names)
		return changed
	})
}

// isPortableName reports whether every client accepts the name of a tool.
func isPortableName(name string) bool {
	for i := range len(name) {
		if !isAlphanumeric(name[i]) && strings.IndexByte("_.-", name[i]) < 0 {
			return false
		}
	}
	return name != "" && len(name) <= 128
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}

// completeTool completes a tool whose schemas have been checked. handled is false if the tool has
// no handler.
func (s *Server) completeTool(t *tool, handled bool) (_ *tool, err error) {
	if !handled {
		return nil, errNoHandler
	}
	t.legacyExecution = s.opts.Capabilities.Tasks != nil || s.tasks != nil
	if t.Tool, err = cloneTool(t.Tool); err != nil {
		return nil, err
	}
	t.InputSchema = t.input.text
	if t.output != nil {
		t.OutputSchema = t.output.text
	}
	if !isPortableName(t.Name) {
		s.opts.Logger.Warn("some clients reject the name of a tool: use up to 128 letters, digits, dots, hyphens and underscores", "tool", t.Name)
	}
	return t, nil
}

// addTool registers a complete tool.
func (s *Server) addTool(t *tool) {
	s.change(Event{Method: mcp.MethodToolListChanged}, func(c *catalog) bool {
		c.tools = c.tools.with(t.Name, t)
		return true
	})
	s.registered(KindTool, t.Name)
}

// cloneTool returns a deep copy of a definition, without its schemas.
func cloneTool(def mcp.Tool) (mcp.Tool, error) {
	def.InputSchema, def.OutputSchema = anyObject, nil
	if def.Annotations == nil && def.Execution == nil && def.Icons == nil && def.Meta == nil && def.Extra == nil && utf8.ValidString(def.Name) {
		return def, nil // contains only strings
	}
	var copied mcp.Tool
	err := cloneDefinition(&copied, &def)
	return copied, err
}

// pick returns the handler of a tool call, and nil for other requests.
func (s *Server) pick(ctx context.Context, m peer.Message) (rounds.Handler, error) {
	req, ok := m.(*mcp.CallToolRequest)
	if !ok {
		return nil, nil
	}
	c := s.catalog.Load()
	t := findTool(ctx, c, req.Name)
	switch {
	case t == nil && c.capabilities.Tools == nil:
		return nil, methodNotFound(mcp.MethodCallTool)
	case t == nil || !s.visible(ctx, KindTool, req.Name):
		return nil, unknown(KindTool, req.Name)
	}
	if err := t.validateHeaders(ctx, req); err != nil {
		return nil, err
	}
	if err := s.requireScopes(ctx, req.Name); err != nil {
		return func(ctx context.Context, _ peer.Message) (wire.Value, error) {
			return s.outcome(ctx, req.Name, nil, err)
		}, nil
	}
	return s.wrapTool(t), nil
}

// Scopes returns the scopes in [Options].ToolScopes, sorted. They are useful as
// ScopesSupported of a guard of package auth.
func (s *Server) Scopes() []string {
	var all []string
	for _, scopes := range s.opts.ToolScopes {
		all = append(all, scopes...)
	}
	sort.Strings(all)
	return slices.Compact(all)
}

// requireScopes returns an error if the caller lacks scopes of a tool.
func (s *Server) requireScopes(ctx context.Context, tool string) error {
	scopes := s.opts.ToolScopes[tool]
	if len(scopes) == 0 {
		return nil
	}
	if caller := verified.CallerFromContext(ctx); caller != nil {
		return caller.RequireScopes(scopes)
	}
	return noCallerError(fmt.Sprintf("This call is not permitted: it requires the scopes %q, but no guard has verified the caller.", scopes))
}

// noCallerError is the error of a call that requires scopes and has no verified caller.
type noCallerError string

// Error implements error.
func (e noCallerError) Error() string { return string(e) }

// ModelText returns the text that a model receives.
func (e noCallerError) ModelText() string { return string(e) }

// hidesTool reports whether a list omits a tool because the caller lacks its scopes.
func (s *Server) hidesTool(ctx context.Context, kind Kind, name string) bool {
	scopes := s.opts.ToolScopes[name]
	if kind != KindTool || !s.opts.HideToolsByScope || len(scopes) == 0 {
		return false
	}
	caller := verified.CallerFromContext(ctx)
	return caller == nil || !caller.HasScopes(scopes)
}

// callTool handles tool calls outside of a round; [rounds.Rules] calls pick itself.
func (s *Server) callTool(ctx context.Context, req *mcp.CallToolRequest) (wire.Value, error) {
	call, err := s.pick(ctx, req)
	if err != nil {
		return nil, err
	}
	return call(ctx, req)
}

// validateHeaders compares the arguments of an HTTP request with the headers that repeat them,
// in the revisions that define such headers.
func (t *tool) validateHeaders(ctx context.Context, req *mcp.CallToolRequest) error {
	if len(t.input.headers) == 0 || revisions.Handshake(revisionOf(ctx)) {
		return nil
	}
	header := mcp.SessionFromContext(ctx).Transport().Header()
	if header == nil {
		return nil
	}
	if err := paramheader.Check(t.input.headers, req.Arguments, header); err != nil {
		return &peer.Error{Code: mcp.CodeHeaderMismatch, Message: "Header mismatch: " + err.Error()}
	}
	return nil
}

// outcome returns the response to a call, from the result and the error of the tool.
func (s *Server) outcome(ctx context.Context, name string, res *mcp.CallToolResult, err error) (wire.Value, error) {
	if err == nil {
		res, err = s.fits().ToolResult(revisionOf(ctx), res)
	}
	if err != nil {
		if res, err = s.toolFailure(ctx, name, err); err != nil {
			return nil, err
		}
	}
	return res, nil
}

// toolFailure returns the response to a call whose tool has failed: a result for the model, or
// an error response.
func (s *Server) toolFailure(ctx context.Context, name string, err error) (*mcp.CallToolResult, error) {
	if _, asks := errors.AsType[*mcp.InputRequiredError](err); asks {
		return nil, err
	}
	if e, ok := errors.AsType[modelTexter](err); ok {
		return s.refusedResult(ctx, name, e.ModelText(), err), nil
	}
	if text := unsupportedRequestText(err); text != "" {
		return s.refusedResult(ctx, name, text, err), nil
	}
	if peer.AsError(err) != nil || ctx.Err() != nil {
		return nil, err
	}
	if r := rounds.From(ctx); r != nil && r.Asks() {
		return nil, err // not sent: the response contains the questions
	}
	id := failure.NewID()
	s.opts.Logger.ErrorContext(ctx, "tool failed", "tool", name, "id", id, "error", err)
	if s.opts.ExposeErrors {
		return errorResult(err.Error()), nil
	}
	return errorResult("Internal error (id " + id + "). Do not retry with other arguments."), nil
}

// unsupportedRequestText explains to a model why a tool could not send a request to the
// client. It returns the empty string if err has another reason, or if the protocol defines an
// error for it.
func unsupportedRequestText(err error) string {
	if _, ok := errors.AsType[*mcp.MissingRequiredClientCapabilityError](err); ok {
		return ""
	}
	if e, ok := errors.AsType[*connection.CapabilityError](err); ok {
		return fmt.Sprintf("This tool requires a client that supports %s.", e.Capability)
	}
	if e, ok := errors.AsType[*connection.UnsupportedError](err); ok {
		return fmt.Sprintf("This tool sends %q requests to the client, which protocol revision %s does not support.", e.Method, e.Revision)
	}
	if e, ok := errors.AsType[*peer.NoBackChannelError](err); ok {
		return fmt.Sprintf("This tool sends %q requests to the client, which this connection does not support.", e.Method)
	}
	return ""
}

// refusedResult logs an error whose text is sent, at the level of the refused requests of other
// methods, and returns the result.
func (s *Server) refusedResult(ctx context.Context, name, text string, err error) *mcp.CallToolResult {
	if s.opts.Logger.Enabled(ctx, slog.LevelDebug) {
		s.opts.Logger.DebugContext(ctx, "tool refused", "tool", name, "error", err)
	}
	return errorResult(text)
}

// errorResult returns the result of a failed tool.
func errorResult(text string) *mcp.CallToolResult {
	res := mcp.TextResult(text)
	res.IsError = true
	return res
}

func (s *Server) listTools(ctx context.Context, req *mcp.ListToolsRequest) (wire.Value, error) {
	c := s.catalog.Load()
	if c.capabilities.Tools == nil {
		return nil, methodNotFound(mcp.MethodListTools)
	}
	tools, next, err := page(ctx, s, KindTool, toolsOf(ctx, c), req.Cursor)
	if err != nil {
		return nil, err
	}
	res := &mcp.ListToolsResult{NextCursor: next}
	s.setCacheHint(mcp.MethodListTools, &res.TTLMs, &res.CacheScope)
	if s.encodesLists(ctx) {
		return newEncodedPage(s, KindTool, res, `"tools":[]`, tools, c.tools), nil
	}
	res.Tools = make([]mcp.Tool, len(tools))
	for i, x := range tools {
		res.Tools[i] = *x.item.(*tool).definition(revisionOf(ctx))
	}
	return res, nil
}
