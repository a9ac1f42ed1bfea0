package peer

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	segjson "github.com/segmentio/encoding/json"
)

func (p *goSDK) Codec() (Codec, error) {
	if p.raw {
		return nil, ErrUnsupported
	}
	return goSDKCodec{}, nil
}

type goSDKCodec struct{}

// goSDKMarshal does what internal/jsonrpc2.jsonMarshal does.
func goSDKMarshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(buf.Bytes(), "\n"), nil
}

// goSDKUnmarshal does what internal/json.Unmarshal does.
func goSDKUnmarshal(data []byte, v any) error {
	var depth int
	var inString, escaped bool
	for _, b := range data {
		if inString {
			switch {
			case escaped:
				escaped = false
			case b == '\\':
				escaped = true
			case b == '"':
				inString = false
			}
			continue
		}
		switch b {
		case '"':
			inString = true
		case '{', '[':
			if depth++; depth > 1000 {
				return errors.New("too deep")
			}
		case '}', ']':
			if depth > 0 {
				depth--
			}
		}
	}
	dec := segjson.NewDecoder(bytes.NewReader(data))
	dec.DontMatchCaseInsensitiveStructFields()
	return dec.Decode(v)
}

func (goSDKCodec) Encoder(k Kind) (func([]byte) ([]byte, error), error) {
	id, err := jsonrpc.MakeID(float64(1))
	if err != nil {
		return nil, err
	}
	response := func(result any) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) {
			raw, err := goSDKMarshal(result)
			if err != nil {
				return nil, err
			}
			return jsonrpc.EncodeMessage(&jsonrpc.Response{ID: id, Result: raw})
		}
	}
	request := func(method string, params any) func([]byte) ([]byte, error) {
		return func([]byte) ([]byte, error) {
			raw, err := goSDKMarshal(params)
			if err != nil {
				return nil, err
			}
			return jsonrpc.EncodeMessage(&jsonrpc.Request{ID: id, Method: method, Params: raw})
		}
	}
	switch k {
	case KindText:
		return response(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: GreetText}}}), nil
	case KindMiB:
		return response(&mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: mebibyte}}}), nil
	case KindTools:
		r := &mcp.ListToolsResult{}
		for i := range 100 {
			r.Tools = append(r.Tools, &mcp.Tool{Name: toolName(i), Description: toolDescription(i),
				InputSchema: json.RawMessage(toolSchema(i)), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, Title: "T"}})
		}
		return response(r), nil
	case KindSampling:
		r := &mcp.CreateMessageParams{SystemPrompt: "You are terse.", Temperature: 0.5, MaxTokens: 1000, StopSequences: []string{"END"}}
		for i := range 20 {
			r.Messages = append(r.Messages, &mcp.SamplingMessage{Role: mcp.Role(messageRole(i)), Content: &mcp.TextContent{Text: messageText(i)}})
		}
		return request("sampling/createMessage", r), nil
	case KindCall:
		return request("tools/call", &mcp.CallToolParams{Name: "greet", Arguments: greetArgs{"gopher", 3}}), nil
	}
	return nil, ErrUnsupported
}

func (goSDKCodec) Decoder(k Kind) (func([]byte) error, error) {
	response := func(alloc func() any) func([]byte) error {
		return func(data []byte) error {
			m, err := jsonrpc.DecodeMessage(data)
			if err != nil {
				return err
			}
			return goSDKUnmarshal(m.(*jsonrpc.Response).Result, alloc())
		}
	}
	request := func(alloc func() any) func([]byte) error {
		return func(data []byte) error {
			m, err := jsonrpc.DecodeMessage(data)
			if err != nil {
				return err
			}
			return goSDKUnmarshal(m.(*jsonrpc.Request).Params, alloc())
		}
	}
	switch k {
	case KindText, KindMiB:
		return response(func() any { return new(mcp.CallToolResult) }), nil
	case KindTools:
		return response(func() any { return new(mcp.ListToolsResult) }), nil
	case KindSampling:
		return request(func() any { return new(mcp.CreateMessageWithToolsParams) }), nil
	case KindCall:
		return request(func() any { return new(mcp.CallToolParamsRaw) }), nil
	}
	return nil, ErrUnsupported
}
