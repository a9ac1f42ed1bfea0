package judge

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// How many times a schema, or a part of one, may be held against a value in one
// validation: enough for long documents under wide unions, and not for schemas
// that double the work on each level.
const (
	minSteps     = 20_000
	stepsPerByte = 16
)

// address is what a compiler knows a schema by.
const address = "mem:///schema"

// validator is a schema in the form of the library behind this package. It
// counts its steps, and is for one validation at a time because of that.
type validator struct {
	compiled *jsonschema.Schema
	left     int // steps that it may still take
}

func newValidator(schema []byte) (*validator, error) {
	v := new(validator)
	c, err := newCompiler(schema)
	if err != nil {
		return nil, err
	}
	c.RegisterExtension("steps", nil, counting{v})
	v.compiled, err = compile(c, address)
	return v, err
}

// validate judges a value, in as many steps as are left.
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
	if p := recover(); p != nil {
		*err = problem("", fmt.Sprintf("the validator gives up: %v", p))
	}
}

// counting makes a validator count: it adds to every object of a schema a
// keyword that any value fits.
type counting struct{ v *validator }

var errTooManySteps = errors.New("judging that would take too long")

// Compile implements [jsonschema.ExtCompiler].
func (c counting) Compile(jsonschema.CompilerContext, map[string]any) (jsonschema.ExtSchema, error) {
	return c, nil
}

// Validate implements [jsonschema.ExtSchema].
func (c counting) Validate(jsonschema.ValidationContext, any) error {
	if c.v.left--; c.v.left < 0 {
		panic(errTooManySteps)
	}
	return nil
}
