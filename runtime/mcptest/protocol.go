package mcptest

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/eras"
	"github.com/mcpwright/mcp/runtime/internal/judge"
	"github.com/mcpwright/mcp/runtime/wire"
	"github.com/mcpwright/mcp/schema"
)

// protocol is the schema of one revision.
type protocol struct {
	revision wire.Revision
	bundle   *judge.Bundle
	methods  map[string]string // the definition of each method's message
	answers  map[string]bool   // the errors whose definition is that of a whole answer
}

// protocols holds the schemas of all revisions, by their index. Their
// definitions are compiled when they are needed.
var protocols = sync.OnceValue(func() []*protocol {
	var list []*protocol
	for _, r := range mcp.Revisions {
		p, err := loadProtocol(r.Revision)
		if err != nil {
			panic(fmt.Sprintf("mcptest: the embedded schema of %v is damaged: %v", r.Revision, err))
		}
		list = append(list, p)
	}
	return list
})

func protocolOf(r wire.Revision) *protocol { return protocols()[r.Index()] }

// loadProtocol reads the schema of a revision, amended.
func loadProtocol(r wire.Revision) (*protocol, error) {
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
	amend(definitions)
	p := &protocol{revision: r, methods: map[string]string{}, answers: map[string]bool{}}
	for name, def := range definitions {
		if method, ok := at(def, "properties", "method", "const").(string); ok {
			p.methods[method] = name
		}
		p.answers[name] = at(def, "properties", "error") != nil
	}
	if data, err = json.Marshal(root); err != nil {
		return nil, err
	}
	p.bundle, err = judge.NewBundle(data)
	return p, err
}

// batches tells whether the revision has several messages in one array.
func (p *protocol) batches() bool { return p.bundle.Has("JSONRPCBatchRequest") }

// result names the definition of what answers a method, empty where the
// protocol does not know the method.
func (p *protocol) result(method string) string {
	request, known := p.methods[method]
	if !known {
		return ""
	}
	if name := strings.TrimSuffix(request, "Request") + "Result"; p.bundle.Has(name) {
		return name
	}
	return "EmptyResult"
}

// errorDefinition names the definition of an error code, empty where the
// revision has none.
func (p *protocol) errorDefinition(code int64) string {
	for _, e := range mcp.Errors {
		if code == e.Code && p.bundle.Has(e.Name) {
			return e.Name
		}
	}
	return ""
}

// reserves tells whether nobody but the protocol gives an error code a meaning, or
// it has taken the meaning back.
func (p *protocol) reserves(code int64) bool {
	return !handshake(p.revision) && (code == eras.CodeNotFound || eras.Reserves(code))
}

// answer names the definition of an answer that is an error or a result.
func (p *protocol) answer(failed bool) string {
	if failed {
		return p.first("JSONRPCErrorResponse", "JSONRPCError")
	}
	return p.first("JSONRPCResultResponse", "JSONRPCResponse")
}

// first returns the first of some names that the revision has a definition of:
// definitions have been renamed.
func (p *protocol) first(names ...string) string {
	for _, name := range names {
		if p.bundle.Has(name) {
			return name
		}
	}
	panic(fmt.Sprintf("mcptest: the schema of %v has none of the definitions %q", p.revision, names))
}

// judge holds a document against a definition and returns what is wrong.
func (p *protocol) judge(definition string, doc json.RawMessage) []judge.Problem {
	s, err := judge.CompileDefinition(p.bundle, definition)
	if err != nil {
		panic(fmt.Sprintf("mcptest: the embedded schema of %v is damaged: %v", p.revision, err))
	}
	return problems(s.Validate(doc))
}
