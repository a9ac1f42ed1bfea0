package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// pause is how long a tool works between two messages.
const pause = 50 * time.Millisecond

// addTools registers the tools that answer with all kinds of content.
func addTools(s *mcpserver.Server) {
	content(s, "test_simple_text", "Answers with text.", mcp.Text("plain text"))
	content(s, "test_image_content", "Answers with an image.", mcp.Image(pixel(), "image/png"))
	content(s, "test_audio_content", "Answers with audio.", mcp.Audio(silence(), "audio/wav"))
	content(s, "test_embedded_resource", "Answers with a resource.", embedded("test://embedded-resource", "text/plain", "embedded text"))
	content(s, "test_multiple_content_types", "Answers with several kinds of content.",
		mcp.Text("text first"), mcp.Image(pixel(), "image/png"), embedded("test://mixed-content-resource", "application/json", `{"mixed":true}`))
	tool(s, "test_error_handling", "Always fails.", func(context.Context, *mcp.ServerSession, none) (string, error) {
		return "", mcpserver.Errorf("this tool fails on purpose")
	})
	tool(s, "test_tool_with_progress", "Reports progress.", reportProgress)
	tool(s, "test_tool_with_logging", "Sends log messages.", sendLogs)
	tool(s, "test_reconnection", "Ends its stream before it answers.", reconnect)
	tool(s, "test_x_mcp_header", "Has an argument that a header repeats.", func(_ context.Context, _ *mcp.ServerSession, in struct {
		Region string `json:"region,omitempty" header:"Region"`
	}) (string, error) {
		return "region " + in.Region, nil
	})
	s.AddRawTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema of many keywords.", InputSchema: json.RawMessage(schema2020)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult("fits"), nil
		})
}

// content registers a tool that always answers the same.
func content(s *mcpserver.Server, name, description string, blocks ...mcp.ContentBlock) {
	tool(s, name, description, func(context.Context, *mcp.ServerSession, none) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: blocks}, nil
	})
}

func embedded(uri, mimeType, text string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}

func reportProgress(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	total := 100.0
	for _, done := range []float64{0, 50, 100} {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: done, Total: &total, Message: fmt.Sprintf("%v of %v", done, total)}); err != nil {
			return "", err
		}
		wait(ctx, pause)
	}
	return "all done", nil
}

func sendLogs(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	for _, what := range []string{"begun", "under way", "finished"} {
		data, err := json.Marshal(what)
		if err != nil {
			return "", err
		}
		if err := s.SendLogMessage(ctx, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelInfo, Data: data}); err != nil {
			return "", err
		}
		wait(ctx, pause)
	}
	return "all logged", nil
}

func reconnect(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	if t, ok := s.Transport().(*streamable.TransportContext); ok && t.EndStream(pause) {
		wait(ctx, 2*pause)
		return "answered after the stream had ended", nil
	}
	return "answered on the first stream", nil
}

// pixel is an image of one pixel.
func pixel() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// silence is a wave file of two samples.
func silence() []byte {
	const rate, samples = 8000, 2
	b := append([]byte("RIFF"), binary.LittleEndian.AppendUint32(nil, 36+samples)...)
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16)
	for _, v := range []uint16{1, 1} { // uncompressed, one channel
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate)
	for _, v := range []uint16{1, 8} { // bytes and bits of a sample
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	b = append(b, "data"...)
	b = binary.LittleEndian.AppendUint32(b, samples)
	return append(b, 128, 128)
}

// schema2020 has the keywords that have to come through unharmed.
const schema2020 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`
