package load

import (
	"bytes"
	"fmt"
	"io"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A judge holds the compiled form of every definition of one file.
type judge map[string]*jsonschema.Schema

// newJudge compiles a file whole and definition by definition. The compiler is
// fenced: it can open nothing, and a panic of it is an error of the file.
func newJudge(file string, raw []byte, defs string, names []string) (j judge, err error) {
	at := ""
	defer func() {
		if p := recover(); p != nil {
			j, err = nil, problemf(file, at, "the validator gives up: %v", p)
		}
	}()
	const url = "mem:///schema.json"
	c := jsonschema.NewCompiler()
	c.AssertFormat = true // as the older dialect does anyway
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not part of this file", url)
	}
	if err := c.AddResource(url, bytes.NewReader(raw)); err != nil {
		return nil, problemf(file, at, "%w", err)
	}
	if _, err := c.Compile(url); err != nil {
		return nil, problemf(file, at, "%w", err)
	}
	j = judge{}
	for _, name := range names {
		at = child("/"+defs, name)
		if j[name], err = c.Compile(url + "#" + at); err != nil {
			return nil, problemf(file, at, "%w", err)
		}
	}
	return j, nil
}
