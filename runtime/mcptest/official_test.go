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

// officialExamples is where the examples of the specification are kept: for
// each revision a folder, in it one for each definition.
const officialExamples = "../../../shared/spec/examples"

// incompleteExamples are valid by their own definition, but are not the result
// that they claim to be.
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
		if found, isMessage := heard(revision, definition, data); isMessage {
			messages++
			if want := incompleteExamples[filepath.Base(file)]; want != "" {
				require.Len(t, found, 1)
				require.Equal(t, want, found[0].Problem)
				continue
			}
			require.Empty(t, found, file)
			continue
		}
		require.Empty(t, protocolOf(revision).judge(definition, data), file)
	}
	t.Logf("%d examples, %d of them whole messages", len(files), messages)
	require.Greater(t, messages, 20)
}

// heard judges an example that is a whole message.
func heard(r wire.Revision, definition string, data []byte) (found []*Violation, isMessage bool) {
	j, p := NewJudge(r.String()), protocolOf(r)
	e, _ := open(data)
	info := mcp.MethodByName(e.method)
	switch {
	case info != nil && info.FromClient.Has(r) && (e.hasID || info.Notification):
		return j.Check(FromClient, data), true
	case info != nil && info.FromServer.Has(r):
		return j.Check(FromServer, data), true
	case e.result != nil:
		for method := range p.methods {
			if p.result(method) == strings.TrimSuffix(definition, "Response") {
				j.asked[question{FromClient, e.id}] = &request{method: method, revision: r, open: 1}
			}
		}
		return j.Check(FromServer, data), true
	case e.error != nil:
		j.asked[question{FromClient, e.id}] = &request{method: mcp.MethodCallTool, revision: r, open: 1}
		return j.Check(FromServer, data), true
	}
	return nil, false
}

func TestEveryMethodAndResultHasADefinition(t *testing.T) {
	for _, m := range mcp.Methods {
		for _, info := range mcp.Revisions {
			r := info.Revision
			if !m.FromClient.Has(r) && !m.FromServer.Has(r) {
				continue
			}
			p := protocolOf(r)
			require.NotEmpty(t, p.methods[m.Name], "%s in %v", m.Name, r)
			if !m.Notification {
				require.True(t, p.bundle.Has(p.result(m.Name)), "%s in %v", m.Name, r)
			}
		}
	}
}
