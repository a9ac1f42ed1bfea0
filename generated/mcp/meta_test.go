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
	if err := call.Meta.Set("com.example/user", map[string]int{"id": 7}); err != nil {
		fmt.Println(err)
		return
	}
	user, ok := mcp.Get[struct{ ID int }](call.Meta, "com.example/user")
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
}

// Every type of _meta of a message has Values and Set, which nil permits.
func TestMetaOfMessages(t *testing.T) {
	type meta interface {
		Values() mcp.Meta
		Set(key string, value any) error
	}
	for _, test := range []struct {
		none, made meta
		name, key  string
	}{
		{(*mcp.RequestMeta)(nil), new(mcp.RequestMeta), "RequestMeta", "progressToken"},
		{(*mcp.ResultMeta)(nil), new(mcp.ResultMeta), "ResultMeta", "io.modelcontextprotocol/serverInfo"},
		{(*mcp.NotificationMeta)(nil), new(mcp.NotificationMeta), "NotificationMeta", "io.modelcontextprotocol/subscriptionId"},
		{(*mcp.SubscriptionsListenResultMeta)(nil), new(mcp.SubscriptionsListenResultMeta), "SubscriptionsListenResultMeta", "io.modelcontextprotocol/subscriptionId"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, ok := mcp.Get[string](test.none, "k")
			require.False(t, ok)
			require.EqualError(t, test.none.Set("k", "v"), `metadata "k": the `+test.name+` is nil`)
			require.NoError(t, test.made.Set("k", "v"))
			v, ok := mcp.Get[string](test.made, "k")
			require.True(t, ok)
			require.Equal(t, "v", v)
			require.EqualError(t, test.made.Set(test.key, "v"), fmt.Sprintf("metadata %q: %s has a field for the key", test.key, test.name))
			require.Len(t, test.made.Values(), 1)
		})
	}
}

// Metadata survives its encoding, in definitions and in messages.
func TestMetaIsSent(t *testing.T) {
	res := mcp.TextResult("done")
	res.Meta = new(mcp.ResultMeta)
	require.NoError(t, res.Meta.Set("com.example/a", []int{1}))
	require.NoError(t, res.Content[0].(*mcp.TextContent).Meta.Set("com.example/b", true))
	text, err := wire.Append(nil, &wire.Frame{Revision: mcp.Revision20251125}, res)
	require.NoError(t, err)
	var decoded mcp.CallToolResult
	require.NoError(t, json.Unmarshal(text, &decoded))
	a, _ := mcp.Get[[]int](decoded.Meta, "com.example/a")
	require.Equal(t, []int{1}, a)
	b, _ := mcp.Get[bool](decoded.Content[0].(*mcp.TextContent).Meta, "com.example/b")
	require.True(t, b)
}
