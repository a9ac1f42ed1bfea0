package wire_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

var (
	callResult     = &CallToolResult{Content: []Content{&TextContent{Text: "Hello, Ada! How are you today? Here is your greeting."}}}
	callResultJSON = []byte(`{"content":[{"type":"text","text":"Hello, Ada! How are you today? Here is your greeting."}]}`)
	callRequest    = &CallToolRequest{Name: "greet", Arguments: raw(`{"name":"Ada","times":3}`)}
	callJSON       = []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greet","arguments":{"name":"Ada","times":3}}}`)
)

func BenchmarkEncodeCallResult(b *testing.B) {
	f, buf := frame(rev2025), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = wire.Append(buf[:0], f, callResult)
	}
}

func BenchmarkEncodeCallResultWithMeta(b *testing.B) {
	f, buf := frame(rev2025), make([]byte, 0, 4096)
	f.Meta = []wire.Entry{{Name: "serverInfo", Value: []byte(`{"name":"demo","version":"1"}`)}}
	f.Checked = true
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = wire.Append(buf[:0], f, callResult)
	}
}

func BenchmarkDecodeCallResult(b *testing.B) {
	f := frame(rev2025)
	b.ReportAllocs()
	for b.Loop() {
		var x CallToolResult
		if err := wire.Decode(callResultJSON, f, &x); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadMessage(b *testing.B) {
	f := frame(rev2025)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.ReadMessage(callJSON, f); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadMessageInto(b *testing.B) {
	f := frame(rev2025)
	open := func(*wire.Message) wire.Params { return new(CallToolRequest) }
	b.ReportAllocs()
	for b.Loop() {
		if _, err := wire.ReadMessageInto(callJSON, f, open); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkReadMessageThenDecode(b *testing.B) {
	f, checked := frame(rev2025), &wire.Frame{Revision: rev2025, Checked: true}
	b.ReportAllocs()
	for b.Loop() {
		m, err := wire.ReadMessage(callJSON, f)
		if err != nil {
			b.Fatal(err)
		}
		var x CallToolRequest
		if err := wire.DecodeParams(m.Params, checked, &x); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppendResult(b *testing.B) {
	f, id, buf := frame(rev2025), wire.IntID(7), make([]byte, 0, 4096)
	b.ReportAllocs()
	for b.Loop() {
		buf, _ = wire.AppendResult(buf[:0], f, id, callResult)
	}
}

const schemaJSON = `{"type":"object","properties":{"query":{"type":"string","description":"what to look for, in plain words"},"limit":{"type":"integer","minimum":1,"maximum":100},"deep":{"type":"boolean","default":false}},"required":["query"],"additionalProperties":false}`

func hundredTools() *ListToolsResult {
	x := new(ListToolsResult)
	for i := range 100 {
		x.Tools = append(x.Tools, Tool{
			Name:        fmt.Sprintf("tool_number_%d", i),
			Title:       "A tool with a title of some length, so that there is something to copy",
			InputSchema: []byte(schemaJSON),
			Icons:       []Icon{{Src: "https://example.com/icons/tool.png", Sizes: []string{"48x48"}}},
		})
	}
	return x
}

func BenchmarkEncodeHundredTools(b *testing.B) {
	x, f, buf := hundredTools(), frame(rev2025), make([]byte, 0, 1<<17)
	for _, checked := range []bool{true, false} {
		f.Checked = checked
		b.Run(fmt.Sprintf("checked=%v", checked), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = wire.Append(buf[:0], f, x)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkDecodeHundredTools(b *testing.B) {
	data, _ := wire.Append(nil, frame(rev2025), hundredTools())
	f := frame(rev2025)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		var x ListToolsResult
		if err := wire.Decode(data, f, &x); err != nil {
			b.Fatal(err)
		}
	}
}

// bigTexts contains one mebibyte of each kind of text.
var bigTexts = []struct{ name, text string }{
	{"ascii", strings.Repeat("The quick brown fox jumps over the lazy dog. ", 1<<20/45)},
	{"lines", strings.Repeat("The quick brown fox jumps over\n\tthe \"lazy\" dog.\n", 1<<20/49)},
	{"japanese", strings.Repeat("いろはにほへとちりぬるを", 1<<20/36)},
}

func BenchmarkEncodeMebibyte(b *testing.B) {
	for _, x := range bigTexts {
		b.Run(x.name, func(b *testing.B) {
			v, buf := &TextContent{Text: x.text}, make([]byte, 0, 1<<21)
			b.SetBytes(int64(len(x.text)))
			b.ReportAllocs()
			for b.Loop() {
				buf, _ = wire.Append(buf[:0], nil, v)
			}
		})
	}
}

func BenchmarkDecodeMebibyte(b *testing.B) {
	for _, x := range bigTexts {
		b.Run(x.name, func(b *testing.B) {
			data, _ := wire.Marshal(&TextContent{Text: x.text})
			b.SetBytes(int64(len(x.text)))
			b.ReportAllocs()
			for b.Loop() {
				var v TextContent
				if err := wire.Unmarshal(data, &v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	tools, _ := wire.Append(nil, nil, hundredTools())
	numbers := []byte("[" + strings.Repeat("1,-2.5,3e4,123456789,", 10_000) + "0]")
	for _, x := range []struct {
		name string
		data []byte
	}{{"tools", tools}, {"numbers", numbers}} {
		b.Run(x.name, func(b *testing.B) {
			b.SetBytes(int64(len(x.data)))
			b.ReportAllocs()
			for b.Loop() {
				if err := wire.Check(x.data, 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestAllocationBudget limits the number of allocations, which does not depend on
// the machine.
func TestAllocationBudget(t *testing.T) {
	if raceEnabled {
		t.Skip("with the race detector, pools drop values at random")
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
