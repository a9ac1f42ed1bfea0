package peer_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestCodeInRevision(t *testing.T) {
	in := func(r wire.Revision) wire.Window { return 1 << r.Index() }
	info := &peer.ErrorInfo{Code: -32020, Others: []peer.OtherCode{
		{Code: -32001, In: in(mcp.Revision20250618)}, {Code: -32002, In: in(mcp.Revision20251125)},
	}}
	require.EqualValues(t, -32001, info.CodeIn(mcp.Revision20250618))
	require.EqualValues(t, -32002, info.CodeIn(mcp.Revision20251125))
	require.EqualValues(t, -32020, info.CodeIn(mcp.Revision20260728))
}
