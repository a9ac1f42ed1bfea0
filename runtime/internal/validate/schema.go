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
// The $schema member of a schema selects its dialect: 2020-12, which is the
// default, 2019-09, draft-07, draft-06 or draft-04. Formats are annotations in all
// dialects, and so are the content keywords since 2019-09. Patterns are those of
// package regexp. An empty enum has no effect.
//
// Schemas cannot load anything, neither files nor remote schemas. A reference may
// refer to a part of the schema or to the meta-schema of a dialect.
//
// Documents and schemas are first checked by package wire, and the size of numbers
// is limited. The time to compile a schema is linear in its size, and the number
// of its subschemas is limited. A validation that would take too long fails.
package validate

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"sync"
)

// MaxSubschemas limits the subschemas of a schema, including the schema itself.
// Boolean schemas count, constants do not.
const MaxSubschemas = 100_000

// Schema is a compiled schema. It is safe for concurrent use.
type Schema struct {
	root      *node
	constants document // values of const and enum
	dynamic   bool     // the schema has a $dynamicRef
	trusted   bool     // the time of a validation is not limited
}

// Compile compiles a schema. The error contains an [*Error] if a certain place in
// the schema is invalid. All parts of the schema are checked, but references are
// resolved only in the parts that a document can be compared with.
func Compile(schema json.RawMessage) (*Schema, error) {
	return CompileContext(context.Background(), schema)
}

// CompileContext is like [Compile]. It stops when ctx is cancelled.
func CompileContext(ctx context.Context, schema json.RawMessage) (*Schema, error) {
	c := newCompiler(ctx)
	defer c.release()
	if err := c.read(bytes.Clone(schema)); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	s, err := c.compile(0)
	if err != nil {
		return nil, fmt.Errorf("compile schema: %w", err)
	}
	return s, nil
}

// Outline contains the facts about a schema that [Check] finds.
type Outline struct {
	// ForObjects reports whether the root has "type": "object".
	ForObjects bool
	// HasReferences reports whether a part of the schema has a reference.
	HasReferences bool
}

// Check checks a schema without compiling it, which needs little time and memory. If it
// returns no error, Compile can fail for two reasons: a reference cannot be resolved, or a
// pattern is too large.
func Check(schema json.RawMessage) (o Outline, err error) {
	c := newCompiler(context.Background())
	defer c.release()
	defer recoverError(&err)
	if err := c.read(schema); err != nil {
		return Outline{}, fmt.Errorf("read schema: %w", err)
	}
	if err := c.check(); err != nil {
		return Outline{}, fmt.Errorf("check schema: %w", err)
	}
	at, ok := c.member(0, "type")
	return Outline{
		ForObjects:    ok && c.values[at].kind == kindString && c.string(at) == "object",
		HasReferences: c.refers,
	}, nil
}

// Validate returns nil if a document is valid. It returns an [*Error] if the
// document is invalid or the validation would take too long. The document must not
// change until Validate returns.
func (s *Schema) Validate(doc json.RawMessage) error {
	v := newValidation()
	defer v.release()
	if err := v.doc.parse(doc); err != nil {
		return err
	}
	return v.validate(s, len(doc))
}

// Bundle is a schema with definitions. Each definition is compiled when it is
// first needed. A Bundle is safe for concurrent use.
//
// Use it only for trusted schemas: the time of a validation is not limited.
type Bundle struct {
	keyword     string            // that has the definitions
	definitions map[string]uint32 // their positions

	mu       sync.Mutex // guards the fields below
	compiler *compiler
	compiled map[string]*Schema
}

// NewBundle reads a schema with definitions. It does not compile them yet.
func NewBundle(schema json.RawMessage) (*Bundle, error) {
	b := &Bundle{compiler: new(compiler), compiled: map[string]*Schema{}}
	b.compiler.start(context.Background())
	if err := b.compiler.read(bytes.Clone(schema)); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	doc := &b.compiler.document
	for _, b.keyword = range []string{"$defs", "definitions"} {
		at, ok := doc.member(0, b.keyword)
		if !ok || doc.values[at].kind != kindObject {
			continue
		}
		b.definitions = make(map[string]uint32, doc.values[at].count)
		for i := at + 1; i < doc.values[at].end; i = doc.after(i + 1) {
			b.definitions[doc.string(i)] = i + 1
		}
		return b, nil
	}
	return nil, fmt.Errorf("read schema: no definitions")
}

// Has reports whether the bundle has a definition with a name.
func (b *Bundle) Has(name string) bool {
	_, ok := b.definitions[name]
	return ok
}

// Compile compiles the definition with a name. A later call returns the same
// schema.
func (b *Bundle) Compile(name string) (*Schema, error) {
	at, ok := b.definitions[name]
	if !ok {
		return nil, fmt.Errorf("no definition %q in the schema", name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.compiled[name]; s != nil {
		return s, nil
	}
	s, err := b.compiler.compile(at)
	if err != nil {
		return nil, fmt.Errorf("compile definition %q: %w", name, err)
	}
	s.trusted = true
	b.compiled[name] = s
	return s, nil
}
