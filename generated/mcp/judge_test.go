package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// A judge tells whether a document is valid, without any code of ours but the
// scanner's bounds on numbers and depth.
type judge struct {
	compiler *jsonschema.Compiler
	url      string

	mu       sync.Mutex
	compiled map[string]*jsonschema.Schema
}

func newJudge(f *schemaFile) *judge {
	c := jsonschema.NewCompiler()
	c.LoadURL = func(url string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("%s is not part of this file", url)
	}
	j := &judge{compiler: c, url: "mem:///" + f.revision.String(), compiled: map[string]*jsonschema.Schema{}}
	text := render(withoutFormats(f.root), sorted)
	if err := c.AddResource(j.url, bytes.NewReader(text)); err != nil {
		panic(err)
	}
	return j
}

// withoutFormats copies a schema without its formats, which are annotations.
// Before 2020-12 the validator would assert them.
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

// at compiles the schema at a JSON pointer.
func (j *judge) at(pointer string) *jsonschema.Schema {
	j.mu.Lock()
	defer j.mu.Unlock()
	s := j.compiled[pointer]
	if s == nil {
		s = j.compiler.MustCompile(j.url + "#" + pointer)
		j.compiled[pointer] = s
	}
	return s
}

// accepts validates a document that the scanner has accepted.
func (j *judge) accepts(pointer string, doc any) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the validator gives up: %v", p)
		}
	}()
	return j.at(pointer).Validate(doc)
}

// acceptsText is accepts for bytes: what is no acceptable JSON is not valid.
func (j *judge) acceptsText(pointer string, data []byte) error {
	if err := wire.Check(data, 0); err != nil {
		return err
	}
	return j.accepts(pointer, parse(data))
}

// parse reads one JSON value, numbers as they are spelled.
func parse(data []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		panic(fmt.Sprintf("%v in %s", err, data))
	}
	return v
}

func TestTheJudgeOpensNoFiles(t *testing.T) {
	c := newJudge(schemas()[0]).compiler
	require.NoError(t, c.AddResource("mem:///x", strings.NewReader(`{"$ref":"file:///etc/passwd"}`)))
	_, err := c.Compile("mem:///x")
	require.ErrorContains(t, err, "is not part of this file")
}

func TestTheJudgeRefusesWhereTheValidatorGivesUp(t *testing.T) {
	j := schemas()[0].judge
	require.Error(t, j.accepts("/definitions/Resource", nil))
	require.Error(t, j.acceptsText("/definitions/RequestId", []byte("1e9000000")))
}
