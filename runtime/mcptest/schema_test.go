package mcptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// officialExamples is the folder of the specification's examples. It has a folder for
// each revision, with a folder for each definition.
const officialExamples = "../../../shared/spec/examples"

// incompleteExamples are examples of responses that are valid by their own definition,
// with a result that is not. The values are the problems of the results.
var incompleteExamples = map[string]string{
	"read-resource-result-response.json": "missing properties: 'cacheScope', 'ttlMs'",
}

func TestOfficialExamplesAreValid(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(officialExamples, "*", "*", "*.json"))
	require.NoError(t, err)
	if len(files) == 0 {
		t.Skipf("no official examples in %s", officialExamples)
	}
	messages := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		folder := filepath.Dir(file)
		revision, known := mcp.ParseRevision(filepath.Base(filepath.Dir(folder)))
		require.True(t, known, file)
		definition := filepath.Base(folder)
		if found, isMessage := checkExample(revision, definition, data); isMessage {
			messages++
			if want := incompleteExamples[filepath.Base(file)]; want != "" {
				require.Len(t, found, 1)
				require.Equal(t, want, found[0].Problem)
				continue
			}
			require.Empty(t, found, file)
			continue
		}
		require.Empty(t, schemaOf(revision).validate(definition, data), file)
	}
	t.Logf("%d examples, %d of them messages", len(files), messages)
	require.Greater(t, messages, 20)
}

// checkExample validates an example if it is a whole message.
func checkExample(r wire.Revision, definition string, data []byte) (found []*Violation, isMessage bool) {
	v, s := NewValidator(r), schemaOf(r)
	m, _ := parseMessage(data)
	info := mcp.MethodByName(m.method)
	switch {
	case info != nil && info.FromClient.Has(r) && (m.hasID || info.Notification):
		return v.Check(FromClient, data), true
	case info != nil && info.FromServer.Has(r):
		return v.Check(FromServer, data), true
	case m.result != nil:
		for method := range s.methods {
			if s.result(method) == strings.TrimSuffix(definition, "Response") {
				v.requests[requestKey{FromClient, m.id}] = &request{method: method, revision: r, pending: 1}
			}
		}
		return v.Check(FromServer, data), true
	case m.error != nil:
		v.requests[requestKey{FromClient, m.id}] = &request{method: mcp.MethodCallTool, revision: r, pending: 1}
		return v.Check(FromServer, data), true
	}
	return nil, false
}

func TestEachMethodAndResultHasADefinition(t *testing.T) {
	for _, m := range mcp.Methods {
		for _, info := range mcp.Revisions {
			r := info.Revision
			if !m.FromClient.Has(r) && !m.FromServer.Has(r) {
				continue
			}
			s := schemaOf(r)
			require.NotEmpty(t, s.methods[m.Name], "%s in %v", m.Name, r)
			if !m.Notification {
				require.True(t, s.bundle.Has(s.result(m.Name)), "%s in %v", m.Name, r)
			}
		}
	}
}
