package mcpclient_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/internal/leaks"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/wire"
)

// questioner returns a server whose tool sends one input request, as the revision requires, and
// returns the response as text.
func questioner(question peer.Message, result func() wire.Value) *server {
	s := newServer()
	mcp.HandleCallTool(&s.mux, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		session, answer := mcp.SessionFromContext(ctx), result()
		if session.Revision().String() > mcp.LatestHandshakeRevision.String() {
			brought, has := req.InputResponses["q"]
			if !has {
				return nil, ask(mcp.InputRequests{"q": question.(mcp.InputRequest)}, nil)
			}
			answer = brought
		} else if err := session.Call(ctx, question, answer); err != nil {
			return nil, err
		}
		text, err := wire.Marshal(answer)
		return mcp.TextResult(string(text)), err
	})
	return s
}

// answerTo sends an input request to a client with the options, in a handshake and a stateless
// revision. It passes the response or the error to check.
func answerTo(t *testing.T, opts mcpclient.Options, question peer.Message, result func() wire.Value, check func(t *testing.T, answer string, err error)) {
	t.Helper()
	opts.Logger = silent
	for _, r := range []wire.Revision{mcp.Revision20251125, mcp.Revision20260728} {
		s := questioner(question, result)
		opts.Revision = r
		for way, to := range s.ways(t) {
			t.Run(r.String()+" "+way, func(t *testing.T) {
				answer, err := mcpclient.CallTool[string](t.Context(), connect(t, to, &opts), "ask", nil)
				check(t, answer, err)
			})
		}
	}
}

func elicited() wire.Value { return new(mcp.ElicitResult) }

// everyField is a form with a field of each type, each with a default.
func everyField() *mcp.ElicitRequest {
	options := []mcp.EnumOption{{Const: "a", Title: "A"}, {Const: "b", Title: "B"}}
	return &mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{
		Message: "fill in",
		RequestedSchema: mcp.RequestedSchema{
			Properties: []mcp.FormField{
				{Name: "text", Schema: &mcp.StringSchema{Default: new("t")}},
				{Name: "number", Schema: &mcp.NumberSchema{Type: mcp.NumberTypeNumber, Default: new(1.5)}},
				{Name: "integer", Schema: &mcp.NumberSchema{Type: mcp.NumberTypeInteger, Default: new(30.0)}},
				{Name: "bool", Schema: &mcp.BooleanSchema{Default: new(true)}},
				{Name: "one", Schema: &mcp.UntitledSingleSelectEnumSchema{Enum: []string{"a", "b"}, Default: new("b")}},
				{Name: "titled", Schema: &mcp.TitledSingleSelectEnumSchema{OneOf: options, Default: new("a")}},
				{Name: "legacy", Schema: &mcp.LegacyTitledEnumSchema{Enum: []string{"a"}, EnumNames: []string{"A"}, Default: new("a")}},
				{Name: "many", Schema: &mcp.UntitledMultiSelectEnumSchema{
					Items: mcp.UntitledMultiSelectEnumSchemaItems{Enum: []string{"a", "b"}}, Default: []string{"a"}}},
				{Name: "titles", Schema: &mcp.TitledMultiSelectEnumSchema{
					Items: mcp.TitledMultiSelectEnumSchemaItems{AnyOf: options}, Default: []string{"b", "a"}}},
				{Name: "none", Schema: &mcp.StringSchema{}},
			},
			Required: []string{"text", "many"},
		},
	}}
}

func TestTimeoutDoesNotRunDuringInputRequest(t *testing.T) {
	for _, r := range []wire.Revision{mcp.Revision20250618, mcp.Revision20251125, mcp.Revision20260728} {
		for _, way := range []string{"in process", "pipe"} {
			t.Run(r.String()+" "+way, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := questioner(&mcp.ElicitRequest{Params: &mcp.ElicitRequestFormParams{Message: "well?"}}, elicited)
					c := connect(t, s.ways(t)[way], &mcpclient.Options{Revision: r, OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
						time.Sleep(9 * time.Minute)
						return &mcp.ElicitResult{Action: mcp.ElicitActionAccept}, nil
					}})
					answer, err := mcpclient.CallTool[string](t.Context(), c, "ask", nil)
					require.NoError(t, err)
					require.Contains(t, answer, "accept")
				})
			})
		}
	}
}

func TestFormDefaultsAreAdded(t *testing.T) {
	leaks.Check(t)
	opts := mcpclient.Options{OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{
			"text": "mine", "many": []any{"b"},
		}}, nil
	}}
	answerTo(t, opts, everyField(), elicited, func(t *testing.T, answer string, err error) {
		require.NoError(t, err)
		require.JSONEq(t, `{"action":"accept","content":{"text":"mine","number":1.5,"integer":30,"bool":true,
			"one":"b","titled":"a","legacy":"a","many":["b"],"titles":["b","a"]}}`, answer)
	})
}

func TestDeclinedFormHasNoContent(t *testing.T) {
	leaks.Check(t)
	for _, action := range []mcp.ElicitAction{mcp.ElicitActionDecline, mcp.ElicitActionCancel} {
		opts := mcpclient.Options{OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: action, Content: map[string]any{"secret": "x"}}, nil
		}}
		answerTo(t, opts, everyField(), elicited, func(t *testing.T, answer string, err error) {
			require.NoError(t, err)
			require.JSONEq(t, `{"action":"`+string(action)+`"}`, answer)
		})
	}
}

func TestInvalidFormContentIsNotSent(t *testing.T) {
	leaks.Check(t)
	for _, content := range []map[string]any{
		{"text": 7}, {"integer": 1.5}, {"one": "c"}, {"many": []any{"c"}}, {"many": []any{1}},
	} {
		opts := mcpclient.Options{OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: content}, nil
		}}
		answerTo(t, opts, everyField(), elicited, func(t *testing.T, _ string, err error) { require.Error(t, err) })
	}
}

func TestInvalidElicitActionIsNotSent(t *testing.T) {
	leaks.Check(t)
	for _, action := range []mcp.ElicitAction{"", "agree"} {
		var log bytes.Buffer
		opts := mcpclient.Options{
			Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
				return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
					reply, err := next.Handle(ctx, in)
					fmt.Fprint(&log, err)
					return reply, err
				})
			}},
			OnElicit: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				return &mcp.ElicitResult{Action: action, Content: map[string]any{"text": "x"}}, nil
			},
		}
		answerTo(t, opts, everyField(), elicited, func(t *testing.T, _ string, err error) {
			require.Error(t, err)
			require.Contains(t, fmt.Sprint(log.String(), err), fmt.Sprintf("handler returned the action %q: want accept, decline or cancel", action))
			log.Reset()
		})
	}
}

func TestURLElicitationNeedsElicitURLs(t *testing.T) {
	leaks.Check(t)
	visit := &mcp.ElicitRequest{Params: &mcp.ElicitRequestURLParams{
		Message: "log in", URL: "https://example.com/login?x=1", ElicitationID: "e1",
	}}
	shown := ""
	opts := mcpclient.Options{OnElicit: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		shown = req.Params.(*mcp.ElicitRequestURLParams).URL
		return &mcp.ElicitResult{Action: mcp.ElicitActionAccept, Content: map[string]any{"x": "y"}}, nil
	}}
	answerTo(t, opts, visit, elicited, func(t *testing.T, _ string, err error) {
		require.Error(t, err)
		require.Empty(t, shown)
	})
	opts.ElicitURLs = true
	answerTo(t, opts, visit, elicited, func(t *testing.T, answer string, err error) {
		require.NoError(t, err)
		require.JSONEq(t, `{"action":"accept"}`, answer)
		require.Equal(t, "https://example.com/login?x=1", shown)
	})
}

// Servers may send requests that need undeclared capabilities. A server of this module would not, so
// this one is a script.
func TestUndeclaredRequestsAreRejected(t *testing.T) {
	leaks.Check(t)
	everything := mcpclient.Options{
		OnElicit: accept("x", "y"),
		OnCreateMessage: func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) {
			panic("unexpected call")
		},
	}
	for name, c := range map[string]struct {
		opts     mcpclient.Options
		question string
		code     int64
	}{
		"no handler":     {mcpclient.Options{}, `"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{}}}`, -32601},
		"no roots":       {mcpclient.Options{}, `"roots/list"`, -32601},
		"a URL":          {everything, `"elicitation/create","params":{"mode":"url","message":"m","url":"https://x","elicitationId":"1"}`, -32602},
		"another mode":   {everything, `"elicitation/create","params":{"mode":"smell","message":"m"}`, -32602},
		"tools":          {everything, `"sampling/createMessage","params":{"maxTokens":1,"messages":[],"tools":[]}`, -32602},
		"a tool choice":  {everything, `"sampling/createMessage","params":{"maxTokens":1,"messages":[],"toolChoice":{"mode":"none"}}`, -32602},
		"unpaired tools": {everything, `"sampling/createMessage","params":{"maxTokens":1,"messages":[{"role":"user","content":{"type":"tool_result","toolUseId":"1","content":[]}}]}`, -32602},
		"unknown":        {everything, `"tea/make"`, -32601},
	} {
		t.Run(name, func(t *testing.T) {
			answered := make(chan message, 1)
			s := &script{answer: func(m message) string {
				switch {
				case m.Method == "initialize":
					return ok(welcome)
				case m.Method == "notifications/initialized":
					return `{"jsonrpc":"2.0","id":"q","method":` + c.question + `}`
				case string(m.ID) == `"q"`:
					answered <- m
				}
				return ""
			}}
			c.opts.Logger, c.opts.Mode = silent, mcpclient.Handshake
			connect(t, s.endpoint(t), &c.opts)
			var e struct{ Code int64 }
			require.NoError(t, json.Unmarshal((<-answered).Error, &e))
			require.Equal(t, c.code, e.Code)
		})
	}
}

func TestCapabilitiesOfHandlers(t *testing.T) {
	leaks.Check(t)
	elicit := accept("x", "y")
	sample := func(context.Context, *mcp.CreateMessageRequest) (*mcp.CreateMessageResult, error) { return nil, nil }
	for want, opts := range map[string]mcpclient.Options{
		`{}`:                             {},
		`{"elicitation":{"form":{}}}`:    {OnElicit: elicit},
		`{"roots":{"listChanged":true}}`: {Roots: []mcp.Root{}},
		`{"sampling":{}}`:                {OnCreateMessage: sample},
		`{"experimental":{"x":{"y":1}}}`: {Capabilities: mcp.ClientCapabilities{Experimental: map[string]map[string]json.RawMessage{"x": {"y": json.RawMessage(`1`)}}}},
		`{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{},"context":{}}}`: {
			OnElicit: elicit, ElicitURLs: true, OnCreateMessage: sample, SamplingTools: true, SamplingContext: true,
		},
	} {
		s := &script{answer: old}
		opts.Mode = mcpclient.Handshake
		connect(t, s.endpoint(t), &opts)
		require.JSONEq(t, want, string(s.messages()[0].Params["capabilities"]))
	}
}

func TestSetRoots(t *testing.T) {
	leaks.Check(t)
	roots := func(t *testing.T, want string) func(*testing.T, string, error) {
		return func(t *testing.T, answer string, err error) {
			require.NoError(t, err)
			require.JSONEq(t, want, answer)
		}
	}
	listed := func() wire.Value { return new(mcp.ListRootsResult) }
	answerTo(t, mcpclient.Options{Roots: []mcp.Root{{URI: "file:///a"}}}, &mcp.ListRootsRequest{}, listed,
		roots(t, `{"roots":[{"uri":"file:///a"}]}`))

	s := questioner(&mcp.ListRootsRequest{}, listed)
	changed := make(chan struct{}, 1)
	mcp.HandleRootsListChanged(&s.mux, func(context.Context, *mcp.RootsListChangedNotification) error {
		changed <- struct{}{}
		return nil
	})
	c := connect(t, mcpclient.InProcess(s), &mcpclient.Options{Roots: []mcp.Root{}, Mode: mcpclient.Handshake})
	require.NoError(t, c.SetRoots(t.Context(), []mcp.Root{{URI: "file:///b", Name: "B"}}))
	<-changed
	answer, err := mcpclient.CallTool[string](t.Context(), c, "ask", nil)
	roots(t, `{"roots":[{"uri":"file:///b","name":"B"}]}`)(t, answer, err)

	require.ErrorContains(t, c.SetRoots(t.Context(), []mcp.Root{{URI: "b"}}), `"b"`)
	without := connect(t, mcpclient.InProcess(greeter()), nil)
	require.ErrorContains(t, without.SetRoots(t.Context(), nil), "without Options.Roots")
}

func TestRootsMustBeFileURIs(t *testing.T) {
	leaks.Check(t)
	listed := func() wire.Value { return new(mcp.ListRootsResult) }
	for uri, want := range map[string]bool{"file:///a": true, "https://a.example/": false} {
		opts := mcpclient.Options{OnListRoots: func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
			return &mcp.ListRootsResult{Roots: []mcp.Root{{URI: uri}}}, nil
		}}
		answerTo(t, opts, &mcp.ListRootsRequest{}, listed, func(t *testing.T, _ string, err error) {
			require.Equal(t, want, err == nil, "%s: %v", uri, err)
		})
	}
}

func TestOnListRootsWithoutResult(t *testing.T) {
	leaks.Check(t)
	c := connect(t, mcpclient.InProcess(questioner(&mcp.ListRootsRequest{}, func() wire.Value { return new(mcp.ListRootsResult) })), &mcpclient.Options{
		Revision:    mcp.Revision20260728,
		OnListRoots: func(context.Context, *mcp.ListRootsRequest) (*mcp.ListRootsResult, error) { return nil, nil },
	})
	_, err := mcpclient.CallTool[string](t.Context(), c, "ask", nil)
	require.ErrorContains(t, err, "handler returned no result")
}

func TestHandlersOfCustomMessages(t *testing.T) {
	leaks.Check(t)
	heard := make(chan string, 2)
	s := greeter()
	c := connect(t, s.overPipe(t), &mcpclient.Options{
		Mode: mcpclient.Handshake,
		Handlers: func(mux *peer.Mux) {
			mcp.HandleTaskStatus(mux, func(_ context.Context, n *mcp.TaskStatusNotification) error {
				heard <- n.TaskID
				return nil
			})
		},
		Middleware: []peer.Middleware{func(next peer.Handler) peer.Handler {
			return peer.HandlerFunc(func(ctx context.Context, in *peer.Inbound) (peer.Reply, error) {
				heard <- in.Method
				return next.Handle(ctx, in)
			})
		}},
	})
	require.NoError(t, s.session().Notify(t.Context(), &mcp.TaskStatusNotification{
		TaskID: "t1", Status: mcp.TaskStatusWorking, CreatedAt: "2026-01-01T00:00:00Z", LastUpdatedAt: "2026-01-01T00:00:00Z",
	}))
	require.Equal(t, "notifications/tasks/status", <-heard)
	require.Equal(t, "t1", <-heard)
	require.NotNil(t, c.Connection())
}

func TestOnElicitComplete(t *testing.T) {
	leaks.Check(t)
	s := greeter()
	heard := make(chan string, 1)
	connect(t, s.overPipe(t), &mcpclient.Options{
		Mode: mcpclient.Handshake, OnElicit: accept("x", "y"), ElicitURLs: true,
		OnElicitComplete: func(_ context.Context, n *mcp.ElicitationCompleteNotification) error {
			heard <- n.ElicitationID
			return nil
		},
	})
	require.NoError(t, s.session().Notify(t.Context(), &mcp.ElicitationCompleteNotification{ElicitationID: "e1"}))
	require.Equal(t, "e1", <-heard)
}

func TestMaxInFlight(t *testing.T) {
	leaks.Check(t)
	s, refused := newKit(nil), make(chan struct{})
	plain(s, "twice", func(ctx context.Context, session *mcp.ServerSession) (string, error) {
		said := make(chan string, 2)
		for range 2 {
			go func() { // ends with the response
				text, err := asks(ctx, session)
				said <- fmt.Sprint(text, err)
			}()
		}
		first := <-said
		refused <- struct{}{}
		return first + ", " + <-said, nil
	})
	for _, w := range kitEndpoints(t, s) {
		if w.name == "command" {
			continue
		}
		opts := handlerOptions(mcpclient.Options{Revision: mcp.Revision20250618, MaxInFlight: 1, Logger: silent})
		answer := opts.OnElicit
		opts.OnElicit = func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			<-refused
			return answer(ctx, req)
		}
		text := callText(t, connect(t, w.to, opts), "twice")
		require.Equal(t, "Too many requests in flight (code -32603), accept Ada true<nil>", text, w.name)
	}
}

func TestMaxQueuedNotifications(t *testing.T) {
	changes := 0
	s := &script{answer: func(m message) string {
		switch m.Method {
		case mcp.MethodInitialize:
			return ok(welcome)
		case mcp.MethodPing:
			changes++
			return strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`+"\n", changes) + ok("{}")
		}
		return ""
	}}
	begun, goOn := make(chan struct{}), make(chan struct{})
	log := new(bytes.Buffer)
	c := connect(t, s.endpoint(t), &mcpclient.Options{
		Mode: mcpclient.Handshake, MaxQueuedNotifications: 1, Logger: slog.New(slog.NewTextHandler(log, nil)),
		OnToolListChanged: func(context.Context, *mcp.ToolListChangedNotification) error {
			begun <- struct{}{}
			<-goOn
			return nil
		},
	})
	require.NoError(t, c.Connection().Ping(t.Context()))
	<-begun
	require.NoError(t, c.Connection().Ping(t.Context())) // two notifications arrive; one of them may wait
	goOn <- struct{}{}
	<-begun
	goOn <- struct{}{}
	require.NoError(t, c.Close())
	require.Equal(t, 1, strings.Count(log.String(), "connection error"))
}
