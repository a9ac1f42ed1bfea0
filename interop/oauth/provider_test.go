// Package oauth tests package auth with authorization servers of others: oidc-provider, which npm
// installs in the user's cache folder, and the example server of zitadel/oidc.
package oauth

import (
	"bufio"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/mcp"
	"github.com/mcpwright/mcp/interop/internal/npm"
	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpclient"
	"github.com/mcpwright/mcp/runtime/mcpserver"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// childVariable makes this program a client that shares a store with another one. It contains the URL
// of the server and the folder of the store.
const childVariable = "OAUTH_CHILD"

func TestMain(m *testing.M) {
	if server, dir, ok := strings.Cut(os.Getenv(childVariable), " "); ok {
		if err := callForSomeTime(server, dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// providerConfig is the configuration of provider/main.mjs.
type providerConfig struct {
	Port    int              `json:"port"`
	TTL     int              `json:"ttl"` // of access tokens, in seconds
	Opaque  bool             `json:"opaque"`
	JWK     map[string]any   `json:"jwk"` // signs tokens
	Clients []map[string]any `json:"clients"`
}

// startProvider starts the provider and returns its issuer. It runs until the end of the test.
func startProvider(t *testing.T, c providerConfig) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.Port = listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())
	t.Cleanup(runProvider(t, c, "k"))
	return fmt.Sprintf("http://127.0.0.1:%d", c.Port)
}

// runProvider starts the provider with a new key at a port. The result ends the provider; it may be
// called again.
func runProvider(t *testing.T, c providerConfig, keyID string) (stop func()) {
	t.Helper()
	dir := npm.Install(t, "provider", "main.mjs")
	_, c.JWK = newKey(t)
	c.JWK["kid"] = keyID
	config, err := json.Marshal(c)
	require.NoError(t, err)
	cmd := exec.Command("node", "main.mjs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PROVIDER="+string(config))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "ready\n", line)
	return sync.OnceFunc(func() {
		stdin.Close() // ends the provider
		_ = cmd.Wait()
	})
}

// newKey returns an ES256 key, and the key as a private JSON Web Key.
func newKey(t *testing.T) (crypto.Signer, map[string]any) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	point, err := key.PublicKey.Bytes()
	require.NoError(t, err)
	scalar, err := key.Bytes()
	require.NoError(t, err)
	text := base64.RawURLEncoding.EncodeToString
	return key, map[string]any{
		"kty": "EC", "crv": "P-256", "alg": "ES256", "use": "sig", "kid": "k", "x": text(point[1:33]), "y": text(point[33:]), "d": text(scalar),
	}
}

// publicKeys returns the public part of a private JSON Web Key, as a set.
func publicKeys(private map[string]any) map[string]any {
	public := map[string]any{}
	for name, value := range private {
		if name != "d" {
			public[name] = value
		}
	}
	return map[string]any{"keys": []any{public}}
}

// server is a protected MCP server.
type server struct {
	url string

	mu     sync.Mutex
	tokens map[string]string // schemes by token
}

// serve starts a server whose tool "write" requires the scope files:write.
func serve(t *testing.T, issuer string, dpop *auth.DPoPOptions, newVerifier func() (auth.Verifier, error), scopes ...string) *server {
	t.Helper()
	s := &server{tokens: map[string]string{}}
	mux := http.NewServeMux()
	listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if scheme, token, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok {
			s.mu.Lock()
			s.tokens[token] = scheme
			s.mu.Unlock()
		}
		mux.ServeHTTP(w, r)
	}))
	s.url = listener.URL + "/mcp"
	tools := mcpserver.New(mcp.Implementation{Name: "files", Version: "1"}, &mcpserver.Options{ToolScopes: map[string][]string{"write": {"files:write"}}})
	for _, name := range []string{"read", "write"} {
		mcpserver.AddTool(tools, &mcp.Tool{Name: name}, func(ctx context.Context, _ *mcp.ServerSession, _ struct{}) (string, error) {
			c := auth.CallerFromContext(ctx)
			return c.Subject + "|" + strings.Join(c.Scopes, " "), nil
		})
	}
	if scopes == nil {
		scopes = []string{"files:read"}
	}
	verify, err := newVerifier()
	require.NoError(t, err)
	guard, err := auth.NewGuard(&auth.GuardOptions{
		Resource: s.url, AuthorizationServers: []string{issuer}, Verify: verify, Scopes: scopes, ScopesSupported: tools.Scopes(), DPoP: dpop,
	})
	require.NoError(t, err)
	handler := streamable.NewHandler(tools, nil)
	mux.Handle(guard.Metadata())
	mux.Handle("/mcp", guard.Protect(handler))
	t.Cleanup(listener.Close)
	t.Cleanup(func() { handler.Close() })
	return s
}

// seen returns the tokens that the server has received, and their schemes.
func (s *server) seen() (count int, schemes map[string]bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	schemes = map[string]bool{}
	for _, scheme := range s.tokens {
		schemes[scheme] = true
	}
	return len(s.tokens), schemes
}

// browser is a user who consents. It counts the pages that it was shown.
type browser struct{ pages int }

func (b *browser) authorize(ctx context.Context, page string) (redirected string, err error) {
	b.pages++
	jar, err := cookiejar.New(nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{Jar: jar, CheckRedirect: func(next *http.Request, _ []*http.Request) error {
		if next.URL.Path == "/callback" {
			redirected = next.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if id := res.Request.URL.Query().Get("authRequestID"); id != "" { // the form of zitadel/oidc
		form := url.Values{"id": {id}, "username": {"test-user2"}, "password": {"verysecure"}}
		if res, err = client.PostForm(res.Request.URL.String(), form); err != nil {
			return "", err
		}
		defer res.Body.Close()
	}
	if redirected == "" {
		return "", fmt.Errorf("page has status %s and no redirect", res.Status)
	}
	return redirected, nil
}

// connect connects to a server with a grant.
func connect(ctx context.Context, url string, opts *auth.TransportOptions) (*mcpclient.Client, error) {
	transport, err := auth.NewTransport(url, opts)
	if err != nil {
		return nil, err
	}
	to := mcpclient.URL(url)
	to.HTTP.HTTPClient = &http.Client{Transport: transport}
	return mcpclient.Connect(ctx, to, nil)
}

func call(t *testing.T, c *mcpclient.Client, tool string) string {
	t.Helper()
	text, err := mcpclient.CallTool[string](t.Context(), c, tool, nil)
	require.NoError(t, err)
	return text
}

func jwtVerifier(issuer string) func() (auth.Verifier, error) {
	return func() (auth.Verifier, error) { return auth.JWT(&auth.JWTOptions{Issuer: issuer}) }
}

// TestUser covers discovery, registration, PKCE, resource indicators, tokens that are bound to a key
// with nonces at both ends, and further scopes for a tool.
func TestUser(t *testing.T) {
	issuer := startProvider(t, providerConfig{TTL: 3600})
	s := serve(t, issuer, &auth.DPoPOptions{Required: true, RequireNonce: true}, jwtVerifier(issuer))
	user := &browser{}
	c, err := connect(t.Context(), s.url, &auth.TransportOptions{Grant: &auth.AuthorizationCode{Authorize: user.authorize}, RequireDPoP: true})
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "ada|files:read", call(t, c, "read"))
	require.Equal(t, 1, user.pages)
	require.Equal(t, "ada|files:read files:write", call(t, c, "write"))
	require.Equal(t, 2, user.pages, "once more for the scope")
	require.Equal(t, "ada|files:read files:write", call(t, c, "read"))
	count, schemes := s.seen()
	require.Equal(t, 2, count)
	require.Equal(t, map[string]bool{"DPoP": true}, schemes)

	// The token is stolen: without the key, the server refuses it.
	for token := range s.tokens {
		for _, scheme := range []string{"Bearer", "DPoP"} {
			to := mcpclient.URL(s.url)
			to.HTTP.Header = http.Header{"Authorization": {scheme + " " + token}}
			_, err := mcpclient.Connect(t.Context(), to, nil)
			require.ErrorContains(t, err, "401 Unauthorized")
		}
	}
}

// TestBearerToken covers a server that does not offer tokens that are bound to a key.
func TestBearerToken(t *testing.T) {
	issuer := startProvider(t, providerConfig{TTL: 3600})
	s := serve(t, issuer, nil, jwtVerifier(issuer))
	c, err := connect(t.Context(), s.url, &auth.TransportOptions{Grant: &auth.AuthorizationCode{Authorize: (&browser{}).authorize}})
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "ada|files:read", call(t, c, "read"))
	_, schemes := s.seen()
	require.Equal(t, map[string]bool{"Bearer": true}, schemes)
}

// TestProgram covers client credentials, and introspection of opaque tokens that are bound to a key;
// both with clients that authenticate with a key (private_key_jwt).
func TestProgram(t *testing.T) {
	key, private := newKey(t)
	keyed := func(id string) map[string]any {
		return map[string]any{
			"client_id": id, "token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_signing_alg": "ES256", "jwks": publicKeys(private),
			"grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{}, "scope": "files:read files:write",
		}
	}
	issuer := startProvider(t, providerConfig{TTL: 3600, Opaque: true, Clients: []map[string]any{keyed("job"), keyed("files")}})
	s := serve(t, issuer, &auth.DPoPOptions{Required: true}, func() (auth.Verifier, error) {
		return auth.Introspection(&auth.IntrospectionOptions{
			Issuer: issuer, Endpoint: issuer + "/token/introspection", Client: auth.OAuthClient{ClientID: "files", Key: key, KeyID: "k"},
		})
	})
	c, err := connect(t.Context(), s.url, &auth.TransportOptions{
		Grant: &auth.ClientCredentials{Client: auth.OAuthClient{Issuer: issuer, ClientID: "job", Key: key, KeyID: "k"}},
	})
	require.NoError(t, err)
	defer c.Close()
	require.Equal(t, "|files:read", call(t, c, "read"))
	require.Equal(t, "|files:read files:write", call(t, c, "write"))
	_, schemes := s.seen()
	require.Equal(t, map[string]bool{"DPoP": true}, schemes)
}

// statusCounter counts the responses of a server by status.
type statusCounter struct {
	mu    sync.Mutex
	count map[int]int
}

// RoundTrip implements [http.RoundTripper].
func (s *statusCounter) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil && strings.HasSuffix(r.URL.Path, "/mcp") {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.count[res.StatusCode]++
	}
	return res, err
}

// TestKeysRotate replaces the keys of the issuer immediately after the server has fetched them. A client
// with a token of the new key waits, and is not refused.
func TestKeysRotate(t *testing.T) {
	key, private := newKey(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	config := providerConfig{TTL: 3600, Port: listener.Addr().(*net.TCPAddr).Port, Clients: []map[string]any{{
		"client_id": "job", "token_endpoint_auth_method": "private_key_jwt", "token_endpoint_auth_signing_alg": "ES256", "jwks": publicKeys(private),
		"grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{}, "scope": "files:read files:write",
	}}}
	require.NoError(t, listener.Close())
	issuer := fmt.Sprintf("http://127.0.0.1:%d", config.Port)
	stop := runProvider(t, config, "first")
	s := serve(t, issuer, nil, jwtVerifier(issuer))
	use := func() map[int]int {
		seen := &statusCounter{count: map[int]int{}}
		c, err := connect(t.Context(), s.url, &auth.TransportOptions{
			Base: seen, Grant: &auth.ClientCredentials{Client: auth.OAuthClient{Issuer: issuer, ClientID: "job", Key: key, KeyID: "k"}},
		})
		require.NoError(t, err)
		defer c.Close()
		require.Equal(t, "job|files:read", call(t, c, "read"))
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.count
	}
	before := use()
	require.Zero(t, before[http.StatusServiceUnavailable])
	stop()
	t.Cleanup(runProvider(t, config, "second"))
	after := use()
	require.Positive(t, after[http.StatusServiceUnavailable], "the server may not fetch the keys again yet")
	require.Equal(t, before[http.StatusUnauthorized], after[http.StatusUnauthorized], "only the request without a token")
}

// tokenLifetime is short, so that programs refresh their token several times in callTime.
const (
	tokenLifetime = 2
	callTime      = 5 * time.Second
)

// TestProgramsShareStore covers offline_access, and rotation of refresh tokens: the provider revokes all
// tokens if one of the programs uses an old refresh token.
func TestProgramsShareStore(t *testing.T) {
	issuer := startProvider(t, providerConfig{TTL: tokenLifetime})
	s := serve(t, issuer, &auth.DPoPOptions{}, func() (auth.Verifier, error) {
		return auth.JWT(&auth.JWTOptions{Issuer: issuer, Leeway: -1})
	})
	dir := t.TempDir()
	user := &browser{}
	c, err := connect(t.Context(), s.url, &auth.TransportOptions{Grant: &auth.AuthorizationCode{Authorize: user.authorize}, Store: auth.FileStore(dir)})
	require.NoError(t, err)
	require.Equal(t, "ada|files:read", call(t, c, "read"))
	require.NoError(t, c.Close())
	require.Equal(t, 1, user.pages)

	program, err := os.Executable()
	require.NoError(t, err)
	errs := make(chan error, 2)
	for range cap(errs) {
		go func() { // ends with the program
			cmd := exec.CommandContext(t.Context(), program)
			cmd.Env = append(os.Environ(), childVariable+"="+s.url+" "+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				err = fmt.Errorf("%w: %s", err, out)
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		require.NoError(t, <-errs)
	}
	count, schemes := s.seen()
	require.GreaterOrEqual(t, count, 3, "the token was refreshed")
	require.Equal(t, map[string]bool{"DPoP": true}, schemes)
}

// callForSomeTime uses a token in a store, whose user is not present.
func callForSomeTime(server, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	absent := func(context.Context, string) (string, error) { return "", errors.New("a user was asked") }
	c, err := connect(ctx, server, &auth.TransportOptions{Grant: &auth.AuthorizationCode{Authorize: absent}, Store: auth.FileStore(dir)})
	if err != nil {
		return err
	}
	defer c.Close()
	for end := time.Now().Add(callTime); time.Now().Before(end); {
		if _, err := mcpclient.CallTool[string](ctx, c, "read", nil); err != nil {
			return err
		}
	}
	return nil
}
