package wire_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

func TestALookIntoADocumentTakesNoMemory(t *testing.T) {
	document := []byte(`{"arguments":{"a":[` + strings.Repeat(`{"b":1},`, 100) + `0]},"_meta":{"c":{}},"name":"greet"}`)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if name, kind := wire.Peek(document, "name"); name != "greet" || kind != '"' {
			t.Fatal(name, kind)
		}
		if _, kind := wire.Peek(document, "none"); kind != 0 {
			t.Fatal(kind)
		}
	}))
}
