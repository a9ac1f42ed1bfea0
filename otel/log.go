package mcpotel

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/runtime/connection"
)

// LogHandler returns a handler that adds trace_id and span_id of the span in the
// context, and mcp.session.id of the connection in the context, to each record. It
// adds the attributes that exist:
//
//	logger := slog.New(mcpotel.LogHandler(slog.NewJSONHandler(os.Stderr, nil)))
//	logger.InfoContext(ctx, "greeting") // in the handler of a tool
//
// The attributes are members of the open group, if the logger has one.
func LogHandler(h slog.Handler) slog.Handler { return &logHandler{h} }

type logHandler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h *logHandler) Handle(ctx context.Context, r slog.Record) error {
	var room [3]slog.Attr
	attrs := room[:0]
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		attrs = append(attrs, slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	if conn := connection.FromContext(ctx); conn != nil && conn.SessionID() != "" {
		attrs = append(attrs, slog.String(keySession, conn.SessionID()))
	}
	if len(attrs) > 0 {
		r = r.Clone()
		r.AddAttrs(attrs...)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h *logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return &logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h *logHandler) WithGroup(name string) slog.Handler {
	return &logHandler{h.Handler.WithGroup(name)}
}
