package mcp

import (
	"cmp"
	"reflect"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// defaults are the members that an encoder fills in, by their Go fields.
var defaults = []struct{ field, name, value string }{
	{"ResultType", "resultType", `"complete"`},
	{"CacheScope", "cacheScope", `"private"`},
	{"TTLMs", "ttlMs", `0`},
	{"ProtocolVersion", "io.modelcontextprotocol/protocolVersion", ""}, // the revision itself
}

func TestDefaultsAreFilledInWhereTheyAreRequired(t *testing.T) {
	filled := 0
	for _, name := range []string{"InputRequiredResult", "CacheableResult", "RequestMeta", "ListToolsResult", "ListPromptsResult", "ListResourcesResult",
		"ListResourceTemplatesResult", "ReadResourceResult", "DiscoverResult", "CallToolResult", "GetPromptResult", "CompleteResult", "Result", "PaginatedResult"} {
		for _, d := range defaults {
			if filledIn(t, name, d.field, d.name, d.value) {
				filled++
			}
		}
	}
	require.Equal(t, 28, filled)
}

// filledIn empties a field and looks for its default in each revision.
func filledIn(t *testing.T, typeName, fieldName, name, value string) bool {
	t.Helper()
	typ := goTypes().structs[typeName]
	if _, ok := typ.FieldByName(fieldName); !ok {
		return false
	}
	if typeName == "InputRequiredResult" {
		value = `"input_required"`
	}
	v := filler{arm: 1}.filled(typ) // content that every revision has
	reflect.ValueOf(v).Elem().FieldByName(fieldName).SetZero()
	for _, r := range append([]wire.Revision{{}}, revisions()...) {
		out, err := wire.Append(nil, &wire.Frame{Revision: r}, v)
		if err != nil {
			require.ErrorContains(t, err, "revision has no "+typeName)
			continue
		}
		got, there := parse(out).(map[string]any)[name]
		require.Equal(t, r.Index() >= Revision20260728.Index(), there, "%v %s: %s", r, typeName, out)
		if there {
			require.Equal(t, cmp.Or(value, strconv.Quote(r.String())), string(render(got, sorted)), typeName)
		}
	}
	return true
}

func revisions() (list []wire.Revision) {
	for _, r := range Revisions {
		list = append(list, r.Revision)
	}
	return list
}

func TestValuesSetAreNotReplacedByDefaults(t *testing.T) {
	x := &ListToolsResult{ResultType: "x-other", CacheScope: CacheScopePublic, TTLMs: 5}
	out, err := wire.Append(nil, &wire.Frame{Revision: Revision20260728}, x)
	require.NoError(t, err)
	require.JSONEq(t, `{"resultType":"x-other","tools":[],"cacheScope":"public","ttlMs":5}`, string(out))
	out, err = wire.Append(nil, &wire.Frame{Revision: Revision20251125}, x)
	require.NoError(t, err)
	require.JSONEq(t, `{"tools":[]}`, string(out))
}

// TestZeroValuesOnTheWire spells out what the zero value of a few structs is in
// the first and the last revision that have them.
func TestZeroValuesOnTheWire(t *testing.T) {
	for _, x := range []struct {
		value wire.Value
		r     wire.Revision
		want  string
	}{
		{new(TextContent), Revision20241105, `{"type":"text","text":""}`},
		{new(ImageContent), Revision20241105, `{"type":"image","data":"","mimeType":""}`},
		{new(Tool), Revision20241105, `{"name":"","inputSchema":{"type":"object"}}`},
		{new(Tool), Revision20260728, `{"name":"","inputSchema":{"type":"object"}}`},
		{new(ToolUseContent), Revision20260728, `{"type":"tool_use","id":"","name":"","input":{}}`},
		{new(ToolResultContent), Revision20260728, `{"type":"tool_result","toolUseId":"","content":[]}`},
		{new(CallToolResult), Revision20241105, `{"content":[]}`},
		{new(Result), Revision20241105, `{}`},
		{new(Result), Revision20260728, `{"resultType":"complete"}`},
		{new(ElicitRequestFormParams), Revision20250618, `{"message":"","requestedSchema":{"type":"object","properties":{}}}`},
		{new(ElicitRequestFormParams), Revision20251125, `{"mode":"form","message":"","requestedSchema":{"type":"object","properties":{}}}`},
		{new(Task), Revision20251125, `{"createdAt":"","lastUpdatedAt":"","status":"working","taskId":"","ttl":null}`},
		{asParams{new(ListToolsRequest)}, Revision20251125, `{}`},
		{asParams{new(ListToolsRequest)}, Revision20260728, `{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`},
		{new(ListToolsRequest), Revision20251125, `{"method":"tools/list"}`},
		{new(LoggingMessageNotification), Revision20251125, `{"method":"notifications/message","params":{"level":"debug","data":null}}`},
	} {
		switch v := x.value.(type) {
		case *Task:
			v.Status = TaskStatusWorking
		case *LoggingMessageNotification:
			v.Level = LoggingLevelDebug
		}
		out, err := wire.Append(nil, &wire.Frame{Revision: x.r}, x.value)
		require.NoError(t, err, "%v %T", x.r, x.value)
		require.JSONEq(t, x.want, string(out), "%v %T", x.r, x.value)
	}
}
