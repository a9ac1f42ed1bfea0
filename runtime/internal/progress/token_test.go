package progress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/progress"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestToken(t *testing.T) {
	require.Equal(t, wire.IntToken(5), progress.Token([]byte(`{"_meta":{"progressToken":5}}`)))
	require.Equal(t, wire.IntToken(5), progress.Token([]byte(`{"\u005fmeta":{"x":1,"progres\u0073Token":5}}`)))
	for _, params := range []string{``, `{}`, `{"progressToken":5}`, `{"_meta":{"progressToken":{}}}`, `{"_meta":{"progressToken":1.5}}`} {
		require.True(t, progress.Token([]byte(params)).IsZero(), params)
	}
}
