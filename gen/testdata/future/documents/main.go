// Command documents decodes documents for two revisions and encodes the values again. It reads
// lines "Definition JSON", and prints a line with the result for each revision.
package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

var types = map[string]func() wire.Value{
	"CallToolResult":  func() wire.Value { return new(mcp.CallToolResult) },
	"Icon":            func() wire.Value { return new(mcp.Icon) },
	"Implementation":  func() wire.Value { return new(mcp.Implementation) },
	"Prompt":          func() wire.Value { return new(mcp.Prompt) },
	"PromptMessage":   func() wire.Value { return new(mcp.PromptMessage) },
	"TextContent":     func() wire.Value { return new(mcp.TextContent) },
	"Tool":            func() wire.Value { return new(mcp.Tool) },
	"ToolAnnotations": func() wire.Value { return new(mcp.ToolAnnotations) },
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		name, document, _ := strings.Cut(lines.Text(), " ")
		for _, r := range []wire.Revision{mcp.Revision20260728, mcp.Revision20270301} {
			fmt.Printf("%v %s %s\n", r, name, encoded(types[name](), []byte(document), &wire.Frame{Revision: r}))
		}
	}
}

// encoded returns a document after decoding and encoding it, or the error.
func encoded(v wire.Value, document []byte, f *wire.Frame) string {
	if err := wire.Decode(document, f, v); err != nil {
		return err.Error()
	}
	out, err := wire.Append(nil, f, v)
	if err != nil {
		return err.Error()
	}
	return string(out)
}
