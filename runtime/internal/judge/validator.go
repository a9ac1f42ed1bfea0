package judge

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// address is what a compiler knows a schema by.
const address = "mem:///schema"

// validator is a schema in the form of the library behind this package. One that
// counts its work is for one validation at a time.
type validator struct {
	compiled *jsonschema.Schema
	work     work
}

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
	guarded := maps.Clone(drafts())
	for _, s := range append(anchors, v.compiled) {
		guard(&v.work, s, guarded)
	}
	return v, nil
}

// validate judges a value, with as much work as is left.
func (v *validator) validate(value any) (err error) {
	defer recovered(&err)
	return explained(v.compiled.Validate(value))
}

// newCompiler returns a compiler that knows one schema, can open nothing else,
// and judges no formats.
func newCompiler(schema []byte) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.LoadURL = refuse
	for name := range jsonschema.Formats {
		c.Formats[name] = func(any) bool { return true }
	}
	return c, c.AddResource(address, bytes.NewReader(schema))
}

// refuse is a compiler's way to everything that it was not given.
func refuse(url string) (io.ReadCloser, error) {
	return nil, fmt.Errorf("%q is not part of the schema, and nothing is fetched", url)
}

func compile(c *jsonschema.Compiler, at string) (s *jsonschema.Schema, err error) {
	defer recovered(&err)
	if s, err = c.Compile(at); err != nil {
		return nil, explainedSchema(err)
	}
	return s, nil
}

// recovered makes an error of a panic.
func recovered(err *error) {
	switch p := recover(); p {
	case nil:
	case errTooMuchWork:
		*err = problem("", errTooMuchWork.Error())
	default:
		*err = problem("", fmt.Sprintf("the validator gives up: %v", p))
	}
}

// drafts are the schemas of schemas. There is one of each in the program, which
// must stay as it is.
var drafts = sync.OnceValue(func() map[*jsonschema.Schema]bool {
	shared := map[*jsonschema.Schema]bool{}
	for _, d := range []*jsonschema.Draft{jsonschema.Draft4, jsonschema.Draft6, jsonschema.Draft7, jsonschema.Draft2019, jsonschema.Draft2020} {
		shared[jsonschema.MustCompile(d.URL())] = true
	}
	return shared
})

// dynamicAnchors collects the schemas that others refer to without knowing which
// it will be: no schema shows them to anybody else.
type dynamicAnchors []*jsonschema.Schema

// Compile implements [jsonschema.ExtCompiler].
func (d *dynamicAnchors) Compile(ctx jsonschema.CompilerContext, schema map[string]any) (jsonschema.ExtSchema, error) {
	if name, ok := schema["$dynamicAnchor"].(string); ok {
		if s, err := ctx.CompileRef("#"+name, "$dynamicAnchor", false); err == nil { // older drafts have none
			*d = append(*d, s)
		}
	}
	return nil, nil
}
