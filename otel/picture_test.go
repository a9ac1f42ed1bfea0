package mcpotel_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"html"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

var update = flag.Bool("update", false, "rewrite ../docs/trace.svg")

// TestPictureOfTrace records one trace through a client, a gateway and two servers, and compares its
// picture with the one in the documentation.
func TestPictureOfTrace(t *testing.T) {
	var picture string
	synctest.Test(t, func(t *testing.T) { picture = draw(t, tripTrace(t)) }) // the time in a bubble is the same in each run
	const file = "../docs/trace.svg"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(picture), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), picture, "run go test -run PictureOfTrace -update")
}

// pictureSpan is a span of a process.
type pictureSpan struct {
	process string
	tracetest.SpanStub
	depth int
}

// tripTrace returns the spans of a call of the gateway's tool "trip", which calls one tool of each server.
func tripTrace(t *testing.T) []pictureSpan {
	exporters := map[string]*tracetest.InMemoryExporter{}
	options := func(process string) *mcpotel.Options {
		exporters[process] = tracetest.NewInMemoryExporter()
		return &mcpotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporters[process]))}
	}
	upstream := func(process, tool string, takes time.Duration, gateway *mcpotel.Options) *mcpclient.Client {
		server := mcpserver.New(mcp.Implementation{Name: process, Version: "1"}, mcpotel.InstrumentServer(nil, options(process)))
		mcpserver.AddTool(server, &mcp.Tool{Name: tool}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
			time.Sleep(takes)
			return tool, nil
		})
		return pictureClient(t, server, gateway)
	}
	own := options("gateway")
	weather, hotels := upstream("weather", "forecast", 120*time.Millisecond, own), upstream("hotels", "book", 200*time.Millisecond, own)
	gateway := mcpserver.New(mcp.Implementation{Name: "gateway", Version: "1"}, mcpotel.InstrumentServer(nil, own))
	mcpserver.AddTool(gateway, &mcp.Tool{Name: "trip"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		time.Sleep(20 * time.Millisecond)
		forecast, err := mcpclient.CallTool[string](ctx, weather, "forecast", nil)
		if err != nil {
			return "", err
		}
		time.Sleep(10 * time.Millisecond)
		room, err := mcpclient.CallTool[string](ctx, hotels, "book", nil)
		time.Sleep(20 * time.Millisecond)
		return forecast + room, err
	})
	user := options("client")
	c := pictureClient(t, gateway, user)
	for _, e := range exporters {
		e.Reset() // of the spans of the connections
	}
	ctx, program := user.TracerProvider.Tracer("program").Start(t.Context(), "plan a trip")
	_, err := mcpclient.CallTool[string](ctx, c, "trip", nil)
	require.NoError(t, err)
	program.End()
	var spans []pictureSpan
	for process, e := range exporters {
		for _, s := range e.GetSpans() {
			require.Equal(t, program.SpanContext().TraceID(), s.SpanContext.TraceID(), "all spans are one trace")
			spans = append(spans, pictureSpan{process: process, SpanStub: s})
		}
	}
	return spans
}

// pictureClient connects a client that is closed at the end of the test.
func pictureClient(t *testing.T, s *mcpserver.Server, o *mcpotel.Options) *mcpclient.Client {
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(s), mcpotel.InstrumentClient(&mcpclient.Options{Logger: quiet}, o))
	require.NoError(t, err)
	t.Cleanup(func() { c.Close() })
	return c
}

// sortSpans puts each span after its parent, and siblings in the order of their start.
func sortSpans(t *testing.T, spans []pictureSpan) []pictureSpan {
	var sorted []pictureSpan
	var add func(parent trace.SpanID, depth int)
	add = func(parent trace.SpanID, depth int) {
		var children []pictureSpan
		for _, s := range spans {
			if s.Parent.SpanID() == parent {
				s.depth = depth
				children = append(children, s)
			}
		}
		slices.SortFunc(children, func(a, b pictureSpan) int {
			return cmp.Or(a.StartTime.Compare(b.StartTime), strings.Compare(a.Name, b.Name))
		})
		for _, s := range children {
			sorted = append(sorted, s)
			add(s.SpanContext.SpanID(), depth+1)
		}
	}
	add(trace.SpanID{}, 0)
	require.Len(t, sorted, len(spans), "each span has a parent in the trace")
	return sorted
}

// draw returns the picture of a trace: a row for each span, with its process, name, kind and time.
func draw(t *testing.T, spans []pictureSpan) string {
	const width, row, left, scale = 900, 26, 430, 1.1 // pixels; scale is for a millisecond
	spans = sortSpans(t, spans)
	require.Len(t, spans, 7)
	colors := map[string]string{"client": "#4878a8", "gateway": "#7a5195", "weather": "#2f8f6b", "hotels": "#b5651d"}
	var svg strings.Builder
	fmt.Fprintf(&svg, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="13">`+"\n", width, row*len(spans)+20)
	fmt.Fprintln(&svg, `<title>One trace through a client, a gateway and two servers</title>`)
	fmt.Fprintln(&svg, `<rect width="100%" height="100%" fill="#ffffff"/>`)
	begin := spans[0].StartTime
	for i, s := range spans {
		y, color := 10+row*i, colors[s.process]
		require.NotEmpty(t, color, s.process)
		start, length := s.StartTime.Sub(begin).Milliseconds(), s.EndTime.Sub(s.StartTime).Milliseconds()
		kind := ""
		if s.SpanKind != trace.SpanKindInternal {
			kind = " " + strings.ToUpper(s.SpanKind.String())
		}
		fmt.Fprintf(&svg, `<text x="10" y="%d" fill="%s" font-weight="bold">%s</text>`, y+17, color, s.process)
		fmt.Fprintf(&svg, `<text x="%d" y="%d" fill="#222222">%s%s</text>`, 90+16*s.depth, y+17, html.EscapeString(s.Name), kind)
		fmt.Fprintf(&svg, `<rect x="%.0f" y="%d" width="%.0f" height="%d" rx="3" fill="%s"/>`, left+scale*float64(start), y+3, scale*float64(length), row-8, color)
		fmt.Fprintf(&svg, `<text x="%.0f" y="%d" fill="#222222" font-size="11">%d ms</text>`+"\n", left+scale*float64(start+length)+5, y+17, length)
	}
	fmt.Fprintln(&svg, `</svg>`)
	return svg.String()
}
