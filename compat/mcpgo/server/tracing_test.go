package server_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	"github.com/mcpwright/mcp/compat/mcpgo/tracing"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// spans records spans of calls and lists of tools, with their parents.
type spans struct{ events }

type span struct {
	to   *spans
	name string
}

func (s *spans) Start(ctx context.Context, name string, kind tracing.SpanKind, attrs ...tracing.Attribute) (context.Context, tracing.Span) {
	if strings.HasPrefix(name, "tool.") || name == "mcp.tools/call" {
		s.add("%s %d of %v", name, kind, ctx.Value(parentKey{}))
		begun := &span{s, name}
		begun.SetAttributes(attrs...)
		return tracing.ContextWithSpan(ctx, begun), begun
	}
	return tracing.NoopTracer().Start(ctx, name, kind, attrs...)
}

func (s *span) SetAttributes(attrs ...tracing.Attribute) {
	for _, a := range attrs {
		if a.Key != "mcp.session.id" && a.Key != "mcp.protocol.version" {
			s.to.add("%s: %s=%s", s.name, a.Key, a.Value)
		}
	}
}
func (s *span) RecordError(err error) { s.to.add("%s: error %v", s.name, err) }
func (s *span) SetStatus(code tracing.StatusCode, text string) {
	s.to.add("%s: status %d", s.name, code)
}
func (s *span) End() { s.to.add("%s ends", s.name) }

// parentKey is the key of the parent in the header of a request.
type parentKey struct{}

type parents struct{ tracing.Propagator }

func (parents) Extract(ctx context.Context, header http.Header) context.Context {
	return context.WithValue(ctx, parentKey{}, "parent"+header.Get("Traceparent"))
}

func TestTracing(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		to := new(spans)
		s := server.NewMCPServer("test", "1.0.0", server.WithTracer(to), server.WithPropagator(parents{tracing.NoopPropagator()}))
		s.AddTool(mcp.NewTool("a"), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if r.GetBool("fail", false) {
				return nil, errors.New("it failed")
			}
			return mcp.NewToolResultError("wrong"), nil
		})
		c := connect(s)
		for _, fail := range []bool{false, true} {
			_, _ = c.CallTool(t.Context(), &kit.CallToolRequest{Name: "a", Arguments: fmt.Appendf(nil, `{"fail":%t}`, fail)})
		}
		begin := "mcp.tools/call 1 of parent\nmcp.tools/call: mcp.method=tools/call\nmcp.tools/call: mcp.tool.name=a\ntool.a 3 of parent\ntool.a: mcp.tool.name=a\n"
		equal(t, to.take(), begin+"tool.a: status 2\nmcp.tools/call: status 2\ntool.a ends\nmcp.tools/call ends\n"+
			begin+"tool.a: error it failed\ntool.a: status 2\ntool.a ends\nmcp.tools/call: status 2\nmcp.tools/call ends")
	})
	s := server.NewMCPServer("test", "1.0.0", server.WithTracer(nil), server.WithPropagator(nil))
	s.AddTool(mcp.NewTool("a"), echo)
	equal(t, call(t, handshake(t, s), "a", `{"text":"b"}`), "b")
}
