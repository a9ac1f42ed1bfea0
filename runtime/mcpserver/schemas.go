package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"weak"

	"github.com/mcpwright/mcp/runtime/internal/paramheader"
	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// toolSchema is a schema of a tool. It is checked when the tool is registered, and compiled
// when it is first needed. Tools with the same schema share it, also those of other servers of
// the process.
type toolSchema struct {
	text       json.RawMessage // without white space
	forObjects bool            // the root has "type": "object"
	headers    []paramheader.Param
	headersErr error

	once     sync.Once // sets the fields below
	compiled *validate.Schema
	err      error
}

// schemasInUse contains the schemas of all registered tools. An entry is removed when no tool
// uses the schema any more.
var schemasInUse struct {
	mu     sync.Mutex
	byText map[string]weak.Pointer[toolSchema]
}

// schemaOf returns the schema with a text. The error reports that it is not a valid schema.
func schemaOf(text json.RawMessage) (*toolSchema, error) {
	all := &schemasInUse
	all.mu.Lock()
	known := all.byText[string(text)]
	all.mu.Unlock()
	if s := known.Value(); s != nil {
		return s, nil
	}
	s, err := newToolSchema(text)
	if err != nil {
		return nil, err
	}
	key := string(text)
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byText == nil {
		all.byText = make(map[string]weak.Pointer[toolSchema])
	}
	all.byText[key] = weak.Make(s)
	runtime.AddCleanup(s, forgetSchema, key)
	return s, nil
}

// forgetSchema removes the entry of a schema that is not in use.
func forgetSchema(key string) {
	all := &schemasInUse
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.byText[key].Value() == nil {
		delete(all.byText, key)
	}
}

// newToolSchema checks a schema. References are resolved now, because they are commonly wrong.
func newToolSchema(text json.RawMessage) (*toolSchema, error) {
	outline, err := validate.Check(text)
	if err != nil {
		return nil, err
	}
	s := &toolSchema{forObjects: outline.ForObjects}
	if s.text, err = wire.Compact(text); err != nil {
		return nil, err
	}
	if mayHaveHeaders(text) {
		s.headers, s.headersErr = paramheader.Parse(text)
	}
	if outline.HasReferences {
		_, err = s.compile()
	}
	return s, err
}

// mayHaveHeaders reports whether a schema may have the annotation of package paramheader, which
// may be written with escapes.
func mayHaveHeaders(schema json.RawMessage) bool {
	return bytes.Contains(schema, []byte(`x-mcp-header`)) || bytes.Contains(schema, []byte(`\u`))
}

// compile returns the compiled schema.
func (s *toolSchema) compile() (*validate.Schema, error) {
	s.once.Do(func() { s.compiled, s.err = validate.Compile(s.text) })
	return s.compiled, s.err
}

var errNoObject = errors.New(`input schema: the root must have "type": "object"`)

// inputSchemaOf returns the schema of a tool's arguments, which must have "type": "object" at
// its root. A schema whose type is missing, or is a list with "object", gets this member.
func inputSchemaOf(text json.RawMessage) (*toolSchema, error) {
	if text == nil {
		text = anyObject
	}
	s, err := schemaOf(text)
	if err == nil && !s.forObjects {
		s, err = schemaOf(withObjectType(s.text))
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("input schema: %w", err)
	case !s.forObjects:
		return nil, errNoObject
	}
	return s, s.headersErr
}

// unusedSchema returns an input schema that is invalid, for a tool whose arguments are not validated.
// The problem is logged, and [Server.Validate] returns it. Schemas that violate the protocol are
// refused with the problem.
func (s *Server) unusedSchema(tool string, text json.RawMessage, problem error) (*toolSchema, error) {
	var root struct{ Type string }
	compact, err := wire.Compact(text)
	if err != nil {
		return nil, problem
	}
	compact = withObjectType(compact)
	if json.Unmarshal(compact, &root) != nil || root.Type != "object" {
		return nil, problem
	}
	unused := &toolSchema{text: compact, forObjects: true}
	if mayHaveHeaders(compact) {
		if unused.headers, err = paramheader.Parse(compact); err != nil {
			return nil, err
		}
	}
	s.opts.Logger.Warn("some clients reject the schema of a tool", "tool", tool, "problem", problem)
	return unused, nil
}

// withObjectType returns a schema with "type": "object" in place of a type that permits objects.
// It returns any other schema unchanged.
func withObjectType(text json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	var types []string
	switch err := json.Unmarshal(text, &members); {
	case string(text) == "true":
		return anyObject
	case err != nil || members == nil || members["type"] != nil && (json.Unmarshal(members["type"], &types) != nil || !slices.Contains(types, "object")):
		return text
	}
	members["type"] = json.RawMessage(`"object"`)
	changed, err := json.Marshal(members)
	if err != nil {
		return text
	}
	return changed
}

// outputSchemaOf returns the schema of a tool's structured content, or nil if text is nil.
func outputSchemaOf(text json.RawMessage) (*toolSchema, error) {
	if text == nil {
		return nil, nil
	}
	s, err := schemaOf(text)
	if err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	return s, nil
}

// Validate checks everything that registration does not check because it takes long: it compiles
// the schemas of all tools. The error joins a [*RegistrationError] for each invalid tool.
// Otherwise the calls of such a tool fail. Call Validate in tests; package mcptest does when it
// connects to a server.
func (s *Server) Validate() error {
	var all []error
	for _, x := range s.catalog.Load().tools {
		all = append(all, registrationError(KindTool, x.key, x.item.(*tool).validate()))
	}
	return errors.Join(all...)
}

// validate compiles the schemas of a tool.
func (t *tool) validate() error {
	if _, err := t.input.compile(); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if t.output != nil {
		if _, err := t.output.compile(); err != nil {
			return fmt.Errorf("output schema: %w", err)
		}
	}
	return nil
}

// typedInput is the plan for a Go type, and the schema that was inferred from it.
type typedInput struct {
	plan   *typed.Plan
	schema *toolSchema
}

// typedKey identifies an inference that does not depend on [Options].TypeSchemas.
type typedKey struct {
	t           reflect.Type
	input, open bool
}

// inferences contains the results of inferences by typedKey. There is one for each type of the
// program that is used for tools.
var inferences struct {
	sync.Mutex
	made map[typedKey]any
}

func inferenceOf(key typedKey) (any, bool) {
	inferences.Lock()
	defer inferences.Unlock()
	made, ok := inferences.made[key]
	return made, ok
}

func setInference(key typedKey, made any) {
	inferences.Lock()
	defer inferences.Unlock()
	if inferences.made == nil {
		inferences.made = make(map[typedKey]any)
	}
	inferences.made[key] = made
}

// inferOnce returns the cached result of an inference, or calls infer. Only results without an
// error are cached.
func inferOnce[T any](s *Server, key typedKey, infer func() (T, error)) (T, error) {
	if len(s.opts.TypeSchemas) > 0 {
		return infer()
	}
	if known, ok := inferenceOf(key); ok {
		return known.(T), nil
	}
	made, err := infer()
	if err == nil {
		setInference(key, made)
	}
	return made, err
}
