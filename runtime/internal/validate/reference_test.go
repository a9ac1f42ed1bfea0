package validate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// reference is a schema that another implementation has compiled. The tests compare
// its results with those of this package.
type reference struct{ compiled *jsonschema.Schema }

// referenceURL is the URL of a schema in the compiler of the reference.
const referenceURL = "mem:///schema"

// newReferenceCompiler returns a compiler that has one schema, loads no others and
// does not check formats.
func newReferenceCompiler(schema []byte) (*jsonschema.Compiler, error) {
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) { return nil, fmt.Errorf("%q is not loaded", url) }
	for name := range jsonschema.Formats {
		c.Formats[name] = func(any) bool { return true }
	}
	return c, c.AddResource(referenceURL, bytes.NewReader(schema))
}

// compileReference compiles the schema at a fragment of a schema.
func compileReference(schema []byte, fragment string) (r *reference, err error) {
	defer recoverError(&err)
	c, err := newReferenceCompiler(schema)
	if err != nil {
		return nil, err
	}
	s, err := c.Compile(referenceURL + fragment)
	if err != nil {
		return nil, err
	}
	return &reference{s}, nil
}

// validate returns the problems of a document in the form of this package.
func (r *reference) validate(doc []byte) (err error) {
	defer recoverError(&err)
	d := json.NewDecoder(bytes.NewReader(doc))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return err
	}
	err = r.compiled.Validate(value)
	if v, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return errorOf(referenceCauses(v))
	}
	return err
}

// referenceCauses converts an error of the reference.
func referenceCauses(v *jsonschema.ValidationError) []cause {
	if len(v.Causes) == 0 {
		at, err := url.PathUnescape(v.InstanceLocation)
		if err != nil {
			at = v.InstanceLocation
		}
		return []cause{{Problem{truncate(at), truncate(referenceMessage(v.Message))}, strings.HasSuffix(v.KeywordLocation, "/const")}}
	}
	alternatives := make([][]cause, len(v.Causes))
	for i, c := range v.Causes {
		alternatives[i] = referenceCauses(c)
	}
	if v.Message == "anyOf failed" || v.Message == "oneOf failed" {
		return closestAlternative(alternatives)
	}
	return slices.Concat(alternatives...)
}

// referenceMessage sorts the names in a message, which have no fixed order.
func referenceMessage(text string) string {
	const before, between, after = "additionalProperties '", "', '", "' not allowed"
	if !strings.HasPrefix(text, before) {
		return text
	}
	names := strings.Split(strings.TrimSuffix(text[len(before):], after), between)
	slices.Sort(names)
	return before + strings.Join(names, between) + after
}
