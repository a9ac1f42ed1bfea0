package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/wire"
)

// started records the execution of a call.
func (r *replica) started(ctx context.Context, s *mcp.ServerSession, call string) {
	o := observation{Kind: started, Call: call, Replica: r.Name}
	if t, ok := s.Transport().(*streamable.TransportContext); ok {
		o.Session = t.Header().Get("Mcp-Session-Id")
	}
	if c := connection.FromContext(ctx); c != nil && o.Session != "" {
		o.Epoch = c.Epoch()
	}
	r.history.record(o)
}

// effect sends log messages on the stream of the call.
func (r *replica) effect(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
	r.started(ctx, s, in.Call)
	for n := range in.Count {
		if err := pause(ctx, in.Pause); err != nil {
			return "", err
		}
		if err := r.send(ctx, s, in.Call, n+1); err != nil {
			return "", err
		}
		if s.Revision() == mcp.Revision20260728 { // events of stateless revisions are not stored
			r.history.record(observation{Kind: stored, Stream: in.Call, Number: n + 1, Replica: r.Name})
		}
	}
	return in.Call, nil
}

// announce sends log messages on the standalone stream.
func (r *replica) announce(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
	r.started(ctx, s, in.Call)
	for n := range in.Count {
		if err := r.send(ctx, s.Standalone(), in.Stream, in.First+n); err != nil {
			return "", err
		}
	}
	return in.Call, nil
}

// send sends a log message. The server drops it if it cannot be stored.
func (r *replica) send(ctx context.Context, out peer.Outbound, stream string, number int) error {
	r.history.record(observation{Kind: sending, Stream: stream, Number: number, Replica: r.Name})
	data := wire.AppendString(nil, fmt.Sprintf("%d %s", number, stream))
	return peer.SendNotification(ctx, out, &mcp.LoggingMessageNotification{Level: mcp.LoggingLevelError, Data: data})
}

// parseEvent returns the number and the stream in the text of a log message.
func parseEvent(text string) (number int, stream string, ok bool) {
	_, err := fmt.Sscanf(text, "%d %s", &number, &stream)
	return number, stream, err == nil
}

// pause waits, or until ctx ends.
func pause(ctx context.Context, milliseconds int) error {
	if milliseconds == 0 {
		return nil
	}
	select {
	case <-time.After(time.Duration(milliseconds) * time.Millisecond):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ask asks the client for a nonce. In stateless revisions it runs again with the response, so it has its effect
// afterwards.
func (r *replica) ask(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
	if err := r.question(ctx, s, in); err != nil {
		return "", err
	}
	r.started(ctx, s, in.Call)
	return in.Call, nil
}

// question asks the client for the nonce of a call, and records the response.
func (r *replica) question(ctx context.Context, s *mcp.ServerSession, in input) error {
	r.history.record(observation{Kind: asked, Call: in.Call, Nonce: in.Nonce, Replica: r.Name})
	text, err := askFor(ctx, s, in.Nonce)
	if err != nil {
		return err
	}
	r.history.record(observation{Kind: responded, Call: in.Call, Nonce: in.Nonce, Text: text, Replica: r.Name})
	return nil
}

// askFor asks the client for a text.
func askFor(ctx context.Context, s *mcp.ServerSession, text string) (string, error) {
	if s.Revision().Index() < mcp.Revision20250618.Index() { // without elicitation
		res, err := s.CreateMessage(ctx, &mcp.CreateMessageRequest{MaxTokens: 1, Messages: []mcp.SamplingMessage{mcp.UserText(text)}})
		if err != nil {
			return "", err
		}
		if len(res.Content) == 1 {
			if t, ok := res.Content[0].(*mcp.TextContent); ok {
				return t.Text, nil
			}
		}
		return "", errors.New("the message has no text")
	}
	res, err := s.ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: text, RequestedSchema: mcp.RequestedSchema{
		Properties: []mcp.FormField{{Name: "nonce", Schema: &mcp.StringSchema{}}},
	}})
	if err != nil {
		return "", err
	}
	nonce, _ := res.Content["nonce"].(string)
	return nonce, nil
}

// work is a call that may be a task. With a question, it has its effect afterwards, as ask.
func (r *replica) work(ctx context.Context, s *mcp.ServerSession, in input) (string, error) {
	if in.Ask {
		if err := r.question(ctx, s, in); err != nil {
			return "", err
		}
	}
	r.started(ctx, s, in.Call)
	if err := pause(ctx, in.Pause); err != nil {
		return "", err
	}
	return in.Call, nil
}
