package peer

import (
	"encoding/json"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/wire"
)

// ourCodec is the generated codec in the frame of a revision, as connections use it. A request is read
// in one pass. A result is first validated together with its message, and then read.
type ourCodec struct{}

var (
	ourFrame  = &wire.Frame{Revision: mcp.Revision20251125, Checked: true} // the message has been checked before
	fromOther = &wire.Frame{Revision: mcp.Revision20251125}
)

func (ourCodec) Encoder(k Kind) (func([]byte) ([]byte, error), error) {
	id := wire.IntID(1)
	var result wire.Value
	switch k {
	case KindCall:
		req := &mcp.CallToolRequest{Name: "greet", Arguments: json.RawMessage(`{"name":"gopher","count":3}`)}
		return func(b []byte) ([]byte, error) { return wire.AppendRequest(b, ourFrame, id, req.Method(), req) }, nil
	case KindSampling:
		req := ourSampling()
		return func(b []byte) ([]byte, error) { return wire.AppendRequest(b, ourFrame, id, req.Method(), req) }, nil
	case KindText:
		result = mcp.TextResult(GreetText)
	case KindMiB:
		result = mcp.TextResult(mebibyte)
	case KindTools:
		result = ourTools()
	}
	return func(b []byte) ([]byte, error) { return wire.AppendResult(b, ourFrame, id, result) }, nil
}

func ourTools() *mcp.ListToolsResult {
	res, yes := new(mcp.ListToolsResult), true
	for i := range 100 {
		res.Tools = append(res.Tools, mcp.Tool{Name: toolName(i), Description: toolDescription(i),
			InputSchema: json.RawMessage(toolSchema(i)), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: yes, Title: "T"}})
	}
	return res
}

func ourSampling() *mcp.CreateMessageRequest {
	temperature := 0.5
	req := &mcp.CreateMessageRequest{SystemPrompt: "You are terse.", Temperature: &temperature, MaxTokens: 1000, StopSequences: []string{"END"}}
	for i := range 20 {
		req.Messages = append(req.Messages, mcp.SamplingMessage{Role: mcp.Role(messageRole(i)),
			Content: []mcp.SamplingMessageContentBlock{&mcp.TextContent{Text: messageText(i)}}})
	}
	return req
}

func (ourCodec) Decoder(k Kind) (func([]byte) error, error) {
	switch k {
	case KindCall:
		return ourRequest(func() wire.Params { return new(mcp.CallToolRequest) }), nil
	case KindSampling:
		return ourRequest(func() wire.Params { return new(mcp.CreateMessageRequest) }), nil
	case KindTools:
		return ourResponse(func() wire.Value { return new(mcp.ListToolsResult) }), nil
	}
	return ourResponse(func() wire.Value { return new(mcp.CallToolResult) }), nil
}

func ourRequest(open func() wire.Params) func([]byte) error {
	return func(data []byte) error {
		_, err := wire.ReadMessageInto(data, fromOther, func(*wire.Message) wire.Params { return open() })
		return err
	}
}

func ourResponse(open func() wire.Value) func([]byte) error {
	return func(data []byte) error {
		m, err := wire.ReadMessage(data, fromOther)
		if err != nil {
			return err
		}
		return wire.Decode(m.Result, ourFrame, open())
	}
}
