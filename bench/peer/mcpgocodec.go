package peer

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/client/transport"
	mgo "github.com/mark3labs/mcp-go/mcp"
)

func (p *mcpGo) Codec() (Codec, error) {
	if p.validate {
		return nil, ErrUnsupported
	}
	return mcpGoCodec{}, nil
}

type mcpGoCodec struct{}

func (mcpGoCodec) Encoder(k Kind) (func([]byte) ([]byte, error), error) {
	response := func(result any) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) {
			return json.Marshal(mgo.NewJSONRPCResultResponse(mgo.NewRequestId(int64(1)), result))
		}
	}
	switch k {
	case KindText:
		return response(*mgo.NewToolResultText(GreetText)), nil
	case KindMiB:
		return response(*mgo.NewToolResultText(mebibyte)), nil
	case KindTools:
		r := mgo.ListToolsResult{}
		yes := true
		for i := range 100 {
			t := mgo.NewToolWithRawSchema(toolName(i), toolDescription(i), json.RawMessage(toolSchema(i)))
			t.Annotations = mgo.ToolAnnotation{ReadOnlyHint: &yes, Title: "T"}
			r.Tools = append(r.Tools, t)
		}
		return response(r), nil
	case KindSampling:
		r := mgo.CreateMessageParams{SystemPrompt: "You are terse.", Temperature: 0.5, MaxTokens: 1000, StopSequences: []string{"END"}}
		for i := range 20 {
			r.Messages = append(r.Messages, mgo.SamplingMessage{Role: mgo.Role(messageRole(i)), Content: mgo.TextContent{Type: "text", Text: messageText(i)}})
		}
		return func([]byte) ([]byte, error) {
			return json.Marshal(struct {
				JSONRPC string                  `json:"jsonrpc"`
				ID      int64                   `json:"id"`
				Method  string                  `json:"method"`
				Params  mgo.CreateMessageParams `json:"params"`
			}{"2.0", 1, "sampling/createMessage", r})
		}, nil
	case KindCall:
		r := mgo.CallToolParams{Name: "greet", Arguments: greetArgs{"gopher", 3}}
		return func([]byte) ([]byte, error) {
			return json.Marshal(transport.JSONRPCRequest{JSONRPC: "2.0", ID: mgo.NewRequestId(int64(1)), Method: "tools/call", Params: r})
		}, nil
	}
	return nil, ErrUnsupported
}

func (mcpGoCodec) Decoder(k Kind) (func([]byte) error, error) {
	switch k {
	case KindText, KindMiB:
		return func(data []byte) error {
			var r transport.JSONRPCResponse
			if err := json.Unmarshal(data, &r); err != nil {
				return err
			}
			_, err := mgo.ParseCallToolResult(&r.Result)
			return err
		}, nil
	case KindTools:
		return func(data []byte) error {
			var r transport.JSONRPCResponse
			if err := json.Unmarshal(data, &r); err != nil {
				return err
			}
			var res mgo.ListToolsResult
			return json.Unmarshal(r.Result, &res)
		}, nil
	case KindSampling:
		return func(data []byte) error { // as client.handleSamplingRequestTransport
			var r transport.JSONRPCRequest
			if err := json.Unmarshal(data, &r); err != nil {
				return err
			}
			b, err := json.Marshal(r.Params)
			if err != nil {
				return err
			}
			var params mgo.CreateMessageParams
			if err := json.Unmarshal(b, &params); err != nil {
				return err
			}
			for i := range params.Messages {
				c, err := mgo.ParseSamplingContent(params.Messages[i].Content)
				if err != nil {
					return err
				}
				params.Messages[i].Content = c
			}
			return nil
		}, nil
	case KindCall:
		return func(data []byte) error { // as MCPServer.HandleMessage, in one of its passes
			var r mgo.CallToolRequest
			return json.Unmarshal(data, &r)
		}, nil
	}
	return nil, ErrUnsupported
}
