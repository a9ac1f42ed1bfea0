package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/fit"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// output makes the results of a tool from values of a type.
type output struct {
	schema   *toolSchema // of the structured content, or nil
	conforms bool        // all values are valid
	whole    bool        // the values are results
	empty    bool        // the results have no content
	text     bool        // the values are strings
}

// newOutput returns the output of a tool with values of a type. If a schema is passed, results are
// validated against it.
func (s *Server) newOutput(t reflect.Type, text json.RawMessage) (*output, error) {
	schema, err := outputSchemaOf(text)
	switch {
	case err != nil:
		return nil, err
	case t == reflect.TypeFor[*mcp.CallToolResult]():
		return &output{schema: schema, whole: true}, nil
	case t == reflect.TypeFor[mcp.CallToolResult]():
		return nil, fmt.Errorf("result type must be *%s", t)
	case text == nil && t == reflect.TypeFor[struct{}]():
		return &output{empty: true}, nil
	case text == nil && t.Kind() == reflect.String:
		return &output{text: true}, nil
	case text == nil && t.Kind() != reflect.Interface:
		inferred, err := s.outputSchema(t)
		if err != nil {
			return nil, err
		}
		return &output{schema: inferred.schema, conforms: inferred.conforms}, nil
	}
	return &output{schema: schema}, nil
}

// result returns the result for a value that [addressable] has returned.
func (o *output) result(v any) (*mcp.CallToolResult, error) {
	switch {
	case o.whole:
		res := v.(*mcp.CallToolResult)
		return res, o.schema.validateResult(res)
	case o.empty:
		return &mcp.CallToolResult{}, nil
	case o.text:
		return mcp.TextResult(reflect.ValueOf(v).Elem().String()), nil
	}
	res, err := structured(v)
	if err != nil {
		return nil, err
	}
	if string(res.StructuredContent) == "null" && isNil(reflect.ValueOf(v)) {
		return nil, errNoResult
	}
	if !o.conforms {
		if err := o.schema.validateResult(res); err != nil {
			return nil, err
		}
	}
	if own, ok := v.(interface{ ModelText() string }); ok {
		res.Content = mcp.TextResult(own.ModelText()).Content
	}
	return res, nil
}

// isNil reports whether a value is a nil pointer, a nil map, or a pointer to one.
func isNil(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Map) && v.IsNil()
}

// typedOutput is the schema that was inferred from a Go type.
type typedOutput struct {
	schema   *toolSchema // nil if it accepts any value
	conforms bool        // all values of the type are valid
}

// outputSchema infers the schema of results from a type.
func (s *Server) outputSchema(t reflect.Type) (*typedOutput, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return inferOnce(s, typedKey{t, false, true}, func() (*typedOutput, error) {
		opts := &typed.Options{Open: true, Schemas: s.opts.TypeSchemas}
		text, err := typed.Infer(t, opts)
		if err != nil {
			return nil, fmt.Errorf("cannot infer an OutputSchema from %s: %w", t, err)
		}
		if wire.Kind(text) != '{' {
			return &typedOutput{}, nil
		}
		schema, err := outputSchemaOf(text)
		return &typedOutput{schema, typed.Conforms(t, opts)}, err
	})
}

// addressable returns a value that encoding/json encodes like v, including methods with
// pointer receivers of v and of its parts.
func addressable[T any](v T) any {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Pointer, reflect.Interface:
		return v
	}
	return new(v)
}

// structured returns a result with a value as structured content, and as text for clients that
// do not read structured content.
func structured(v any) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode result: %w", err)
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	res := mcp.TextResult(string(data))
	res.StructuredContent = data
	return res, nil
}

// validateResult validates a result against the schema of its structured content. A nil schema
// accepts any result.
func (s *toolSchema) validateResult(res *mcp.CallToolResult) error {
	switch {
	case res == nil:
		return errNoResult
	case s == nil || res.IsError:
		return nil
	case res.StructuredContent == nil:
		return errors.New("result has no structured content, but the tool has an output schema")
	}
	compiled, err := s.compile()
	if err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	if err := compiled.Validate(res.StructuredContent); err != nil {
		return fmt.Errorf("result does not match the output schema: %w", err)
	}
	return nil
}

var errNoResult = errors.New("tool returned no result")

// revisionOf returns the revision of the message being handled.
func revisionOf(ctx context.Context) wire.Revision {
	return connection.FromContext(ctx).State().Revision()
}

// fits returns how results are converted for the client's revision.
func (s *Server) fits() fit.Mode {
	if s.opts.StrictContent {
		return fit.Exact
	}
	return fit.Own
}
