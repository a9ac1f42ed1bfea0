package wire_test

import (
	"fmt"
	"log"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Members that the revision does not have are not written.
func Example() {
	frame := &wire.Frame{Revision: mcp.Revision20241105}
	line, err := wire.AppendResult(nil, frame, wire.IntID(1), &mcp.CallToolResult{
		Content:           []mcp.ContentBlock{mcp.Text("sunny")},
		StructuredContent: []byte(`{"sky":"sunny"}`),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))

	message, err := wire.ReadMessage(line, frame)
	if err != nil {
		log.Fatal(err)
	}
	var res mcp.CallToolResult
	if err := wire.Decode(message.Result, frame, &res); err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Content[0].(*mcp.TextContent).Text)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"sunny"}]}}
	// sunny
}
