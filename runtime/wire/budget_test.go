package wire_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// Allocations do not depend on the machine: they are held to their budget here.
func TestAllocationBudget(t *testing.T) {
	if raceEnabled {
		t.Skip("under the race detector pools forget on purpose")
	}
	f, buf := frame(rev2025), make([]byte, 0, 1<<17)
	meta := &wire.Frame{Revision: rev2025, Meta: []wire.Entry{{Name: "serverInfo", Value: raw(`{"name":"demo"}`)}}}
	tools := hundredTools()
	toolsJSON, err := wire.Append(nil, f, tools)
	require.NoError(t, err)
	for _, x := range []struct {
		name   string
		allocs float64
		run    func() error
	}{
		{"encode a call result", 0, func() (err error) { _, err = wire.Append(buf, f, callResult); return err }},
		{"encode a result with the frame's meta", 0, func() (err error) { _, err = wire.AppendResult(buf, meta, wire.IntID(7), callResult); return err }},
		{"encode a request with the frame's meta", 0, func() (err error) {
			_, err = wire.AppendRequest(buf, meta, wire.IntID(7), "tools/call", callRequest)
			return err
		}},
		{"encode 100 tools, unchecked", 0, func() (err error) { _, err = wire.Append(buf, f, tools); return err }},
		{"decode a call result", 4, func() error { return wire.Decode(callResultJSON, f, new(CallToolResult)) }},
		{"decode 100 tools", 598, func() error { return wire.Decode(toolsJSON, f, new(ListToolsResult)) }},
		{"check", 0, func() error { return wire.Check(toolsJSON, 0) }},
		{"read a message", 0, func() (err error) { _, err = wire.ReadMessage(callJSON, f); return err }},
		{"read a message into params", 2, func() (err error) {
			_, err = wire.ReadMessageInto(callJSON, f, func(*wire.Message) wire.Params { return new(CallToolRequest) })
			return err
		}},
	} {
		require.NoError(t, x.run(), x.name)
		have := testing.AllocsPerRun(200, func() { _ = x.run() })
		require.LessOrEqual(t, have, x.allocs, x.name)
	}
}
