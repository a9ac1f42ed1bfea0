package mcpserver_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/jsonrpc"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// user is an in-process client with a user who answers questions. Its calls do not print.
type user struct {
	*jsonrpc.InProcessConn
	revision wire.Revision
	answers  func(question string) string // JSON
	rounds   int                          // number of rounds of the last call
}

// Forward returns the view of the server that a gateway uses.
func (u *user) Forward() mcp.ServerPeer { return mcp.ServerPeer{Outbound: u} }

// newUser connects to a server in a revision. The caller must close the client.
func newUser(s *mcpserver.Server, revision wire.Revision, answers func(question string) string) *user {
	u := &user{revision: revision, answers: answers}
	server := connection.NewPipe(s.Dispatcher(), nil)
	var to *jsonrpc.InProcessConn
	u.InProcessConn, to = jsonrpc.InProcessPair(
		&jsonrpc.Options{Strict: true, Client: true, Handler: peer.HandlerFunc(u.handle), Frame: u.frame},
		&jsonrpc.Options{Strict: true, Handler: server, Frame: server.Frame},
	)
	server.Attach(to, to.InFlight())
	if mcp.Revisions[revision.Index()].Handshake {
		_, err := peer.SendRequest(context.Background(), u, &mcp.InitializeRequest{
			ProtocolVersion: revision.String(), ClientInfo: info, Capabilities: mcp.ClientCapabilities{
				Elicitation: &mcp.ElicitationCapability{}, Roots: &mcp.RootsCapability{}, Sampling: &mcp.SamplingCapability{},
			},
		})
		if err = errors.Join(err, u.Notify(context.Background(), &mcp.InitializedNotification{})); err != nil {
			panic(err)
		}
	}
	return u
}

func (u *user) frame(string) *wire.Frame {
	f := &wire.Frame{Revision: u.revision}
	if !mcp.Revisions[u.revision.Index()].Handshake {
		f.Meta = []wire.Entry{
			{Name: "io.modelcontextprotocol/protocolVersion", Value: json.RawMessage(`"2026-07-28"`)},
			{Name: "io.modelcontextprotocol/clientCapabilities", Value: json.RawMessage(`{"elicitation":{},"roots":{},"sampling":{}}`)},
		}
	}
	return f
}

// handle answers a question that is sent as a request.
func (u *user) handle(_ context.Context, in *peer.Inbound) (peer.Reply, error) {
	question, err := mcp.UnmarshalInputRequest(fmt.Appendf(nil, `{"method":%q,"params":%s}`, in.Method, in.Params))
	if err != nil {
		return peer.Reply{}, err
	}
	answer, err := u.answer(question)
	return peer.Reply{Result: answer, Frame: u.frame("")}, err
}

func (u *user) answer(question mcp.InputRequest) (mcp.InputResponse, error) {
	text := "roots"
	switch q := question.(type) {
	case *mcp.ElicitRequest:
		text = q.Params.(*mcp.ElicitRequestFormParams).Message
	case *mcp.CreateMessageRequest:
		text = "model"
	}
	return mcp.UnmarshalInputResponse([]byte(u.answers(text)))
}

// use calls a tool, with as many rounds as necessary, and returns the text of the result.
func (u *user) use(tool, arguments string) (string, error) {
	req := &mcp.CallToolRequest{Name: tool, Arguments: json.RawMessage(arguments)}
	for u.rounds = 1; ; u.rounds++ {
		res, err := peer.SendRequest(context.Background(), u, req)
		ask, asks := errors.AsType[*mcp.InputRequiredError](err)
		if !asks {
			if err != nil {
				return "", err
			}
			return res.Content[0].(*mcp.TextContent).Text, nil
		}
		req.InputResponses, req.RequestState = make(mcp.InputResponses), ask.Result.RequestState
		for _, key := range slices.Sorted(maps.Keys(ask.Result.InputRequests)) {
			if req.InputResponses[key], err = u.answer(ask.Result.InputRequests[key]); err != nil {
				return "", err
			}
		}
	}
}

// answerAll returns a function that answers every form with the same content.
func answerAll(content string) func(string) string {
	return func(string) string { return fmt.Sprintf(`{"action":"accept","content":%s}`, content) }
}

// textForm returns a form with one text field.
func textForm(message, field string) *mcp.ElicitRequestFormParams {
	return &mcp.ElicitRequestFormParams{Message: message, RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: field, Schema: &mcp.StringSchema{}}},
		Required:   []string{field},
	}}
}
