package revisions_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/internal/revisions"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestHandshakeAndNewest(t *testing.T) {
	require.True(t, revisions.Handshake(mcp.Revision20241105))
	require.True(t, revisions.Handshake(mcp.Revision20251125))
	require.False(t, revisions.Handshake(mcp.Revision20260728))
	require.False(t, revisions.Handshake(wire.Revision{}))
	require.True(t, revisions.Handshake(revisions.Newest(true)))
	require.False(t, revisions.Handshake(revisions.Newest(false)))
}

func TestFrame(t *testing.T) {
	for _, r := range mcp.Revisions {
		f := revisions.Frame(r.Revision)
		require.Equal(t, wire.Frame{Revision: r.Revision}, *f)
		require.Same(t, f, revisions.Frame(r.Revision))
	}
	require.Equal(t, wire.Frame{}, *revisions.Frame(wire.Revision{}))
}

func TestProtocolVersion(t *testing.T) {
	var v revisions.ProtocolVersion
	require.NoError(t, wire.DecodeParams([]byte(`{"other":[1],"protocolVersion":"x"}`), nil, &v))
	require.Equal(t, "x", v.Name)
	require.NoError(t, wire.Decode([]byte(`{"protocolVersion":"y"}`), nil, &v))
	require.Equal(t, "y", v.Name)
	require.ErrorContains(t, wire.Decode([]byte(`{}`), nil, &v), "protocolVersion")
}

func TestInMetadata(t *testing.T) {
	for _, c := range []struct {
		params, name string
		found        bool
	}{
		{``, "", false},
		{`{}`, "", false},
		{`{"_meta":3}`, "", false},
		{`{"_meta":{}}`, "", false},
		{`{"io.modelcontextprotocol/protocolVersion":"x"}`, "", false},
		{`{"a":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"x"}}`, "x", true},
		{`{"_meta":{"io.modelcontextprotocol\/protocolVersion":"x"}}`, "x", true},
		{`{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`, "", true},
	} {
		name, found := revisions.InMetadata([]byte(c.params))
		require.Equal(t, c.name, name, c.params)
		require.Equal(t, c.found, found, c.params)
	}
}
