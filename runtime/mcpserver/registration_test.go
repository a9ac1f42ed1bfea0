package mcpserver_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func TestWhatComesFromElsewhereIsTried(t *testing.T) {
	s := mcpserver.New(info, nil)
	for kind, register := range map[mcpserver.Kind]func(){
		mcpserver.KindTool:     func() { s.AddRawTool(&mcp.Tool{}, nil) },
		mcpserver.KindPrompt:   func() { s.AddRawPrompt(&mcp.Prompt{}, nil) },
		mcpserver.KindResource: func() { s.AddResource(&mcp.Resource{}, nil) },
		mcpserver.KindTemplate: func() { s.AddResourceTemplate(&mcp.ResourceTemplate{}, nil) },
	} {
		var refused *mcpserver.RegistrationError
		require.ErrorAs(t, mcpserver.Try(register), &refused)
		require.Equal(t, mcpserver.Item{Kind: kind}, refused.Item)
		require.Error(t, refused.Unwrap())
	}
	require.NoError(t, mcpserver.Try(func() { s.AddRawPrompt(&mcp.Prompt{Name: "p"}, noPrompt) }))
	require.PanicsWithValue(t, "another", func() { _ = mcpserver.Try(func() { panic("another") }) })
}
