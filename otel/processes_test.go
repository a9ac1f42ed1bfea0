package mcpotel_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
)

// The variables by which the test starts itself as another process.
const (
	roleVariable  = "MCPOTEL_ROLE"
	spansVariable = "MCPOTEL_SPANS"
)

func TestMain(m *testing.M) {
	var err error
	switch os.Getenv(roleVariable) {
	case "server":
		err = serveTools()
	case "gateway":
		err = serveGateway()
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// spanRecord is a span in a file, one on each line.
type spanRecord struct {
	Process, Name, Kind, Trace, Span, Parent string
	Attributes                               map[string]string
}

// fileExporter appends spans to a file.
type fileExporter struct {
	mu      sync.Mutex
	process string
	file    *os.File
}

// newFileProvider returns a provider that writes each span to the file of the test
// when the span ends.
func newFileProvider(process, path string) (*sdktrace.TracerProvider, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return sdktrace.NewTracerProvider(sdktrace.WithSyncer(&fileExporter{process: process, file: f})), nil
}

func (e *fileExporter) ExportSpans(_ context.Context, spans []sdktrace.ReadOnlySpan) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range spans {
		line, err := json.Marshal(spanRecord{
			e.process, s.Name(), s.SpanKind().String(), s.SpanContext().TraceID().String(),
			s.SpanContext().SpanID().String(), s.Parent().SpanID().String(), attributes(s.Attributes()),
		})
		if err == nil {
			_, err = e.file.Write(append(line, '\n'))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (e *fileExporter) Shutdown(context.Context) error { return e.file.Close() }

// serveTools is the process of the server: it serves its standard input and output.
func serveTools() error {
	provider, err := newFileProvider("server", os.Getenv(spansVariable))
	if err != nil {
		return err
	}
	s := mcpserver.New(mcp.Implementation{Name: "server", Version: "1.0.0"}, mcpotel.InstrumentServer(&mcpserver.Options{
		Tasks: &mcpserver.TaskOptions{StartAfter: -1, PollInterval: 20 * time.Millisecond},
	}, &mcpotel.Options{TracerProvider: provider}))
	mcpserver.AddTool(s, &mcp.Tool{Name: "forecast"}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
		return "sunny", nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "book"}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		in, err := mcpserver.Elicit[place](ctx, session, "Where?")
		return "booked in " + in.City, err
	})
	render := &mcp.Tool{Name: "render", Execution: &mcp.ToolExecution{TaskSupport: mcp.TaskSupportRequired}}
	mcpserver.AddTool(s, render, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		select {
		case <-time.After(100 * time.Millisecond): // several polls
		case <-ctx.Done():
		}
		return "rendered", ctx.Err()
	})
	return s.ServeStdio(context.Background())
}

// serveGateway is the process of the gateway: it starts a server, serves its tools over
// HTTP, writes its URL to the standard output, and ends with its standard input.
func serveGateway() error {
	ctx := context.Background()
	provider, err := newFileProvider("gateway", os.Getenv(spansVariable))
	if err != nil {
		return err
	}
	o := &mcpotel.Options{TracerProvider: provider}
	endpoint := mcpclient.Command(os.Args[0])
	endpoint.Env = []string{roleVariable + "=server", spansVariable + "=" + os.Getenv(spansVariable)}
	upstream, err := mcpclient.Connect(ctx, endpoint, mcpotel.InstrumentClient(&mcpclient.Options{
		Tasks: true, Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}},
	}, o))
	if err != nil {
		return err
	}
	defer upstream.Close()
	s := mcpserver.New(mcp.Implementation{Name: "gateway", Version: "1.0.0"}, mcpotel.InstrumentServer(nil, o))
	to := mcpserver.Proxy(upstream)
	for tool, err := range upstream.Tools(ctx) {
		if err != nil {
			return err
		}
		tool.Execution = nil
		s.AddRawTool(tool, to.CallTool)
	}
	l := httptest.NewServer(s.Handler(nil))
	defer l.Close()
	fmt.Println(l.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startGateway starts the processes of the gateway and the server. It returns the
// gateway's URL and a function that ends both processes.
func startGateway(t *testing.T, spans string) (url string, stop func()) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"=gateway", spansVariable+"="+spans)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	stop = sync.OnceFunc(func() {
		in.Close()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	url, err = bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	return strings.TrimSpace(url), stop
}

// readSpans reads the spans of all processes.
func readSpans(t *testing.T, path string) (all []spanRecord) {
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for line := range bytes.Lines(data) {
		var s spanRecord
		require.NoError(t, json.Unmarshal(line, &s))
		all = append(all, s)
	}
	return all
}

func TestThreeProcessesShareOneTrace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spans")
	url, stop := startGateway(t, path)
	provider, err := newFileProvider("client", path)
	require.NoError(t, err)
	client := connect(t, mcpclient.URL(url), mcpotel.InstrumentClient(&mcpclient.Options{
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"city": "Bern"}}, nil
		},
	}, &mcpotel.Options{TracerProvider: provider}))
	require.True(t, client.NoHandshake())
	for tool, err := range client.Tools(t.Context()) {
		require.NoError(t, err, tool)
	}
	traces := make(map[string]string)
	for _, call := range []struct{ tool, want string }{{"forecast", "sunny"}, {"book", "booked in Bern"}, {"render", "rendered"}} {
		ctx, span := provider.Tracer("test").Start(t.Context(), "program")
		out, err := mcpclient.CallTool[string](ctx, client, call.tool, nil)
		require.NoError(t, err)
		require.Equal(t, call.want, out)
		span.End()
		traces[call.tool] = span.SpanContext().TraceID().String()
	}
	require.NoError(t, client.Close())
	stop()

	all := readSpans(t, path)
	byID := make(map[string]spanRecord)
	for _, s := range all {
		byID[s.Span] = s
	}
	// Each span of a trace has the expected parent: the program, then alternately the
	// client and the server of each hop.
	parents := map[string]string{
		"client client": "client internal", "gateway server": "client client",
		"gateway client": "gateway server", "server server": "gateway client",
	}
	counts := make(map[string]int)
	for _, s := range all {
		if s.Attributes["gen_ai.tool.name"] == "" && s.Attributes["mcp.method.name"] != "tasks/get" {
			continue
		}
		parent := byID[s.Parent]
		require.Equal(t, parents[s.Process+" "+s.Kind], parent.Process+" "+parent.Kind, s)
		require.Equal(t, parent.Trace, s.Trace, s)
		for tool, trace := range traces {
			if trace == s.Trace {
				counts[tool+": "+s.Process+" "+s.Kind+" "+s.Name]++
			}
		}
	}
	for _, process := range []string{"client client", "gateway server", "gateway client", "server server"} {
		require.Equal(t, 1, counts["forecast: "+process+" tools/call forecast"], counts)
		require.Equal(t, 2, counts["book: "+process+" tools/call book"], counts)
		require.Equal(t, 1, counts["render: "+process+" tools/call render"], counts)
	}
	require.Greater(t, counts["render: gateway client tasks/get"], 1, counts)
	require.Equal(t, counts["render: gateway client tasks/get"], counts["render: server server tasks/get"], counts)
}
