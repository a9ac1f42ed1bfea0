package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	mgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// Servers of the mode Large.

const (
	manyTools = 1000
	// pageSize is more than the tools of a server.
	pageSize = 2 * manyTools
	// ListTools lists the tools of a server.
	ListTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	// TextCall calls a tool whose result is a text of 10 MiB.
	TextCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"text","arguments":{}}}`
	// TextEnd is the end of the text.
	TextEnd = "the end"
)

// longText returns the text of the tool "text".
func longText() string { return strings.Repeat(mebibyte, 10) + TextEnd }

func (p *ours) addLarge(s *mcpserver.Server) {
	for i := range manyTools {
		s.AddRawTool(&mcp.Tool{Name: toolName(i), Description: toolDescription(i), InputSchema: json.RawMessage(greetSchema)},
			func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return mcp.TextResult(""), nil
			})
	}
	text := longText()
	s.AddRawTool(&mcp.Tool{Name: "text", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult(text), nil
		})
}

func (p *goSDK) addLarge(s *gosdk.Server) {
	for i := range manyTools {
		s.AddTool(&gosdk.Tool{Name: toolName(i), Description: toolDescription(i), InputSchema: json.RawMessage(greetSchema)},
			func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
				return goSDKText(""), nil
			})
	}
	text := longText()
	s.AddTool(&gosdk.Tool{Name: "text", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *gosdk.CallToolRequest) (*gosdk.CallToolResult, error) {
			return goSDKText(text), nil
		})
}

func (p *mcpGo) addLarge(s *server.MCPServer) {
	for i := range manyTools {
		s.AddTool(mgo.NewToolWithRawSchema(toolName(i), toolDescription(i), json.RawMessage(greetSchema)),
			func(context.Context, mgo.CallToolRequest) (*mgo.CallToolResult, error) {
				return mgo.NewToolResultText(""), nil
			})
	}
	text := longText()
	s.AddTool(mgo.NewTool("text"), func(context.Context, mgo.CallToolRequest) (*mgo.CallToolResult, error) {
		return mgo.NewToolResultText(text), nil
	})
}

// large returns a handler that writes prepared responses.
func (floor) large() http.Handler {
	type tool struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	var tools []tool
	for i := range manyTools {
		tools = append(tools, tool{toolName(i), toolDescription(i), json.RawMessage(greetSchema)})
	}
	prepared := func(result any) []byte {
		text, err := json.Marshal(result)
		must(err)
		return fmt.Appendf(nil, `%s1,"result":%s}`, envelope, text)
	}
	list := prepared(map[string]any{"tools": tools})
	text := prepared(map[string]any{"content": []any{map[string]string{"type": "text", "text": longText()}}})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bodies.Get().(*bytes.Buffer)
		defer bodies.Put(body)
		body.Reset()
		if _, err := body.ReadFrom(r.Body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		response := text
		if bytes.Contains(body.Bytes(), []byte(`"tools/list"`)) {
			response = list
		}
		h := w.Header()
		h["Content-Type"], h["Content-Length"] = cannedType, []string{strconv.Itoa(len(response))}
		_, _ = w.Write(response)
	})
}
