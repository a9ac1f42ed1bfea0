package acceptance

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/mcptest"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// withElicitation lists the revisions with elicitation.
var withElicitation = []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728}

// transports has a function for each transport. It returns an endpoint of a new server. Each message on
// the wire is validated.
var transports = map[string]func(t *testing.T) mcpclient.Endpoint{
	"in process":      func(*testing.T) mcpclient.Endpoint { return mcpclient.InProcess(newServer(nil)) },
	"pipe":            func(t *testing.T) mcpclient.Endpoint { return overPipe(t, newServer(nil)) },
	"command":         command,
	"validated stdio": validatedCommand,
	"HTTP":            func(t *testing.T) mcpclient.Endpoint { return overHTTP(t, newServer(nil), nil) },
	"HTTP, no resumption": func(t *testing.T) mcpclient.Endpoint {
		return overHTTP(t, newServer(nil), &streamable.Options{DisableResumption: true})
	},
}

// overEveryTransport runs a test with each transport, in each revision with elicitation.
func overEveryTransport(t *testing.T, test func(t *testing.T, to mcpclient.Endpoint, r wire.Revision)) {
	for name, reach := range transports {
		for _, r := range withElicitation {
			t.Run(name+"/"+r.String(), func(t *testing.T) { test(t, reach(t), r) })
		}
	}
}

// overPipe serves one client on a pipe.
func overPipe(t *testing.T, s *mcpserver.Server) mcpclient.Endpoint {
	clientEnd, serverEnd := net.Pipe()
	served := make(chan error, 1)
	go func() { served <- s.ServeStreams(context.Background(), serverEnd, serverEnd) }() // returns when the client disconnects
	t.Cleanup(func() {
		clientEnd.Close()
		require.NoError(t, <-served)
	})
	pipe := mcptest.TapPipe(mcptest.Fail(t), clientEnd, mcptest.FromClient)
	return mcpclient.Streams(pipe, pipe)
}

// command returns an endpoint that starts this program as a server.
func command(t *testing.T) mcpclient.Endpoint {
	program, err := os.Executable()
	require.NoError(t, err)
	c := mcpclient.Command(program)
	c.Env = []string{serving + "=1"}
	return c
}

// validatedCommand starts this program as a server and validates the messages on its streams.
func validatedCommand(t *testing.T) mcpclient.Endpoint {
	program, err := os.Executable()
	require.NoError(t, err)
	child := exec.Command(program)
	child.Env = append(os.Environ(), serving+"=1")
	child.Stderr = os.Stderr
	in, err := child.StdinPipe()
	require.NoError(t, err)
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	t.Cleanup(func() {
		in.Close()
		require.NoError(t, child.Wait())
	})
	pipe := mcptest.TapPipe(mcptest.Fail(t), struct {
		io.Reader
		io.WriteCloser
	}{out, in}, mcptest.FromClient)
	return mcpclient.Streams(pipe, pipe)
}

// overHTTP serves a server over HTTP.
func overHTTP(t *testing.T, s *mcpserver.Server, opts *streamable.Options) *mcpclient.URLEndpoint {
	return reach(t, serveHTTP(t, s, opts))
}

// reach returns an endpoint for a URL.
func reach(t *testing.T, url string) *mcpclient.URLEndpoint {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	to := mcpclient.URL(url)
	to.HTTP.HTTPClient = &http.Client{Transport: mcptest.TapTransport(mcptest.Fail(t), transport)}
	return to
}

// serveHTTP serves a server until the test ends, and returns its URL.
func serveHTTP(t *testing.T, s *mcpserver.Server, opts *streamable.Options) string {
	return listen(t, streamable.NewHandler(s, opts)).URL
}

// listen starts an HTTP server for a handler.
func listen(t *testing.T, h *streamable.Handler) *httptest.Server {
	listener := httptest.NewServer(mcptest.TapHandler(mcptest.Fail(t), h))
	t.Cleanup(func() {
		h.Close()
		listener.Close()
	})
	return listener
}

// user is the user of a client, and its model. It records the questions of the server and responds to
// them.
type user struct {
	// respond returns the response to a question, or nil to decline it. If respond is nil, the
	// response quotes the question.
	respond func(question string) map[string]any
	// unanswered, if not nil, receives each question, and the user does not respond.
	unanswered chan string

	mu    sync.Mutex
	asked []string
}

// connect connects to a server in a revision until the test ends.
func (u *user) connect(t *testing.T, to mcpclient.Endpoint, r wire.Revision, change ...func(*mcpclient.Options)) *mcpclient.Client {
	t.Helper()
	opts := &mcpclient.Options{
		Revision: r, OnElicit: u.elicit, OnCreateMessage: u.sample, Logger: slog.New(slog.DiscardHandler),
	}
	for _, f := range change {
		f(opts)
	}
	c, err := mcpclient.Connect(t.Context(), to, opts)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	return c
}

func (u *user) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	question := req.Params.(*mcp.ElicitRequestFormParams).Message
	u.note(question)
	if u.unanswered != nil {
		u.unanswered <- question
		<-ctx.Done()
		return nil, ctx.Err()
	}
	content := map[string]any{"text": "<" + question + ">"}
	if u.respond != nil {
		content = u.respond(question)
	}
	if content == nil {
		return &mcp.ElicitResult{Action: mcp.ElicitActionDecline}, nil
	}
	return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: content}, nil
}

func (u *user) sample(_ context.Context, req *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
	prompt := req.Messages[0].Content[0].(*mcp.TextContent).Text
	u.note(prompt)
	return &mcp.CreateMessageResult{
		Role: mcp.RoleAssistant, Model: "m", Content: []mcp.SamplingMessageContentBlock{mcp.Text("<" + prompt + ">")},
	}, nil
}

func (u *user) note(question string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.asked = append(u.asked, question)
}

// questions returns the questions since the last call.
func (u *user) questions() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	asked := slices.Clone(u.asked)
	u.asked = nil
	return asked
}
