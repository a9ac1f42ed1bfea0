package mcpserver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/rounds"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// Question is a request to the client and its response. [NewQuestion] returns one.
type Question[R wire.Value] struct {
	// Request is the request.
	Request peer.Request[R]
	// Options are the options of the request; [peer.WithKey] sets the key of the question.
	Options []peer.CallOption
	// Answer is the response. It is set when [Ask] has returned without error.
	Answer R
}

// NewQuestion returns a question. The request determines the type of the response.
func NewQuestion[R wire.Value](req peer.Request[R], opts ...peer.CallOption) *Question[R] {
	return &Question[R]{Request: req, Options: opts}
}

func (q *Question[R]) ask(ctx context.Context, s *mcp.ServerSession) (err error) {
	q.Answer, err = peer.SendRequest(ctx, s, q.Request, q.Options...)
	return err
}

// Asker is a [Question] with a response of any type.
type Asker interface {
	ask(ctx context.Context, s *mcp.ServerSession) error
}

var errNoSession = errors.New("ask: no session in context")

// Ask sends several questions and returns when all of them have been answered. Clients of the
// stateless revisions receive all open questions together, in one round; other clients receive
// one after another.
//
// Ask must be called with the context of a handler; otherwise it returns an error.
func Ask(ctx context.Context, questions ...Asker) error {
	session := mcp.SessionFromContext(ctx)
	if session == nil {
		return errNoSession
	}
	open := make(mcp.InputRequests)
	for _, q := range questions {
		err := q.ask(ctx, session)
		if ask, ok := errors.AsType[*mcp.InputRequiredError](err); ok {
			maps.Copy(open, ask.Result.InputRequests)
		} else if err != nil {
			return err
		}
	}
	if len(open) > 0 {
		return &mcp.InputRequiredError{Result: &mcp.InputRequiredResult{InputRequests: open}}
	}
	return nil
}

// DeclinedError reports that the user did not answer a question. If a tool returns it, the
// model is informed.
type DeclinedError struct {
	// Action is the user's action: decline or cancel.
	Action mcp.ElicitAction
}

// Error implements error.
func (e *DeclinedError) Error() string {
	return fmt.Sprintf("user did not answer the question: action %q", e.Action)
}

// ModelText returns the text for the model.
func (e *DeclinedError) ModelText() string {
	if e.Action == mcp.ElicitActionDecline {
		return "The user declined to answer."
	}
	return "The user closed the question without answering."
}

// Elicit asks the user to fill in a form with one field for each field of T, and returns the
// values:
//
//	type table struct {
//		Guests int    `json:"guests" minimum:"1" maximum:"12" default:"2"`
//		Name   string `json:"name" jsonschema:"Who is coming?"`
//	}
//
//	t, err := mcpserver.Elicit[table](ctx, session, "Which table?")
//
// [connection.FormOf] describes which types T may be. If the user declines or cancels, the
// error is a [*DeclinedError]; [mcp.ServerSession.ElicitForm] returns the action in its result
// instead. The options apply to the request.
func Elicit[T any](ctx context.Context, s *mcp.ServerSession, message string, opts ...peer.CallOption) (T, error) {
	var out T
	form, err := connection.FormOf[T]()
	if err != nil {
		return out, err
	}
	res, err := s.With(opts...).ElicitForm(ctx, &mcp.ElicitRequestFormParams{Message: message, RequestedSchema: form})
	if err != nil {
		return out, err
	}
	if res.Action != mcp.ElicitActionAccept {
		return out, &DeclinedError{Action: res.Action}
	}
	raw, err := json.Marshal(formFields(&form, res.Content))
	if err != nil {
		return out, fmt.Errorf("decode response to %q: %w", message, err)
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, fmt.Errorf("decode response to %q: %w", message, err)
	}
	return out, nil
}

// formFields returns the values of the form's fields. Other members have not been validated,
// and [json.Unmarshal] would accept a name that differs from a field's only in case.
func formFields(form *mcp.RequestedSchema, content map[string]any) map[string]any {
	fields := make(map[string]any, len(form.Properties))
	for _, field := range form.Properties {
		if value, has := content[field.Name]; has {
			fields[field.Name] = value
		}
	}
	return fields
}

// Once runs a step of a handler once per call, although the handler runs again in each round
// of questions. In later rounds it returns what run returned when it first succeeded. The name
// identifies the step within the handler.
//
// The value is encoded as JSON, encrypted, and carried by the client from round to round, so
// it should be small. Once returns the decoded JSON in the first round too. If run fails, the
// error is not stored and run is called again in the next round.
//
// A step may ask questions with the context that is passed to run. It succeeds when they have
// been answered.
//
// Once per call is not exactly once. If a client sends the first request again, or an earlier
// round again, run is called again. Use key as an idempotency key for a step that must not
// happen twice: it is the same for all runs of the step in one call, including repeated
// rounds. It differs only if the client sends the first request again.
//
// If a handler calls Once for the first time after a question was answered, Once returns an
// error once, as a question does, and the client repeats the request. The key is then known to
// the client before run is called.
func Once[T any](ctx context.Context, name string, run func(ctx context.Context, key string) (T, error)) (T, error) {
	var out T
	made, err := runOnce(ctx, name, func(ctx context.Context, key string) (json.RawMessage, error) {
		v, err := run(ctx, key)
		if err != nil {
			return nil, err
		}
		raw, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("step %q: %w", name, err)
		}
		return raw, nil
	})
	if err != nil {
		return out, err
	}
	if err := json.Unmarshal(made, &out); err != nil {
		return out, fmt.Errorf("step %q: %w", name, err)
	}
	return out, nil
}

// runOnce runs a step in the round of the request being handled. Without a round, a handler
// runs once, and so does the step.
func runOnce(ctx context.Context, name string, run func(ctx context.Context, key string) (json.RawMessage, error)) (json.RawMessage, error) {
	if r := rounds.From(ctx); r != nil {
		return r.Once(ctx, name, run)
	}
	return run(ctx, rand.Text())
}

// Proxy returns a view of another server for handlers that forward requests to it. A tool
// of the other server is then one line, where client is an mcpclient.Client:
//
//	server.AddRawTool(tool, mcpserver.Proxy(client).CallTool)
//
// If a response of the upstream server asks for input, as servers of 2026-07-28 do, the
// client whose request is being handled is asked, whatever its revision, and its responses
// are sent upstream. Progress reports are forwarded to that client too. A question that the
// client cannot be asked is an error of the handler. So the upstream client must declare the
// capabilities that the clients of this server have.
//
// The request that is sent upstream may differ from the one that is being handled, and a
// handler may send several. Like every step of a handler, a request is sent again in each
// round of questions. Wrap it in [Once] if it must not be repeated, and also if the handler
// sends equal requests to several servers: the names of the steps distinguish them.
//
// An upstream server with a handshake revision asks by requests to the handlers of the
// upstream client. Over HTTP and in process they receive the context of the call, so a
// handler can forward the question:
//
//	OnElicit: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
//		return peer.SendRequest(ctx, mcp.SessionFromContext(ctx), req)
//	}
//
// On a pipe such a request does not name the call that it belongs to, and there is no
// session in the context. Each client then needs an upstream client of its own.
func Proxy(upstream interface{ Forward() mcp.ServerPeer }) mcp.ServerPeer {
	return mcp.ServerPeer{Outbound: proxy{upstream.Forward().Outbound}}
}

// proxy sends requests upstream as part of the round of the request being handled.
type proxy struct{ peer.Outbound }

// Call implements [peer.Outbound].
func (p proxy) Call(ctx context.Context, req peer.Message, res wire.Value, opts ...peer.CallOption) error {
	if r := rounds.From(ctx); r != nil {
		return r.Call(ctx, p.Outbound, req, res, opts...)
	}
	return p.Outbound.Call(ctx, req, res, opts...)
}
