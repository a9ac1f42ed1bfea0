package rounds_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// key is a key that servers share.
var key = []byte("thirty-two bytes that nobody knows")

// tool is a handler of tools/call.
type tool = func(ctx context.Context, s *mcp.ServerSession, req *mcp.CallToolRequest) (*mcp.CallToolResult, error)

// newDispatcher returns a dispatcher with one tool. Dispatchers share no state except the options.
func newDispatcher(t testing.TB, o rounds.Options, h tool) *connection.Dispatcher {
	t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	rules, err := rounds.New(o)
	require.NoError(t, err)
	var mux peer.Mux
	mcp.HandleCallTool(&mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return h(ctx, mcp.SessionFromContext(ctx), req)
	})
	mcp.HandleGetPrompt(&mux, func(ctx context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		res, err := remembering(ctx, mcp.SessionFromContext(ctx), nil)
		if err != nil {
			return nil, err
		}
		return &mcp.GetPromptResult{Description: req.Name + said(res)}, nil
	})
	mcp.HandleReadResource(&mux, func(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		res, err := remembering(ctx, mcp.SessionFromContext(ctx), nil)
		if err != nil {
			return nil, err
		}
		return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{
			&mcp.TextResourceContents{URI: req.URI, Text: said(res)},
		}}, nil
	})
	return connection.NewDispatcher(&connection.DispatcherOptions{
		Mux:          &mux,
		Info:         mcp.Implementation{Name: "server", Version: "1"},
		Capabilities: mcp.ServerCapabilities{Tools: &mcp.ToolsCapability{}},
		Rounds:       rules,
	})
}

// form returns a form with one text field.
func form(message, field string) *mcp.ElicitRequestFormParams {
	return &mcp.ElicitRequestFormParams{Message: message, RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: field, Schema: &mcp.StringSchema{MinLength: new(int64(1))}}},
		Required:   []string{field},
	}}
}

func message(text string) *mcp.CreateMessageRequest {
	return &mcp.CreateMessageRequest{MaxTokens: 10, Messages: []mcp.SamplingMessage{{
		Role: mcp.RoleUser, Content: []mcp.SamplingMessageContentBlock{&mcp.TextContent{Text: text}},
	}}}
}

// client calls tools in a revision and answers questions. It records the questions and counts
// the rounds.
type client struct {
	t        testing.TB
	revision wire.Revision
	servers  []peer.Outbound // used in turn
	answers  func(question string) string

	mu    sync.Mutex
	asked []string
	calls int
}

// revisions are revisions in which servers may ask for input.
var revisions = []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728}

// connect returns a client of the dispatchers, each over its own in-process connection.
func connect(t testing.TB, r wire.Revision, dispatchers ...*connection.Dispatcher) *client {
	t.Helper()
	c := &client{t: t, revision: r, answers: answer}
	for _, k := range dispatchers {
		server := connection.NewPipe(k, nil)
		from, to := jsonrpc.InProcessPair(
			&jsonrpc.Options{Strict: true, Client: true, Handler: c, Frame: c.frame},
			&jsonrpc.Options{Strict: true, Handler: server, Frame: server.Frame},
		)
		server.Attach(to, to.InFlight())
		t.Cleanup(func() { _ = from.Close() })
		c.open(from)
	}
	return c
}

// pipe returns a client of a dispatcher over a pipe.
func pipe(t testing.TB, r wire.Revision, k *connection.Dispatcher) *client {
	t.Helper()
	c := &client{t: t, revision: r, answers: answer}
	server := connection.NewPipe(k, nil)
	in, toServer := io.Pipe()
	fromServer, out := io.Pipe()
	to := jsonrpc.New(jsonrpc.NewLineWriter(out), &jsonrpc.Options{Handler: server, Frame: server.Frame, Batches: server.Batches})
	server.Attach(to, to.InFlight())
	from := jsonrpc.New(jsonrpc.NewLineWriter(toServer), &jsonrpc.Options{Client: true, Handler: c, Frame: c.frame})
	var both sync.WaitGroup // the goroutines that read; they end when the pipes are closed
	both.Go(func() { _ = to.ReadLines(context.Background(), in, jsonrpc.Source{}) })
	both.Go(func() { _ = from.ReadLines(context.Background(), fromServer, jsonrpc.Source{}) })
	t.Cleanup(func() {
		_ = toServer.Close()
		_ = out.Close()
		both.Wait()
		_ = from.Close()
		_ = to.Close()
	})
	c.open(from)
	return c
}

func (c *client) open(out peer.Outbound) {
	c.servers = append(c.servers, out)
	if !mcp.Revisions[c.revision.Index()].Handshake {
		return
	}
	_, err := peer.SendRequest(context.Background(), out, &mcp.InitializeRequest{
		ProtocolVersion: c.revision.String(),
		ClientInfo:      mcp.Implementation{Name: "client", Version: "1"},
		Capabilities:    *everything(),
	})
	require.NoError(c.t, err)
	require.NoError(c.t, out.Notify(context.Background(), &mcp.InitializedNotification{}))
}

func everything() *mcp.ClientCapabilities {
	some := map[string]json.RawMessage{}
	return &mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: some, URL: some},
		Roots:       &mcp.RootsCapability{},
		Sampling:    &mcp.SamplingCapability{},
	}
}

// frame adds the metadata that a stateless revision requires in each request.
func (c *client) frame(string) *wire.Frame {
	f := &wire.Frame{Revision: c.revision}
	if !mcp.Revisions[c.revision.Index()].Handshake {
		f.Meta = []wire.Entry{
			{Name: "io.modelcontextprotocol/protocolVersion", Value: json.RawMessage(`"2026-07-28"`)},
			{Name: "io.modelcontextprotocol/clientCapabilities", Value: json.RawMessage(`{"elicitation":{"form":{},"url":{}},"roots":{},"sampling":{}}`)},
		}
	}
	return f
}

// Handle answers a question that is sent as a request.
func (c *client) Handle(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
	if in.ID.IsZero() {
		return peer.Reply{}, nil
	}
	question, err := mcp.UnmarshalInputRequest(fmt.Appendf(nil, `{"method":%q,"params":%s}`, in.Method, in.Params))
	if err != nil {
		return peer.Reply{}, err
	}
	return peer.Reply{Result: c.reply(question), Frame: c.frame("")}, nil
}

// reply answers a question.
func (c *client) reply(question mcp.InputRequest) mcp.InputResponse {
	text := spoken(question)
	c.mu.Lock()
	c.asked = append(c.asked, text)
	c.mu.Unlock()
	response, err := mcp.UnmarshalInputResponse([]byte(c.answers(text)))
	require.NoError(c.t, err)
	return response
}

// spoken returns the text or the field of a question.
func spoken(question mcp.InputRequest) string {
	switch q := question.(type) {
	case *mcp.ElicitRequest:
		switch p := q.Params.(type) {
		case *mcp.ElicitRequestFormParams:
			return p.Message
		case *mcp.ElicitRequestURLParams:
			return "visit " + p.URL
		}
	case *mcp.CreateMessageRequest:
		return "write " + q.Messages[0].Content[0].(*mcp.TextContent).Text
	case *mcp.ListRootsRequest:
		return "roots"
	}
	return fmt.Sprintf("%T", question)
}

// answer is the default response to a question, which repeats the question.
func answer(question string) string {
	switch {
	case question == "roots":
		return `{"roots":[{"uri":"file:///project"}]}`
	case strings.HasPrefix(question, "write "):
		return fmt.Sprintf(`{"role":"assistant","model":"m","content":{"type":"text","text":"wrote %s"}}`, question[6:])
	case strings.HasPrefix(question, "visit "):
		return `{"action":"accept"}`
	}
	return fmt.Sprintf(`{"action":"accept","content":{%q:%q}}`, question, "the "+question)
}

// next returns the server for the next request.
func (c *client) next() peer.Outbound {
	c.calls++
	return c.servers[(c.calls-1)%len(c.servers)]
}

// call calls the tool, with as many rounds as necessary.
func (c *client) call(arguments string) (string, error) {
	req := &mcp.CallToolRequest{Name: "tool", Arguments: json.RawMessage(arguments)}
	res, err := complete(c, req, func(answers mcp.InputResponses, state *string) {
		req.InputResponses, req.RequestState = answers, state
	})
	if err != nil {
		return "", err
	}
	return said(res), nil
}

// complete sends a request until its result is not a question.
func complete[R wire.Value](c *client, req peer.Request[R], bring func(answers mcp.InputResponses, state *string)) (R, error) {
	for {
		res, err := peer.SendRequest(c.t.Context(), c.next(), req)
		ask, asks := errors.AsType[*mcp.InputRequiredError](err)
		if !asks {
			return res, err
		}
		bring(c.replies(ask.Result.InputRequests), ask.Result.RequestState)
	}
}

// replies answers the questions of a round.
func (c *client) replies(questions mcp.InputRequests) mcp.InputResponses {
	var answers mcp.InputResponses
	for _, key := range slices.Sorted(maps.Keys(questions)) {
		if answers == nil {
			answers = make(mcp.InputResponses)
		}
		answers[key] = c.reply(questions[key])
	}
	return answers
}

// again returns the request of the next round.
func (c *client) again(req *mcp.CallToolRequest, ask *mcp.InputRequiredResult) *mcp.CallToolRequest {
	return &mcp.CallToolRequest{
		Name: req.Name, Arguments: req.Arguments,
		InputResponses: c.replies(ask.InputRequests), RequestState: ask.RequestState,
	}
}

// try sends one request and returns the questions in its response.
func (c *client) try(req *mcp.CallToolRequest) (*mcp.InputRequiredResult, error) {
	res, err := peer.SendRequest(c.t.Context(), c.next(), req)
	if ask, asks := errors.AsType[*mcp.InputRequiredError](err); asks {
		return ask.Result, nil
	}
	if err == nil {
		err = errors.New("answered: " + said(res))
	}
	return nil, err
}

func said(res *mcp.CallToolResult) string {
	return res.Content[0].(*mcp.TextContent).Text
}

// questions returns the recorded questions in order, and clears them.
func (c *client) questions() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked, c.calls = nil, 0
	return asked
}
