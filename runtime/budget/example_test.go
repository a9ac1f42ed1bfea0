package budget_test

import (
	"fmt"
	"net/http"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// A server on a large machine holds up to 1 GiB for its clients.
func Example() {
	server := mcpserver.New(mcp.Implementation{Name: "weather", Version: "1"}, nil)
	held := budget.New(&budget.Options{MaxBytes: 1 << 30})
	handler := streamable.NewHandler(server, &streamable.Options{JSONRPC: jsonrpc.Options{Budget: held}})
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	fmt.Println(held.Held(), "of", held.MaxBytes(), "bytes")
	// Output: 0 of 1073741824 bytes
}

// A transport that reads messages itself reserves their bytes until they have been handled.
func ExampleBudget_Reserve() {
	b := budget.New(&budget.Options{MaxBytes: 16 << 20})
	first, err := b.Reserve("alice", 3<<20)
	fmt.Println(err)
	_, err = b.Reserve("alice", 3<<20)
	fmt.Println(err)
	first.Release()
	_, err = b.Reserve("alice", 3<<20)
	fmt.Println(err)
	// Output:
	// <nil>
	// too many bytes are held for this principal
	// <nil>
}
