package contract

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

func lockOf(t *testing.T, tools ...*mcp.Tool) *Lock {
	l, err := New(&Offer{Revision: "2025-11-25", Info: &mcp.Implementation{Name: "s", Version: "1"}, Tools: tools})
	require.NoError(t, err)
	return l
}

func lines(changes []Change) (list []string) {
	for _, c := range changes {
		list = append(list, c.Severity.String()+": "+c.String())
	}
	return list
}

// schemaChanges returns the changes if one schema of a tool changes.
func schemaChanges(t *testing.T, side, before, after string) []string {
	tool := func(schema string) *mcp.Tool {
		if side == "result" {
			return &mcp.Tool{Name: "t", OutputSchema: json.RawMessage(schema)}
		}
		return &mcp.Tool{Name: "t", InputSchema: json.RawMessage(schema)}
	}
	return lines(Diff(lockOf(t, tool(before)), lockOf(t, tool(after))))
}

const (
	open1  = `{"type":"object","properties":{"city":{"type":"string"}}}`
	needs1 = `{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`
)

func TestArgumentsAndResultsHaveOppositeDirections(t *testing.T) {
	require.Equal(t, []string{"breaking: tool t argument city: required: no → yes"}, schemaChanges(t, "argument", open1, needs1))
	require.Equal(t, []string{"compatible: tool t argument city: required: yes → no"}, schemaChanges(t, "argument", needs1, open1))
	require.Equal(t, []string{"compatible: tool t result city: required: no → yes"}, schemaChanges(t, "result", open1, needs1))
	require.Equal(t, []string{"breaking: tool t result city: required: yes → no"}, schemaChanges(t, "result", needs1, open1))
}

func TestSchemaChanges(t *testing.T) {
	for _, c := range []struct{ side, before, after, want string }{
		{"argument", open1, `{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}}}`, "compatible: tool t argument unit: added, optional"},
		{"argument", open1, `{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}},"required":["unit"]}`, "breaking: tool t argument unit: added, required"},
		{"argument", open1, `{"type":"object","properties":{}}`, "risky: tool t argument city: removed"},
		{"argument", open1, `{"type":"object","properties":{},"additionalProperties":false}`, "breaking: tool t argument city: removed, and no longer allowed"},
		{"argument", open1, `{"type":"object","properties":{"city":{"type":"integer"}}}`, "breaking: tool t argument city: type: string → integer"},
		{"argument", open1, `{"type":"object","properties":{"city":{"type":["string","null"]}}}`, "compatible: tool t argument city: type: string → null or string"},
		{"argument", open1, `{"type":"object","properties":{"city":{"type":"string","format":"uri"}}}`, `risky: tool t argument city: format: none → "uri"`},
		{"argument", open1, `{"type":"object","properties":{"city":{"type":"string","enum":["Bern"]}}}`, `breaking: tool t argument city: values: any string → ["Bern"]`},
		{"argument", open1, `{"type":"object","properties":{"city":{"type":"string","description":"A city"}}}`, `informational: tool t argument city: description: none → "A city"`},
		{"argument", open1, `{"type":"object","properties":{"city":{"type":"string","default":"Bern"}}}`, `risky: tool t argument city: default: none → "Bern"`},
		{"argument", open1, `{"$defs":{"c":{"type":"string"}},"type":"object","properties":{"city":{"$ref":"#/$defs/c"}}}`, "informational: tool t argument: the text of the schema changed, and not its meaning"},
		{"argument", open1, `{"type":"object","properties":{"city":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, `compatible: tool t argument city: value null: not allowed → allowed`},
		{"argument", open1, `{"type":"object","properties":{"city":{"$ref":"https://example.com/x"}}}`, `risky: tool t argument city: reference "https://example.com/x": cannot be resolved`},
		{"result", needs1, `{"type":"object","properties":{}}`, "breaking: tool t result city: removed"},
		{"result", open1, `{"type":"object","properties":{}}`, "risky: tool t result city: removed"},
		{"result", open1, `{"type":"object","properties":{"city":{"type":"string"},"x":{}}}`, "compatible: tool t result x: added"},
		{"result", `{"type":"object","properties":{},"additionalProperties":false}`, open1, "risky: tool t result city: added, but the old schema allows no other members"},
		{"result", `{"type":"object","properties":{"k":{"enum":["a"]}}}`, `{"type":"object","properties":{"k":{"enum":["a","b"]}}}`, `breaking: tool t result k: value "b": not allowed → allowed`},
	} {
		require.Contains(t, schemaChanges(t, c.side, c.before, c.after), c.want, "%s %s", c.before, c.after)
	}
}

func TestRecursiveSchemas(t *testing.T) {
	tree := func(leaf string) string {
		return `{"type":"object","properties":{"root":{"$ref":"#/$defs/node"}},"$defs":{"node":{"type":"object","properties":{"value":{"type":"` + leaf + `"},"children":{"type":"array","items":{"$ref":"#/$defs/node"}}}}}}`
	}
	require.Contains(t, schemaChanges(t, "argument", tree("integer"), tree("number")), "compatible: tool t argument root.value: type: integer → number")
	require.NotContains(t, strings.Join(schemaChanges(t, "argument", tree("integer"), tree("number")), "\n"), "breaking")
	require.Contains(t, schemaChanges(t, "argument", tree("number"), tree("integer")), "breaking: tool t argument root.value: type: number → integer")
	require.Empty(t, schemaChanges(t, "argument", tree("number"), tree("number")))
	loop := `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`
	require.Contains(t, schemaChanges(t, "argument", open1, loop), "risky: tool t argument: schema: cannot be compared")
}

func TestListsAndTexts(t *testing.T) {
	before, err := New(&Offer{
		Info: &mcp.Implementation{Name: "s"}, Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{ListChanged: true}},
		Tools:   []*mcp.Tool{{Name: "b", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}}, {Name: "a"}},
		Prompts: []*mcp.Prompt{{Name: "p", Arguments: []mcp.PromptArgument{{Name: "x"}}}},
	})
	require.NoError(t, err)
	after, err := New(&Offer{
		Info:      &mcp.Implementation{Name: "s"},
		Tools:     []*mcp.Tool{{Name: "b", Description: "evil\x1b[31m"}},
		Prompts:   []*mcp.Prompt{{Name: "p", Arguments: []mcp.PromptArgument{{Name: "x", Required: true}}}},
		Resources: []*mcp.Resource{{URI: "file:///a", Name: "a"}},
	})
	require.NoError(t, err)
	changes := Diff(before, after)
	require.Equal(t, Breaking, Worst(changes))
	require.Equal(t, []string{
		"breaking: tool a: removed",
		"breaking: prompt p argument x: required: no → yes",
		"risky: tool b: readOnlyHint: true → false",
		"compatible: resource file:///a: added",
		`informational: tool b: description: none → "evil\u001b[31m"`,
	}, withoutCapabilities(lines(changes)))
	require.Contains(t, Markdown(changes), "### Breaking\n\n")
	require.Contains(t, Markdown(changes), "- prompt `p` argument `x`: required: no → yes\n")
	require.Empty(t, Diff(before, before))
	require.Equal(t, Severity(-1), Worst(nil))
}

// withoutCapabilities removes the changes of capabilities.
func withoutCapabilities(list []string) (kept []string) {
	for _, l := range list {
		if l != "breaking: capability tools: removed" && l != "breaking: capability tools.listChanged: removed" {
			kept = append(kept, l)
		}
	}
	return kept
}

func TestLockIsNormalized(t *testing.T) {
	a := lockOf(t, &mcp.Tool{Name: "b", InputSchema: json.RawMessage(`{"type":"object","a":1e2,"properties":{}}`)}, &mcp.Tool{Name: "a"})
	b := lockOf(t, &mcp.Tool{Name: "a"}, &mcp.Tool{Name: "b", InputSchema: json.RawMessage("{\"properties\":{},\n\"a\":1e2,\"type\":\"object\"}")})
	x, err := a.Encode()
	require.NoError(t, err)
	y, err := b.Encode()
	require.NoError(t, err)
	require.Equal(t, string(x), string(y))
	again, err := Parse(x)
	require.NoError(t, err)
	z, err := again.Encode()
	require.NoError(t, err)
	require.Equal(t, string(x), string(z))
	require.Empty(t, Diff(a, again))
	_, err = Parse([]byte(`{"format":7}`))
	require.ErrorContains(t, err, "the format is 7")
}
