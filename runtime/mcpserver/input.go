package mcpserver

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
	"github.com/mcpwright/mcp/runtime/wire"
)

// noArguments is what a call without arguments means.
var noArguments = json.RawMessage("{}")

// argumentsOf returns the arguments of a call. Some clients write null for none.
func argumentsOf(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return noArguments
	}
	return raw
}

// input reads the arguments of a tool into an In.
type input[In any] struct {
	plan   *typed.Plan
	schema *validate.Schema
}

// newInput prepares for arguments that are an In and fit a schema. Without a
// schema it makes one.
func newInput[In any](s *Server, schema json.RawMessage) (*input[In], json.RawMessage, error) {
	t := reflect.TypeFor[In]()
	if schema == nil {
		var err error
		if schema, err = s.inputSchema(t); err != nil {
			return nil, nil, fmt.Errorf("want an InputSchema, or a type of which one can be made, not %s: %w", t, err)
		}
	}
	compiled, err := compileObject(schema)
	if err != nil {
		return nil, nil, fmt.Errorf("input schema: %w", err)
	}
	plan, err := typed.NewPlan(t, schema)
	if err != nil {
		return nil, nil, fmt.Errorf("input schema: %w", err)
	}
	return &input[In]{plan, compiled}, schema, nil
}

// inputSchema makes a schema of a type. A tool takes an object, so any JSON at
// all means any object.
func (s *Server) inputSchema(t reflect.Type) (json.RawMessage, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() == reflect.Interface || t == reflect.TypeFor[json.RawMessage]() {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	return typed.Infer(t, &typed.Options{Input: true, Open: s.opts.AllowUnknownArguments, Schemas: s.opts.TypeSchemas})
}

// compileObject compiles a schema whose root must say that it is for objects.
func compileObject(schema json.RawMessage) (*validate.Schema, error) {
	compiled, err := validate.Compile(schema)
	if err == nil && !forObjects(schema) {
		return nil, errors.New(`want "type": "object" at the root`)
	}
	return compiled, err
}

// forObjects tells whether the root of a schema says that it is for objects.
func forObjects(schema json.RawMessage) bool {
	var root map[string]any // not a struct, for which "Type" would do
	return unmarshal(schema, &root) == nil && root["type"] == "object"
}

// maxExplained is how long arguments may be of which a model is told all that is
// wrong. To find all, and not only the first, can be a thousand times the work.
const maxExplained = 64 << 10

// read reads the arguments of a call. The error is for the model: the schema tells all
// that is wrong.
func (i *input[In]) read(raw json.RawMessage) (in In, err error) {
	raw = argumentsOf(raw)
	if !i.plan.Judges() {
		err = i.readJudged(raw, &in)
	} else if err = i.plan.Read(raw, &in); err != nil && len(raw) <= maxExplained {
		err = cmp.Or(i.schema.Validate(raw), err)
	}
	if err != nil {
		return in, badArguments(err)
	}
	return in, nil
}

// readJudged reads arguments that the schema has to judge. Those that are short it
// judges first.
func (i *input[In]) readJudged(raw json.RawMessage, in *In) error {
	short := len(raw) <= maxExplained
	if short {
		if err := i.schema.Validate(raw); err != nil {
			return err
		}
	}
	if err := i.plan.Read(raw, in); err != nil || short {
		return err
	}
	return i.schema.Validate(raw)
}

// badArguments tells a model what is wrong with the arguments of a call.
func badArguments(err error) error {
	var text strings.Builder
	for _, p := range problemsOf(err) {
		text.WriteString("\n- ")
		text.WriteString(p.String())
	}
	return Errorf("The arguments do not fit the tool's schema. Mend this and call it again:%s", text.String())
}

// problemsOf lists what is wrong with arguments that a schema refuses, or that do
// not fit the Go type in spite of it.
func problemsOf(err error) []validate.Problem {
	if e, ok := errors.AsType[*validate.Error](err); ok {
		return e.Problems
	}
	if e, ok := errors.AsType[*wire.DecodeError](err); ok {
		return []validate.Problem{{Pointer: clip(e.Pointer), Message: clip(e.Err.Error())}}
	}
	return []validate.Problem{{Message: clip(err.Error())}}
}
