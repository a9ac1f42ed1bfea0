package mcptest_test

import (
	"bytes"
	"testing"

	"github.com/mcpwright/mcp/runtime/mcptest"
)

// FuzzCheck sees to it that no message can stop a judge, and that what a judge
// says does not depend on how it was asked.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{
		hello, greet, "nonsense", "[]", "[1,{}]", `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":5}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`,
		`[{"jsonrpc":"2.0","id":1,"error":{"code":1e400}},{"id":null,"error":{"code":-32700,"message":""}}]`,
		`{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}}`,
	} {
		for revision := range byte(5) {
			f.Add(revision, []byte(seed))
		}
	}
	revisions := []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}
	f.Fuzz(func(t *testing.T, revision byte, message []byte) {
		name := revisions[int(revision)%len(revisions)]
		a, b := mcptest.NewJudge(name), mcptest.NewJudge(name)
		for _, j := range []*mcptest.Judge{a, b} {
			j.Check(mcptest.FromClient, []byte(hello))
			j.Check(mcptest.FromClient, []byte(greet))
		}
		kept := bytes.Clone(message)
		first := texts(a.Check(mcptest.FromServer, message))
		if !bytes.Equal(kept, message) {
			t.Error("the message was changed")
		}
		if second := texts(b.Check(mcptest.FromServer, message)); len(first) != len(second) {
			t.Errorf("%q and %q", first, second)
		}
		a.Check(mcptest.FromClient, message)
	})
}
