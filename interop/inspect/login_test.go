package inspect

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/interop/internal/browser"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// accessToken is the token of the authorization server of the test.
const accessToken = "access-token-of-the-guest"

// startProtected serves the kitchen and a small authorization server. It returns the URL of the kitchen,
// and the number of tokens that it has issued.
func startProtected(t *testing.T) (string, *atomic.Int32) {
	var issued atomic.Int32
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	document := func(pattern string, value any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Cache-Control", "no-store")
			if pattern == "POST /register" {
				w.WriteHeader(http.StatusCreated)
			}
			if pattern == "POST /token" {
				issued.Add(1)
			}
			_ = json.NewEncoder(w).Encode(value)
		})
	}
	resource := server.URL + "/mcp"
	document("GET /.well-known/oauth-protected-resource/mcp", map[string]any{"resource": resource, "authorization_servers": []string{server.URL}})
	document("GET /.well-known/oauth-authorization-server", map[string]any{
		"issuer": server.URL, "authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token",
		"registration_endpoint": server.URL + "/register", "response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		"authorization_response_iss_parameter_supported": true,
	})
	document("POST /register", map[string]any{"client_id": "command", "token_endpoint_auth_method": "none", "redirect_uris": []string{"http://127.0.0.1/callback"}})
	document("POST /token", map[string]any{"access_token": accessToken, "token_type": "Bearer", "expires_in": 3600})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		to, err := url.Parse(r.URL.Query().Get("redirect_uri"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		to.RawQuery = url.Values{"code": {"c"}, "state": {r.URL.Query().Get("state")}, "iss": {server.URL}}.Encode()
		http.Redirect(w, r, to.String(), http.StatusFound)
	})
	handler := streamable.NewHandler(newServer(), nil)
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+accessToken {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+server.URL+`/.well-known/oauth-protected-resource/mcp"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	return resource, &issued
}

// TestLoginOnThePage logs in with a button of the page, which waits for that and then continues.
func TestLoginOnThePage(t *testing.T) {
	browser.Find(t)
	resource, issued := startProtected(t)
	home := t.TempDir()
	page := startPage(t, []string{"-timeout", "1s", resource}, "HOME="+home, "XDG_CONFIG_HOME="+filepath.Join(home, "config"))
	p := browser.Open(t, 1200, 760)
	p.Go(page)
	p.WaitText("#notices", "The server requires a login")
	p.WaitText("#notices", "127.0.0.1")
	p.Wait("new Promise(resolve => setTimeout(resolve, 2000, true))") // longer than the limit for a response
	p.Reload()
	p.WaitText("#notices", "The server requires a login")
	require.Zero(t, issued.Load(), "no page is opened before the person agrees")
	p.Button("Log in")
	p.WaitText("#sides", "2026-07-28 · stateless")
	p.Wait(`!document.querySelector("#notices").innerText.includes("login")`)
	call(p, "photo")
	p.WaitText(".card", "The dish of the day")
	require.Equal(t, int32(1), issued.Load())
}

// TestServerWithLogin logs in to a server with OAuth, and then uses it on the page.
func TestServerWithLogin(t *testing.T) {
	browser.Find(t)
	if testing.Short() {
		t.Skip("a browser takes seconds")
	}
	resource, issued := startProtected(t)
	home := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	opener := "#!/bin/sh\n" + openVariable + "=\"$1\" exec '" + self + "'\n"
	require.NoError(t, os.WriteFile(filepath.Join(home, "xdg-open"), []byte(opener), 0o700))
	env := []string{"HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, "config"), "PATH=" + home + ":" + os.Getenv("PATH")}
	login := exec.CommandContext(t.Context(), build(t), "login", resource)
	login.Env = append(login.Environ(), env...)
	out, err := login.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, int32(1), issued.Load())

	page := startPage(t, []string{resource}, env...)
	p := browser.Open(t, 1200, 760)
	p.Go(page)
	p.WaitText("#sides", "2026-07-28 · stateless")
	call(p, "photo")
	p.WaitText(".card", "The dish of the day")
	require.Equal(t, int32(1), issued.Load(), "the page uses the stored token")
	require.NotContains(t, browser.Value[string](p, "document.documentElement.outerHTML"), accessToken)
}
