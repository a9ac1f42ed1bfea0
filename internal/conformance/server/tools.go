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

// pause is the time between two messages of a tool.
const pause = 50 * time.Millisecond

// addTools registers the tools that return all kinds of content.
func addTools(s *mcpserver.Server) {
	content(s, "test_simple_text", "Returns text.", mcp.Text("plain text"))
	content(s, "test_image_content", "Returns an image.", mcp.Image(pixel(), "image/png"))
	content(s, "test_audio_content", "Returns audio.", mcp.Audio(silence(), "audio/wav"))
	content(s, "test_embedded_resource", "Returns a resource.", embedded("test://embedded-resource", "text/plain", "embedded text"))
	content(s, "test_multiple_content_types", "Returns several kinds of content.",
		mcp.Text("text first"), mcp.Image(pixel(), "image/png"), embedded("test://mixed-content-resource", "application/json", `{"mixed":true}`))
	tool(s, "test_error_handling", "Always fails.", func(context.Context, *mcp.ServerSession, none) (string, error) {
		return "", mcpserver.Errorf("this tool fails on purpose")
	})
	tool(s, "test_tool_with_progress", "Reports progress.", reportProgress)
	tool(s, "test_tool_with_logging", "Sends log messages.", sendLogs)
	tool(s, "test_reconnection", "Ends its stream before it responds.", reconnect)
	tool(s, "test_x_mcp_header", "Has an argument that a header repeats.", func(_ context.Context, _ *mcp.ServerSession, in struct {
		Region string `json:"region,omitempty" header:"Region"`
	}) (string, error) {
		return "region " + in.Region, nil
	})
	s.AddRawTool(&mcp.Tool{Name: "json_schema_2020_12_tool", Description: "Has a schema with many keywords.", InputSchema: json.RawMessage(schema2020)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return mcp.TextResult("valid"), nil
		})
}

// none is the type of the arguments of a tool or prompt without arguments.
type none struct{}

// tool registers a tool.
func tool[In, Out any](s *mcpserver.Server, name, description string, h func(context.Context, *mcp.ServerSession, In) (Out, error)) {
	mcpserver.AddTool(s, &mcp.Tool{Name: name, Description: description}, h)
}

// wait waits for a time, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// content registers a tool that always returns the same content.
func content(s *mcpserver.Server, name, description string, blocks ...mcp.ContentBlock) {
	tool(s, name, description, func(context.Context, *mcp.ServerSession, none) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: blocks}, nil
	})
}

func embedded(uri, mimeType, text string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.TextResourceContents{URI: uri, MIMEType: mimeType, Text: text}}
}

// reportProgress reports progress three times.
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

// sendLogs sends three log messages.
func sendLogs(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	for _, text := range []string{"started", "running", "finished"} {
		data, err := json.Marshal(text)
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

// reconnect ends its stream before it returns, if the stream can be resumed.
func reconnect(ctx context.Context, s *mcp.ServerSession, _ none) (string, error) {
	if t, ok := s.Transport().(*streamable.TransportContext); ok && t.EndStream(pause) {
		wait(ctx, 2*pause)
		return "sent after the stream ended", nil
	}
	return "sent on the first stream", nil
}

// pixel returns a PNG image with one pixel.
func pixel() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// silence returns a WAV file with two samples.
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

// schema2020 has keywords of JSON Schema 2020-12. The client must receive it unchanged.
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
