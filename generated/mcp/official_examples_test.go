package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// officialExamples is the folder of the specification's examples: a folder for each
// revision with a folder for each definition.
const officialExamples = "../../../shared/spec/examples"

// incompleteExamples lists examples that are valid for their own schema and invalid for
// the schema of the result that they contain.
var incompleteExamples = map[string]string{
	"ReadResourceResultResponse/read-resource-result-response.json": "lacks ttlMs and cacheScope: the schema of the response accepts any result in place of an InputRequiredResult",
}

func TestOfficialExamplesRoundTrip(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(officialExamples, "*", "*", "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no official examples in %s", officialExamples)
	}
	incomplete := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		folder := filepath.Dir(file)
		revision, ok := ParseRevision(filepath.Base(filepath.Dir(folder)))
		require.True(t, ok, file)
		e := example{filepath.Base(folder), schemas()[revision.Index()], parse(data)}
		if why := incompleteExamples[e.definition+"/"+filepath.Base(file)]; why != "" {
			incomplete++
			e.requireCompleted(t)
			continue
		}
		e.requireRoundTrip(t)
	}
	require.Len(t, incompleteExamples, incomplete)
	t.Logf("%d examples, %d incomplete", len(files), incomplete)
}

// An example is an official example of a definition.
type example struct {
	definition string
	file       *schemaFile
	doc        any
}

// subject returns the part of the example that has a Go type, and its subject.
func (e example) subject() (*subject, any) {
	if result, ok := strings.CutSuffix(e.definition, "ResultResponse"); ok {
		doc := field(e.doc, "result")
		if field(doc, "resultType") == string(ResultTypeInputRequired) {
			return subjectFor(e.file.revision, "InputRequiredResult"), doc
		}
		return subjectFor(e.file.revision, result+"Result"), doc
	}
	s, doc := subjectFor(e.file.revision, e.definition), e.doc
	if s != nil && s.shape.isMessage() {
		delete(doc.(map[string]any), "jsonrpc")
		delete(doc.(map[string]any), "id")
	}
	return s, doc
}

func (e example) requireRoundTrip(t *testing.T) {
	t.Helper()
	if strings.HasSuffix(e.definition, "Error") {
		requireErrorRoundTrip(t, e.file.revision, e.doc)
		return
	}
	s, doc := e.subject()
	require.NotNil(t, s, "%s has no Go type", e.definition)
	requireRoundTrip(t, s, render(doc, sorted))
}

// requireCompleted checks that encoding adds the missing members of an incomplete example.
func (e example) requireCompleted(t *testing.T) {
	t.Helper()
	s, doc := e.subject()
	text := render(doc, sorted)
	require.Error(t, s.file.validator.validateText(s.pointer, text), "%s is complete", text)
	v, err := s.decode(text)
	require.NoError(t, err)
	out, err := s.encode(v)
	require.NoError(t, err)
	requireRoundTrip(t, s, out)
}

// requireErrorRoundTrip converts an error, or the error of a response, to its Go type and
// back.
func requireErrorRoundTrip(t *testing.T, r wire.Revision, doc any) {
	t.Helper()
	if inner := field(doc, "error"); inner != nil {
		doc = inner
	}
	var in struct {
		Code    int64
		Message string
		Data    json.RawMessage
	}
	require.NoError(t, json.Unmarshal(render(doc, sorted), &in))
	err := ErrorFrom(&peer.Error{Code: in.Code, Message: in.Message, Data: in.Data})
	out := peer.AsError(err)
	require.Equal(t, in.Code, codeIn(r, out.Code))
	if in.Data == nil {
		require.Nil(t, out.Data)
		return
	}
	require.Equal(t, errorData[out.Code] != nil, err != error(out), "type of %v", err)
	if v, typed := err.(wire.Value); typed { // the data of Unwrap have the form of the first revision
		data, err := wire.Append(nil, &wire.Frame{Revision: r}, v)
		require.NoError(t, err)
		for _, s := range subjects() {
			if s.file.revision == r && reflect.TypeOf(s.fresh()) == reflect.TypeOf(v) {
				require.Empty(t, s.shape.differs(parse(in.Data), parse(data), ""), "%s was encoded as %s", in.Data, data)
				return
			}
		}
		out.Data = data
	}
	require.JSONEq(t, string(in.Data), string(out.Data))
}

// codeIn returns the code that an error has in a revision.
func codeIn(r wire.Revision, code int64) int64 {
	for i := range Errors {
		if Errors[i].Code == code {
			return Errors[i].CodeIn(r)
		}
	}
	return code
}
