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
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/mcpwright/mcp/generated/mcp"
	mcpotel "github.com/mcpwright/mcp/otel"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// The variables by which the test starts itself as another process.
const (
	roleVariable  = "MCPOTEL_ROLE"
	spansVariable = "MCPOTEL_SPANS"
	// upstreamVariable is the revision between gateway and server.
	upstreamVariable = "MCPOTEL_UPSTREAM"
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
		Tasks: &tasks.Options{StartAfter: -1, PollInterval: 20 * time.Millisecond},
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
	revision, ok := mcp.ParseRevision(os.Getenv(upstreamVariable))
	if !ok {
		return fmt.Errorf("the variable %s is not a revision", upstreamVariable)
	}
	var caller atomic.Pointer[mcp.ServerSession] // the only one
	upstream, err := mcpclient.Connect(ctx, endpoint, mcpotel.InstrumentClient(&mcpclient.Options{
		OnElicit: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return peer.SendRequest(ctx, caller.Load(), req)
		},
		Revision: revision, Tasks: true, Capabilities: mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}},
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
		s.AddRawTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			caller.Store(mcp.SessionFromContext(ctx))
			return to.CallTool(ctx, req)
		})
	}
	l := httptest.NewServer(streamable.NewHandler(s, nil))
	defer l.Close()
	fmt.Println(l.URL)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startGateway starts the processes of the gateway and the server. It returns the
// gateway's URL and a function that ends both processes.
func startGateway(t *testing.T, spans string, upstream wire.Revision) (url string, stop func()) {
	exe, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), roleVariable+"=gateway", spansVariable+"="+spans, upstreamVariable+"="+upstream.String())
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

// TestThreeProcessesShareOneTrace calls the tools of a server through a gateway, in each kind of
// revision at both ends.
func TestThreeProcessesShareOneTrace(t *testing.T) {
	kinds := []wire.Revision{mcp.Revision20251125, mcp.Revision20260728}
	for _, revision := range kinds {
		for _, upstream := range kinds {
			t.Run(revision.String()+" to "+upstream.String(), func(t *testing.T) {
				run := callThroughGateway(t, revision, upstream)
				run.requireParents(t)
				run.requireCounts(t, revision, upstream)
			})
		}
	}
}

// gatewayRun has the spans of calls through a gateway.
type gatewayRun struct {
	spans  []spanRecord
	traces map[string]string // by tool
}

// asks reports whether a question reaches the client. A request of a handshake server on a pipe does
// not name its call, so it cannot be asked in the result of one.
func asks(revision, upstream wire.Revision) bool {
	return upstream == mcp.Revision20260728 || revision == mcp.Revision20251125
}

// callThroughGateway calls each tool once, in a span.
func callThroughGateway(t *testing.T, revision, upstream wire.Revision) *gatewayRun {
	path := filepath.Join(t.TempDir(), "spans")
	url, stop := startGateway(t, path, upstream)
	provider, err := newFileProvider("client", path)
	require.NoError(t, err)
	client := connect(t, mcpclient.URL(url), mcpotel.InstrumentClient(&mcpclient.Options{
		Revision: revision,
		OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"city": "Bern"}}, nil
		},
	}, &mcpotel.Options{TracerProvider: provider}))
	require.Equal(t, revision == mcp.Revision20260728, client.NoHandshake())
	for tool, err := range client.Tools(t.Context()) {
		require.NoError(t, err, tool)
	}
	run := &gatewayRun{traces: make(map[string]string)}
	for _, call := range []struct{ tool, want string }{{"forecast", "sunny"}, {"book", "booked in Bern"}, {"render", "rendered"}} {
		if call.tool == "book" && !asks(revision, upstream) {
			continue
		}
		ctx, span := provider.Tracer("test").Start(t.Context(), "program")
		out, err := mcpclient.CallTool[string](ctx, client, call.tool, nil)
		require.NoError(t, err)
		require.Equal(t, call.want, out)
		span.End()
		run.traces[call.tool] = span.SpanContext().TraceID().String()
	}
	require.NoError(t, client.Close())
	stop()
	run.spans = readSpans(t, path)
	return run
}

// requireParents requires that each span of a call has the expected parent, in the same trace: the
// program, then alternately the client and the server of each hop, and the reverse for questions.
func (r *gatewayRun) requireParents(t *testing.T) {
	byID := make(map[string]spanRecord)
	for _, s := range r.spans {
		byID[s.Span] = s
	}
	calls := map[string]string{
		"client client": "client internal", "gateway server": "client client",
		"gateway client": "gateway server", "server server": "gateway client",
	}
	questions := map[string]string{
		"server client": "server server", "gateway server": "server client",
		"gateway client": "gateway server", "client server": "gateway client",
	}
	for _, s := range r.spans {
		parents := calls
		switch method := s.Attributes["mcp.method.name"]; {
		case method == "elicitation/create":
			parents = questions
		case s.Attributes["gen_ai.tool.name"] == "" && !strings.HasPrefix(method, "tasks/"):
			continue
		}
		parent := byID[s.Parent]
		if parent.Process == "gateway" && parent.Name == "elicitation/create" {
			require.Equal(t, parent.Trace, s.Trace, s) // a question in a result became a request, or the reverse
			continue
		}
		require.Equal(t, parents[s.Process+" "+s.Kind], parent.Process+" "+parent.Kind, s)
		require.Equal(t, parent.Trace, s.Trace, s)
	}
}

// requireCounts requires the expected spans of each call.
func (r *gatewayRun) requireCounts(t *testing.T, revision, upstream wire.Revision) {
	counts := make(map[string]int)
	for _, s := range r.spans {
		for tool, trace := range r.traces {
			if trace == s.Trace {
				counts[tool+": "+s.Process+" "+s.Kind+" "+s.Name]++
			}
		}
	}
	for process, hop := range map[string]wire.Revision{
		"client client": revision, "gateway server": revision, "gateway client": upstream, "server server": upstream,
	} {
		rounds := 1
		if hop == mcp.Revision20260728 {
			rounds = 2 // the question is the result of the first
		}
		require.Equal(t, 1, counts["forecast: "+process+" tools/call forecast"], counts)
		if asks(revision, upstream) {
			require.Equal(t, rounds, counts["book: "+process+" tools/call book"], counts)
		}
		require.Equal(t, 1, counts["render: "+process+" tools/call render"], counts)
	}
	if revision == mcp.Revision20251125 && upstream == revision {
		for _, process := range []string{"server client", "gateway server", "gateway client", "client server"} {
			require.Equal(t, 1, counts["book: "+process+" elicitation/create"], counts)
		}
	}
	sent, handled := 0, 0
	for name, n := range counts {
		if strings.HasPrefix(name, "render: gateway client tasks/") {
			sent += n
		}
		if strings.HasPrefix(name, "render: server server tasks/") {
			handled += n
		}
	}
	require.Greater(t, sent, 1, counts)
	require.Equal(t, sent, handled, counts)
}
