package mcptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/mcpwright/mcp/schema"
)

// revisionSchema is the schema of one revision.
type revisionSchema struct {
	revision       wire.Revision
	bundle         *validate.Bundle
	methods        map[string]string // the definition of each method's message
	errorResponses map[string]bool   // the errors whose definition is of the whole response
}

// schemas returns the schemas of all revisions, by their index. Definitions are
// compiled when they are first needed.
var schemas = sync.OnceValue(func() []*revisionSchema {
	var list []*revisionSchema
	for _, r := range mcp.Revisions {
		s, err := loadSchema(r.Revision)
		if err != nil {
			panic(fmt.Sprintf("mcptest: load embedded schema of %v: %v", r.Revision, err))
		}
		list = append(list, s)
	}
	return list
})

func schemaOf(r wire.Revision) *revisionSchema { return schemas()[r.Index()] }

// knownRevision reports whether a revision is one of [mcp.Revisions].
func knownRevision(r wire.Revision) bool {
	known, ok := mcp.ParseRevision(r.String())
	return ok && known == r
}

// loadSchema reads and corrects the schema of a revision.
func loadSchema(r wire.Revision) (*revisionSchema, error) {
	data, err := schema.Bytes(r.String())
	if err != nil {
		return nil, err
	}
	root, err := parseObject(data)
	if err != nil {
		return nil, err
	}
	definitions, _ := root["$defs"].(map[string]any)
	if definitions == nil {
		definitions, _ = root["definitions"].(map[string]any)
	}
	correct(definitions)
	s := &revisionSchema{revision: r, methods: map[string]string{}, errorResponses: map[string]bool{}}
	for name, def := range definitions {
		if method, ok := lookup(def, "properties", "method", "const").(string); ok {
			s.methods[method] = name
		}
		s.errorResponses[name] = lookup(def, "properties", "error") != nil
	}
	if data, err = json.Marshal(root); err != nil {
		return nil, err
	}
	s.bundle, err = validate.NewBundle(data)
	return s, err
}

// validate validates a document by a definition and returns the problems.
func (s *revisionSchema) validate(definition string, doc json.RawMessage) []validate.Problem {
	compiled, err := s.bundle.Compile(definition)
	if err != nil {
		panic(fmt.Sprintf("mcptest: load embedded schema of %v: %v", s.revision, err))
	}
	err = compiled.Validate(doc)
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*validate.Error](err); ok {
		return e.Problems
	}
	return []validate.Problem{{Message: err.Error()}}
}

// hasBatches reports whether the revision has batches: several messages in an
// array.
func (s *revisionSchema) hasBatches() bool { return s.bundle.Has("JSONRPCBatchRequest") }

// result returns the definition of a method's result, or "" if the protocol does
// not have the method.
func (s *revisionSchema) result(method string) string {
	request, known := s.methods[method]
	if !known {
		return ""
	}
	if name := strings.TrimSuffix(request, "Request") + "Result"; s.bundle.Has(name) {
		return name
	}
	return "EmptyResult"
}

// response returns the definition of an error response or of a response with a
// result.
func (s *revisionSchema) response(isError bool) string {
	if isError {
		return s.first("JSONRPCErrorResponse", "JSONRPCError")
	}
	return s.first("JSONRPCResultResponse", "JSONRPCResponse")
}

// first returns the first of the names that has a definition. Some definitions
// have different names in different revisions.
func (s *revisionSchema) first(names ...string) string {
	for _, name := range names {
		if s.bundle.Has(name) {
			return name
		}
	}
	panic(fmt.Sprintf("mcptest: the schema of %v has none of the definitions %q", s.revision, names))
}

// errorDefinition returns the definition of an error code, or "" if the revision
// has none.
func (s *revisionSchema) errorDefinition(code int64) string {
	for _, e := range mcp.Errors {
		if code == e.Code && s.bundle.Has(e.Name) {
			return e.Name
		}
	}
	return ""
}

// reserves reports whether an error code without a definition must not be used in
// the revision: the protocol reserves the code, or has withdrawn its meaning.
func (s *revisionSchema) reserves(code int64) bool {
	return !revisions.Handshake(s.revision) && (code == revisions.CodeResourceNotFound || revisions.ReservedCode(code))
}

// correct corrects the definitions of a schema that reject valid messages.
func correct(definitions map[string]any) {
	allowFractions(definitions) // a form may contain fields for numbers, and 1.5 is a number
	completeJSONValue(definitions)
	allowNullID(definitions) // in an error response to a message without a readable id
}

// allowFractions allows all numbers in the response to an elicitation.
func allowFractions(definitions map[string]any) {
	values, ok := lookup(definitions["ElicitResult"], "properties", "content", "additionalProperties").(map[string]any)
	if !ok {
		return
	}
	if alternatives, ok := values["anyOf"].([]any); ok {
		values = alternatives[len(alternatives)-1].(map[string]any)
	}
	values["type"] = []any{"string", "number", "boolean"}
}

// completeJSONValue adds fractions and null to the definition of any JSON value.
func completeJSONValue(definitions map[string]any) {
	if alternatives, ok := lookup(definitions["JSONValue"], "anyOf").([]any); ok {
		alternatives[len(alternatives)-1] = map[string]any{"type": []any{"string", "number", "boolean", "null"}}
	}
}

// allowNullID allows error responses with the id null or without an id.
func allowNullID(definitions map[string]any) {
	for _, def := range definitions {
		properties, _ := lookup(def, "properties").(map[string]any)
		if properties["error"] == nil || properties["id"] == nil {
			continue
		}
		properties["id"] = map[string]any{"anyOf": []any{properties["id"], map[string]any{"type": "null"}}}
		required, _ := lookup(def, "required").([]any)
		def.(map[string]any)["required"] = slices.DeleteFunc(required, func(name any) bool { return name == "id" })
	}
}

// lookup returns the value at a path of member names, or nil.
func lookup(v any, path ...string) any {
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	return v
}

// parseObject parses a JSON object. Its numbers keep their text.
func parseObject(data []byte) (object map[string]any, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err = d.Decode(&object)
	return object, err
}
