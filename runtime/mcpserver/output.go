package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// newOutput returns what makes a result of an Out, and the schema of the
// structured content if there is one. A given schema is used, unless Out is
// plain text or a whole result.
func newOutput[Out any](s *Server, schema json.RawMessage) (func(Out) (*mcp.CallToolResult, error), json.RawMessage, error) {
	t := reflect.TypeFor[Out]()
	switch {
	case t == reflect.TypeFor[*mcp.CallToolResult]():
		check, err := resultCheck(schema)
		return func(out Out) (*mcp.CallToolResult, error) {
			res := any(out).(*mcp.CallToolResult)
			return res, check(res)
		}, schema, err
	case t == reflect.TypeFor[mcp.CallToolResult]():
		return nil, nil, fmt.Errorf("want a result of type *%s, a pointer", t)
	case schema == nil && t == reflect.TypeFor[struct{}]():
		return func(Out) (*mcp.CallToolResult, error) { return &mcp.CallToolResult{}, nil }, nil, nil
	case schema == nil && t.Kind() == reflect.String:
		return func(out Out) (*mcp.CallToolResult, error) {
			return mcp.TextResult(reflect.ValueOf(out).String()), nil
		}, nil, nil
	}
	var check func(*mcp.CallToolResult) error
	var err error
	if schema == nil && t.Kind() != reflect.Interface {
		schema, check, err = s.outputSchema(t)
	} else {
		check, err = resultCheck(schema)
	}
	return func(out Out) (*mcp.CallToolResult, error) {
		v := addressable(out)
		res, err := structured(v)
		if err != nil {
			return nil, err
		}
		if string(res.StructuredContent) == "null" && isNil(reflect.ValueOf(out)) {
			return nil, errNoResult
		}
		if err := check(res); err != nil {
			return nil, err
		}
		if own, ok := v.(interface{ ModelText() string }); ok {
			res.Content = mcp.TextResult(own.ModelText()).Content
		}
		return res, nil
	}, schema, err
}

// isNil tells whether a value is a nil pointer or map, or a pointer to one.
func isNil(v reflect.Value) bool {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	return (v.Kind() == reflect.Pointer || v.Kind() == reflect.Map) && v.IsNil()
}

// outputSchema makes a schema of a type, and what judges results by it.
func (s *Server) outputSchema(t reflect.Type) (json.RawMessage, func(*mcp.CallToolResult) error, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	opts := &typed.Options{Open: true, Schemas: s.opts.TypeSchemas}
	schema, err := typed.Infer(t, opts)
	if err != nil {
		return nil, nil, fmt.Errorf("want an OutputSchema, or a type of which one can be made, not %s: %w", t, err)
	}
	if wire.Kind(schema) != '{' { // which anything fits
		check, err := resultCheck(nil)
		return nil, check, err
	}
	if typed.Conforms(t, opts) {
		return schema, func(*mcp.CallToolResult) error { return nil }, nil
	}
	check, err := resultCheck(schema)
	return schema, check, err
}

// addressable returns what package json writes as v, and finds the methods of a
// pointer to v, or to a part of it, by.
func addressable[T any](v T) any {
	switch reflect.TypeFor[T]().Kind() {
	case reflect.Pointer, reflect.Interface:
		return v
	}
	return new(v)
}

// structured makes a result of a value: as structured content, and as text for
// those who do not read that.
func structured(v any) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("write a tool's result: %w", err)
	}
	data := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	res := mcp.TextResult(string(data))
	res.StructuredContent = data
	return res, nil
}

// resultCheck judges results by a schema, nil for none.
func resultCheck(schema json.RawMessage) (func(*mcp.CallToolResult) error, error) {
	if schema == nil {
		return func(res *mcp.CallToolResult) error {
			if res == nil {
				return errNoResult
			}
			return nil
		}, nil
	}
	compiled, err := validate.Compile(schema)
	if err != nil {
		return nil, fmt.Errorf("output schema: %w", err)
	}
	return func(res *mcp.CallToolResult) error {
		switch {
		case res == nil:
			return errNoResult
		case res.IsError:
			return nil
		case res.StructuredContent == nil:
			return errors.New("the tool has an output schema, and its result no structured content")
		}
		if err := compiled.Validate(res.StructuredContent); err != nil {
			return fmt.Errorf("the result does not fit the output schema: %w", err)
		}
		return nil
	}, nil
}

var errNoResult = errors.New("the tool returned no result")
