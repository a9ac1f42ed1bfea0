package mcpotel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

func TestLogRecordsHaveTraceAndSession(t *testing.T) {
	var logged bytes.Buffer
	logger := slog.New(mcpotel.LogHandler(slog.NewJSONHandler(&logged, nil)))
	r := newRecorder()
	s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
	mcpserver.AddTool(s, &mcp.Tool{Name: "logs"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		logger.With("a", 1).InfoContext(ctx, "greeting")
		return "", nil
	})
	c := connect(t, transports["http"](t, s), &mcpclient.Options{Revision: mcp.Revision20251125})
	_, err := mcpclient.CallTool[string](t.Context(), c, "logs", nil)
	require.NoError(t, err)
	var record map[string]any
	require.NoError(t, json.Unmarshal(logged.Bytes(), &record))
	span := r.one(t, "tools/call logs", trace.SpanKindServer)
	require.Equal(t, span.SpanContext().TraceID().String(), record["trace_id"])
	require.Equal(t, span.SpanContext().SpanID().String(), record["span_id"])
	require.Equal(t, attributes(span.Attributes())["mcp.session.id"], record["mcp.session.id"])
	require.NotEmpty(t, record["mcp.session.id"])

	logged.Reset()
	logger.Info("start")
	require.NotContains(t, logged.String(), "trace_id")
}

func TestContentIsRecordedOnlyIfRedacted(t *testing.T) {
	for _, redacts := range []bool{false, true} {
		r := newRecorder()
		opts := r.options()
		if redacts {
			opts.Redact = func(key attribute.Key, name, value string) string { return name + ":" + value }
		}
		s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, opts))
		c := connect(t, mcpclient.InProcess(s), mcpotel.InstrumentClient(&mcpclient.Options{Revision: mcp.Revision20251125}, opts))
		_, err := mcpclient.CallTool[string](t.Context(), c, "forecast", place{"Bern"})
		require.NoError(t, err)
		_, err = mcpclient.CallTool[string](t.Context(), c, "unknown", nil)
		require.Error(t, err)
		for _, kind := range []trace.SpanKind{trace.SpanKindClient, trace.SpanKindServer} {
			have := attributes(r.one(t, "tools/call forecast", kind).Attributes())
			failed := r.one(t, "tools/call", kind)
			require.Equal(t, codes.Error, failed.Status().Code)
			if redacts {
				require.Equal(t, `forecast:{"city":"Bern"}`, have["gen_ai.tool.call.arguments"])
				require.Contains(t, have["gen_ai.tool.call.result"], "sunny in Bern")
				require.Contains(t, failed.Status().Description, "unknown:")
			} else {
				require.NotContains(t, have, "gen_ai.tool.call.arguments")
				require.NotContains(t, have, "gen_ai.tool.call.result")
				require.Empty(t, failed.Status().Description)
			}
		}
	}
}
