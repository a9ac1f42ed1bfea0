package connection_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/connection"
)

func TestExtensionsHaveAPrefix(t *testing.T) {
	for name, good := range map[string]bool{
		"com.example/x": true, "a/b.c_d-e": true, "com.a1-b/": true, "x.y2/9": true,
		"": false, "x": false, "/x": false, "com.example": false, "com..example/x": false, "1a/x": false,
		"a-/x": false, "a/x.": false, "a/-x": false, "a/x/y": false, "a b/x": false, "a/x\n": false,
	} {
		err := connection.CheckExtensions(map[string]bool{name: true})
		require.Equal(t, good, err == nil, "%q: %v", name, err)
	}
}
