package connection_test

import (
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
)

func BenchmarkHandshakeCall(b *testing.B) {
	b.ReportAllocs()
	conn := connection.New(nil, nil)
	conn.State().SetInitialized()
	h := newDispatcher(nil).Handler(conn)
	in := request(mcp.MethodCallTool, `{"name":"x","arguments":{"text":"hello"}}`, new(channel))
	for b.Loop() {
		if _, err := h.Handle(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStatelessCall(b *testing.B) {
	b.ReportAllocs()
	d := connection.NewPipe(newDispatcher(nil), nil)
	in := request(mcp.MethodCallTool, `{"name":"x","arguments":{"text":"hello"},"_meta":{`+version+`:"2026-07-28",`+
		caps+`:{"elicitation":{}},`+info+`:{"name":"client","version":"1.0"}}}`, new(channel))
	for b.Loop() {
		if _, err := d.Handle(b.Context(), in); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkIdleSession(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		connection.New(nil, nil)
	}
}
