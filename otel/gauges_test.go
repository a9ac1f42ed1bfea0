package mcpotel_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// sums reads the present values of all gauges, and of the refusals by limit.
func sums(t *testing.T, reader *sdkmetric.ManualReader) (values, refusals map[string]int64) {
	var all metricdata.ResourceMetrics
	require.NoError(t, reader.Collect(t.Context(), &all))
	values, refusals = map[string]int64{}, map[string]int64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			sum, ok := m.Data.(metricdata.Sum[int64])
			if !ok {
				continue
			}
			for _, point := range sum.DataPoints {
				values[m.Name] += point.Value
				if limit, ok := point.Attributes.Value("mcp.limit"); ok {
					refusals[limit.AsString()] = point.Value
				}
			}
		}
	}
	return values, refusals
}

func TestGaugesOfServer(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	o := &mcpotel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))}
	var opts mcpserver.Options
	opts.Stdio.JSONRPC = jsonrpc.Options{MaxInFlight: 1}
	server := mcpserver.New(mcp.Implementation{Name: "s", Version: "1"}, &opts)
	begun, release := make(chan bool), make(chan bool)
	mcpserver.AddTool(server, &mcp.Tool{Name: "wait"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		begun <- true
		<-release
		return "", nil
	})
	stop, err := mcpotel.ObserveServer(server, o)
	require.NoError(t, err)
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(server), nil)
	require.NoError(t, err)
	defer c.Close()
	called := make(chan error, 1)
	go func() { // ends with the call
		_, err := mcpclient.CallTool[string](t.Context(), c, "wait", nil)
		called <- err
	}()
	<-begun
	values, _ := sums(t, reader)
	require.EqualValues(t, 1, values["mcp.server.sessions"])
	require.EqualValues(t, 1, values["mcp.server.requests"])
	for _, name := range []string{"mcp.server.streams", "mcp.server.events", "mcp.server.events.size", "mcp.server.tasks", "mcp.server.held"} {
		require.Contains(t, values, name)
	}
	_, err = mcpclient.CallTool[string](t.Context(), c, "wait", nil)
	require.ErrorContains(t, err, "Too many requests")
	_, refusals := sums(t, reader)
	require.Equal(t, map[string]int64{"JSONRPC.MaxInFlight": 1}, refusals)
	release <- true
	require.NoError(t, <-called)
	require.NoError(t, stop())
	values, _ = sums(t, reader)
	require.NotContains(t, values, "mcp.server.sessions")
}
