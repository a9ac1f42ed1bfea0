package mcpotel_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// network has the attributes of each transport at the server.
var network = map[string]map[string]string{
	"in process": {},
	"pipe":       {"network.transport": "pipe"},
	"http":       {"network.transport": "tcp", "network.protocol.name": "http"},
}

func TestToolCallIsOneTrace(t *testing.T) {
	for name, serve := range transports {
		for _, revision := range mcp.Revisions {
			t.Run(name+"/"+revision.Revision.String(), func(t *testing.T) {
				r := newRecorder()
				s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
				c := connect(t, serve(t, s), mcpotel.InstrumentClient(&mcpclient.Options{Revision: revision.Revision}, r.options()))
				_, err := c.ListTools(t.Context(), nil)
				require.NoError(t, err)
				ctx, program := r.start(t)
				out, err := mcpclient.CallTool[string](ctx, c, "forecast", place{"Bern"})
				require.NoError(t, err)
				require.Equal(t, "sunny in Bern", out)
				program.End()

				client := r.one(t, "tools/call forecast", trace.SpanKindClient)
				server := r.one(t, "tools/call forecast", trace.SpanKindServer)
				require.Equal(t, program.SpanContext().SpanID(), client.Parent().SpanID())
				require.Equal(t, client.SpanContext().SpanID(), server.Parent().SpanID())
				require.Equal(t, program.SpanContext().TraceID(), server.SpanContext().TraceID())
				require.Equal(t, codes.Unset, server.Status().Code)
				have := attributes(server.Attributes())
				require.NotEmpty(t, have["jsonrpc.request.id"])
				delete(have, "jsonrpc.request.id")
				if name == "http" {
					require.Equal(t, "127.0.0.1", have["client.address"])
					delete(have, "client.address")
					require.Equal(t, revision.Handshake, have["mcp.session.id"] != "")
					require.Equal(t, have["mcp.session.id"], attributes(client.Attributes())["mcp.session.id"])
				}
				delete(have, "mcp.session.id")
				want := map[string]string{
					"mcp.method.name": "tools/call", "mcp.protocol.version": revision.Revision.String(),
					"gen_ai.tool.name": "forecast", "gen_ai.operation.name": "execute_tool",
				}
				for key, value := range network[name] {
					want[key] = value
				}
				require.Equal(t, want, have)
			})
		}
	}
}

func TestSpansOfMethods(t *testing.T) {
	r := newRecorder()
	s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
	c := connect(t, mcpclient.InProcess(s), mcpotel.InstrumentClient(&mcpclient.Options{Revision: mcp.Revision20251125}, r.options()))
	_, err := c.GetPrompt(t.Context(), &mcp.GetPromptRequest{Name: "poem", Arguments: map[string]string{"city": "Bern"}})
	require.NoError(t, err)
	_, err = c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: "map://bern"})
	require.NoError(t, err)
	_, err = c.ReadResource(t.Context(), &mcp.ReadResourceRequest{URI: "map://basel"})
	require.Error(t, err)
	_, err = mcpclient.CallTool[string](t.Context(), c, "fail", nil)
	require.Error(t, err)

	r.one(t, "notifications/initialized", trace.SpanKindClient)
	for _, kind := range []trace.SpanKind{trace.SpanKindClient, trace.SpanKindServer} {
		r.one(t, "initialize", kind)
		prompt := attributes(r.one(t, "prompts/get poem", kind).Attributes())
		require.Equal(t, "poem", prompt["gen_ai.prompt.name"])
		reads := r.named("resources/read", kind)
		require.Len(t, reads, 2)
		require.Equal(t, "map://bern", attributes(reads[0].Attributes())["mcp.resource.uri"])
		require.Equal(t, codes.Error, reads[1].Status().Code)
		require.Empty(t, reads[1].Status().Description, "the text of an error may be private")
		require.Equal(t, "-32002", attributes(reads[1].Attributes())["rpc.response.status_code"])
		require.Equal(t, "-32002", attributes(reads[1].Attributes())["error.type"])
		failed := r.one(t, "tools/call", kind) // the name of the tool is not known to exist
		require.Equal(t, "fail", attributes(failed.Attributes())["gen_ai.tool.name"])
		require.Equal(t, "tool_error", attributes(failed.Attributes())["error.type"])
		require.Equal(t, codes.Error, failed.Status().Code)
	}
}
