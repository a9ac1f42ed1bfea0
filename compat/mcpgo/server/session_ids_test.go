package server_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mcpwright/mcp/compat/mcpgo/server"
)

// numbers makes ids of numbers and records its calls.
type numbers struct {
	keep bool  // clients may not end sessions
	err  error // of Terminate

	mu    sync.Mutex
	last  int
	calls []string
}

func (m *numbers) add(call string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls = append(m.calls, call)
}

func (m *numbers) take() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	calls := m.calls
	m.calls = nil
	return strings.Join(calls, ", ")
}

func (m *numbers) Generate() string {
	m.add("generate")
	m.last++
	return strconv.Itoa(m.last)
}

func (m *numbers) Validate(id string) (bool, error) {
	m.add("validate " + id)
	if id == "invalid" {
		return false, errors.New("invalid")
	}
	return id == "terminated", nil
}

func (m *numbers) Terminate(id string) (bool, error) {
	m.add("terminate " + id)
	return m.keep, m.err
}

const (
	initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"c","version":"1"},"capabilities":{}}}`
	ping       = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

// post sends a message in a session, which may be "".
func post(h http.Handler, session, message string) *http.Response {
	return send(h, http.MethodPost, session, message)
}

func send(h http.Handler, method, session, message string) *http.Response {
	r := httptest.NewRequest(method, "/mcp", strings.NewReader(message))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if session != "" {
		r.Header.Set(server.HeaderKeySessionID, session)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

func TestSessionIdManager(t *testing.T) {
	m := new(numbers)
	s := server.NewMCPServer("test", "1.0.0")
	var sessions []string
	hooks := s.GetHooks()
	hooks.AddOnRegisterSession(func(_ context.Context, session server.ClientSession) {
		sessions = append(sessions, session.SessionID())
	})
	h := server.NewStreamableHTTPServer(s, server.WithStateLess(true), server.WithSessionIdManager(m))
	id := func() string { return post(h, "", initialize).Header.Get(server.HeaderKeySessionID) }
	equal(t, id(), "1")
	equal(t, id(), "2")
	equal(t, strings.Join(sessions, ","), "1,2")
	equal(t, post(h, "1", ping).StatusCode, http.StatusOK)
	equal(t, m.take(), "generate, generate, validate 1")
	for _, unknown := range []string{"invalid", "terminated", "3"} {
		equal(t, post(h, unknown, ping).StatusCode, http.StatusNotFound)
	}
	equal(t, m.take(), "validate invalid, validate terminated, validate 3")

	equal(t, send(h, http.MethodDelete, "3", "").StatusCode, http.StatusNotFound)
	equal(t, send(h, http.MethodDelete, "", "").StatusCode, http.StatusBadRequest)
	equal(t, m.take(), "")
	m.err = errors.New("broken")
	equal(t, send(h, http.MethodDelete, "1", "").StatusCode, http.StatusInternalServerError)
	m.keep, m.err = true, nil
	equal(t, send(h, http.MethodDelete, "1", "").StatusCode, http.StatusMethodNotAllowed)
	equal(t, post(h, "1", ping).StatusCode, http.StatusOK)
	m.keep = false
	equal(t, m.take(), "terminate 1, terminate 1, validate 1")
	equal(t, send(h, http.MethodDelete, "1", "").StatusCode, http.StatusNoContent)
	equal(t, m.take(), "terminate 1")
	equal(t, post(h, "1", ping).StatusCode, http.StatusNotFound)
	m.take()
	check(t, h.Shutdown(t.Context()))
	equal(t, m.take(), "terminate 2")
}

func TestIdleSessionIsTerminated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := new(numbers)
		h := server.NewStreamableHTTPServer(server.NewMCPServer("test", "1.0.0"), server.WithSessionIdManager(m), server.WithSessionIdleTTL(time.Minute))
		post(h, "", initialize)
		time.Sleep(time.Hour)
		synctest.Wait()
		equal(t, m.take(), "generate, terminate 1")
		check(t, h.Shutdown(t.Context()))
		equal(t, m.take(), "")
	})
}

// byTenant has a manager for each tenant.
type byTenant map[string]*numbers

func (x byTenant) ResolveSessionIdManager(r *http.Request) server.SessionIdManager {
	return x[r.Header.Get("Tenant")]
}

func TestSessionIdManagerResolver(t *testing.T) {
	tenants := byTenant{"a": {}, "b": {last: 100}}
	h := server.NewStreamableHTTPServer(server.NewMCPServer("test", "1.0.0"), server.WithSessionIdManagerResolver(tenants))
	tenant := "a"
	at := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Tenant", tenant)
		h.ServeHTTP(w, r)
	})
	equal(t, post(at, "", initialize).Header.Get(server.HeaderKeySessionID), "1")
	tenant = "b"
	equal(t, post(at, "", initialize).Header.Get(server.HeaderKeySessionID), "101")
	equal(t, send(at, http.MethodDelete, "101", "").StatusCode, http.StatusNoContent)
	equal(t, tenants["b"].take(), "generate, terminate 101")
	equal(t, tenants["a"].take(), "generate")
	check(t, h.Shutdown(t.Context()))
	equal(t, tenants["a"].take(), "terminate 1")
}

func TestSessionIdManagersOfPackage(t *testing.T) {
	stateless := new(server.StatelessSessionIdManager)
	for _, option := range []server.StreamableHTTPOption{
		server.WithSessionIdManager(nil), server.WithSessionIdManager(stateless), server.WithSessionIdManagerResolver(nil),
		server.WithSessionIdManagerResolver(server.NewDefaultSessionIdManagerResolver(stateless)),
	} {
		h := server.NewStreamableHTTPServer(server.NewMCPServer("test", "1.0.0"), server.WithSessionIdManager(new(numbers)), option)
		equal(t, post(h, "", initialize).Header.Get(server.HeaderKeySessionID), "")
		equal(t, post(h, "invalid", ping).StatusCode, http.StatusOK)
	}
	for _, m := range []server.SessionIdManager{new(server.StatelessGeneratingSessionIdManager), new(server.InsecureStatefulSessionIdManager)} {
		h := server.NewStreamableHTTPServer(server.NewMCPServer("test", "1.0.0"), server.WithSessionIdManager(m))
		var ids []string
		for range 2 {
			ids = append(ids, post(h, "", initialize).Header.Get(server.HeaderKeySessionID))
		}
		equal(t, len(slices.Compact(ids)), 2)
		for _, id := range ids {
			equal(t, strings.HasPrefix(id, "mcp-session-"), true)
			equal(t, post(h, id, ping).StatusCode, http.StatusOK)
			equal(t, send(h, http.MethodDelete, id, "").StatusCode, http.StatusNoContent)
			equal(t, post(h, id, ping).StatusCode, http.StatusNotFound)
		}
		equal(t, post(h, "mcp-session-other", ping).StatusCode, http.StatusNotFound)
		equal(t, post(h, "other", ping).StatusCode, http.StatusNotFound)
	}
	_, err := new(server.StatelessGeneratingSessionIdManager).Validate("other")
	equal(t, err != nil, true)
	_, err = new(server.InsecureStatefulSessionIdManager).Validate("mcp-session-other")
	equal(t, err != nil, true)
}

// TestSessionIDs checks the form of the ids, which some programs validate.
func TestSessionIDs(t *testing.T) {
	const uuid = `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	s := server.NewMCPServer("test", "1.0.0")
	id := post(server.NewStreamableHTTPServer(s), "", initialize).Header.Get(server.HeaderKeySessionID)
	if !regexp.MustCompile("^mcp-session-" + uuid + "$").MatchString(id) {
		t.Errorf("got %s", id)
	}
	own := server.WithSessionIDGenerator(func(_ context.Context, r *http.Request) (string, error) {
		if r.Header.Get("Tenant") == "" {
			return "", errors.New("no tenant")
		}
		return "tenant-1", nil
	})
	for want, opts := range map[string][]server.SSEOption{uuid: {server.WithSessionIDGenerator(nil)}, "tenant-1": {own}} {
		srv := server.NewTestServer(s, opts...)
		defer srv.Close()
		for _, tenant := range []string{"", "a"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+"/sse", nil)
			check(t, err)
			r.Header.Set("Tenant", tenant)
			res, err := http.DefaultClient.Do(r)
			check(t, err)
			defer res.Body.Close()
			if tenant == "" && want != uuid {
				equal(t, res.StatusCode, http.StatusInternalServerError)
				continue
			}
			event := make([]byte, 200)
			n, err := res.Body.Read(event)
			check(t, err)
			if !regexp.MustCompile(`sessionId=` + want + `\n`).Match(event[:n]) {
				t.Errorf("got %s", event[:n])
			}
		}
	}
}
