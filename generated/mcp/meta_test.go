package mcp_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

func ExampleGet() {
	call := &mcp.CallToolRequest{Name: "forecast", Meta: new(mcp.RequestMeta)}
	if err := call.Meta.Extra.Set("com.example/user", map[string]int{"id": 7}); err != nil {
		fmt.Println(err)
		return
	}
	user, ok := mcp.Get[struct{ ID int }](call.Meta.Values(), "com.example/user")
	fmt.Println(user.ID, ok)
	// Output: 7 true
}

func TestMeta(t *testing.T) {
	var tool mcp.Tool
	_, ok := mcp.Get[string](tool.Meta, "k")
	require.False(t, ok)
	require.NoError(t, tool.Meta.Set("k", "v"))
	require.NoError(t, tool.Meta.Set("n", nil))
	v, ok := mcp.Get[string](tool.Meta, "k")
	require.True(t, ok)
	require.Equal(t, "v", v)
	n, ok := mcp.Get[int](tool.Meta, "k")
	require.False(t, ok, "the value has another type")
	require.Zero(t, n)
	_, ok = mcp.Get[*int](tool.Meta, "n")
	require.True(t, ok, "null is a value")
	require.EqualError(t, tool.Meta.Set("bad", func() {}), `metadata "bad": json: unsupported type: func()`)
	require.Len(t, tool.Meta, 2)
	require.Nil(t, (*mcp.RequestMeta)(nil).Values())
	require.Nil(t, (*mcp.ResultMeta)(nil).Values())
	require.Nil(t, (*mcp.NotificationMeta)(nil).Values())
}

// Metadata survives its encoding, in definitions and in messages.
func TestMetaIsSent(t *testing.T) {
	res := mcp.TextResult("done")
	res.Meta = new(mcp.ResultMeta)
	require.NoError(t, res.Meta.Extra.Set("com.example/a", []int{1}))
	require.NoError(t, res.Content[0].(*mcp.TextContent).Meta.Set("com.example/b", true))
	text, err := wire.Append(nil, &wire.Frame{Revision: mcp.Revision20251125}, res)
	require.NoError(t, err)
	var decoded mcp.CallToolResult
	require.NoError(t, json.Unmarshal(text, &decoded))
	a, _ := mcp.Get[[]int](decoded.Meta.Values(), "com.example/a")
	require.Equal(t, []int{1}, a)
	b, _ := mcp.Get[bool](decoded.Content[0].(*mcp.TextContent).Meta, "com.example/b")
	require.True(t, b)
}
