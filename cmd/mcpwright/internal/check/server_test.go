package check

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
)

type input struct {
	Text string `json:"text"`
}

type output struct {
	Text string `json:"text"`
}

// newServer returns a server without faults that offers something of each kind.
func newServer() *mcpserver.Server {
	s := mcpserver.New(mcp.Implementation{Name: "subject", Version: "1.0.0"}, &mcpserver.Options{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: mcp.ServerCapabilities{Logging: map[string]json.RawMessage{}},
	})
	readOnly := &mcp.ToolAnnotations{ReadOnlyHint: true}
	mcpserver.AddTool(s, &mcp.Tool{Name: "echo", Annotations: readOnly}, func(_ context.Context, _ *mcp.ServerSession, in input) (output, error) {
		return output(in), nil
	})
	mcpserver.AddTool(s, &mcp.Tool{Name: "progress", Annotations: readOnly}, func(ctx context.Context, session *mcp.ServerSession, _ struct{}) (string, error) {
		for i := range 3 {
			if err := session.ReportProgress(ctx, peer.Progress{Progress: float64(i + 1)}); err != nil {
				return "", err
			}
		}
		return "done", nil
	})
	mcpserver.AddPrompt(s, &mcp.Prompt{Name: "greeting"}, func(_ context.Context, _ *mcp.ServerSession, in input) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []mcp.PromptMessage{{Role: mcp.RoleUser, Content: &mcp.TextContent{Text: in.Text}}}}, nil
	})
	s.AddPromptCompleter("greeting", "text", mcpserver.CompleteFrom("Ada"))
	s.AddResource(&mcp.Resource{URI: "test://one", Name: "one"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{&mcp.TextResourceContents{URI: "test://one", Text: "1"}}}, nil
	})
	return s
}

// A flaw is one deviation of an otherwise good server. Each function may be nil.
type flaw struct {
	// take sees each line of the client, and returns whether the server gets it, and
	// lines that are sent at once.
	take func(line []byte) (pass bool, reply []string)
	// alter changes a message of the server. The method is the one of the request, for a
	// response. It returns what is sent instead.
	alter func(method string, line []byte) []string
	// dies ends the server after a line for which it returns true.
	dies func(line []byte) bool
	// stays keeps the process when its input ends.
	stays bool
}

// start returns a function for Server.Start.
func (f *flaw) start() func(context.Context) (*Process, error) {
	return func(ctx context.Context) (*Process, error) {
		ctx, cancel := context.WithCancel(ctx)
		in, toServer := io.Pipe()        // of the good server
		fromServer, out := io.Pipe()     // of the good server
		clientIn, clientOut := io.Pipe() // from the client
		reader, writer := io.Pipe()      // to the client
		r := &relay{flaw: f, out: writer, methods: map[string]string{}}
		exited := make(chan struct{})
		end := sync.OnceFunc(func() {
			cancel()
			for _, p := range []io.Closer{toServer, clientIn, writer} {
				p.Close()
			}
			close(exited)
		})
		var running sync.WaitGroup
		running.Go(func() { _ = newServer().ServeStreams(ctx, in, out) }) // ends with its input
		running.Go(func() {                                               // ends with the client's output
			if r.fromClient(clientIn, toServer) || !f.stays {
				toServer.Close()
			}
		})
		running.Go(func() { r.fromServer(fromServer) }) // ends with the server's output
		go func() {                                     // ends with the others
			running.Wait()
			if !f.stays {
				end()
			}
		}()
		r.die = func() { fromServer.Close(); end() }
		return &Process{In: clientOut, Out: reader, Exited: exited, Kill: func() { fromServer.Close(); end() }}, nil
	}
}

// relay passes lines between a client and a server, with a flaw.
type relay struct {
	*flaw
	mu      sync.Mutex
	out     io.Writer
	methods map[string]string
	die     func()
}

func (r *relay) write(lines ...string) {
	for _, line := range lines {
		_, _ = io.WriteString(r.out, line+"\n")
	}
}

// fromClient passes lines until the client ends, and reports whether the server died.
func (r *relay) fromClient(in io.Reader, out io.Writer) bool {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return false
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		if m, ok := parse(line); ok {
			r.mu.Lock()
			r.methods[idKey(m.id)] = m.method
			r.mu.Unlock()
		}
		if r.dies != nil && r.dies(line) {
			r.die()
			return true
		}
		pass := true
		if r.take != nil {
			var reply []string
			pass, reply = r.take(line)
			r.write(reply...)
		}
		if pass {
			_, _ = out.Write(append(line, '\n'))
		}
	}
}

func (r *relay) fromServer(in io.Reader) {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		line = bytes.TrimSuffix(line, []byte("\n"))
		r.write(r.change(line)...)
	}
}

func (r *relay) change(line []byte) []string {
	if r.alter == nil {
		return []string{string(line)}
	}
	m, _ := parse(line)
	method := m.method
	if method == "" {
		r.mu.Lock()
		method = r.methods[idKey(m.id)]
		r.mu.Unlock()
	}
	return r.alter(method, line)
}

// handler returns a good server over HTTP with a flaw of its HTTP exchanges. The flaw also
// changes messages, in JSON bodies.
func endpoint(t *testing.T, wrap func(next http.Handler) http.Handler) *Server {
	var h http.Handler = streamable.NewHandler(newServer(), nil)
	if wrap != nil {
		h = wrap(h)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return &Server{URL: s.URL}
}

// TestMain runs the good server on standard input and output if a test asks for it.
func TestMain(m *testing.M) {
	if os.Getenv("CHECK_SUBJECT") != "" {
		_ = newServer().ServeStdio(context.Background())
		return
	}
	os.Exit(m.Run())
}

// process starts this program as the good server.
func process(t *testing.T) *Server {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &Server{Start: Command(os.Stderr, "", append(os.Environ(), "CHECK_SUBJECT=1"), path)}
}
