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
)

// A world is a network without wires: what is asked of a host, its handler answers. It
// has a server at serverURL and an issuer of tokens for it.
type world struct {
	t      *testing.T
	hosts  map[string]http.Handler
	server *fakeServer
	issuer *fakeIssuer

	mu  sync.Mutex
	log []string // what was asked, such as "GET login.test/token"
}

const (
	serverURL = "https://mcp.test/mcp"
	issuerURL = "https://login.test"
)

func newWorld(t *testing.T) *world {
	w := &world{t: t, hosts: map[string]http.Handler{}}
	w.issuer = w.found("login.test")
	w.server = &fakeServer{
		world:  w,
		scopes: []string{"use"},
		about:  &ResourceMetadata{Resource: serverURL, AuthorizationServers: []string{issuerURL}},
	}
	w.hosts["mcp.test"] = w.server
	return w
}

// RoundTrip implements [http.RoundTripper].
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
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

// asked returns what was asked since it was called last.
func (w *world) asked() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	log := w.log
	w.log = nil
	return log
}

// count returns how often something was asked since asked was called last.
func (w *world) count(what string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, s := range w.log {
		if s == what {
			n++
		}
	}
	return n
}

// transport returns that of a client whose user agrees to everything.
func (w *world) transport(change func(*TransportOptions)) *Transport {
	w.t.Helper()
	opts := TransportOptions{
		Base:   w,
		Client: &http.Client{Transport: w},
		Grant:  w.user(),
		Logger: slog.New(slog.DiscardHandler),
	}
	if change != nil {
		change(&opts)
	}
	t, err := NewTransport(serverURL, opts)
	require.NoError(w.t, err)
	return t
}

// user is one who agrees to everything.
func (w *world) user() *AuthorizationCode {
	return &AuthorizationCode{Authorize: w.agree, RedirectURL: "http://127.0.0.1:7777/callback", Name: "tester"}
}

func (w *world) agree(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	require.NoError(w.t, err)
	res, err := w.RoundTrip(req)
	if err != nil {
		return "", err
	}
	require.Equal(w.t, http.StatusFound, res.StatusCode)
	return res.Header.Get("Location"), nil
}

// post makes a request to the server and returns the status of the response.
func (w *world) post(ctx context.Context, t *Transport) (int, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, serverURL, strings.NewReader(`{"a":1}`))
	require.NoError(w.t, err)
	res, err := t.RoundTrip(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	return res.StatusCode, nil
}

// enters makes a request that must succeed.
func (w *world) enters(t *Transport) {
	w.t.Helper()
	status, err := w.post(w.t.Context(), t)
	require.NoError(w.t, err)
	require.Equal(w.t, http.StatusOK, status)
}

// fakeServer lets in who has a token with its scopes.
type fakeServer struct {
	*world
	about  *ResourceMetadata // nil is none
	path   string            // of its metadata, empty where they belong
	quiet  bool              // its challenge does not say where they are
	scopes []string          // that a request needs
	hint   string            // the scope of the challenge of a 401
	slow   time.Duration     // before it answers
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := cmp.Or(s.path, "/.well-known/oauth-protected-resource/mcp")
	if r.URL.Path == path && s.about != nil {
		_ = json.NewEncoder(w).Encode(s.about)
		return
	}
	if r.URL.Path != "/mcp" && r.URL.Path != "/mcp/more" {
		http.NotFound(w, r)
		return
	}
	c := challenge{"Bearer", map[string]string{}}
	if !s.quiet {
		c.params["resource_metadata"] = "https://mcp.test" + path
	}
	if s.hint != "" {
		c.params["scope"] = s.hint
	}
	time.Sleep(s.slow)
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	has, good := s.issuer.good(token)
	switch {
	case !good:
		w.Header().Set("WWW-Authenticate", c.String())
		w.WriteHeader(http.StatusUnauthorized)
	case !within(s.scopes, has):
		c.params["error"], c.params["scope"] = "insufficient_scope", strings.Join(s.scopes, " ")
		w.Header().Set("WWW-Authenticate", c.String())
		w.WriteHeader(http.StatusForbidden)
	default:
		body, _ := io.ReadAll(r.Body)
		if r.Method == http.MethodPost && string(body) != `{"a":1}` {
			w.WriteHeader(http.StatusBadRequest)
		}
	}
}

// fakeIssuer issues tokens to everybody it knows, and knows everybody who registers.
type fakeIssuer struct {
	*world
	url  string
	meta *ServerMetadata

	mu       sync.Mutex
	n        int
	clients  map[string]string   // secrets by client id
	tokens   map[string][]string // scopes of those that are good
	renewals map[string][]string // scopes by refresh token
	owners   map[string]string   // client ids by refresh token
	codes    map[string]url.Values
	forms    []url.Values // what token requests said
	registry []map[string]any
	slow     time.Duration                                  // before it answers a token request
	life     int                                            // seconds of a token, 0 for ever
	bare     bool                                           // it refuses who names a resource
	answer   func(answer url.Values)                        // changes what the user is sent back with
	token    func(w http.ResponseWriter, f url.Values) bool // answers in place of the token endpoint
}

// renewing has the issuer answer whoever renews a token like this.
func (s *fakeIssuer) renewing(status int, body string) {
	s.token = func(w http.ResponseWriter, f url.Values) bool {
		if f.Get("grant_type") != "refresh_token" {
			return false
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
		return true
	}
}

// found founds an issuer.
func (w *world) found(host string) *fakeIssuer {
	s := &fakeIssuer{
		world: w, url: "https://" + host,
		clients: map[string]string{}, tokens: map[string][]string{}, renewals: map[string][]string{}, owners: map[string]string{}, codes: map[string]url.Values{},
	}
	s.meta = &ServerMetadata{
		Issuer: s.url, AuthorizationEndpoint: s.url + "/authorize?tenant=1", TokenEndpoint: s.url + "/token", RegistrationEndpoint: s.url + "/register",
		CodeChallengeMethodsSupported: []string{"S256"}, TokenEndpointAuthMethodsSupported: []string{"none"},
		AuthorizationResponseIssParameterSupported: true,
	}
	w.hosts[host] = s
	return s
}

func (s *fakeIssuer) good(token string) ([]string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	scopes, ok := s.tokens[token]
	return scopes, ok
}

// refuse makes all tokens bad, and renewals too if all.
func (s *fakeIssuer) refuse(all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
	if all {
		clear(s.renewals)
	}
}

func (s *fakeIssuer) lastForm() url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.forms[len(s.forms)-1]
}

func (s *fakeIssuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	switch r.URL.Path {
	case "/.well-known/oauth-authorization-server":
		_ = json.NewEncoder(w).Encode(s.meta)
	case "/register":
		var about map[string]any
		_ = json.NewDecoder(r.Body).Decode(&about)
		s.registry = append(s.registry, about)
		id := fmt.Sprint("client-", s.n)
		s.clients[id] = ""
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(map[string]any{"client_id": id, "token_endpoint_auth_method": about["token_endpoint_auth_method"]})
	case "/authorize":
		s.authorize(w, r.URL.Query())
	case "/token":
		s.mu.Unlock()
		time.Sleep(s.slow)
		s.mu.Lock()
		body, _ := io.ReadAll(r.Body)
		form, _ := url.ParseQuery(string(body))
		if id, secret, ok := r.BasicAuth(); ok {
			form.Set("basic", id+":"+secret)
		}
		s.forms = append(s.forms, form)
		if s.token == nil || !s.token(w, form) {
			s.grant(w, form)
		}
	default:
		http.NotFound(w, r)
	}
}

func (s *fakeIssuer) authorize(w http.ResponseWriter, q url.Values) {
	code := fmt.Sprint("code-", s.n)
	s.codes[code] = q
	answer := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {s.meta.Issuer}}
	if _, known := s.clients[q.Get("client_id")]; !known {
		answer = url.Values{"error": {"unauthorized_client"}, "state": {q.Get("state")}, "iss": {s.meta.Issuer}}
	}
	if s.answer != nil {
		s.answer(answer)
	}
	w.Header().Set("Location", q.Get("redirect_uri")+"?"+answer.Encode())
	w.WriteHeader(http.StatusFound)
}

// grant answers a token request as an issuer does that looks at everything.
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
		if scopes, ok = s.renewals[f.Get("refresh_token")]; !ok || s.owners[f.Get("refresh_token")] != f.Get("client_id") {
			refuse("invalid_grant")
			return
		}
	}
	about := s.server.about
	named := f.Get("resource") == serverURL || about != nil && f.Get("resource") == about.Resource
	if s.bare {
		named = !f.Has("resource")
	}
	if !named {
		refuse("invalid_target")
		return
	}
	if id := f.Get("client_id"); id != "" {
		if _, known := s.clients[id]; !known {
			refuse("invalid_client")
			return
		}
	}
	access, refresh := fmt.Sprint("token-", s.n), fmt.Sprint("refresh-", s.n)
	s.tokens[access], s.renewals[refresh], s.owners[refresh] = slices.Clone(scopes), scopes, f.Get("client_id")
	answer := map[string]any{"access_token": access, "token_type": "bearer", "refresh_token": refresh}
	if s.life != 0 {
		answer["expires_in"] = s.life
	}
	_ = json.NewEncoder(w).Encode(answer)
}

const (
	askedAuthorize = "GET login.test/authorize"
	askedToken     = "POST login.test/token"
	askedRegister  = "POST login.test/register"
)
