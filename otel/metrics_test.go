package mcpotel_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

func TestHistograms(t *testing.T) {
	r := newRecorder()
	s := newServer(mcpotel.InstrumentServer(&mcpserver.Options{}, r.options()))
	c := connect(t, mcpclient.InProcess(s), mcpotel.InstrumentClient(&mcpclient.Options{Revision: mcp.Revision20251125}, r.options()))
	_, err := mcpclient.CallTool[string](t.Context(), c, "forecast", place{"Bern"})
	require.NoError(t, err)
	_, err = mcpclient.CallTool[string](t.Context(), c, "unknown", nil)
	require.Error(t, err)
	for _, name := range []string{"mcp.client.operation.duration", "mcp.server.operation.duration"} {
		seen := make(map[string]map[string]string)
		for _, p := range r.points(t, name) {
			require.Equal(t, []float64{0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300}, p.Bounds)
			have := attributes(p.Attributes.ToSlice())
			seen[have["mcp.method.name"]+" "+have["gen_ai.tool.name"]] = have
		}
		require.Contains(t, seen, "initialize ")
		require.Equal(t, map[string]string{
			"mcp.method.name": "tools/call", "gen_ai.tool.name": "forecast", "gen_ai.operation.name": "execute_tool", "mcp.protocol.version": "2025-11-25",
		}, seen["tools/call forecast"])
		require.Equal(t, "-32602", seen["tools/call _OTHER"]["error.type"])
		require.Equal(t, "-32602", seen["tools/call _OTHER"]["rpc.response.status_code"])
	}
	require.Empty(t, r.points(t, "mcp.server.session.duration"), "the session has not ended")
	require.NoError(t, c.Close())
	require.Eventually(t, func() bool {
		return len(r.points(t, "mcp.server.session.duration")) == 1 && len(r.points(t, "mcp.client.session.duration")) == 1
	}, patience, tick)
	session := r.points(t, "mcp.client.session.duration")[0]
	require.Equal(t, map[string]string{"mcp.protocol.version": "2025-11-25"}, attributes(session.Attributes.ToSlice()))
}

// call handles a request with middleware in a connection's place.
func call(h peer.Handler, method string, params string) error {
	_, err := h.Handle(context.Background(), &peer.Inbound{
		Method: method, ID: wire.IntID(1), Params: []byte(params), Frame: &wire.Frame{Revision: mcp.Revision20251125},
		Transport: peer.NewTransportContext("pipe", true, nil, ""),
	})
	return err
}

func TestLabelsAreLimited(t *testing.T) {
	const total = 100_000
	unknown := &peer.Error{Code: mcp.CodeInvalidParams, Message: "unknown tool"}
	accepts := func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}
	refuses := func(context.Context, *peer.Inbound) (peer.Reply, error) { return peer.Reply{}, unknown }
	fails := func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: &mcp.CallToolResult{IsError: true}}, nil
	}
	code := int64(0)
	counts := func(context.Context, *peer.Inbound) (peer.Reply, error) {
		code++
		return peer.Reply{}, &peer.Error{Code: code}
	}
	for _, test := range []struct {
		name    string
		handler peer.HandlerFunc
		method  string
		params  string // before the name
		limit   int
	}{
		{"unknown tools", refuses, "tools/call", `{"name":"`, 1},
		{"tools whose server reports unknown names as results", fails, "tools/call", `{"name":"`, 1},
		{"unknown prompts", refuses, "prompts/get", `{"name":"`, 1},
		{"unknown methods", refuses, "", `{"name":"`, 1},
		{"error codes", counts, "tools/call", `{"name":"`, 101},
		{"tools of a server that accepts all names", accepts, "tools/call", `{"name":"`, 1001},
		{"methods of a server that accepts all names", accepts, "", `{"name":"`, 101},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{reader: sdkmetric.NewManualReader()}
			r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader), sdkmetric.WithCardinalityLimit(0))
			opts := &mcpotel.Options{MeterProvider: r.meters, TracerProvider: nooptrace.NewTracerProvider()}
			h := mcpotel.Middleware(opts)(test.handler)
			for i := range total {
				method := test.method
				if method == "" {
					method = "acme/" + strconv.Itoa(i)
				}
				_ = call(h, method, test.params+"name"+strconv.Itoa(i)+`"}`)
			}
			require.Len(t, r.points(t, "mcp.server.operation.duration"), test.limit)
		})
	}
}

// refusing is an [peer.Outbound] whose peer refuses each message with the same error.
type refusing struct{}

func (*refusing) Call(context.Context, peer.Message, wire.Value, ...peer.CallOption) error {
	return &peer.Error{Code: mcp.CodeInvalidParams}
}

func (*refusing) Notify(context.Context, peer.Notification, ...peer.CallOption) error {
	return errors.New("cannot be encoded")
}

// acmeRequest is a request of a method that the protocol does not have.
type acmeRequest struct {
	mcp.PingRequest
	method string
}

func (r *acmeRequest) Method() string { return r.method }

func TestLabelsOfSentMessagesAreLimited(t *testing.T) {
	const total = 100_000
	tool := func(name string) peer.Message { return &mcp.CallToolRequest{Name: name} }
	prompt := func(name string) peer.Message { return &mcp.GetPromptRequest{Name: name} }
	method := func(name string) peer.Message { return &acmeRequest{method: "acme/" + name} }
	for _, test := range []struct {
		name    string
		message func(name string) peer.Message
		under   peer.Outbound
		limit   int
	}{
		{"unknown tools", tool, new(refusing), 1},
		{"tools of a server that accepts all names", tool, new(nowhere), 1001},
		{"unknown prompts", prompt, new(refusing), 1},
		{"prompts of a server that accepts all names", prompt, new(nowhere), 1001},
		{"methods", method, new(nowhere), 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := &recorder{reader: sdkmetric.NewManualReader()}
			r.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader), sdkmetric.WithCardinalityLimit(0))
			out := mcpotel.Outgoing(&mcpotel.Options{MeterProvider: r.meters, TracerProvider: nooptrace.NewTracerProvider()})(test.under)
			for i := range total {
				_ = out.Call(t.Context(), test.message("name"+strconv.Itoa(i)), nil)
			}
			require.Len(t, r.points(t, "mcp.client.operation.duration"), test.limit)
		})
	}
}

// TestManyToolsAreMeasuredApart calls more tools than are found without a lock.
func TestManyToolsAreMeasuredApart(t *testing.T) {
	const tools, calls = 200, 3
	r := newRecorder()
	h := mcpotel.Middleware(r.options())(peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}))
	for range calls {
		for i := range tools {
			require.NoError(t, call(h, "tools/call", `{"name":"name`+strconv.Itoa(i)+`"}`))
		}
	}
	points := r.points(t, "mcp.server.operation.duration")
	require.Len(t, points, tools)
	for _, p := range points {
		require.EqualValues(t, calls, p.Count, p.Attributes)
	}
	for i := range tools {
		require.NotEmpty(t, r.named("tools/call name"+strconv.Itoa(i), trace.SpanKindServer))
	}
}

// TestReportsThatFail measures reports of progress that fail. They have no span.
func TestReportsThatFail(t *testing.T) {
	r := newRecorder()
	refuses := func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{}, &peer.Error{Code: mcp.CodeInvalidParams}
	}
	h := mcpotel.Middleware(r.options())(peer.HandlerFunc(refuses))
	require.Error(t, call(h, "notifications/progress", `{"progressToken":1,"progress":"much"}`))
	point := r.points(t, "mcp.server.operation.duration")[0]
	require.Equal(t, "notifications/progress", attributes(point.Attributes.ToSlice())["mcp.method.name"])
	require.Equal(t, "-32602", attributes(point.Attributes.ToSlice())["rpc.response.status_code"])

	out := mcpotel.Outgoing(r.options())(new(refusing))
	require.Error(t, out.Notify(t.Context(), &mcp.ProgressNotification{Progress: 1}))
	point = r.points(t, "mcp.client.operation.duration")[0]
	require.Equal(t, "notifications/progress", attributes(point.Attributes.ToSlice())["mcp.method.name"])
}

func TestSpanNamesAreLimited(t *testing.T) {
	r := newRecorder()
	opts := &mcpotel.Options{MeterProvider: noopmetric.NewMeterProvider(), TracerProvider: r.tracer}
	h := mcpotel.Middleware(opts)(peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{}, &peer.Error{Code: mcp.CodeMethodNotFound}
	}))
	for i := range 1000 {
		_ = call(h, "tools/call", `{"name":"name`+strconv.Itoa(i)+`"}`)
		_ = call(h, "acme/"+strconv.Itoa(i), "{}")
	}
	require.Len(t, r.named("tools/call", trace.SpanKindServer), 1000)
	require.Len(t, r.named("_OTHER", trace.SpanKindServer), 1000)
}

func TestListsTeachNames(t *testing.T) {
	r := newRecorder()
	s := newServer(&mcpserver.Options{})
	c := connect(t, mcpclient.InProcess(s), mcpotel.InstrumentClient(&mcpclient.Options{}, r.options()))
	for _, err := range c.Tools(t.Context()) {
		require.NoError(t, err)
	}
	_, err := mcpclient.CallTool[string](t.Context(), c, "fail", nil)
	require.Error(t, err)
	r.one(t, "tools/call fail", trace.SpanKindClient)
}

func TestNothingIsAllocatedWithoutSDK(t *testing.T) {
	reply := peer.Reply{Result: &mcp.EmptyResult{}}
	next := peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) { return reply, nil })
	in := &peer.Inbound{Method: "tools/call", ID: wire.IntID(1), Params: []byte(`{"name":"forecast"}`)}
	for name, opts := range map[string]*mcpotel.Options{
		"global":  nil,
		"options": {TracerProvider: nooptrace.NewTracerProvider(), MeterProvider: noopmetric.NewMeterProvider()},
	} {
		h := mcpotel.Middleware(opts)(next)
		require.Zero(t, testing.AllocsPerRun(1000, func() { _, _ = h.Handle(context.Background(), in) }), name)
		out := mcpotel.Outgoing(opts)
		var under peer.Outbound = &nowhere{}
		require.Zero(t, testing.AllocsPerRun(1000, func() { _ = out(under).Call(context.Background(), nil, nil) }), name)
		require.Same(t, under, out(under), name)
	}
}

// nowhere is an [peer.Outbound] that sends nothing.
type nowhere struct{ opts peer.CallOptions }

func (o *nowhere) Call(_ context.Context, _ peer.Message, _ wire.Value, opts ...peer.CallOption) error {
	for _, opt := range opts {
		opt(&o.opts)
	}
	return nil
}

func (o *nowhere) Notify(context.Context, peer.Notification, ...peer.CallOption) error { return nil }

func TestGlobalProviderMayBeSetLater(t *testing.T) {
	r := newRecorder()
	h := mcpotel.Middleware(nil)(peer.HandlerFunc(func(context.Context, *peer.Inbound) (peer.Reply, error) {
		return peer.Reply{Result: &mcp.EmptyResult{}}, nil
	}))
	require.NoError(t, call(h, "ping", "{}"))
	otel.SetTracerProvider(r.tracer)
	defer otel.SetTracerProvider(nooptrace.NewTracerProvider())
	require.NoError(t, call(h, "ping", "{}"))
	r.one(t, "ping", trace.SpanKindServer)
}
