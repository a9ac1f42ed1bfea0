package mcptest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/internal/outbound"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/stdio"
	"github.com/mcpwright/mcp/runtime/wire"
)

// TestMain runs a server instead of the tests if the environment has runAsServer.
func TestMain(m *testing.M) {
	if os.Getenv(runAsServer) != "" {
		serveAsProgram()
		return
	}
	leaks.Main(m)
}

// runAsServer is the environment variable of a test program that runs as a server.
// Its value is "serve" or "fail".
const runAsServer = "MCPTEST_SERVE"

func serveAsProgram() {
	fmt.Fprintln(os.Stderr, "started")
	if os.Getenv(runAsServer) == "fail" {
		os.Exit(3)
	}
	if err := stdio.Serve(context.Background(), connection.NewPipe(newKernel(nil), nil), nil); err != nil {
		os.Exit(1)
	}
}

// testRecorder is a [mcptest.TB] that records failures.
type testRecorder struct {
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (r *testRecorder) Helper()                  {}
func (r *testRecorder) Context() context.Context { return context.Background() }
func (r *testRecorder) Cleanup(f func())         { r.cleanups = append(r.cleanups, f) }

func (r *testRecorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *testRecorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// failuresOf runs a test and its cleanups, and returns its failures.
func failuresOf(test func(t mcptest.TB)) []string {
	r := new(testRecorder)
	ended := make(chan struct{})
	go func() { // ends with the test
		defer close(ended)
		defer func() {
			for _, cleanup := range slices.Backward(r.cleanups) {
				cleanup()
			}
		}()
		test(r)
	}()
	<-ended
	return r.failures
}

// violations records violations.
type violations struct {
	mu    sync.Mutex
	found []string
}

func (r *violations) report(v *mcptest.Violation) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.found = append(r.found, v.From.String()+" "+short(v))
}

func (r *violations) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	found := r.found
	r.found = nil
	return found
}

// newKernel returns the server of the tests. Its tools are: "greet"; "ask", which asks
// the user for a name; "ask forever", which always requests input; and "wait", which
// sends true to waits, waits until it is cancelled, and sends false.
func newKernel(waits chan<- bool) *connection.Dispatcher {
	mux := new(peer.Mux)
	mcp.HandleListTools(mux, func(context.Context, *mcp.ListToolsRequest) (*mcp.ListToolsResult, error) {
		return &mcp.ListToolsResult{Tools: []mcp.Tool{{Name: "greet", InputSchema: json.RawMessage(`{"type":"object"}`)}}}, nil
	})
	mcp.HandleCallTool(mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if req.Name == "wait" {
			waits <- true
			<-ctx.Done()
			waits <- false
			return nil, context.Cause(ctx)
		}
		return callGreeter(ctx, req)
	})
	mcp.HandleGetPrompt(mux, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		if req.RequestState == nil {
			return nil, errAgain
		}
		return &mcp.GetPromptResult{Description: *req.RequestState}, nil
	})
	mcp.HandleReadResource(mux, func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		if req.RequestState == nil {
			return nil, errAgain
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: req.URI, Text: *req.RequestState}}}, nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:  mux,
		Info: mcp.Implementation{Name: "greeter", Version: "2"},
		Capabilities: mcp.ServerCapabilities{
			Tools:     &mcp.ToolsCapability{},
			Prompts:   &mcp.PromptsCapability{},
			Resources: &mcp.ResourcesCapability{},
			Logging:   mcp.JSONObject{},
		},
	})
}

// errAgain requests the same request again, without input.
var errAgain = func() error {
	state := "again"
	return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{RequestState: &state}}
}()

func callGreeter(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	switch req.Name {
	case "greet":
		return mcp.TextResult("hello"), nil
	case "ask":
		return ask(ctx, req)
	case "ask forever":
		return nil, errAgain
	}
	return nil, &peer.Error{Code: mcp.CodeInvalidParams, Message: "no such tool"}
}

// ask greets the user by name. It elicits the name in all revisions.
func ask(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	params := &mcp.ElicitRequestFormParams{Message: "Your name?", RequestedSchema: mcp.RequestedSchema{}}
	if res, ok := req.InputResponses["name"].(*mcp.ElicitResult); ok {
		return mcp.TextResult(fmt.Sprint("hello ", res.Content["name"])), nil
	}
	session := mcp.SessionFromContext(ctx)
	if r, _ := mcp.ParseRevision(session.Revision().String()); !mcp.Revisions[r.Index()].Handshake {
		return nil, &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{
			InputRequests: mcp.InputRequests{"name": &mcp.ElicitRequest{Params: params}},
		}}
	}
	res, err := session.ElicitForm(ctx, params)
	if err != nil {
		return nil, err
	}
	return mcp.TextResult(fmt.Sprint("hello ", res.Content["name"])), nil
}

// serveFunc is a function that implements [mcptest.Server].
type serveFunc func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error

func (f serveFunc) ServeStreams(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	return f(ctx, in, out)
}

// greeterServer returns a valid server.
func greeterServer() mcptest.Server {
	return mcptest.InProcess(func() peer.Handler { return connection.NewPipe(newKernel(nil), nil) })
}

// changeLines returns a server that changes each line that another server writes.
func changeLines(s mcptest.Server, change func(line string) string) mcptest.Server {
	return serveFunc(func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		r, w := io.Pipe()
		var all sync.WaitGroup
		all.Go(func() {
			lines := bufio.NewScanner(r)
			for lines.Scan() {
				fmt.Fprintln(out, change(lines.Text()))
			}
			out.Close()
		})
		defer all.Wait()
		return s.ServeStreams(ctx, in, w)
	})
}

// replacing returns a function for changeLines that replaces a part of each line.
func replacing(old, new string) func(string) string {
	return func(line string) string { return strings.ReplaceAll(line, old, new) }
}

// endpoint is a small Streamable HTTP endpoint for the server of the tests. If stream
// is true, its responses are streams.
type endpoint struct {
	kernel *connection.Dispatcher
	stream bool
	waits  chan bool // of the tool "wait"

	mu       sync.Mutex
	sessions map[string]*connection.Connection
	deleted  []string
	headers  []http.Header
}

func newEndpoint(stream bool) *endpoint {
	waits := make(chan bool, 2)
	return &endpoint{kernel: newKernel(waits), stream: stream, waits: waits, sessions: map[string]*connection.Connection{}}
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	session := r.Header.Get("Mcp-Session-Id")
	e.mu.Lock()
	e.headers = append(e.headers, r.Header.Clone())
	conn := e.sessions[session]
	e.mu.Unlock()
	switch {
	case r.Method == http.MethodDelete:
		e.mu.Lock()
		defer e.mu.Unlock()
		e.deleted = append(e.deleted, session)
	case r.Method == http.MethodGet && conn != nil:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 1\r\ndata:\r\n\r\n: nothing\nevent: other\ndata: x\n\n",
			"data: {\"jsonrpc\":\"2.0\",\ndata: \"method\":\"notifications/tools/list_changed\"}\n\n")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	case r.Method == http.MethodPost:
		e.post(w, r, conn)
	default:
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
	}
}

func (e *endpoint) post(w http.ResponseWriter, r *http.Request, conn *connection.Connection) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m, err := wire.ReadMessage(body, nil)
	if err != nil {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(http.StatusBadRequest)
		response, _ := wire.AppendError(nil, m.ID, &wire.ErrorObject{Code: mcp.CodeParse, Message: "Parse error"})
		_, _ = w.Write(response)
		return
	}
	if m.Method == mcp.MethodInitialize {
		conn = connection.New(nil, nil)
		e.mu.Lock()
		session := strconv.Itoa(len(e.sessions) + 1)
		e.sessions[session] = conn
		e.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", session)
	}
	response := e.handle(r.Context(), conn, r.Header, m)
	switch {
	case m.ID.IsZero():
		w.WriteHeader(http.StatusAccepted)
	case e.stream:
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "id: 7\n\nevent: message\ndata: %s\n\n", response)
		w.(http.Flusher).Flush()
	default:
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(response[:5])
		_, _ = w.Write(response[5:])
	}
}

// handle handles a message and returns the response, nil for a notification. A nil conn
// is for stateless messages.
func (e *endpoint) handle(ctx context.Context, conn *connection.Connection, header http.Header, m wire.Message) []byte {
	in := &peer.Inbound{Method: m.Method, ID: m.ID, Params: m.Params, Back: outbound.None{}}
	var reply peer.Reply
	var err error
	if conn != nil {
		in.Transport = peer.NewTransportContext("http", false, header, "")
		reply, err = e.kernel.Serve(ctx, conn, in)
	} else {
		in.Transport = peer.NewTransportContext("http", false, header, "")
		reply, err = e.kernel.ServeStateless(ctx, in, nil)
	}
	if m.ID.IsZero() {
		return nil
	}
	var response []byte
	if err == nil {
		response, err = wire.AppendResult(nil, reply.Frame, m.ID, reply.Result)
	}
	if err != nil {
		x := peer.AsError(err)
		if x == nil {
			x = &peer.Error{Code: mcp.CodeInternal, Message: "Internal error"}
		}
		response, _ = wire.AppendError(nil, m.ID, &wire.ErrorObject{Code: x.Code, Message: x.Message, Data: json.RawMessage(x.Data)})
	}
	return response
}
