package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpwright/mcp/compat/mcpgo/mcp"
	"github.com/mcpwright/mcp/compat/mcpgo/server"
	kit "github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// whoami returns the id of the session.
func whoami(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return mcp.NewToolResultText(server.ClientSessionFromContext(ctx).SessionID()), nil
}

func TestSessions(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		begun, ended := make(chan server.ClientSession, 1), make(chan string, 1)
		hooks := &server.Hooks{}
		hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { begun <- session })
		hooks.AddOnUnregisterSession(func(_ context.Context, session server.ClientSession) { ended <- session.SessionID() })
		s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks))
		s.AddTool(mcp.NewTool("whoami"), whoami)
		c := connect(s)
		id := call(t, c, "whoami", "{}")
		equal(t, call(t, c, "whoami", "{}"), id)
		if c.Revision() == kit.Revision20260728 || id == "" {
			select {
			case session := <-begun:
				t.Errorf("a session %q has begun", session.SessionID())
			default:
			}
			return
		}
		session := <-begun
		equal(t, session.SessionID(), id)
		equal(t, session.(server.SessionWithClientInfo).GetClientInfo().Name != "", true)
		check(t, c.Close())
		equal(t, <-ended, id)
	})
}

func TestSessionTools(t *testing.T) {
	changed := make(chan struct{}, 2)
	begun, ready := make(chan server.ClientSession, 2), make(chan struct{}, 2)
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { begun <- session })
	s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks), server.WithToolCapabilities(true))
	s.AddTool(mcp.NewTool("shared"), echo)
	s.AddNotificationHandler("notifications/initialized", func(context.Context, mcp.JSONRPCNotification) { ready <- struct{}{} })
	srv := server.NewTestStreamableHTTPServer(s)
	t.Cleanup(srv.Close)
	own := connect(t, mcpclient.URL(srv.URL), mcpclient.Options{Revision: kit.Revision20251125,
		OnToolListChanged: func(context.Context, *kit.ToolListChangedNotification) error { changed <- struct{}{}; return nil }})
	id := (<-begun).SessionID()
	<-ready
	other := connect(t, mcpclient.URL(srv.URL), mcpclient.Options{Revision: kit.Revision20251125})

	check(t, s.AddSessionTools(id, server.ServerTool{Tool: mcp.NewTool("own"), Handler: whoami}))
	check(t, s.AddSessionTool(id, mcp.NewTool("shared"), whoami)) // replaces the tool of the server
	<-changed
	equal(t, toolNames(t, own), "own shared")
	equal(t, call(t, own, "own", "{}"), id)
	equal(t, call(t, own, "shared", "{}"), id)
	equal(t, toolNames(t, other), "shared")
	equal(t, call(t, other, "shared", `{"text":"a"}`), "a")
	if _, err := other.CallTool(t.Context(), &kit.CallToolRequest{Name: "own"}); err == nil {
		t.Error("another session has the tool")
	}
	check(t, s.DeleteSessionTools(id, "own", "shared"))
	equal(t, toolNames(t, own), "shared")
	equal(t, call(t, own, "shared", `{"text":"a"}`), "a")
	equal(t, errors.Is(s.AddSessionTools("absent"), server.ErrSessionNotFound), true)
}

// ownSession is a session of a program, as tests of servers have.
type ownSession struct {
	id    string
	queue chan mcp.JSONRPCNotification
}

func (s *ownSession) Initialize()                                         {}
func (s *ownSession) Initialized() bool                                   { return true }
func (s *ownSession) SessionID() string                                   { return s.id }
func (s *ownSession) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.queue }

func TestRegisterSession(t *testing.T) {
	s := server.NewMCPServer("test", "1.0.0")
	session := &ownSession{"own", make(chan mcp.JSONRPCNotification, 1)}
	check(t, s.RegisterSession(t.Context(), session))
	equal(t, errors.Is(s.RegisterSession(t.Context(), session), server.ErrSessionExists), true)
	equal(t, errors.Is(s.AddSessionTools("own"), server.ErrSessionDoesNotSupportTools), true)
	equal(t, errors.Is(s.AddSessionResources("own"), server.ErrSessionDoesNotSupportResources), true)
	equal(t, errors.Is(s.AddSessionResourceTemplates("own"), server.ErrSessionDoesNotSupportResourceTemplates), true)
	equal(t, errors.Is(s.SendLogMessageToSpecificClient("own", mcp.LoggingMessageNotification{}), server.ErrSessionDoesNotSupportLogging), true)
	s.SendNotificationToAllClients("notifications/message", map[string]any{"data": 1})
	equal(t, errors.Is(s.SendNotificationToSpecificClient("own", "notifications/message", nil), server.ErrNotificationChannelBlocked), true)
	equal(t, (<-session.queue).Params.AdditionalFields["data"], any(1))
	ctx := s.WithContext(t.Context(), session)
	check(t, s.SendNotificationToClient(ctx, "notifications/message", nil))
	s.UnregisterSession(t.Context(), "own")
	equal(t, errors.Is(s.SendNotificationToSpecificClient("own", "x", nil), server.ErrSessionNotFound), true)
	_, err := s.RequestElicitation(ctx, mcp.ElicitationRequest{})
	equal(t, errors.Is(err, server.ErrElicitationNotSupported), true)
	_, err = s.RequestElicitation(t.Context(), mcp.ElicitationRequest{})
	equal(t, errors.Is(err, server.ErrNoActiveSession), true)
}

func TestNotifications(t *testing.T) {
	received, got := make(chan mcp.JSONRPCNotification, 1), make(chan string, 2)
	s := server.NewMCPServer("test", "1.0.0", server.WithLogging())
	s.AddNotificationHandler("notifications/roots/list_changed", func(_ context.Context, n mcp.JSONRPCNotification) { received <- n })
	ready := make(chan struct{}, 1)
	s.AddNotificationHandler("notifications/initialized", func(context.Context, mcp.JSONRPCNotification) { ready <- struct{}{} })
	message := map[string]any{"level": "warning", "data": "during the call"}
	s.AddTool(mcp.NewTool("log"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("ok"), server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/message", message)
	})
	c := connect(t, transports["http"](t, s), mcpclient.Options{Revision: kit.Revision20251125,
		Roots: []kit.Root{},
		OnLog: func(_ context.Context, n *kit.LoggingMessageNotification) error { got <- string(n.Data); return nil }})
	equal(t, call(t, c, "log", "{}"), "ok")
	equal(t, <-got, `"during the call"`)
	<-ready
	s.SendNotificationToAllClients("notifications/message", map[string]any{"level": "error", "data": "to all"})
	equal(t, <-got, `"to all"`)
	check(t, c.RootsListChanged(t.Context(), &kit.RootsListChangedNotification{}))
	equal(t, (<-received).Method, "notifications/roots/list_changed")
}

func TestLogMessages(t *testing.T) {
	onTransports(t, func(t *testing.T, connect func(*server.MCPServer) *mcpclient.Client) {
		s := server.NewMCPServer("test", "1.0.0", server.WithLogging())
		s.AddTool(mcp.NewTool("log"), func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, level := range []mcp.LoggingLevel{mcp.LoggingLevelDebug, mcp.LoggingLevelError} {
				err := server.ServerFromContext(ctx).SendLogMessageToClient(ctx, mcp.NewLoggingMessageNotification(level, "test", map[string]any{"at": level}))
				if err != nil {
					return nil, err
				}
			}
			return mcp.NewToolResultText("ok"), server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/message", map[string]any{"level": "error", "data": 1})
		})
		got := make(chan string, 2)
		c := connect(s).With(mcpclient.OnLog(kit.LoggingLevelWarning, func(n *kit.LoggingMessageNotification) { got <- n.Logger + string(n.Data) }))
		_, err := c.CallTool(t.Context(), &kit.CallToolRequest{Name: "log"})
		check(t, err)
		equal(t, <-got, `test{"at":"error"}`)
		equal(t, <-got, "1")
	})
	err := server.NewMCPServer("test", "1.0.0").SendLogMessageToClient(t.Context(), mcp.LoggingMessageNotification{})
	equal(t, errors.Is(err, server.ErrNotificationNotInitialized), true)
}

func TestLogMessagesToSpecificClient(t *testing.T) {
	begun := make(chan server.ClientSession, 1)
	s := server.NewMCPServer("test", "1.0.0", server.WithLogging())
	s.AddNotificationHandler("notifications/initialized", func(ctx context.Context, _ mcp.JSONRPCNotification) {
		begun <- server.ClientSessionFromContext(ctx)
	})
	got := make(chan string, 2)
	connect(t, mcpclient.InProcess(s.Kit()), mcpclient.Options{Revision: kit.Revision20251125, LogLevel: kit.LoggingLevelWarning,
		OnLog: func(_ context.Context, n *kit.LoggingMessageNotification) error {
			got <- n.Logger + string(n.Data)
			return nil
		}})
	session := (<-begun).(server.SessionWithLogging)
	equal(t, session.GetLogLevel(), mcp.LoggingLevelWarning)
	send := func(level mcp.LoggingLevel, logger string) {
		check(t, s.SendLogMessageToSpecificClient(session.SessionID(), mcp.NewLoggingMessageNotification(level, logger, level)))
	}
	send(mcp.LoggingLevelInfo, "a")
	send(mcp.LoggingLevelWarning, "b")
	equal(t, <-got, `b"warning"`)
	session.SetLogLevel(mcp.LoggingLevelDebug)
	send(mcp.LoggingLevelInfo, "")
	equal(t, <-got, `"info"`)
	equal(t, errors.Is(s.SendLogMessageToSpecificClient("absent", mcp.LoggingMessageNotification{}), server.ErrSessionNotFound), true)
}

func TestElicitation(t *testing.T) {
	ask := func(ctx context.Context, _ mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		res, err := server.ServerFromContext(ctx).RequestElicitation(ctx, mcp.ElicitationRequest{Params: mcp.ElicitationParams{
			Message: "Where?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}})
		if err != nil {
			return nil, err
		}
		return mcp.NewToolResultText(string(res.Action) + " " + res.Content.(map[string]any)["city"].(string)), nil
	}
	for name, transport := range transports {
		if name == "stateless http" || name == "sse" {
			continue // without a session, or without a stream for questions of 2024-11-05
		}
		t.Run(name, func(t *testing.T) {
			s := server.NewMCPServer("test", "1.0.0", server.WithElicitation())
			s.AddTool(mcp.NewTool("ask"), ask)
			to := transport(t, s)
			for _, mode := range []mcpclient.Mode{mcpclient.Handshake, mcpclient.Auto} {
				c := connect(t, to, mcpclient.Options{Mode: mode,
					OnElicit: func(context.Context, *kit.ElicitRequest) (*kit.ElicitResult, error) {
						return &kit.ElicitResult{Action: kit.ElicitActionAccept, Content: map[string]any{"city": "Bern"}}, nil
					}})
				equal(t, call(t, c, "ask", "{}"), "accept Bern")
				if name == "pipes" {
					return // they serve one client
				}
			}
		})
	}
	s := server.NewMCPServer("test", "1.0.0")
	s.AddTool(mcp.NewTool("ask"), ask)
	equal(t, call(t, handshake(t, s), "ask", "{}"), "error: session does not support elicitation (code -32603)")
}

func TestSessionResources(t *testing.T) {
	changed := make(chan struct{}, 2)
	begun, ready := make(chan server.ClientSession, 2), make(chan struct{}, 2)
	hooks := &server.Hooks{}
	hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) { begun <- session })
	s := server.NewMCPServer("test", "1.0.0", server.WithHooks(hooks), server.WithResourceCapabilities(false, true),
		server.WithResourceHandlerMiddleware(func(next server.ResourceHandlerFunc) server.ResourceHandlerFunc {
			return func(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
				req.Params.URI += "?"
				return next(ctx, req)
			}
		}))
	s.AddResource(mcp.NewResource("test://shared", "shared"), contents("server"))
	s.AddNotificationHandler("notifications/initialized", func(context.Context, mcp.JSONRPCNotification) { ready <- struct{}{} })
	srv := server.NewTestStreamableHTTPServer(s)
	t.Cleanup(srv.Close)
	own := connect(t, mcpclient.URL(srv.URL), mcpclient.Options{Revision: kit.Revision20251125,
		OnResourceListChanged: func(context.Context, *kit.ResourceListChangedNotification) error {
			changed <- struct{}{}
			return nil
		}})
	id := (<-begun).SessionID()
	<-ready
	other := connect(t, mcpclient.URL(srv.URL), mcpclient.Options{Revision: kit.Revision20251125})

	check(t, s.AddSessionResources(id, server.ServerResource{Resource: mcp.NewResource("test://own", "own"), Handler: contents("own")}))
	check(t, s.AddSessionResource(id, mcp.NewResource("test://shared", "mine"), contents("session"))) // replaces the resource of the server
	<-changed
	equal(t, resourceNames(t, own), "own mine")
	equal(t, read(t, own, "test://own"), "own test://own?")
	equal(t, read(t, own, "test://shared"), "session test://shared?")
	equal(t, resourceNames(t, other), "shared")
	equal(t, read(t, other, "test://shared"), "server test://shared?")
	if _, err := other.ReadResource(t.Context(), &kit.ReadResourceRequest{URI: "test://own"}); err == nil {
		t.Error("another session has the resource")
	}
	check(t, s.DeleteSessionResources(id, "test://own", "test://shared"))
	equal(t, resourceNames(t, own), "shared")
	equal(t, read(t, own, "test://shared"), "server test://shared?")
	equal(t, s.AddSessionResource(id, mcp.Resource{}, contents("")) != nil, true)
	equal(t, errors.Is(s.AddSessionResources("absent"), server.ErrSessionNotFound), true)
}

func TestSessionResourceTemplates(t *testing.T) {
	begun, changed := make(chan server.ClientSession, 2), make(chan struct{}, 2)
	s := server.NewMCPServer("test", "1.0.0", server.WithResourceCapabilities(false, true))
	s.AddNotificationHandler("notifications/initialized", func(ctx context.Context, _ mcp.JSONRPCNotification) {
		begun <- server.ClientSessionFromContext(ctx)
	})
	s.AddResourceTemplate(mcp.NewResourceTemplate("test://shared/{id}", "shared"), variables("server"))
	s.AddResource(mcp.NewResource("test://own/fixed", "fixed"), contents("server"))
	srv := server.NewTestStreamableHTTPServer(s)
	t.Cleanup(srv.Close)
	own := connect(t, mcpclient.URL(srv.URL), mcpclient.Options{Revision: kit.Revision20251125,
		OnResourceListChanged: func(context.Context, *kit.ResourceListChangedNotification) error {
			changed <- struct{}{}
			return nil
		}})
	id := (<-begun).SessionID()
	other := connect(t, mcpclient.URL(srv.URL), mcpclient.Options{Revision: kit.Revision20251125})
	<-begun

	check(t, s.AddSessionResourceTemplate(id, mcp.NewResourceTemplate("test://own/{id}", "own"), variables("own")))
	check(t, s.AddSessionResourceTemplates(id, server.ServerResourceTemplate{
		Template: mcp.NewResourceTemplate("test://shared/{id}", "mine"), Handler: variables("session"),
	}))
	<-changed
	equal(t, templateNames(t, own), "own mine")
	equal(t, read(t, own, "test://own/1"), "own [1]")
	equal(t, read(t, own, "test://own/fixed"), "server test://own/fixed")
	equal(t, read(t, own, "test://shared/2"), "session [2]")
	equal(t, templateNames(t, other), "shared")
	equal(t, read(t, other, "test://shared/2"), "server [2]")
	for c, uri := range map[*mcpclient.Client]string{own: "test://own/..", other: "test://own/1"} {
		if _, err := c.ReadResource(t.Context(), &kit.ReadResourceRequest{URI: uri}); err == nil {
			t.Errorf("a template matches %s", uri)
		}
	}
	check(t, s.DeleteSessionResourceTemplates(id, "test://own/{id}", "test://shared/{id}"))
	equal(t, templateNames(t, own), "shared")
	equal(t, read(t, own, "test://shared/2"), "server [2]")
	equal(t, s.AddSessionResourceTemplate(id, mcp.ResourceTemplate{Name: "empty"}, nil) != nil, true)
	equal(t, errors.Is(s.AddSessionResourceTemplates("absent"), server.ErrSessionNotFound), true)
}

// variables returns a handler of a template with the variable id, whose text is a name and the value.
func variables(name string) server.ResourceTemplateHandlerFunc {
	return func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: fmt.Sprint(name, " ", req.Params.Arguments["id"])}}, nil
	}
}

func templateNames(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	var names []string
	for r, err := range c.ResourceTemplates(t.Context()) {
		check(t, err)
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}

// contents returns a handler of resources whose text is a name and the URI.
func contents(name string) server.ResourceHandlerFunc {
	return func(_ context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
		return []mcp.ResourceContents{mcp.TextResourceContents{URI: req.Params.URI, Text: name + " " + req.Params.URI}}, nil
	}
}

func read(t *testing.T, c *mcpclient.Client, uri string) string {
	t.Helper()
	res, err := c.ReadResource(t.Context(), &kit.ReadResourceRequest{URI: uri})
	check(t, err)
	return res.Contents[0].(*kit.TextResourceContents).Text
}

func resourceNames(t *testing.T, c *mcpclient.Client) string {
	t.Helper()
	var names []string
	for r, err := range c.Resources(t.Context()) {
		check(t, err)
		names = append(names, r.Name)
	}
	return strings.Join(names, " ")
}
