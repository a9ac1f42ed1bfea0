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

// ada is a caller that everybody lets in.
func ada() *auth.Caller {
	return &auth.Caller{
		Subject: "ada", Issuer: login, ClientID: "app", Audience: []string{resource},
		Scopes: []string{"mcp:use"}, Expiry: time.Now().Add(time.Hour),
	}
}

// knows is a verifier of one token.
func knows(token string, caller *auth.Caller) auth.Verifier {
	return func(_ context.Context, given string) (*auth.Caller, error) {
		if given != token {
			return nil, fmt.Errorf("%w: secret reason", auth.ErrInvalidToken)
		}
		return caller, nil
	}
}

// guardOptions are those of a server that needs the scope "mcp:use".
func guardOptions(verify auth.Verifier) auth.GuardOptions {
	return auth.GuardOptions{
		Resource: resource, AuthorizationServers: []string{login}, Verify: verify,
		Scopes: []string{"mcp:use"}, Logger: slog.New(slog.DiscardHandler),
	}
}

func newGuard(t *testing.T, opts auth.GuardOptions) *auth.Guard {
	t.Helper()
	guard, err := auth.NewGuard(opts)
	require.NoError(t, err)
	return guard
}

// ask sends a request with headers Authorization to what a guard protects, and
// returns the answer and whether it got through.
func ask(t *testing.T, opts auth.GuardOptions, target string, authorization ...string) (*http.Response, bool) {
	t.Helper()
	through := false
	handler := newGuard(t, opts).Protect(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		through = true
		require.NotNil(t, auth.CallerOf(r.Context()))
	}))
	r := httptest.NewRequest(http.MethodPost, target, unread{t})
	if authorization != nil {
		r.Header["Authorization"] = authorization
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w.Result(), through
}

// unread is a body that nobody reads.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("unread")
}

func body(t *testing.T, res *http.Response) string {
	t.Helper()
	var b bytes.Buffer
	_, err := b.ReadFrom(res.Body)
	require.NoError(t, err)
	return b.String()
}

const (
	strangers   = `Bearer resource_metadata="` + metadata + `", scope="mcp:use"`
	badToken    = `Bearer error="invalid_token", error_description="the token is not valid here, or not any more", resource_metadata="` + metadata + `", scope="mcp:use"`
	badRequest  = `Bearer error="invalid_request", error_description="the header Authorization is to be there once, with one token", resource_metadata="` + metadata + `", scope="mcp:use"`
	inURL       = `Bearer error="invalid_request", error_description="a token belongs in the header Authorization, not in the URL", resource_metadata="` + metadata + `", scope="mcp:use"`
	tooFewBegin = `Bearer error="insufficient_scope", error_description="the token does not go far enough", resource_metadata="` + metadata + `", scope=`
)

func TestOnlyAValidTokenInTheHeaderLetsIn(t *testing.T) {
	long := strings.Repeat("a", 16<<10)
	for name, c := range map[string]struct {
		authorization []string
		status        int
		challenge     string
	}{
		"a token":                {[]string{"Bearer good"}, 200, ""},
		"in lower case":          {[]string{"bearer good"}, 200, ""},
		"in upper case":          {[]string{"BEARER good"}, 200, ""},
		"after several spaces":   {[]string{"Bearer   good"}, 200, ""},
		"nothing":                {nil, 401, strangers},
		"an empty header":        {[]string{""}, 401, strangers},
		"another scheme":         {[]string{"Basic Z29vZA=="}, 401, strangers},
		"no scheme":              {[]string{"good"}, 401, strangers},
		"after a tab":            {[]string{"Bearer\tgood"}, 401, strangers},
		"another token":          {[]string{"Bearer bad"}, 401, badToken},
		"the longest token":      {[]string{"Bearer " + long}, 401, badToken},
		"a longer one":           {[]string{"Bearer " + long + "a"}, 400, badRequest},
		"one of a megabyte":      {[]string{"Bearer " + strings.Repeat(long, 64)}, 400, badRequest},
		"no token":               {[]string{"Bearer"}, 400, badRequest},
		"an empty token":         {[]string{"Bearer "}, 400, badRequest},
		"two headers":            {[]string{"Bearer good", "Bearer good"}, 400, badRequest},
		"two schemes":            {[]string{"Basic Z29vZA==", "Bearer good"}, 400, badRequest},
		"two tokens":             {[]string{"Bearer good, Bearer good"}, 400, badRequest},
		"a trailing space":       {[]string{"Bearer good "}, 400, badRequest},
		"a trailing tab":         {[]string{"Bearer good\t"}, 400, badRequest},
		"a NUL":                  {[]string{"Bearer good\x00"}, 400, badRequest},
		"a line end":             {[]string{"Bearer good\r\nX: y"}, 400, badRequest},
		"quotes":                 {[]string{`Bearer "good"`}, 400, badRequest},
		"no ASCII":               {[]string{"Bearer gööd"}, 400, badRequest},
		"padding in the middle":  {[]string{"Bearer go=od"}, 400, badRequest},
		"nothing but padding":    {[]string{"Bearer =="}, 400, badRequest},
		"all that tokens may be": {[]string{"Bearer aZ09-._~+/=="}, 401, badToken},
	} {
		t.Run(name, func(t *testing.T) {
			res, through := ask(t, guardOptions(knows("good", ada())), "/mcp", c.authorization...)
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.challenge, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.status == 200, through)
			text := body(t, res)
			require.Less(t, len(text), 100)
			require.NotContains(t, text, "secret")
		})
	}
}

func TestNothingOnTheWireGetsPastTheGuard(t *testing.T) {
	listener := httptest.NewServer(newGuard(t, guardOptions(knows("good", ada()))).Protect(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
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
		go func() { fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: a\r\nConnection: close\r\n%s\r\n\r\n", lines) }() // ends when it is read, or with the connection
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		require.NoError(t, err, lines[:20])
		require.Equal(t, status, res.StatusCode, lines[:20])
		require.NoError(t, conn.Close())
	}
}

func TestATokenInTheURLIsRefusedWhateverTheHeaderHas(t *testing.T) {
	for _, target := range []string{"/mcp?access_token=good", "/mcp?a=b&access_token", "/mcp?%61ccess_token=good"} {
		for _, authorization := range [][]string{nil, {"Bearer good"}} {
			res, through := ask(t, guardOptions(knows("good", ada())), target, authorization...)
			require.Equal(t, http.StatusBadRequest, res.StatusCode)
			require.Equal(t, inURL, res.Header.Get("WWW-Authenticate"))
			require.False(t, through)
		}
	}
	_, through := ask(t, guardOptions(knows("good", ada())), "/mcp?sessionId=a", "Bearer good")
	require.True(t, through)
}

func TestAGuardChecksWhatAVerifierForgets(t *testing.T) {
	for name, c := range map[string]struct {
		change    func(*auth.Caller, *auth.GuardOptions)
		status    int
		challenge string
	}{
		"nothing":             {func(*auth.Caller, *auth.GuardOptions) {}, 200, ""},
		"no audience":         {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = nil }, 401, badToken},
		"another audience":    {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{"https://other.example.com/mcp"} }, 401, badToken},
		"a shorter audience":  {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{"https://mcp.example.com"} }, 401, badToken},
		"a longer audience":   {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{resource + "/"} }, 401, badToken},
		"one of two":          {func(c *auth.Caller, _ *auth.GuardOptions) { c.Audience = []string{"x", resource} }, 200, ""},
		"another name":        {func(c *auth.Caller, o *auth.GuardOptions) { c.Audience, o.Audiences = []string{"api"}, []string{"api"} }, 200, ""},
		"not another name":    {func(c *auth.Caller, o *auth.GuardOptions) { c.Audience, o.Audiences = []string{"ap"}, []string{"api"} }, 401, badToken},
		"expired":             {func(c *auth.Caller, _ *auth.GuardOptions) { c.Expiry = time.Now().Add(-time.Second) }, 401, badToken},
		"expired, no matter":  {func(c *auth.Caller, o *auth.GuardOptions) { c.Expiry, o.NoExpiry = time.Now().Add(-time.Second), true }, 401, badToken},
		"no expiry":           {func(c *auth.Caller, _ *auth.GuardOptions) { c.Expiry = time.Time{} }, 401, badToken},
		"no expiry, wanted":   {func(c *auth.Caller, o *auth.GuardOptions) { c.Expiry, o.NoExpiry = time.Time{}, true }, 200, ""},
		"nobody":              {func(c *auth.Caller, _ *auth.GuardOptions) { c.Subject, c.ClientID = "", "" }, 401, badToken},
		"no subject":          {func(c *auth.Caller, _ *auth.GuardOptions) { c.Subject = "" }, 200, ""},
		"no scope":            {func(c *auth.Caller, _ *auth.GuardOptions) { c.Scopes = nil }, 403, tooFewBegin + `"mcp:use"`},
		"another scope":       {func(c *auth.Caller, _ *auth.GuardOptions) { c.Scopes = []string{"mcp", "mcp:use "} }, 403, tooFewBegin + `"mcp:use"`},
		"one scope of two":    {func(_ *auth.Caller, o *auth.GuardOptions) { o.Scopes = []string{"mcp:use", "b"} }, 403, tooFewBegin + `"mcp:use b"`},
		"a scope that covers": {func(c *auth.Caller, o *auth.GuardOptions) { c.Scopes, o.Implies = []string{"mcp"}, covers }, 200, ""},
		"one that does not":   {func(c *auth.Caller, o *auth.GuardOptions) { c.Scopes, o.Implies = []string{"mc"}, covers }, 403, tooFewBegin + `"mcp:use"`},
	} {
		t.Run(name, func(t *testing.T) {
			caller := ada()
			opts := guardOptions(knows("good", caller))
			c.change(caller, &opts)
			res, through := ask(t, opts, "/mcp", "Bearer good")
			require.Equal(t, c.status, res.StatusCode)
			require.Equal(t, c.challenge, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, c.status == 200, through)
		})
	}
}

// covers is a hierarchy in which "a" includes all that begins with "a:".
func covers(has, needs string) bool { return strings.HasPrefix(needs, has+":") }

func TestAGuardNeedsTheScopesThatItWasMadeWith(t *testing.T) {
	opts := guardOptions(knows("good", ada()))
	handler := newGuard(t, opts).Protect(http.NotFoundHandler())
	opts.Scopes[0] = "other"
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer good")
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	require.Equal(t, http.StatusNotFound, w.Code)
}

func TestATokenIsValidUpToItsExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		opts := guardOptions(knows("good", ada()))
		time.Sleep(time.Hour - time.Nanosecond)
		_, through := ask(t, opts, "/mcp", "Bearer good")
		require.True(t, through)
		time.Sleep(time.Nanosecond)
		_, through = ask(t, opts, "/mcp", "Bearer good")
		require.False(t, through)
	})
}

func TestAHostIsOneURLWithAndWithoutASlash(t *testing.T) {
	for _, name := range []string{"https://mcp.example.com", "https://mcp.example.com/"} {
		for audience, in := range map[string]bool{"https://mcp.example.com": true, "https://mcp.example.com/": true, "https://mcp.example.com//": false, "/": false, "": false} {
			caller := ada()
			caller.Audience = []string{audience}
			opts := guardOptions(knows("good", caller))
			opts.Resource = name
			_, through := ask(t, opts, "/", "Bearer good")
			require.Equal(t, in, through, "%s %s", name, audience)
		}
	}
}

func TestTroubleOfTheVerifierLetsNobodyInAndTellsNothing(t *testing.T) {
	for name, verify := range map[string]auth.Verifier{
		"an error": func(context.Context, string) (*auth.Caller, error) { return ada(), errors.New("secret database") },
		"a panic":  func(context.Context, string) (*auth.Caller, error) { panic("secret database") },
		"a nil panic": func(context.Context, string) (*auth.Caller, error) {
			panic(fmt.Errorf("secret database: %w", auth.ErrInvalidToken))
		},
		"nothing": func(context.Context, string) (*auth.Caller, error) { return nil, nil },
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			opts := guardOptions(verify)
			opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
			res, through := ask(t, opts, "/mcp", "Bearer good")
			require.False(t, through)
			require.Equal(t, http.StatusServiceUnavailable, res.StatusCode)
			require.Equal(t, "1", res.Header.Get("Retry-After"))
			require.Empty(t, res.Header.Get("WWW-Authenticate"))
			require.Equal(t, "tokens cannot be verified at the moment\n", body(t, res))
			require.Contains(t, log.String(), "level=ERROR")
			if name != "nothing" {
				require.Contains(t, log.String(), "secret database")
			}
			require.NotContains(t, log.String(), "good")
		})
	}
}

func TestAClientThatHasGoneIsNoTroubleOfTheServer(t *testing.T) {
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

func TestTheTokenGoesNoFurtherThanTheGuard(t *testing.T) {
	var seen http.Header
	handler := newGuard(t, guardOptions(knows("good", ada()))).Protect(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header }))
	r := httptest.NewRequest(http.MethodPost, "/mcp", nil)
	r.Header.Set("Authorization", "Bearer good")
	r.Header.Set("Mcp-Session-Id", "a")
	handler.ServeHTTP(httptest.NewRecorder(), r)
	require.Equal(t, http.Header{"Mcp-Session-Id": {"a"}}, seen)
	require.Equal(t, "Bearer good", r.Header.Get("Authorization"), "the request of whoever is in front is left alone")
}

func TestTheMetadataAreForEverybody(t *testing.T) {
	opts := guardOptions(knows("good", ada()))
	opts.ScopesSupported = []string{"files:write", "mcp:use"}
	opts.Name, opts.Documentation = "Files", "https://example.com/docs"
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

func TestTheMetadataAreWhereAnyPathLeads(t *testing.T) {
	for name, pattern := range map[string]string{
		"https://mcp.example.com":            "/.well-known/oauth-protected-resource",
		"https://mcp.example.com/":           "/.well-known/oauth-protected-resource",
		"https://mcp.example.com/a/b/":       "/.well-known/oauth-protected-resource/a/b",
		"http://localhost:8080/mcp":          "/.well-known/oauth-protected-resource/mcp",
		"http://[::1]/mcp":                   "/.well-known/oauth-protected-resource/mcp",
		"https://mcp.example.com/%7Bx%7D":    "/.well-known/oauth-protected-resource/%7Bx%7D",
		"https://mcp.example.com/one%20a%2f": "/.well-known/oauth-protected-resource/one%20a%2f",
	} {
		opts := guardOptions(knows("good", ada()))
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

func TestOptionsThatCannotBeMeantAreRefused(t *testing.T) {
	for want, change := range map[string]func(*auth.GuardOptions){
		`guard a server: option Resource: "" is no absolute URL of HTTP`:                                                                     func(o *auth.GuardOptions) { o.Resource = "" },
		`guard a server: option Resource: "/mcp" is no absolute URL of HTTP`:                                                                 func(o *auth.GuardOptions) { o.Resource = "/mcp" },
		`guard a server: option Resource: "mcp.example.com" is no absolute URL of HTTP`:                                                      func(o *auth.GuardOptions) { o.Resource = "mcp.example.com" },
		`guard a server: option Resource: "ftp://a/" is no absolute URL of HTTP`:                                                             func(o *auth.GuardOptions) { o.Resource = "ftp://a/" },
		`guard a server: option Resource: "https://:80/" is no absolute URL of HTTP`:                                                         func(o *auth.GuardOptions) { o.Resource = "https://:80/" },
		`guard a server: option Resource: it is no URL`:                                                                                      func(o *auth.GuardOptions) { o.Resource = "https://a/%zz" },
		`guard a server: option Resource: "http://a/mcp" is without TLS, so that everybody on the way could read it`:                         func(o *auth.GuardOptions) { o.Resource = "http://a/mcp" },
		`guard a server: option Resource: "http://localhost.a/" is without TLS, so that everybody on the way could read it`:                  func(o *auth.GuardOptions) { o.Resource = "http://localhost.a/" },
		`guard a server: option Resource: "https://a/x" has more than host and path`:                                                         func(o *auth.GuardOptions) { o.Resource = "https://a/x#b" },
		`guard a server: option Resource: "https://a/y" has more than host and path`:                                                         func(o *auth.GuardOptions) { o.Resource = "https://a/y#" },
		`guard a server: option Resource: "https://a/z" has more than host and path`:                                                         func(o *auth.GuardOptions) { o.Resource = "https://a/z?b" },
		`guard a server: option Resource: "https://a/" has more than host and path`:                                                          func(o *auth.GuardOptions) { o.Resource = "https://u:p@a/" },
		`guard a server: option Resource "https://MCP.a/": the host is to be in lower case, as clients write it`:                             func(o *auth.GuardOptions) { o.Resource = "https://MCP.a/" },
		`guard a server: option AuthorizationServers is empty: clients would not know where to get a token`:                                  func(o *auth.GuardOptions) { o.AuthorizationServers = nil },
		`guard a server: option AuthorizationServers: "login" is no absolute URL of HTTP`:                                                    func(o *auth.GuardOptions) { o.AuthorizationServers = []string{login, "login"} },
		`guard a server: option AuthorizationServers: "http://login.example.com" is without TLS, so that everybody on the way could read it`: func(o *auth.GuardOptions) { o.AuthorizationServers = []string{"http://login.example.com"} },
		`guard a server: option Verify is nil: nobody would check tokens`:                                                                    func(o *auth.GuardOptions) { o.Verify = nil },
		`guard a server: scope "offline_access": it is between clients and their authorization server, and none of a resource`:               func(o *auth.GuardOptions) { o.Scopes = []string{"a", "offline_access"} },
		`guard a server: scope "a b": a scope is one word of ASCII without quotes and backslashes`:                                           func(o *auth.GuardOptions) { o.Scopes = []string{"a b"} },
		`guard a server: scope "": a scope is one word of ASCII without quotes and backslashes`:                                              func(o *auth.GuardOptions) { o.ScopesSupported = []string{""} },
		`guard a server: scope "\"": a scope is one word of ASCII without quotes and backslashes`:                                            func(o *auth.GuardOptions) { o.ScopesSupported = []string{`"`} },
		`guard a server: option Audiences ["a" ""]: a server has no empty name`:                                                              func(o *auth.GuardOptions) { o.Audiences = []string{"a", ""} },
	} {
		opts := guardOptions(knows("good", ada()))
		change(&opts)
		_, err := auth.NewGuard(opts)
		require.EqualError(t, err, want)
	}
	opts := guardOptions(knows("good", ada()))
	opts.ScopesSupported = []string{"offline_access"}
	_, err := auth.NewGuard(opts)
	require.ErrorContains(t, err, `"offline_access"`)
	opts = guardOptions(knows("good", ada()))
	opts.AuthorizationServers, opts.Logger = []string{"http://127.0.0.1:9/a"}, nil
	_, err = auth.NewGuard(opts)
	require.NoError(t, err)
}

func TestAnyAsksOneVerifierAfterAnother(t *testing.T) {
	other := ada()
	other.Issuer = "https://other.example.com"
	broken := func(context.Context, string) (*auth.Caller, error) { return nil, errors.New("broken") }
	for name, c := range map[string]struct {
		verify auth.Verifier
		issuer string
		err    string
	}{
		"the first":           {auth.Any(knows("good", ada()), broken), login, ""},
		"the second":          {auth.Any(knows("else", ada()), knows("good", other)), other.Issuer, ""},
		"in spite of trouble": {auth.Any(broken, knows("good", other)), other.Issuer, ""},
		"none":                {auth.Any(knows("x", ada()), knows("y", other)), "", auth.ErrInvalidToken.Error()},
		"none of none":        {auth.Any(), "", auth.ErrInvalidToken.Error()},
		"trouble":             {auth.Any(knows("x", ada()), broken), "", "broken"},
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

func TestPrincipalsOfDifferentCallersDiffer(t *testing.T) {
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
		p := auth.Principal(r.WithContext(auth.WithCaller(r.Context(), &c)))
		require.NotEmpty(t, p)
		require.NotContains(t, seen, p)
		seen[p] = c
		c.ClientID = "app" // does not matter beside a subject
		if c.Subject != "" {
			require.Equal(t, p, auth.Principal(r.WithContext(auth.WithCaller(r.Context(), &c))))
		}
	}
	require.Contains(t, seen, login+" sub=ada")
	require.Contains(t, seen, login+" client=ada")
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	require.Empty(t, auth.Principal(r))
	require.Empty(t, auth.Principal(r.WithContext(auth.WithCaller(r.Context(), &auth.Caller{Issuer: login}))))
	require.Nil(t, auth.CallerOf(r.Context()))
}
