package auth

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/challenge"
)

// fakeNetwork is a network in memory: a handler serves the requests to each host. It has
// a server at serverURL, and an issuer of its tokens at issuerURL.
type fakeNetwork struct {
	t      *testing.T
	hosts  map[string]http.Handler
	server *fakeServer
	issuer *fakeIssuer

	mu  sync.Mutex
	log []string // requests, such as "GET login.test/token"
}

const (
	serverURL = "https://mcp.test/mcp"
	issuerURL = "https://login.test"
)

func newFakeNetwork(t *testing.T) *fakeNetwork {
	w := &fakeNetwork{t: t, hosts: map[string]http.Handler{}}
	w.issuer = w.newIssuer("login.test")
	w.server = &fakeServer{
		fakeNetwork: w,
		scopes:      []string{"use"},
		metadata:    &ResourceMetadata{Resource: serverURL, AuthorizationServers: []string{issuerURL}},
	}
	w.hosts["mcp.test"] = w.server
	return w
}

// RoundTrip implements [http.RoundTripper].
func (w *fakeNetwork) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return nil, err
	}
	w.mu.Lock()
	w.log = append(w.log, req.Method+" "+req.URL.Host+req.URL.Path)
	h := w.hosts[req.URL.Host]
	w.mu.Unlock()
	if h == nil {
		return nil, fmt.Errorf("no such host %q", req.URL.Host)
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	in := req.Clone(req.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, in)
	return rec.Result(), req.Context().Err()
}

// takeLog returns the requests since its last call.
func (w *fakeNetwork) takeLog() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

// count returns the number of equal requests since the last call of takeLog.
func (w *fakeNetwork) count(request string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.log {
		if s == request {
			n++
		}
	}
	return n
}

// transport returns the transport of a client whose user authorizes everything.
func (w *fakeNetwork) transport(change func(*TransportOptions)) *Transport {
	w.t.Helper()
	opts := &TransportOptions{
		Base:       w,
		HTTPClient: &http.Client{Transport: w},
		Grant:      w.user(),
		Logger:     slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(opts)
	}
	t, err := NewTransport(serverURL, opts)
	require.NoError(w.t, err)
	return t
}

// user returns a grant whose user authorizes everything.
func (w *fakeNetwork) user() *AuthorizationCode {
	return &AuthorizationCode{Authorize: w.consent, RedirectURL: "http://127.0.0.1:7777/callback", ClientName: "tester"}
}

func (w *fakeNetwork) consent(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	require.NoError(w.t, err)
	res, err := w.RoundTrip(req)
	if err != nil {
		return "", err
	}
	require.Equal(w.t, http.StatusFound, res.StatusCode)
	return res.Header.Get("Location"), nil
}

// post sends a request to the server and returns the status of the response.
func (w *fakeNetwork) post(ctx context.Context, t *Transport) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, serverURL, strings.NewReader(`{"a":1}`))
	require.NoError(w.t, err)
	res, err := t.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}

// mustPost sends a request that must succeed.
func (w *fakeNetwork) mustPost(t *Transport) {
	w.t.Helper()
	status, err := w.post(w.t.Context(), t)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, status)
}

// fakeServer is a server that requires a token with its scopes.
type fakeServer struct {
	*fakeNetwork
	metadata        *ResourceMetadata // nil if the server publishes none
	metadataPath    string            // path of the metadata, empty for the well-known path
	omitMetadataURL bool              // the challenge has no resource_metadata
	scopes          []string          // required scopes
	challengeScope  string            // scope of the challenge with status 401
	delay           time.Duration     // of responses
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := cmp.Or(s.metadataPath, "/.well-known/oauth-protected-resource/mcp")
	if r.URL.Path == path && s.metadata != nil {
		_ = json.NewEncoder(w).Encode(s.metadata)
		return
	}
	if r.URL.Path != "/mcp" && r.URL.Path != "/mcp/more" {
		http.NotFound(w, r)
		return
	}
	c := challenge.Challenge{Scheme: "Bearer", Params: map[string]string{}}
	if !s.omitMetadataURL {
		c.Params["resource_metadata"] = "https://mcp.test" + path
	}
	if s.challengeScope != "" {
		c.Params["scope"] = s.challengeScope
	}
	time.Sleep(s.delay)
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	has, valid := s.issuer.scopesOf(token)
	switch {
	case !valid:
		w.Header().Set("WWW-Authenticate", c.String())
		w.WriteHeader(http.StatusUnauthorized)
	case !isSubset(s.scopes, has):
		c.Params["error"], c.Params["scope"] = "insufficient_scope", strings.Join(s.scopes, " ")
		w.Header().Set("WWW-Authenticate", c.String())
		w.WriteHeader(http.StatusForbidden)
	default:
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && string(body) != `{"a":1}` {
			w.WriteHeader(http.StatusBadRequest)
		}
	}
}

// fakeIssuer is an authorization server that issues tokens to all registered clients.
type fakeIssuer struct {
	*fakeNetwork
	url      string
	metadata *AuthorizationServerMetadata

	mu             sync.Mutex
	requests       int
	clients        map[string]string   // secrets by client id
	tokens         map[string][]string // scopes by valid access token
	refreshTokens  map[string][]string // scopes by refresh token
	refreshClients map[string]string   // client ids by refresh token
	codes          map[string]url.Values
	forms          []url.Values // of token requests
	registrations  []map[string]any
	delay          time.Duration             // of responses to token requests
	expiresIn      int                       // expires_in of tokens, 0 for none
	rejectResource bool                      // refuse requests with a resource
	changeRedirect func(response url.Values) // changes the authorization response
	// registrationHandler replaces the registration endpoint if it returns true
	registrationHandler func(w http.ResponseWriter, client map[string]any) bool
	authorizations      []url.Values                                   // of authorization requests
	tokenHandler        func(w http.ResponseWriter, f url.Values) bool // replaces the token endpoint if it returns true
}

// handleRefresh sets the response to requests with a refresh token.
func (s *fakeIssuer) handleRefresh(status int, body string) {
	s.tokenHandler = func(w http.ResponseWriter, f url.Values) bool {
		if f.Get("grant_type") != "refresh_token" {
			return false
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// newIssuer adds an issuer to the network.
func (w *fakeNetwork) newIssuer(host string) *fakeIssuer {
	s := &fakeIssuer{
		fakeNetwork: w, url: "https://" + host,
		clients: map[string]string{}, tokens: map[string][]string{}, refreshTokens: map[string][]string{}, refreshClients: map[string]string{}, codes: map[string]url.Values{},
	}
	s.metadata = &AuthorizationServerMetadata{
		Issuer: s.url, AuthorizationEndpoint: s.url + "/authorize?tenant=1", TokenEndpoint: s.url + "/token", RegistrationEndpoint: s.url + "/register",
		CodeChallengeMethodsSupported: []string{"S256"}, TokenEndpointAuthMethodsSupported: []string{"none"},
		AuthorizationResponseIssParameterSupported: true,
	}
	w.hosts[host] = s
	return s
}

func (s *fakeIssuer) scopesOf(token string) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scopes, ok := s.tokens[token]
	return scopes, ok
}

// revoke revokes all access tokens, and also all refresh tokens if all is set.
func (s *fakeIssuer) revoke(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
	if all {
		clear(s.refreshTokens)
	}
}

func (s *fakeIssuer) lastForm() url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[len(s.forms)-1]
}

func (s *fakeIssuer) lastAuthorization() url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.authorizations[len(s.authorizations)-1]
}

func (s *fakeIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		_ = json.NewEncoder(w).Encode(s.metadata)
	case "/register":
		var client map[string]any
		_ = json.NewDecoder(r.Body).Decode(&client)
		s.registrations = append(s.registrations, client)
		if s.registrationHandler != nil && s.registrationHandler(w, client) {
			return
		}
		id := fmt.Sprint("client-", s.requests)
		s.clients[id] = ""
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "token_endpoint_auth_method": client["token_endpoint_auth_method"]})
	case "/authorize":
		s.authorize(w, r.URL.Query())
	case "/token":
		s.mu.Unlock()
		time.Sleep(s.delay)
		s.mu.Lock()
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		if id, secret, ok := r.BasicAuth(); ok {
			form.Set("basic", id+":"+secret)
		}
		s.forms = append(s.forms, form)
		if s.tokenHandler == nil || !s.tokenHandler(w, form) {
			s.grant(w, form)
		}
	default:
		http.NotFound(w, r)
	}
}

func (s *fakeIssuer) authorize(w http.ResponseWriter, q url.Values) {
	code := fmt.Sprint("code-", s.requests)
	s.codes[code] = q
	s.authorizations = append(s.authorizations, q)
	response := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.metadata.Issuer}}
	if _, known := s.clients[q.Get("client_id")]; !known {
		response = url.Values{"error": {"unauthorized_client"}, "state": {q.Get("state")}, "iss": {s.metadata.Issuer}}
	}
	if s.changeRedirect != nil {
		s.changeRedirect(response)
	}
	w.Header().Set("Location", q.Get("redirect_uri")+"?"+response.Encode())
	w.WriteHeader(http.StatusFound)
}

// grant responds to a token request after it has validated all parameters.
func (s *fakeIssuer) grant(w http.ResponseWriter, f url.Values) {
	refuse := func(code string) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": "no"})
	}
	scopes := splitScopes(f.Get("scope"))
	switch f.Get("grant_type") {
	case "authorization_code":
		q := s.codes[f.Get("code")]
		delete(s.codes, f.Get("code"))
		sum := sha256.Sum256([]byte(f.Get("code_verifier")))
		if q == nil || q.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(sum[:]) || q.Get("redirect_uri") != f.Get("redirect_uri") || q.Get("resource") != f.Get("resource") {
			refuse("invalid_grant")
			return
		}
		scopes = splitScopes(q.Get("scope"))
	case "refresh_token":
		var ok bool
		if scopes, ok = s.refreshTokens[f.Get("refresh_token")]; !ok || s.refreshClients[f.Get("refresh_token")] != f.Get("client_id") {
			refuse("invalid_grant")
			return
		}
	}
	m := s.server.metadata
	valid := f.Get("resource") == serverURL || m != nil && f.Get("resource") == m.Resource
	if s.rejectResource {
		valid = !f.Has("resource")
	}
	if !valid {
		refuse("invalid_target")
		return
	}
	if id := f.Get("client_id"); id != "" {
		if _, known := s.clients[id]; !known {
			refuse("invalid_client")
			return
		}
	}
	access, refresh := fmt.Sprint("token-", s.requests), fmt.Sprint("refresh-", s.requests)
	s.tokens[access], s.refreshTokens[refresh], s.refreshClients[refresh] = slices.Clone(scopes), scopes, f.Get("client_id")
	response := map[string]any{"access_token": access, "token_type": "bearer", "refresh_token": refresh}
	if s.expiresIn != 0 {
		response["expires_in"] = s.expiresIn
	}
	_ = json.NewEncoder(w).Encode(response)
}

const (
	authorizeRequest = "GET login.test/authorize"
	tokenRequest     = "POST login.test/token"
	registerRequest  = "POST login.test/register"
)
