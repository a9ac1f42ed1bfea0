package auth_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/auth"
)

const (
	resource = "https://mcp.example.com/mcp"
	login    = "https://login.example.com"
	metadata = "https://mcp.example.com/.well-known/oauth-protected-resource/mcp"
)

// ada returns a caller that the guard of guardOptions accepts.
func ada() *auth.Caller {
	return &auth.Caller{
		Subject: "ada", Issuer: login, ClientID: "app", Audience: []string{resource},
		Scopes: []string{"mcp:use"}, Expiry: time.Now().Add(time.Hour),
	}
}

// tokenVerifier returns a verifier that accepts one token.
func tokenVerifier(token string, caller *auth.Caller) auth.Verifier {
	return func(_ context.Context, given string) (*auth.Caller, error) {
		if given != token {
			return nil, fmt.Errorf("%w: secret reason", auth.ErrInvalidToken)
		}
		return caller, nil
	}
}

// guardOptions returns the options of a server that requires the scope "mcp:use".
func guardOptions(verify auth.Verifier) *auth.GuardOptions {
	return &auth.GuardOptions{
		Resource: resource, AuthorizationServers: []string{login}, Verify: verify,
		Scopes: []string{"mcp:use"}, Logger: slog.New(slog.DiscardHandler),
	}
}

func newGuard(t *testing.T, opts *auth.GuardOptions) *auth.Guard {
	t.Helper()
	guard, err := auth.NewGuard(opts)
	require.NoError(t, err)
	return guard
}

// send sends a request with the given Authorization headers to a protected handler. It
// returns the response, and whether the handler was called.
func send(t *testing.T, opts *auth.GuardOptions, target string, authorization ...string) (*http.Response, bool) {
	t.Helper()
	called := false
	handler := newGuard(t, opts).Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called = true
		require.NotNil(t, auth.CallerFromContext(r.Context()))
	}))
	r := httptest.NewRequest(http.MethodPost, target, unreadBody{t})
	if authorization != nil {
		r.Header["Authorization"] = authorization
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result(), called
}

// unreadBody is a body that must not be read.
type unreadBody struct{ t *testing.T }

func (u unreadBody) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("the body was read")
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	var b bytes.Buffer
	_, err := b.ReadFrom(res.Body)
	require.NoError(t, err)
	return b.String()
}

const (
	missingTokenChallenge    = `Bearer resource_metadata="` + metadata + `", scope="mcp:use"`
	invalidTokenChallenge    = `Bearer error="invalid_token", error_description="the token is invalid or expired", resource_metadata="` + metadata + `", scope="mcp:use"`
	malformedHeaderChallenge = `Bearer error="invalid_request", error_description="the request must have one Authorization header with one token", resource_metadata="` + metadata + `", scope="mcp:use"`
	tokenInURLChallenge      = `Bearer error="invalid_request", error_description="the token must be in the Authorization header, not in the URL", resource_metadata="` + metadata + `", scope="mcp:use"`
	scopeChallengePrefix     = `Bearer error="insufficient_scope", error_description="the token lacks a required scope", resource_metadata="` + metadata + `", scope=`
)

func TestGuardAuthorizationHeader(t *testing.T) {
	long := strings.Repeat("a", 16<<10)
	for name, c := range map[string]struct {
		authorization []string
		status        int
		challenge     string
	}{
		"valid token":    {[]string{"Bearer good"}, 200, ""},
		"lower case":     {[]string{"bearer good"}, 200, ""},
		"upper case":     {[]string{"BEARER good"}, 200, ""},
		"several spaces": {[]string{"Bearer   good"}, 200, ""},
		"no header":      {nil, 401, missingTokenChallenge},
		"empty header":   {[]string{""}, 401, missingTokenChallenge},
		"other scheme":   {[]string{"Basic Z29vZA=="}, 401, missingTokenChallenge},
		"no scheme":      {[]string{"good"}, 401, missingTokenChallenge},
		"tab":            {[]string{"Bearer\tgood"}, 401, missingTokenChallenge},
		"other token":    {[]string{"Bearer bad"}, 401, invalidTokenChallenge},
		"longest token":  {[]string{"Bearer " + long}, 401, invalidTokenChallenge},
		"too long token": {[]string{"Bearer " + long + "a"}, 400, malformedHeaderChallenge},
		"megabyte":       {[]string{"Bearer " + strings.Repeat(long, 64)}, 400, malformedHeaderChallenge},
		"no token":       {[]string{"Bearer"}, 400, malformedHeaderChallenge},
		"empty token":    {[]string{"Bearer "}, 400, malformedHeaderChallenge},
		"two headers":    {[]string{"Bearer good", "Bearer good"}, 400, malformedHeaderChallenge},
		"two schemes":    {[]string{"Basic Z29vZA==", "Bearer good"}, 400, malformedHeaderChallenge},
		"two tokens":     {[]string{"Bearer good, Bearer good"}, 400, malformedHeaderChallenge},
		"trailing space": {[]string{"Bearer good "}, 400, malformedHeaderChallenge},
		"trailing tab":   {[]string{"Bearer good\t"}, 400, malformedHeaderChallenge},
		"NUL":            {[]string{"Bearer good\x00"}, 400, malformedHeaderChallenge},
		"line end":       {[]string{"Bearer good\r\nX: y"}, 400, malformedHeaderChallenge},
		"quotes":         {[]string{`Bearer "good"`}, 400, malformedHeaderChallenge},
		"not ASCII":      {[]string{"Bearer gööd"}, 400, malformedHeaderChallenge},
		"padding inside": {[]string{"Bearer go=od"}, 400, malformedHeaderChallenge},
		"only padding":   {[]string{"Bearer =="}, 400, malformedHeaderChallenge},
		"all characters": {[]string{"Bearer aZ09-._~+/=="}, 401, invalidTokenChallenge},
	} {
		t.Run(name, func(t *testing.T) {
			res, called := send(t, guardOptions(tokenVerifier("good", ada())), "/mcp", c.authorization...)
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.challenge, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.status == 200, called)
			text := body(t, res)
			require.Less(t, len(text), 100)
			require.NotContains(t, text, "secret")
		})
	}
}

func TestGuardRawHeaders(t *testing.T) {
	listener := httptest.NewServer(newGuard(t, guardOptions(tokenVerifier("good", ada()))).Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
	defer listener.Close()
	for lines, status := range map[string]int{
		"Authorization: Bearer good":                            200,
		"authorization:bearer good \t":                          200,
		"Authorization: Bearer good\r\nAuthorization: Bearer x": 400,
		"Authorization: Bearer good\r\nauthorization: Basic x":  400,
		"Authorization: Bearer good\r\n more":                   400,
		"Authorization: Bearer good\x00":                        400,
		"Authorization : Bearer good":                           400,
		"Proxy-Authorization: Bearer good":                      401,
		"X-Authorization: Bearer good":                          401,
		"Authorization_: Bearer good":                           401,
		"Authorization: Bearer " + strings.Repeat("a", 512<<10): 400,
		"Cookie: access_token=good":                             401,
	} {
		conn, err := net.Dial("tcp", listener.Listener.Addr().String())
		require.NoError(t, err)
		go func() { fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n\r\n", lines) }() // ends when the server has read it, or has closed the connection
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, lines[:20])
		require.Equal(t, status, res.StatusCode, lines[:20])
		require.NoError(t, conn.Close())
	}
}

func TestGuardRefusesTokenInURL(t *testing.T) {
	for _, target := range []string{"/mcp?access_token=good", "/mcp?a=b&access_token", "/mcp?%61ccess_token=good"} {
		for _, authorization := range [][]string{nil, {"Bearer good"}} {
			res, called := send(t, guardOptions(tokenVerifier("good", ada())), target, authorization...)
			require.Equal(t, http.StatusBadRequest, res.StatusCode)
			require.Equal(t, tokenInURLChallenge, res.Header.Get("WWW-Authenticate"))
			require.False(t, called)
		}
	}
	_, called := send(t, guardOptions(tokenVerifier("good", ada())), "/mcp?sessionId=a", "Bearer good")
	require.True(t, called)
}

func TestGuardValidatesCaller(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*auth.Caller, *auth.GuardOptions)
		status    int
		challenge string
	}{
		"valid":                      {func(*auth.Caller, *auth.GuardOptions) {}, 200, ""},
		"no audience":                {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = nil }, 401, invalidTokenChallenge},
		"other audience":             {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{"https://other.example.com/mcp"} }, 401, invalidTokenChallenge},
		"shorter audience":           {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{"https://mcp.example.com"} }, 401, invalidTokenChallenge},
		"longer audience":            {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{resource + "/"} }, 401, invalidTokenChallenge},
		"one of two audiences":       {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{"x", resource} }, 200, ""},
		"option Audiences":           {func(c *auth.Caller, o *auth.GuardOptions) { c.Audience, o.Audiences = []string{"api"}, []string{"api"} }, 200, ""},
		"prefix of option Audiences": {func(c *auth.Caller, o *auth.GuardOptions) { c.Audience, o.Audiences = []string{"ap"}, []string{"api"} }, 401, invalidTokenChallenge},
		"expired":                    {func(c *auth.Caller, _ *auth.GuardOptions) { c.Expiry = time.Now().Add(-time.Second) }, 401, invalidTokenChallenge},
		"expired, AllowNoExpiry": {func(c *auth.Caller, o *auth.GuardOptions) {
			c.Expiry, o.AllowNoExpiry = time.Now().Add(-time.Second), true
		}, 401, invalidTokenChallenge},
		"no expiry":                {func(c *auth.Caller, _ *auth.GuardOptions) { c.Expiry = time.Time{} }, 401, invalidTokenChallenge},
		"no expiry, AllowNoExpiry": {func(c *auth.Caller, o *auth.GuardOptions) { c.Expiry, o.AllowNoExpiry = time.Time{}, true }, 200, ""},
		"no name":                  {func(c *auth.Caller, _ *auth.GuardOptions) { c.Subject, c.ClientID = "", "" }, 401, invalidTokenChallenge},
		"no subject":               {func(c *auth.Caller, _ *auth.GuardOptions) { c.Subject = "" }, 200, ""},
		"no scope":                 {func(c *auth.Caller, _ *auth.GuardOptions) { c.Scopes = nil }, 403, scopeChallengePrefix + `"mcp:use"`},
		"other scope":              {func(c *auth.Caller, _ *auth.GuardOptions) { c.Scopes = []string{"mcp", "mcp:use "} }, 403, scopeChallengePrefix + `"mcp:use"`},
		"one scope of two":         {func(_ *auth.Caller, o *auth.GuardOptions) { o.Scopes = []string{"mcp:use", "b"} }, 403, scopeChallengePrefix + `"mcp:use b"`},
		"implied scope":            {func(c *auth.Caller, o *auth.GuardOptions) { c.Scopes, o.Implies = []string{"mcp"}, includesPrefix }, 200, ""},
		"not implied scope":        {func(c *auth.Caller, o *auth.GuardOptions) { c.Scopes, o.Implies = []string{"mc"}, includesPrefix }, 403, scopeChallengePrefix + `"mcp:use"`},
	} {
		t.Run(name, func(t *testing.T) {
			caller := ada()
			opts := guardOptions(tokenVerifier("good", caller))
			c.change(caller, opts)
			res, called := send(t, opts, "/mcp", "Bearer good")
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.challenge, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.status == 200, called)
		})
	}
}

// includesPrefix reports whether needs has the prefix has, followed by a colon.
func includesPrefix(has, needs string) bool { return strings.HasPrefix(needs, has+":") }

func TestGuardCopiesScopes(t *testing.T) {
	opts := guardOptions(tokenVerifier("good", ada()))
	handler := newGuard(t, opts).Protect(http.NotFoundHandler())
	opts.Scopes[0] = "other"
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusNotFound, w.Code)
}

func TestGuardExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := guardOptions(tokenVerifier("good", ada()))
		time.Sleep(time.Hour - time.Nanosecond)
		_, called := send(t, opts, "/mcp", "Bearer good")
		require.True(t, called)
		time.Sleep(time.Nanosecond)
		_, called = send(t, opts, "/mcp", "Bearer good")
		require.False(t, called)
	})
}

func TestGuardAudienceWithFinalSlash(t *testing.T) {
	for _, name := range []string{"https://mcp.example.com", "https://mcp.example.com/"} {
		for audience, in := range map[string]bool{"https://mcp.example.com": true, "https://mcp.example.com/": true, "https://mcp.example.com//": false, "/": false, "": false} {
			caller := ada()
			caller.Audience = []string{audience}
			opts := guardOptions(tokenVerifier("good", caller))
			opts.Resource = name
			_, called := send(t, opts, "/", "Bearer good")
			require.Equal(t, in, called, "%s %s", name, audience)
		}
	}
}

func TestGuardVerifierErrors(t *testing.T) {
	for name, verify := range map[string]auth.Verifier{
		"error": func(context.Context, string) (*auth.Caller, error) { return ada(), errors.New("secret database") },
		"panic": func(context.Context, string) (*auth.Caller, error) { panic("secret database") },
		"panic with ErrInvalidToken": func(context.Context, string) (*auth.Caller, error) {
			panic(fmt.Errorf("secret database: %w", auth.ErrInvalidToken))
		},
		"no caller": func(context.Context, string) (*auth.Caller, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			opts := guardOptions(verify)
			opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			res, called := send(t, opts, "/mcp", "Bearer good")
			require.False(t, called)
			require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
			require.Equal(t, "1", res.Header.Get("Retry-After"))
			require.Empty(t, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, "tokens cannot be verified at the moment\n", body(t, res))
			require.Contains(t, log.String(), "level=ERROR")
			if name != "no caller" {
				require.Contains(t, log.String(), "secret database")
			}
			require.NotContains(t, log.String(), "good")
		})
	}
}

func TestGuardDoesNotLogCancelledRequests(t *testing.T) {
	var log bytes.Buffer
	opts := guardOptions(func(ctx context.Context, _ string) (*auth.Caller, error) { return nil, ctx.Err() })
	opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil).WithContext(ctx)
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	newGuard(t, opts).Protect(http.NotFoundHandler()).ServeHTTP(w, r)
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Empty(t, log.String())
}

func TestGuardRemovesToken(t *testing.T) {
	var seen http.Header
	handler := newGuard(t, guardOptions(tokenVerifier("good", ada()))).Protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Mcp-Session-Id", "a")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, http.Header{"Mcp-Session-Id": {"a"}}, seen)
	require.Equal(t, "Bearer good", r.Header.Get("Authorization"), "the original request must not change")
}

func TestGuardMetadata(t *testing.T) {
	opts := guardOptions(tokenVerifier("good", ada()))
	opts.ScopesSupported = []string{"files:write", "mcp:use"}
	opts.ResourceName, opts.ResourceDocumentation = "Files", "https://example.com/docs"
	mux := http.NewServeMux()
	mux.Handle(newGuard(t, opts).Metadata())
	send := func(method string) *http.Response {
		r := httptest.NewRequest(method, metadata, nil)
		r.Header.Set("Origin", "https://app.example.com")
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		require.Equal(t, "*", w.Header().Get("Access-Control-Allow-Origin"), method)
		return w.Result()
	}

	res := send(http.MethodGet)
	require.Equal(t, http.StatusOK, res.StatusCode)
	require.Equal(t, "application/json", res.Header.Get("Content-Type"))
	var document auth.ResourceMetadata
	require.NoError(t, json.NewDecoder(res.Body).Decode(&document))
	require.Equal(t, auth.ResourceMetadata{
		Resource: resource, AuthorizationServers: []string{login}, ScopesSupported: []string{"mcp:use", "files:write"},
		BearerMethodsSupported: []string{"header"}, ResourceName: "Files", ResourceDocumentation: "https://example.com/docs",
	}, document)

	require.Equal(t, http.StatusOK, send(http.MethodHead).StatusCode)
	res = send(http.MethodOptions)
	require.Equal(t, http.StatusNoContent, res.StatusCode)
	require.Equal(t, "*", res.Header.Get("Access-Control-Allow-Headers"))
	require.Equal(t, "GET, HEAD, OPTIONS", res.Header.Get("Access-Control-Allow-Methods"))
	res = send(http.MethodPost)
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
	require.Equal(t, "GET, HEAD, OPTIONS", res.Header.Get("Allow"))
}

func TestGuardMetadataPath(t *testing.T) {
	for name, pattern := range map[string]string{
		"https://mcp.example.com":            "/.well-known/oauth-protected-resource",
		"https://mcp.example.com/":           "/.well-known/oauth-protected-resource",
		"https://mcp.example.com/a/b/":       "/.well-known/oauth-protected-resource/a/b",
		"http://localhost:8080/mcp":          "/.well-known/oauth-protected-resource/mcp",
		"http://[::1]/mcp":                   "/.well-known/oauth-protected-resource/mcp",
		"https://mcp.example.com/%7Bx%7D":    "/.well-known/oauth-protected-resource/%7Bx%7D",
		"https://mcp.example.com/one%20a%2f": "/.well-known/oauth-protected-resource/one%20a%2f",
	} {
		opts := guardOptions(tokenVerifier("good", ada()))
		opts.Resource = name
		guard := newGuard(t, opts)
		got, handler := guard.Metadata()
		require.Equal(t, pattern, got)
		mux := http.NewServeMux()
		mux.Handle(got, handler)
		w := httptest.NewRecorder()
		guard.Protect(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		_, at, _ := strings.Cut(w.Header().Get("WWW-Authenticate"), `resource_metadata="`)
		at, _, _ = strings.Cut(at, `"`)
		w = httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, at, nil))
		require.Equal(t, http.StatusOK, w.Code, at)
	}
}

func TestNewGuardErrors(t *testing.T) {
	for want, change := range map[string]func(*auth.GuardOptions){
		`auth: new guard: option Resource is required`:                                                  func(o *auth.GuardOptions) { o.Resource = "" },
		`auth: new guard: option Resource: "/mcp" is not an absolute HTTP URL`:                          func(o *auth.GuardOptions) { o.Resource = "/mcp" },
		`auth: new guard: option Resource: "mcp.example.com" is not an absolute HTTP URL`:               func(o *auth.GuardOptions) { o.Resource = "mcp.example.com" },
		`auth: new guard: option Resource: "ftp://a/" is not an absolute HTTP URL`:                      func(o *auth.GuardOptions) { o.Resource = "ftp://a/" },
		`auth: new guard: option Resource: "https://:80/" is not an absolute HTTP URL`:                  func(o *auth.GuardOptions) { o.Resource = "https://:80/" },
		`auth: new guard: option Resource: malformed URL`:                                               func(o *auth.GuardOptions) { o.Resource = "https://a/%zz" },
		`auth: new guard: option Resource: "http://a/mcp" is a URL without TLS`:                         func(o *auth.GuardOptions) { o.Resource = "http://a/mcp" },
		`auth: new guard: option Resource: "http://localhost.a/" is a URL without TLS`:                  func(o *auth.GuardOptions) { o.Resource = "http://localhost.a/" },
		`auth: new guard: option Resource: "https://a/x" has credentials, a query or a fragment`:        func(o *auth.GuardOptions) { o.Resource = "https://a/x#b" },
		`auth: new guard: option Resource: "https://a/y" has credentials, a query or a fragment`:        func(o *auth.GuardOptions) { o.Resource = "https://a/y#" },
		`auth: new guard: option Resource: "https://a/z" has credentials, a query or a fragment`:        func(o *auth.GuardOptions) { o.Resource = "https://a/z?b" },
		`auth: new guard: option Resource: "https://a/" has credentials, a query or a fragment`:         func(o *auth.GuardOptions) { o.Resource = "https://u:p@a/" },
		`auth: new guard: option Resource: host of "https://MCP.a/" is not in lower case`:               func(o *auth.GuardOptions) { o.Resource = "https://MCP.a/" },
		`auth: new guard: option AuthorizationServers is required`:                                      func(o *auth.GuardOptions) { o.AuthorizationServers = nil },
		`auth: new guard: option AuthorizationServers: "login" is not an absolute HTTP URL`:             func(o *auth.GuardOptions) { o.AuthorizationServers = []string{login, "login"} },
		`auth: new guard: option AuthorizationServers: "http://login.example.com" is a URL without TLS`: func(o *auth.GuardOptions) { o.AuthorizationServers = []string{"http://login.example.com"} },
		`auth: new guard: option Verify is required`:                                                    func(o *auth.GuardOptions) { o.Verify = nil },
		`auth: new guard: scope "offline_access" is for authorization servers, not for resources`:       func(o *auth.GuardOptions) { o.Scopes = []string{"a", "offline_access"} },
		`auth: new guard: invalid scope "a b"`:                                                          func(o *auth.GuardOptions) { o.Scopes = []string{"a b"} },
		`auth: new guard: invalid scope ""`:                                                             func(o *auth.GuardOptions) { o.ScopesSupported = []string{""} },
		`auth: new guard: invalid scope "\""`:                                                           func(o *auth.GuardOptions) { o.ScopesSupported = []string{`"`} },
		`auth: new guard: option Audiences: empty name in ["a" ""]`:                                     func(o *auth.GuardOptions) { o.Audiences = []string{"a", ""} },
	} {
		opts := guardOptions(tokenVerifier("good", ada()))
		change(opts)
		_, err := auth.NewGuard(opts)
		require.EqualError(t, err, want)
	}
	opts := guardOptions(tokenVerifier("good", ada()))
	opts.ScopesSupported = []string{"offline_access"}
	_, err := auth.NewGuard(opts)
	require.ErrorContains(t, err, `"offline_access"`)
	opts = guardOptions(tokenVerifier("good", ada()))
	opts.AuthorizationServers, opts.Logger = []string{"http://127.0.0.1:9/a"}, nil
	_, err = auth.NewGuard(opts)
	require.NoError(t, err)
}

func TestNilOptions(t *testing.T) {
	_, err := auth.NewGuard(nil)
	require.EqualError(t, err, "auth: new guard: option Resource is required")
	_, err = auth.JWT(nil)
	require.EqualError(t, err, "auth: JWT verifier: option Issuer is required")
	_, err = auth.Introspection(nil)
	require.EqualError(t, err, "auth: introspection verifier: option Endpoint is required")
	_, err = auth.NewTransport(resource, nil)
	require.EqualError(t, err, "auth: new transport: option Grant is required")
}

func TestOptionsAreNotModified(t *testing.T) {
	guard := &auth.GuardOptions{Resource: resource, AuthorizationServers: []string{login}, Verify: tokenVerifier("valid", ada())}
	_, err := auth.NewGuard(guard)
	require.NoError(t, err)
	require.Nil(t, guard.Logger)
	verifier := &auth.JWTOptions{Issuer: login}
	_, err = auth.JWT(verifier)
	require.NoError(t, err)
	require.Equal(t, &auth.JWTOptions{Issuer: login}, verifier)
	transport := &auth.TransportOptions{Grant: &auth.ClientCredentials{}}
	_, err = auth.NewTransport(resource, transport)
	require.NoError(t, err)
	require.Equal(t, &auth.TransportOptions{Grant: &auth.ClientCredentials{}}, transport)
}

func TestAnyVerifier(t *testing.T) {
	other := ada()
	other.Issuer = "https://other.example.com"
	broken := func(context.Context, string) (*auth.Caller, error) { return nil, errors.New("broken") }
	for name, c := range map[string]struct {
		verify auth.Verifier
		issuer string
		err    string
	}{
		"first":          {auth.AnyVerifier(tokenVerifier("good", ada()), broken), login, ""},
		"second":         {auth.AnyVerifier(tokenVerifier("else", ada()), tokenVerifier("good", other)), other.Issuer, ""},
		"after an error": {auth.AnyVerifier(broken, tokenVerifier("good", other)), other.Issuer, ""},
		"none accepts":   {auth.AnyVerifier(tokenVerifier("x", ada()), tokenVerifier("y", other)), "", auth.ErrInvalidToken.Error()},
		"no verifiers":   {auth.AnyVerifier(), "", auth.ErrInvalidToken.Error()},
		"error":          {auth.AnyVerifier(tokenVerifier("x", ada()), broken), "", "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := c.verify(t.Context(), "good")
			if c.err == "" {
				require.NoError(t, err)
				require.Equal(t, c.issuer, caller.Issuer)
				return
			}
			require.ErrorContains(t, err, c.err)
			require.Equal(t, c.err != "broken", errors.Is(err, auth.ErrInvalidToken))
		})
	}
}

func TestPrincipalsDiffer(t *testing.T) {
	seen := map[string]auth.Caller{}
	for _, c := range []auth.Caller{
		{Issuer: login, Subject: "ada"},
		{Issuer: login, Subject: "bob"},
		{Issuer: "https://other.example.com", Subject: "ada"},
		{Issuer: login, ClientID: "ada"},
		{Issuer: login, Subject: "client=ada"},
		{Issuer: login, Subject: " client=ada"},
		{Issuer: login, Subject: "sub=ada"},
		{Issuer: login + " sub=x", Subject: "ada"},
		{Issuer: login, Subject: "x sub=ada"},
		{Issuer: login + "%20sub=x", Subject: "ada"},
		{Issuer: login + " client=x", ClientID: "ada"},
		{Issuer: login, ClientID: "x client=ada"},
		{Issuer: "", Subject: login + " sub=ada"},
		{Subject: "ada"},
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		p := auth.Principal(r.WithContext(auth.ContextWithCaller(r.Context(), &c)))
		require.NotEmpty(t, p)
		require.NotContains(t, seen, p)
		seen[p] = c
		c.ClientID = "app" // unused, because there is a subject
		if c.Subject != "" {
			require.Equal(t, p, auth.Principal(r.WithContext(auth.ContextWithCaller(r.Context(), &c))))
		}
	}
	require.Contains(t, seen, login+" sub=ada")
	require.Contains(t, seen, login+" client=ada")
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	require.Empty(t, auth.Principal(r))
	require.Empty(t, auth.Principal(r.WithContext(auth.ContextWithCaller(r.Context(), &auth.Caller{Issuer: login}))))
	require.Nil(t, auth.CallerFromContext(r.Context()))
}
