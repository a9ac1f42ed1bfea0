package judge

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// Bundle is a schema with definitions, each of which is compiled when it is
// needed. It is safe for concurrent use.
//
// It is for schemas of the program's own: the work of a validation is not
// counted.
type Bundle struct {
	keyword string // that the definitions stand under
	names   map[string]json.RawMessage

	mu       sync.Mutex // the compiler is for one goroutine at a time
	compiler *jsonschema.Compiler
	compiled map[string]*Schema
}

// NewBundle reads a schema with definitions. They are not judged yet.
func NewBundle(schema json.RawMessage) (*Bundle, error) {
	if _, err := parse(schema); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	compiler, err := newCompiler(schema)
	if err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	b := &Bundle{compiler: compiler, compiled: map[string]*Schema{}}
	var root map[string]json.RawMessage
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("read a schema: %w", err)
	}
	for _, b.keyword = range []string{"$defs", "definitions"} {
		if json.Unmarshal(root[b.keyword], &b.names) == nil && b.names != nil {
			return b, nil
		}
	}
	return nil, fmt.Errorf("read a schema: it has no definitions")
}

// Has tells whether there is a definition of a name.
func (b *Bundle) Has(name string) bool { return b.names[name] != nil }

// CompileDefinition compiles one of the definitions of a bundle, once.
func CompileDefinition(b *Bundle, name string) (*Schema, error) {
	if !b.Has(name) {
		return nil, fmt.Errorf("the schema has no definition %q", name)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.compiled[name]; s != nil {
		return s, nil
	}
	compiled, err := compile(b.compiler, address+"#/"+b.keyword+"/"+escape(name))
	if err != nil {
		return nil, fmt.Errorf("compile the definition %q: %w", name, err)
	}
	s := &Schema{shared: &validator{compiled: compiled}}
	b.compiled[name] = s
	return s, nil
}
