package schema_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/schema"
)

func TestSchemasMatchIndex(t *testing.T) {
	require.NotEmpty(t, schema.Revisions())
	last := ""
	for _, r := range schema.Revisions() {
		data, err := schema.Bytes(r.Revision)
		require.NoError(t, err)
		sum := sha256.Sum256(data)
		require.Equal(t, r.SHA256, hex.EncodeToString(sum[:]), r.Revision)
		require.True(t, json.Valid(data), r.Revision)
		require.Greater(t, r.Revision, last, "the index must list the oldest revision first")
		last = r.Revision
	}
}

func TestBytesOfUnknownRevision(t *testing.T) {
	for _, revision := range []string{"", "1999-01-01", "index", "../schema/index"} {
		_, err := schema.Bytes(revision)
		require.EqualError(t, err, `schema: unknown revision "`+revision+`"`)
	}
}

func TestRevisionsReturnsCopy(t *testing.T) {
	schema.Revisions()[0].Revision = "changed"
	require.NotEqual(t, "changed", schema.Revisions()[0].Revision)
}
