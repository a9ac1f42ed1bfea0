package wiretrace

import (
	"fmt"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/mcptest"
)

// BenchmarkPipe measures the observation of a call and its response, without the copy.
func BenchmarkPipe(b *testing.B) {
	var line []byte
	r := NewRecorder(Options{MaxWaiting: 1 << 30, OnEvent: func(e *Event) { line = e.AppendJSON(line[:0]) }})
	p := r.Pipe()
	p.Copied(mcptest.FromClient, []byte(initialize+"\n"))
	p.Copied(mcptest.FromServer, []byte(initialized+"\n"))
	b.ReportAllocs()
	for id := range b.N {
		p.Copied(mcptest.FromClient, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"order","arguments":{"dish":"soup"},"_meta":{"progressToken":%d}}}`+"\n", id+1, id+1))
		p.Copied(mcptest.FromServer, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":{"content":[{"type":"text","text":"{\"dish\":\"soup\"}"}],"structuredContent":{"dish":"soup"}}}`+"\n", id+1))
	}
	if !r.Close(time.Minute) {
		b.Fatal("the recorder has not ended")
	}
}
