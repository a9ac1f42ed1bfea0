package mcptest_test

import (
	"fmt"

	"github.com/mcpwright/mcp/runtime/mcptest"
)

// A judge is told what was sent, in order, and says what is wrong with it.
func ExampleJudge() {
	judge := mcptest.NewJudge("2025-06-18")
	judge.Check(mcptest.FromClient, []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	for _, v := range judge.Check(mcptest.FromServer, []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"greet"}]}}`)) {
		fmt.Println("answer to", v.Method)
		fmt.Println(v.Pointer, "-", v.Problem)
	}

	// Output:
	// answer to tools/list
	// /result/tools/0 - missing properties: 'inputSchema'
}
