package connection

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
)

func TestParamsOfEveryMethodCanBeValidated(t *testing.T) {
	for _, m := range mcp.Methods {
		_, server := serverMessages().Route(m.Name)
		_, client := clientMessages().Route(m.Name)
		require.Equal(t, m.FromClient != 0, server, m.Name)
		require.Equal(t, m.FromServer != 0 || m.Embedded != 0, client, m.Name)
	}
}
