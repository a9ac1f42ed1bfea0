package auth_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/runtime/tasks"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/peer"
	"github.com/mcpwright/mcp/runtime/streamable"
	"github.com/mcpwright/mcp/runtime/streamable/client"
)

// userVerifier verifies tokens such as "ada.files~read": a user and scopes, separated by
// ".", with "~" in place of ":".
func userVerifier(_ context.Context, token string) (*auth.Caller, error) {
	words := strings.Split(strings.ReplaceAll(token, "~", ":"), ".")
	if words[0] == "nobody" {
		return nil, auth.ErrInvalidToken
	}
	return &auth.Caller{
		Subject: words[0], Issuer: login, Audience: []string{resource}, Scopes: append(words[1:], "mcp:use"), Expiry: time.Now().Add(time.Hour),
	}, nil
}

// newTools returns a server whose tools depend on their caller.
func newTools() *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1"}, &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
	mcpserver.AddTool(server, &mcp.Tool{Name: "whoami"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		return auth.CallerFromContext(ctx).Subject + "|" + s.Transport().Principal() + "|" + s.Transport().Header().Get("Authorization"), nil
	})
	mcpserver.AddTool(server, &mcp.Tool{Name: "write"}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
		if err := auth.RequireScopes(ctx, "files:write"); err != nil {
			return "", err
		}
		return "written", nil
	})
	mcpserver.AddTool(server, &mcp.Tool{Name: "late"}, func(ctx context.Context, s *mcp.ServerSession, _ struct{}) (string, error) {
		if err := s.ReportProgress(ctx, peer.Progress{Progress: 1}); err != nil {
			return "", err
		}
		return "written", auth.RequireScopes(ctx, "files:write")
	})
	server.AddResource(&mcp.Resource{Name: "secret", URI: "file:///secret"}, func(ctx context.Context, _ *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return nil, auth.RequireScopes(ctx, "files:read")
	})
	return server
}

// serveTools starts a protected server that runs until the end of the test.
func serveTools(t *testing.T, opts *streamable.Options) string {
	t.Helper()
	if opts == nil {
		opts = new(streamable.Options)
	}
	opts.Principal, opts.Logger = auth.Principal, slog.New(slog.DiscardHandler)
	server := newTools()
	listener := httptest.NewServer(newGuard(t, guardOptions(userVerifier)).Protect(streamable.NewHandler(server, opts)))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, server.Shutdown(ctx))
		listener.Close()
	})
	return listener.URL
}

func connectAs(t *testing.T, url, token string, revision peer.RevisionInfo) *mcpclient.Client {
	t.Helper()
	to := mcpclient.URL(url)
	to.HTTP.Header = http.Header{"Authorization": {"Bearer " + token}}
	client, err := mcpclient.Connect(t.Context(), to, &mcpclient.Options{Revision: revision.Revision})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	return client
}

func TestCallerInEveryRevision(t *testing.T) {
	for name, opts := range map[string]*streamable.Options{"": nil, " json": {JSONResponse: true}, " stateless": {Stateless: true}, " polling": {Polling: true}} {
		url := serveTools(t, opts)
		for _, r := range mcp.Revisions {
			t.Run(r.Revision.String()+name, func(t *testing.T) {
				for _, user := range []string{"ada", "bob"} {
					client := connectAs(t, url, user, r)
					text, err := mcpclient.CallTool[string](t.Context(), client, "whoami", nil)
					require.NoError(t, err)
					require.Equal(t, user+"|"+login+" sub="+user+"|", text)
				}
			})
		}
	}
}

func TestInsufficientScopeInEveryRevision(t *testing.T) {
	for name, opts := range map[string]*streamable.Options{"": nil, " json": {JSONResponse: true}, " stateless": {Stateless: true}, " polling": {Polling: true}} {
		url := serveTools(t, opts)
		for _, r := range mcp.Revisions {
			t.Run(r.Revision.String()+name, func(t *testing.T) {
				text, err := mcpclient.CallTool[string](t.Context(), connectAs(t, url, "ada.files~write", r), "write", nil)
				require.NoError(t, err)
				require.Equal(t, "written", text)
				_, err = mcpclient.CallTool[string](t.Context(), connectAs(t, url, "ada", r), "write", nil)
				var refused *client.HTTPError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, http.StatusForbidden, refused.Status)
				require.Equal(t, scopeChallengePrefix+`"mcp:use files:write"`, refused.Header.Get("WWW-Authenticate"))
			})
		}
	}
}

// post sends a message with the token user, and returns the response.
func post(t *testing.T, url, user, message string, headers ...string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(message))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+user)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	t.Cleanup(func() {
		res.Body.Close()
		http.DefaultClient.CloseIdleConnections()
	})
	return res
}

// call26 returns a call in revision 2026-07-28, and its headers.
func call26(tool string) (message string, headers []string) {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":1,
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`, tool),
		[]string{"MCP-Protocol-Version: 2026-07-28", "Mcp-Method: tools/call", "Mcp-Name: " + tool}
}

// newSession starts a session and returns the headers of its requests.
func newSession(t *testing.T, url, user string) []string {
	t.Helper()
	res := post(t, url, user, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	require.Equal(t, http.StatusOK, res.StatusCode)
	headers := []string{"MCP-Protocol-Version: 2025-11-25", "Mcp-Session-Id: " + res.Header.Get("Mcp-Session-Id")}
	require.Equal(t, http.StatusAccepted, post(t, url, user, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, headers...).StatusCode)
	return headers
}

const call25 = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":{},"_meta":{"progressToken":1}}}`

func TestInsufficientScopeBody(t *testing.T) {
	url := serveTools(t, nil)
	message, headers := call26("write")
	for name, res := range map[string]*http.Response{
		"2026-07-28": post(t, url, "ada", message, headers...),
		"2025-11-25": post(t, url, "ada", fmt.Sprintf(call25, "write"), newSession(t, url, "ada")...),
	} {
		require.Equal(t, http.StatusForbidden, res.StatusCode, name)
		require.Equal(t, scopeChallengePrefix+`"mcp:use files:write"`, res.Header.Get("WWW-Authenticate"))
		require.Equal(t, "application/json", res.Header.Get("Content-Type"))
		var response struct {
			ID     int `json:"id"`
			Result struct {
				IsError bool `json:"isError"`
			} `json:"result"`
		}
		text := body(t, res)
		require.NoError(t, json.Unmarshal([]byte(text), &response), name)
		require.Equal(t, 1, response.ID)
		require.True(t, response.Result.IsError)
		require.Contains(t, text, `\"files:write\"`)
	}
	res := post(t, url, "ada", message, append(headers, "Accept: text/event-stream")...)
	require.Equal(t, http.StatusForbidden, res.StatusCode, "the status is the same for a client that accepts only events")
	require.Contains(t, body(t, res), "data: {")
}

func TestInsufficientScopeAfterProgress(t *testing.T) {
	url := serveTools(t, nil)
	message, headers := call26("late")
	for name, res := range map[string]*http.Response{
		"2026-07-28": post(t, url, "ada", message, headers...),
		"2025-11-25": post(t, url, "ada", fmt.Sprintf(call25, "late"), newSession(t, url, "ada")...),
	} {
		require.Equal(t, http.StatusOK, res.StatusCode, name)
		require.Empty(t, res.Header.Get("WWW-Authenticate"))
		require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
		var events []string
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && data != "" {
				events = append(events, data)
			}
		}
		require.Len(t, events, 2, name)
		require.Contains(t, events[0], "notifications/progress")
		require.Contains(t, events[1], `"isError":true`)
		require.Contains(t, events[1], `\"files:write\"`)
	}
}

func TestSessionIsBoundToCaller(t *testing.T) {
	url := serveTools(t, nil)
	headers := newSession(t, url, "ada")
	call := fmt.Sprintf(call25, "whoami")
	require.Equal(t, http.StatusOK, post(t, url, "ada", call, headers...).StatusCode)
	require.Equal(t, http.StatusOK, post(t, url, "ada.more", call, headers...).StatusCode, "another token of the same user")
	require.Equal(t, http.StatusNotFound, post(t, url, "bob", call, headers...).StatusCode)
	require.Equal(t, http.StatusUnauthorized, post(t, url, "nobody", call, headers...).StatusCode)
	require.Equal(t, http.StatusUnauthorized, post(t, url, "", "no JSON", append(headers, "Authorization: Basic x")...).StatusCode)
	require.Equal(t, http.StatusOK, post(t, url, "ada.files~write", fmt.Sprintf(call25, "write"), headers...).StatusCode, "scopes of the request, not of the first request of the session")
	require.Equal(t, http.StatusForbidden, post(t, url, "ada", fmt.Sprintf(call25, "write"), headers...).StatusCode)
}

func TestDefaultPrincipal(t *testing.T) {
	server := newTools()
	opts := &streamable.Options{Logger: slog.New(slog.DiscardHandler)}
	handler, legacy := streamable.NewHandler(server, opts), streamable.NewLegacySSEHandler(server, opts)
	defer handler.Close()
	defer legacy.Close()
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	mux.Handle("/sse", legacy)
	listener := httptest.NewServer(newGuard(t, guardOptions(userVerifier)).Protect(mux))
	defer listener.Close()
	url, call := listener.URL+"/mcp", fmt.Sprintf(call25, "whoami")

	headers := newSession(t, url, "ada")
	require.Contains(t, body(t, post(t, url, "ada", call, headers...)), "ada|"+login+" sub=ada|")
	require.Equal(t, http.StatusNotFound, post(t, url, "bob", call, headers...).StatusCode)
	message, headers := call26("whoami")
	require.Contains(t, body(t, post(t, url, "ada", message, headers...)), "ada|"+login+" sub=ada|")

	to := mcpclient.LegacySSE(listener.URL+"/sse", &client.Options{Header: http.Header{"Authorization": {"Bearer ada"}}})
	client, err := mcpclient.Connect(t.Context(), to, nil)
	require.NoError(t, err)
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "whoami", nil)
	require.NoError(t, err)
	require.Equal(t, "ada|"+login+" sub=ada|", text)
}

func TestInsufficientScopeOfResource(t *testing.T) {
	url := serveTools(t, nil)
	res := post(t, url, "ada", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"file:///secret"}}`, newSession(t, url, "ada")...)
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	require.Equal(t, scopeChallengePrefix+`"mcp:use files:read"`, res.Header.Get("WWW-Authenticate"))
	require.True(t, json.Valid([]byte(body(t, res))))
}

func TestContextWithCallerWithoutHTTP(t *testing.T) {
	ctx := auth.ContextWithCaller(t.Context(), &auth.Caller{Subject: "ada", Scopes: []string{"files:write"}})
	client, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(newTools()), nil)
	require.NoError(t, err)
	text, err := mcpclient.CallTool[string](ctx, client, "write", nil)
	require.NoError(t, err)
	require.Equal(t, "written", text)
	_, err = mcpclient.CallTool[string](t.Context(), client, "write", nil)
	require.ErrorContains(t, err, `"files:write"`)
	require.NoError(t, client.Close())

	ours, theirs := net.Pipe()
	served := make(chan error)
	go func() { served <- newTools().ServeStreams(ctx, theirs, theirs) }() // ends with the pipe
	message, _ := call26("write")
	_, err = fmt.Fprintln(ours, strings.ReplaceAll(message, "\n", ""))
	require.NoError(t, err)
	response, err := bufio.NewReader(ours).ReadString('\n')
	require.NoError(t, err)
	require.Contains(t, response, "written")
	require.NoError(t, ours.Close())
	<-served
}

func TestInsufficientScopeInBatch(t *testing.T) {
	url := serveTools(t, nil)
	res := post(t, url, "ada", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
	require.Equal(t, http.StatusOK, res.StatusCode)
	sessionHeader := "Mcp-Session-Id: " + res.Header.Get("Mcp-Session-Id")
	require.Equal(t, http.StatusAccepted, post(t, url, "ada", `{"jsonrpc":"2.0","method":"notifications/initialized"}`, sessionHeader).StatusCode)
	res = post(t, url, "ada", `[{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"whoami"}},{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"write"}}]`, sessionHeader)
	require.Equal(t, http.StatusForbidden, res.StatusCode)
	require.Equal(t, scopeChallengePrefix+`"mcp:use files:write"`, res.Header.Get("WWW-Authenticate"))
	var responses []json.RawMessage
	require.NoError(t, json.Unmarshal([]byte(body(t, res)), &responses))
	require.Len(t, responses, 2)
}

func TestLegacySSECaller(t *testing.T) {
	server := newTools()
	handler := streamable.NewLegacySSEHandler(server, &streamable.Options{Principal: auth.Principal, Logger: slog.New(slog.DiscardHandler)})
	listener := httptest.NewServer(newGuard(t, guardOptions(userVerifier)).Protect(handler))
	defer listener.Close()
	defer handler.Close()
	to := mcpclient.LegacySSE(listener.URL, &client.Options{Header: http.Header{"Authorization": {"Bearer ada"}}})
	client, err := mcpclient.Connect(t.Context(), to, nil)
	require.NoError(t, err)
	defer client.Close()
	text, err := mcpclient.CallTool[string](t.Context(), client, "whoami", nil)
	require.NoError(t, err)
	require.Equal(t, "ada|"+login+" sub=ada|", text)
}

func TestLegacySSEInsufficientScope(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		handler := streamable.NewLegacySSEHandler(newTools(), &streamable.Options{Principal: auth.Principal, Logger: slog.New(slog.DiscardHandler)})
		defer handler.Close()
		guarded := newGuard(t, guardOptions(userVerifier)).Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(lateWriter{w}, r) }))
		send := func(w http.ResponseWriter, method, target, message string) {
			r := httptest.NewRequest(method, target, strings.NewReader(message))
			r.Header.Set("Authorization", "Bearer ada")
			r.Header.Set("Content-Type", "application/json")
			guarded.ServeHTTP(w, r)
		}
		stream := httptest.NewRecorder()
		go send(stream, http.MethodGet, "/", "") // ends with the handler
		synctest.Wait()
		_, at, _ := strings.Cut(strings.TrimSpace(stream.Body.String()), "data: ")
		for _, message := range []string{
			`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
			fmt.Sprintf(call25, "write"),
		} {
			w := httptest.NewRecorder()
			send(w, http.MethodPost, at, message)
			require.Equal(t, http.StatusAccepted, w.Code, message)
			synctest.Wait()
		}
		require.Contains(t, stream.Body.String(), `\"files:write\"`)
	})
}

// lateWriter delays the header until the handler is idle.
type lateWriter struct{ http.ResponseWriter }

func (w lateWriter) WriteHeader(status int) {
	synctest.Wait()
	w.ResponseWriter.WriteHeader(status)
}

// scopedTools returns a server whose tool "write" requires scopes by its options.
func scopedTools(hide bool) *mcpserver.Server {
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1"}, &mcpserver.Options{
		ToolScopes:       map[string][]string{"write": {"files:write"}, "both": {"files:write", "files:read"}},
		HideToolsByScope: hide,
		Logger:           slog.New(slog.DiscardHandler),
	})
	for _, name := range []string{"free", "write"} {
		mcpserver.AddTool(server, &mcp.Tool{Name: name}, func(context.Context, *mcp.ServerSession, struct{}) (string, error) { return "done", nil })
	}
	return server
}

func TestToolScopes(t *testing.T) {
	require.Equal(t, []string{"files:read", "files:write"}, scopedTools(false).Scopes())
	for _, hide := range []bool{false, true} {
		server := scopedTools(hide)
		handler := streamable.NewHandler(server, &streamable.Options{Logger: slog.New(slog.DiscardHandler)})
		listener := httptest.NewServer(newGuard(t, guardOptions(userVerifier)).Protect(handler))
		t.Cleanup(listener.Close)
		t.Cleanup(func() { handler.Close() })
		for _, r := range mcp.Revisions {
			t.Run(fmt.Sprint(r.Revision, hide), func(t *testing.T) {
				for token, scoped := range map[string]bool{"ada": false, "ada.files~write": true} {
					c := connectAs(t, listener.URL, token, r)
					var names []string
					for tool, err := range c.Tools(t.Context()) {
						require.NoError(t, err)
						names = append(names, tool.Name)
					}
					want := []string{"free", "write"}
					if hide && !scoped {
						want = want[:1]
					}
					require.Equal(t, want, names)
					_, err := mcpclient.CallTool[string](t.Context(), c, "free", nil)
					require.NoError(t, err)
					_, err = mcpclient.CallTool[string](t.Context(), c, "write", nil)
					if scoped {
						require.NoError(t, err)
						continue
					}
					var refused *client.HTTPError
					require.ErrorAs(t, err, &refused)
					require.Equal(t, http.StatusForbidden, refused.Status)
					require.Equal(t, scopeChallengePrefix+`"mcp:use files:write"`, refused.Header.Get("WWW-Authenticate"))
					require.ErrorContains(t, err, "insufficient_scope")
				}
			})
		}
	}
}

func TestToolScopesWithoutGuard(t *testing.T) {
	c, err := mcpclient.Connect(t.Context(), mcpclient.InProcess(scopedTools(true)), nil)
	require.NoError(t, err)
	defer c.Close()
	_, err = mcpclient.CallTool[string](t.Context(), c, "write", nil)
	require.ErrorContains(t, err, "no guard has verified the caller")
	_, err = mcpclient.CallTool[string](t.Context(), c, "free", nil)
	require.NoError(t, err)
}

// A call that may become a task is refused before the task exists.
func TestToolScopesOfTask(t *testing.T) {
	server := mcpserver.New(mcp.Implementation{Name: "files", Version: "1"}, &mcpserver.Options{
		ToolScopes: map[string][]string{"write": {"files:write"}}, Tasks: &tasks.Options{StartAfter: -1}, Logger: slog.New(slog.DiscardHandler),
	})
	support := mcp.TaskSupportOptional
	finish := make(chan struct{})
	mcpserver.AddTool(server, &mcp.Tool{Name: "write", Execution: &mcp.ToolExecution{TaskSupport: support}},
		func(context.Context, *mcp.ServerSession, struct{}) (string, error) {
			<-finish // a tool that returns at once may have a result in place of a task
			return "done", nil
		})
	handler := streamable.NewHandler(server, nil)
	defer handler.Close()
	defer close(finish)
	listener := httptest.NewServer(newGuard(t, guardOptions(userVerifier)).Protect(handler))
	defer listener.Close()
	message := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"write","arguments":{},"_meta":{
		"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`
	_, headers := call26("write")
	for user, status := range map[string]int{"ada": http.StatusForbidden, "ada.files~write": http.StatusOK} {
		res := post(t, listener.URL, user, message, headers...)
		require.Equal(t, status, res.StatusCode)
		text, err := io.ReadAll(res.Body)
		require.NoError(t, err)
		require.Equal(t, status == http.StatusOK, strings.Contains(string(text), `"taskId"`), string(text))
	}
}
