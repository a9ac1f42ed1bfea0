package mcp

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

const explicitFalse = `{"inputSchema":{"type":"object"},"name":"t","annotations":{"idempotentHint":false,"readOnlyHint":false,"title":"T"}}`

func TestExplicitFalseIsKeptForGateways(t *testing.T) {
	for _, r := range Revisions {
		if !declaresHints(r.Revision) || hasVariant(r.Revision, reflect.TypeFor[Tool](), "annotations") || hasVariant(r.Revision, reflect.TypeFor[ToolAnnotations](), "") {
			continue // the value of another member may depend on an explicit false
		}
		for _, keep := range []bool{true, false} {
			var tool Tool
			require.NoError(t, wire.Decode([]byte(explicitFalse), &wire.Frame{Revision: r.Revision, KeepFalse: keep}, &tool))
			require.False(t, tool.Annotations.ReadOnlyHint)
			b, err := wire.Append(nil, &wire.Frame{Revision: r.Revision}, &tool)
			require.NoError(t, err)
			if keep {
				require.JSONEq(t, explicitFalse, string(b))
			} else {
				require.Nil(t, tool.Annotations.Extra)
				require.NotContains(t, string(b), "false")
			}
		}
	}
}

// declaresHints reports whether a revision defines the members of explicitFalse. Revisions before
// 2025-03-26 do not, and neither do old states of the schema that are imported last.
func declaresHints(r wire.Revision) bool {
	file := schemas()[r.Index()]
	if file.validator.validateText("/"+file.defs+"/Tool", []byte(explicitFalse)) != nil {
		return false // it requires other members
	}
	annotations, declared := file.shape("Tool").member("annotations")
	for _, name := range []string{"idempotentHint", "readOnlyHint", "title"} {
		member, has := annotations.member(name)
		declared = declared && has && member.values() == nil
	}
	return declared
}

func TestToolsHaveHintsSince20250326(t *testing.T) {
	require.False(t, declaresHints(Revision20241105))
	for _, r := range []wire.Revision{Revision20250326, Revision20250618, Revision20251125, Revision20260728} {
		require.True(t, declaresHints(r), "%v", r)
	}
}

func TestAuthorSendsExplicitFalse(t *testing.T) {
	no := map[string]json.RawMessage{"isError": json.RawMessage("false"), "other": json.RawMessage("false")}
	for _, r := range Revisions {
		if in, _ := definedIn(reflect.TypeFor[CallToolResult]()); !in.Has(r.Revision) || inExtra(r.Revision, "content") {
			continue // the value below has none
		}
		file := schemas()[r.Revision.Index()]
		if file.validator.validateText("/"+file.defs+"/CallToolResult", []byte(`{"content":[],"resultType":"complete"}`)) != nil {
			continue // it requires other members
		}
		b, err := wire.Append(nil, &wire.Frame{Revision: r.Revision}, &CallToolResult{Content: []ContentBlock{}, Extra: no})
		require.NoError(t, err)
		var members map[string]any
		require.NoError(t, json.Unmarshal(b, &members))
		require.Equal(t, false, members["isError"])
		require.Equal(t, false, members["other"])
	}
	if inExtra(Revisions[len(Revisions)-1].Revision, "isError") {
		return // other values are valid in Extra
	}
	b, err := json.Marshal(&CallToolResult{IsError: true, Content: []ContentBlock{}, Extra: no})
	require.NoError(t, err)
	require.JSONEq(t, `{"content":[],"isError":true,"other":false}`, string(b))
	delete(no, "other")
	no["isError"] = json.RawMessage("true")
	b, err = json.Marshal(&CallToolResult{Content: []ContentBlock{}, Extra: no})
	require.NoError(t, err)
	require.JSONEq(t, `{"content":[]}`, string(b), "Extra cannot set other values of known members")
}
