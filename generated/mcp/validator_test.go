package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A validator validates documents against a schema with a third-party package. Only the
// limits on numbers and depth are checked by the scanner of package wire.
type validator struct {
	compiler *jsonschema.Compiler
	url      string
	root     map[string]any

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema

	documents sync.Map // see shape.limited
}

// newValidator returns a validator for a schema. It opens no files.
func newValidator(f *schemaFile) *validator {
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not in the schema", url)
	}
	v := &validator{compiler: c, url: "mem:///" + f.revision.String(), root: f.root, compiled: map[string]*jsonschema.Schema{}}
	text := render(withoutFormats(f.root), sorted)
	if err := c.AddResource(v.url, bytes.NewReader(text)); err != nil {
		panic(err)
	}
	return v
}

// withoutFormats returns a copy of a schema without its formats. In the protocol they are
// annotations, but the validator enforces them in dialects before 2020-12.
func withoutFormats(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, x := range v {
			if _, isText := x.(string); name != "format" || !isText {
				out[name] = withoutFormats(x)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, withoutFormats(x))
		}
		return out
	}
	return v
}

// at returns the compiled schema at a JSON pointer.
func (v *validator) at(pointer string) *jsonschema.Schema {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.compiled[pointer]
	if s == nil {
		s = v.compiler.MustCompile(v.url + "#" + pointer)
		v.compiled[pointer] = s
	}
	return s
}

// validate validates a document that the scanner has accepted. A panic of the validator is
// an error.
func (v *validator) validate(pointer string, doc any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the validator panicked: %v", p)
		}
	}()
	return v.at(pointer).Validate(doc)
}

// validateText scans and validates the text of a document.
func (v *validator) validateText(pointer string, data []byte) error {
	if err := wire.Check(data, 0); err != nil {
		return err
	}
	return v.validate(pointer, parse(data))
}

// parse parses a JSON value. Numbers are json.Number.
func parse(data []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("%v in %s", err, data))
	}
	return v
}

func TestValidatorOpensNoFiles(t *testing.T) {
	c := newValidator(schemas()[0]).compiler
	require.NoError(t, c.AddResource("mem:///x", strings.NewReader(`{"$ref":"file:///etc/passwd"}`)))
	_, err := c.Compile("mem:///x")
	require.ErrorContains(t, err, "is not in the schema")
}

func TestValidatorReportsPanics(t *testing.T) {
	v := schemas()[0].validator
	require.Error(t, v.validate("/definitions/Resource", nil))
	require.Error(t, v.validateText("/definitions/RequestId", []byte("1e9000000")))
}

// candidatesFor returns the types that an object's discriminator selects. known is false
// if the discriminator is a text that no type has. An empty text of an optional
// discriminator is an invalid value rather than an unknown one.
func candidatesFor(structs []shape, v map[string]any) (list []shape, known bool) {
	name := discriminator(structs)
	if name == "" {
		return structs, true
	}
	value, there := v[name]
	text, isText := value.(string)
	for _, s := range structs {
		member, _ := s.member(name)
		same := func(x any) bool { return there && reflect.DeepEqual(x, value) }
		if slices.ContainsFunc(member.values(), same) || !there && !s.required(name) {
			list = append(list, s)
		}
	}
	optional := slices.ContainsFunc(structs, func(s shape) bool { return !s.required(name) })
	return list, list != nil || !isText || optional && text == ""
}

// discriminator returns the member whose constants identify the types, or "".
func discriminator(structs []shape) string {
	if len(structs) == 0 {
		return ""
	}
	for _, name := range slices.Concat([]string{"type", "method", "mode"}, structs[0].members()) {
		fixed := func(s shape) bool {
			member, ok := s.member(name)
			return ok && member.values() != nil
		}
		if !slices.ContainsFunc(structs, func(s shape) bool { return !fixed(s) }) {
			return name
		}
	}
	return ""
}

// A marker is a member that identifies a type if several types have the same
// discriminator.
type marker struct {
	path        []string
	definitions []string
}

// markers are in the order in which the decoder checks them.
var markers = []marker{
	{[]string{"oneOf"}, []string{"TitledSingleSelectEnumSchema"}},
	{[]string{"enumNames"}, []string{"LegacyTitledEnumSchema", "EnumSchema"}},
	{[]string{"items", "enum"}, []string{"UntitledMultiSelectEnumSchema"}},
	{[]string{"enum"}, []string{"UntitledSingleSelectEnumSchema", "EnumSchema"}},
	{[]string{"text"}, []string{"TextResourceContents"}},
	{[]string{"blob"}, []string{"BlobResourceContents"}},
	{[]string{"model"}, []string{"CreateMessageResult"}},
	{[]string{"roots"}, []string{"ListRootsResult"}},
	{[]string{"action"}, []string{"ElicitResult"}},
}

// choose returns the candidate that the members of an object identify. Without a marker, it is the first one that
// accepts the object, or else the first one whose required members the object has.
func choose(candidates []shape, v map[string]any) (shape, bool) {
	for _, t := range markers {
		for _, s := range candidates {
			if has(v, t.path...) && slices.Contains(t.definitions, s.name) {
				return s, true
			}
		}
	}
	if i := slices.IndexFunc(candidates, func(s shape) bool { return s.accepts(v) }); i >= 0 {
		return candidates[i], true
	}
	others := slices.DeleteFunc(slices.Clone(candidates), func(s shape) bool {
		return slices.ContainsFunc(markers, func(t marker) bool { return slices.Contains(t.definitions, s.name) })
	})
	complete := func(s shape) bool {
		return !slices.ContainsFunc(s.members(), func(name string) bool { return s.required(name) && !has(v, name) })
	}
	i := slices.IndexFunc(others, complete)
	switch mayLackText := slices.ContainsFunc(candidates, func(s shape) bool { return s.name == "TextResourceContents" }); {
	case i >= 0:
		return others[i], true
	case len(others) > 0 && !mayLackText:
		return others[0], true
	}
	return shape{}, false
}

// has reports whether there is a member at the end of a path.
func has(v map[string]any, path ...string) bool {
	parent, _ := field(v, path[:len(path)-1]...).(map[string]any)
	_, ok := parent[path[len(path)-1]]
	return ok
}

// unionOf returns the types among which the decoder chooses, or nil.
func unionOf(s shape) []shape {
	if s.name == "ClientNotification" { // a struct in some revisions, a union in Go
		if s.alternatives() == nil {
			return []shape{s}
		}
	}
	return s.alternatives()
}
