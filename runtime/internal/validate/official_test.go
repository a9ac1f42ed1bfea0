package validate

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/schema"
)

// suiteModule is a module that contains the official tests of two dialects.
const suiteModule = "github.com/google/jsonschema-go"

// suiteGroup is a schema of the official tests, with documents.
type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

func TestOfficialSuite(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", suiteModule).Output()
	if err != nil || len(strings.TrimSpace(string(dir))) == 0 {
		t.Skipf("module %s is not available", suiteModule)
	}
	root, count := filepath.Join(strings.TrimSpace(string(dir)), "jsonschema", "testdata"), 0
	for folder, d := range map[string]dialect{"draft7": draft7, "draft2020-12": draft2020} {
		files, err := filepath.Glob(filepath.Join(root, folder, "*.json"))
		require.NoError(t, err)
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var groups []suiteGroup
			require.NoError(t, json.Unmarshal(data, &groups))
			for _, g := range groups {
				count += checkSuiteGroup(t, d, filepath.Base(file), g)
			}
		}
	}
	t.Logf("%d documents", count)
	if count == 0 {
		t.Skipf("no tests in %s", root)
	}
	require.Greater(t, count, 1500)
}

// checkSuiteGroup returns the number of documents that were validated.
func checkSuiteGroup(t *testing.T, d dialect, file string, g suiteGroup) int {
	text := g.Schema
	if !usesAny(text, "$schema") && text[0] == '{' {
		var members map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &members))
		members["$schema"] = json.RawMessage(`"` + dialectURL(d) + `"`)
		text, _ = json.Marshal(members)
	}
	s, err := Compile(text)
	if err != nil && strings.Contains(string(text), "localhost:1234") {
		require.ErrorContains(t, err, "other schemas are not loaded", "%s: %s", file, g.Description)
		return 0
	}
	require.NoError(t, err, "%s: %s", file, g.Description)
	for _, c := range g.Tests {
		err := s.Validate(c.Data)
		require.Equal(t, c.Valid, err == nil, "%s: %s: %s: %v", file, g.Description, c.Description, err)
	}
	return len(g.Tests)
}

// officialExamples is the folder of the examples of the Model Context Protocol. It
// has a folder for each revision, with a folder for each definition.
const officialExamples = "../../../../shared/spec/examples"

// exampleDocuments returns the official examples of a revision, or of all for "*".
func exampleDocuments(t *testing.T, revision string) (docs []json.RawMessage) {
	files, err := filepath.Glob(filepath.Join(officialExamples, revision, "*", "*.json"))
	require.NoError(t, err)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		docs = append(docs, data)
	}
	return docs
}

func TestDefinitionsOfTheProtocolAgreeWithTheReference(t *testing.T) {
	examples := 0
	for _, r := range schema.Revisions() {
		data, err := schema.Bytes(r.Revision)
		require.NoError(t, err)
		b, err := NewBundle(data)
		require.NoError(t, err)
		docs, own := exampleDocuments(t, "*"), exampleDocuments(t, r.Revision)
		examples += len(docs)
		own = append(own, []json.RawMessage{json.RawMessage(`{}`), json.RawMessage(`[]`), json.RawMessage(`5`), json.RawMessage(`"x"`), json.RawMessage(`null`),
			json.RawMessage(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{}}}`),
			json.RawMessage(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"x"},{"type":"image","data":"AA==","mimeType":"image/png"}],"isError":false}}`),
			json.RawMessage(`{"name":"x","inputSchema":{"type":"object","properties":{"a":{"type":"string"}}},"annotations":{"title":5}}`)}...)
		docs = append(append(docs, own...), changed(own)...)
		c, err := newReferenceCompiler(data)
		require.NoError(t, err)
		for name := range b.definitions {
			got, err := b.Compile(name)
			require.NoError(t, err, name)
			compiled, err := c.Compile(referenceURL + "#/" + b.keyword + "/" + name)
			require.NoError(t, err, name)
			want := &reference{compiled}
			for i, doc := range docs {
				if testing.Short() && i%10 != 0 {
					continue
				}
				err, wantErr := got.Validate(doc), want.validate(doc)
				require.Equal(t, wantErr == nil, err == nil, "%s %s %s\ngot  %v\nwant %v", r.Revision, name, doc, err, wantErr)
				if err != nil {
					require.Equal(t, plainProblems(wantErr, false), plainProblems(err, true), "%s %s %s", r.Revision, name, doc)
				}
			}
		}
	}
	if examples == 0 {
		t.Skipf("no official examples in %s; other documents were compared", officialExamples)
	}
	t.Logf("%d examples", examples)
}

// changed returns documents with one member fewer or of another type.
func changed(docs []json.RawMessage) (list []json.RawMessage) {
	for _, doc := range docs {
		var members map[string]any
		if json.Unmarshal(doc, &members) != nil {
			continue
		}
		names := make([]string, 0, len(members))
		for name := range members {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			was := members[name]
			delete(members, name)
			list = append(list, marshal(members))
			members[name] = []any{5}
			list = append(list, marshal(members))
			members[name] = was
		}
	}
	return list
}

func marshal(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}
