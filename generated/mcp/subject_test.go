package mcp

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A subject is one definition of one revision with its Go form.
type subject struct {
	definition string
	file       *schemaFile
	shape      shape
	pointer    string // of the shape in the schema
	fresh      func() wire.Value
	documents  func() []any // valid ones, shared
}

func (s *subject) String() string { return fmt.Sprintf("%v %s", s.file.revision, s.definition) }

func (s *subject) frame() *wire.Frame { return &wire.Frame{Revision: s.file.revision} }

func (s *subject) decode(data []byte) (wire.Value, error) {
	v := s.fresh()
	return v, wire.Decode(data, s.frame(), v)
}

func (s *subject) encode(v wire.Value) ([]byte, error) { return wire.Append(nil, s.frame(), v) }

// asParams makes a value of the params of a message.
type asParams struct{ wire.Params }

func (p asParams) AppendJSON(b []byte, e *wire.Encoder) []byte { return p.AppendParams(b, e) }
func (p asParams) DecodeJSON(d *wire.Decoder)                  { p.DecodeParams(d) }

// errorData makes the data of each typed error.
var errorData = map[int64]func() wire.Value{
	CodeMissingRequiredClientCapability: func() wire.Value { return new(MissingRequiredClientCapabilityError) },
	CodeUnsupportedProtocolVersion:      func() wire.Value { return new(UnsupportedProtocolVersionError) },
	CodeURLElicitationRequired:          func() wire.Value { return new(URLElicitationRequiredError) },
}

// subjects lists every definition that has a Go form, revision by revision. Of
// an error it is the data that counts.
var subjects = sync.OnceValue(func() []*subject {
	var list []*subject
	for _, file := range schemas() {
		for _, f := range forms {
			if !f.in.Has(file.revision) || f.why != "" {
				continue
			}
			if s := newSubject(file, f); s != nil {
				list = append(list, s)
			}
		}
	}
	return list
})

// newSubject returns nil for an error without typed data.
func newSubject(file *schemaFile, f form) *subject {
	s := &subject{definition: f.definition, file: file, fresh: f.value}
	path := ""
	switch {
	case f.params != nil:
		s.fresh = func() wire.Value { return asParams{f.params()} }
	case f.code != 0 && errorData[f.code] == nil:
		return nil
	case f.code != 0:
		s.fresh, path = errorData[f.code], "/properties/error/allOf/1/properties/data"
	}
	s.pointer = "/" + file.defs + "/" + f.definition + path
	s.shape = file.shape(f.definition)
	if path != "" {
		allOf := field(file.definition(f.definition), "properties", "error", "allOf").([]any)
		s.shape = s.shape.sub(field(allOf[1], "properties", "data"))
	}
	s.documents = sync.OnceValue(func() []any { return s.shape.documents(deepest) })
	return s
}

// subjectFor finds a subject.
func subjectFor(r wire.Revision, definition string) *subject {
	for _, s := range subjects() {
		if s.file.revision == r && s.definition == definition {
			return s
		}
	}
	return nil
}

// covered returns the subjects for the tests with the most documents: all of them, or
// only the newest of each definition with -short.
func covered() []*subject {
	if testing.Short() {
		return newest()
	}
	return subjects()
}

// newest lists every definition in the last revision that has it.
func newest() []*subject {
	var list []*subject
	seen := map[string]bool{}
	for _, s := range slices.Backward(subjects()) {
		if !seen[s.definition] {
			seen[s.definition] = true
			list = append(list, s)
		}
	}
	return list
}

var pointerEscapes = strings.NewReplacer("~", "~0", "/", "~1")

// pointer leads one step further than a JSON pointer.
func pointer(base, step string) string {
	return base + "/" + pointerEscapes.Replace(step)
}
