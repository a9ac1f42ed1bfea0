// Package validate validates JSON documents against JSON Schemas. Neither the
// documents nor the schemas need to be trusted.
//
//	schema, err := validate.Compile(tool.InputSchema)
//	if err != nil {
//		return err // not a schema, or a reference to another document
//	}
//	if err := schema.Validate(arguments); err != nil {
//		return err // "/city: expected string, but got number"
//	}
//
// The package wraps a validator that trusts its input. Schemas cannot load
// anything, neither files nor remote schemas. Documents and schemas are first
// checked by package wire, and the size of numbers is limited. A validation that
// would take too long fails, and a panic of the validator becomes an error.
//
// The $schema member of a schema selects its dialect; the default is 2020-12.
// Formats are annotations in all dialects.
package validate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	text   []byte
	idle   sync.Pool  // of *validator, each for one validation at a time
	shared *validator // of a definition of a Bundle, else nil
}

// Compile compiles a schema. The error contains an [*Error] if a certain place in
// the schema is invalid.
func Compile(schema json.RawMessage) (*Schema, error) {
	if _, err := parse(schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	s := &Schema{text: bytes.Clone(schema)}
	v, err := newValidator(s.text)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	s.idle.Put(v)
	return s, nil
}

// Validate returns nil if a document is valid. It returns an [*Error] if the
// document is invalid or the validation would take too long.
func (s *Schema) Validate(doc json.RawMessage) error {
	v, err := parse(doc)
	if err != nil {
		return err
	}
	return s.validate(v, len(doc))
}

// validate validates a parsed document; size is its length in bytes.
func (s *Schema) validate(v any, size int) error {
	if s.shared != nil {
		return s.shared.validate(v)
	}
	free, ok := s.idle.Get().(*validator)
	if !ok {
		var err error
		if free, err = newValidator(s.text); err != nil {
			return err
		}
	}
	defer s.idle.Put(free)
	free.budget = newBudget(size)
	return free.validate(v)
}

// Bundle is a schema with definitions. Each definition is compiled when it is
// first needed. A Bundle is safe for concurrent use.
//
// Use it only for trusted schemas: the time of a validation is not limited.
type Bundle struct {
	keyword     string // that has the definitions
	definitions map[string]json.RawMessage

	mu       sync.Mutex // guards the fields below; a compiler is not safe for concurrent use
	compiler *jsonschema.Compiler
	compiled map[string]*Schema
}

// NewBundle reads a schema with definitions. It does not compile them yet.
func NewBundle(schema json.RawMessage) (*Bundle, error) {
	if _, err := parse(schema); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	compiler, err := newCompiler(schema)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	b := &Bundle{compiler: compiler, compiled: map[string]*Schema{}}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	for _, b.keyword = range []string{"$defs", "definitions"} {
		if json.Unmarshal(root[b.keyword], &b.definitions) == nil && b.definitions != nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("read schema: no definitions")
}

// Has reports whether the bundle has a definition with a name.
func (b *Bundle) Has(name string) bool { return b.definitions[name] != nil }

// Compile compiles the definition with a name. A later call returns the same
// schema.
func (b *Bundle) Compile(name string) (*Schema, error) {
	if !b.Has(name) {
		return nil, fmt.Errorf("no definition %q in the schema", name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.compiled[name]; s != nil {
		return s, nil
	}
	compiled, err := compile(b.compiler, address+"#/"+b.keyword+"/"+escapeURL(name))
	if err != nil {
		return nil, fmt.Errorf("compile definition %q: %w", name, err)
	}
	s := &Schema{shared: &validator{compiled: compiled}}
	b.compiled[name] = s
	return s, nil
}

// address is the URL of a schema in its compiler.
const address = "mem:///schema"

// validator is a schema that the library has compiled. If its schemas use a
// budget, it runs one validation at a time.
type validator struct {
	compiled *jsonschema.Schema
	budget   budget
}

// newValidator compiles a schema and limits the time of its validations.
func newValidator(schema []byte) (*validator, error) {
	v := new(validator)
	c, err := newCompiler(schema)
	if err != nil {
		return nil, err
	}
	var anchors dynamicAnchors
	c.RegisterExtension("anchors", nil, &anchors)
	if v.compiled, err = compile(c, address); err != nil {
		return nil, err
	}
	done := maps.Clone(metaSchemas()) // shared by all schemas, so they cannot be limited
	for _, s := range append(anchors, v.compiled) {
		limit(&v.budget, s, done)
	}
	return v, nil
}

// validate validates a value within the budget.
func (v *validator) validate(value any) (err error) {
	defer recoverError(&err)
	return convertError(v.compiled.Validate(value))
}

// newCompiler returns a compiler that has one schema, loads no others and does
// not check formats.
func newCompiler(schema []byte) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.LoadURL = refuseURL
	for name := range jsonschema.Formats {
		c.Formats[name] = func(any) bool { return true }
	}
	return c, c.AddResource(address, bytes.NewReader(schema))
}

// refuseURL is called to load other schemas. It always returns an error.
func refuseURL(url string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("%q is not part of the schema, and other schemas are not loaded", url)
}

// compile compiles the schema at a URL.
func compile(c *jsonschema.Compiler, url string) (s *jsonschema.Schema, err error) {
	defer recoverError(&err)
	if s, err = c.Compile(url); err != nil {
		return nil, convertSchemaError(err)
	}
	return s, nil
}

// recoverError recovers from a panic and stores it as an error.
func recoverError(err *error) {
	switch p := recover(); p {
	case nil:
	case errOverBudget:
		*err = newError("", errOverBudget.Error())
	default:
		*err = newError("", fmt.Sprintf("the validator panicked: %v", p))
	}
}

// dynamicAnchors collects the schemas with a $dynamicAnchor. References to them
// are resolved during validation, so no compiled schema points to them.
type dynamicAnchors []*jsonschema.Schema

// Compile implements [jsonschema.ExtCompiler].
func (d *dynamicAnchors) Compile(ctx jsonschema.CompilerContext, schema map[string]any) (jsonschema.ExtSchema, error) {
	if name, ok := schema["$dynamicAnchor"].(string); ok {
		if s, err := ctx.CompileRef("#"+name, "$dynamicAnchor", false); err == nil { // an error in older drafts
			*d = append(*d, s)
		}
	}
	return nil, nil
}
