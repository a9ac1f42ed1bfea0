package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/limit"
	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// noArguments are the arguments of a call without arguments.
var noArguments = json.RawMessage("{}")

// input decodes and validates the arguments of a tool.
type input struct {
	*typedInput
	lenient bool
}

// newInput returns the input of a tool with arguments of a type. If schema is nil, it is inferred from
// the type.
func (s *Server) newInput(tool string, t reflect.Type, schema json.RawMessage) (*input, error) {
	lenient := s.opts.validation(tool) == ValidateLenient
	if schema != nil {
		made, err := newTypedInput(t, schema)
		return &input{made, lenient}, err
	}
	made, err := inferOnce(s, typedKey{t, true, s.opts.AllowUnknownArguments}, func() (*typedInput, error) {
		return s.inferInput(t)
	})
	return &input{made, lenient}, err
}

func newTypedInput(t reflect.Type, text json.RawMessage) (*typedInput, error) {
	schema, err := inputSchemaOf(text)
	if err != nil {
		return nil, err
	}
	plan, err := typed.NewPlan(t, schema.text)
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	return &typedInput{plan, schema}, nil
}

// inferInput infers the schema of the arguments from their type. The arguments of a tool are an
// object, so a type that accepts any JSON means any object.
func (s *Server) inferInput(t reflect.Type) (*typedInput, error) {
	of := t
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() == reflect.Interface || of == reflect.TypeFor[json.RawMessage]() {
		return newTypedInput(t, anyObject)
	}
	text, plan, err := typed.InferPlan(t, &typed.Options{Input: true, Open: s.opts.AllowUnknownArguments, Schemas: s.opts.TypeSchemas})
	if err != nil {
		return nil, fmt.Errorf("cannot infer an InputSchema from %s: %w", t, err)
	}
	schema, err := inputSchemaOf(text)
	if err == errNoObject {
		return nil, fmt.Errorf("cannot infer an InputSchema from %s: the arguments of a tool are an object, use a struct", t)
	}
	if err == nil && !bytes.Equal(schema.text, text) {
		return newTypedInput(t, schema.text) // the type of the root was added
	}
	return &typedInput{plan, schema}, err
}

// anyObject is the schema of a tool without one.
var anyObject = json.RawMessage(`{"type":"object"}`)

// maxExplained limits the size of arguments whose errors are all reported. Finding all errors,
// and not only the first, can be a thousand times as expensive.
const maxExplained = 64 << 10

// read decodes and validates the arguments of a call into the zero value that in points to. If they are
// invalid, the error is for the model, and lists everything that the schema rejects.
func (i *input) read(raw json.RawMessage, in any) error {
	raw = argumentsOf(raw)
	err := i.readStrict(raw, in)
	if err == nil || !i.lenient {
		return err
	}
	coerced, invalid := i.schema.coerce(raw)
	if invalid != nil {
		return err
	}
	reflect.ValueOf(in).Elem().SetZero()
	return i.readStrict(coerced, in)
}

// readStrict decodes and validates arguments without changes.
func (i *input) readStrict(raw json.RawMessage, in any) error {
	if !i.plan.Validates() {
		return i.readValidated(raw, in)
	}
	err := i.plan.Read(raw, in)
	if err == nil {
		return nil
	}
	if len(raw) <= maxExplained {
		if invalid := i.schema.validateArguments(raw); invalid != nil {
			return invalid
		}
	}
	return badArguments(err)
}

// readValidated decodes arguments that the plan alone cannot validate. Short arguments are
// validated first, so that all errors are reported.
func (i *input) readValidated(raw json.RawMessage, in any) error {
	short := len(raw) <= maxExplained
	if short {
		if err := i.schema.validateArguments(raw); err != nil {
			return err
		}
	}
	if err := i.plan.Read(raw, in); err != nil {
		return badArguments(err)
	}
	if short {
		return nil
	}
	return i.schema.validateArguments(raw)
}

// validateArguments validates arguments. The error for invalid ones is for the model.
func (s *toolSchema) validateArguments(raw json.RawMessage) error {
	compiled, err := s.compile()
	if err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if err := compiled.Validate(raw); err != nil {
		return badArguments(err)
	}
	return nil
}

// coerce returns valid arguments with the meaning of raw. The error for invalid ones is for the
// model.
func (s *toolSchema) coerce(raw json.RawMessage) (json.RawMessage, error) {
	compiled, err := s.compile()
	if err != nil {
		return nil, fmt.Errorf("input schema: %w", err)
	}
	coerced, err := compiled.Coerce(raw)
	if err != nil {
		return nil, badArguments(err)
	}
	return coerced, nil
}

// validateRequest validates the arguments of a call of a raw tool. It returns the request for
// the handler, which has other arguments if they were coerced.
func (s *toolSchema) validateRequest(req *mcp.CallToolRequest, how Validation) (*mcp.CallToolRequest, error) {
	switch how {
	case ValidateOff:
		return req, nil
	case ValidateLenient:
		raw := argumentsOf(req.Arguments)
		coerced, err := s.coerce(raw)
		if err != nil || &coerced[0] == &raw[0] {
			return req, err
		}
		changed := *req
		changed.Arguments = coerced
		return &changed, nil
	}
	return req, s.validateArguments(argumentsOf(req.Arguments))
}

// argumentsOf returns the arguments of a call. Some clients send null for none.
func argumentsOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return noArguments
	}
	return raw
}

// badArguments returns the error that explains invalid arguments to the model.
func badArguments(err error) error {
	var text strings.Builder
	for _, p := range problems(err) {
		text.WriteString("\n- ")
		text.WriteString(p.String())
	}
	return Errorf("The arguments do not match the tool's input schema. Fix the arguments and call the tool again.%s", text.String())
}

// problems lists the errors of arguments: those that the schema rejects, or the one that does
// not match the Go type.
func problems(err error) []validate.Problem {
	if e, ok := errors.AsType[*validate.Error](err); ok {
		return e.Problems
	}
	if e, ok := errors.AsType[*wire.DecodeError](err); ok {
		return []validate.Problem{{Pointer: limit.Name(e.Pointer), Message: limit.Name(e.Err.Error())}}
	}
	return []validate.Problem{{Message: limit.Name(err.Error())}}
}
