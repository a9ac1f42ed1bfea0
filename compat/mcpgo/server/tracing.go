package server

import (
	"cmp"
	"context"
	"net/http"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/tracing"
	"github.com/mcpwright/mcp/runtime/peer"
)

// The attributes of spans.
const (
	attrMethod   = "mcp.method"
	attrTool     = "mcp.tool.name"
	attrSession  = "mcp.session.id"
	attrRevision = "mcp.protocol.version"
)

// WithTracer sets the tracer for requests and notifications, whose spans have the name "mcp." and the method, and for
// calls of tools, whose spans have the name "tool." and the name of the tool. Nil is [tracing.NoopTracer].
func WithTracer(tracer tracing.Tracer) ServerOption {
	if tracer == nil {
		tracer = tracing.NoopTracer()
	}
	return func(s *MCPServer) {
		s.tracer = tracer
		s.Use(traceTools(tracer))
	}
}

// WithPropagator sets the propagator that reads spans from the headers of requests. Nil is [tracing.NoopPropagator].
func WithPropagator(p tracing.Propagator) ServerOption {
	return func(s *MCPServer) { s.propagator = cmp.Or(p, tracing.NoopPropagator()) }
}

// startSpan begins the span of a message. The caller calls end with its error.
func (s *MCPServer) startSpan(ctx context.Context, in *peer.Inbound, session ClientSession) (_ context.Context, end func(error)) {
	header := headerOf(in.Transport)
	if s.propagator != nil {
		if header == nil {
			header = http.Header{}
		}
		ctx = s.propagator.Extract(ctx, header)
	}
	if s.tracer == nil {
		return ctx, func(error) {}
	}
	attrs := []tracing.Attribute{tracing.String(attrMethod, in.Method)}
	if session != nil && session.SessionID() != "" {
		attrs = append(attrs, tracing.String(attrSession, session.SessionID()))
	}
	if revision := header.Get(HeaderKeyProtocolVersion); revision != "" {
		attrs = append(attrs, tracing.String(attrRevision, revision))
	}
	ctx, span := s.tracer.Start(ctx, "mcp."+in.Method, tracing.SpanKindServer, attrs...)
	return ctx, func(err error) {
		defer span.End()
		if sent := peer.AsError(err); sent != nil {
			span.SetStatus(tracing.StatusError, sent.Message)
		} else if err != nil {
			span.SetStatus(tracing.StatusError, err.Error())
		}
	}
}

func traceTools(tracer tracing.Tracer) ToolHandlerMiddleware {
	return func(next ToolHandlerFunc) ToolHandlerFunc {
		return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			name := tracing.String(attrTool, request.Params.Name)
			outer := tracing.SpanFromContext(ctx)
			outer.SetAttributes(name)
			ctx, span := tracer.Start(ctx, "tool."+name.Value, tracing.SpanKindInternal, name)
			defer span.End()
			result, err := next(ctx, request)
			if err != nil {
				span.RecordError(err)
				span.SetStatus(tracing.StatusError, err.Error())
			} else if result != nil && result.IsError {
				const text = "the tool returned an error"
				span.SetStatus(tracing.StatusError, text)
				outer.SetStatus(tracing.StatusError, text)
			}
			return result, err
		}
	}
}
