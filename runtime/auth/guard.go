package auth

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/challenge"
	"github.com/mcpwright/mcp/runtime/internal/verified"
)

// Guard protects an MCP server: it only passes on requests that have a valid bearer
// token for the server. It is the resource server of OAuth. It is safe for concurrent
// use.
type Guard struct {
	opts         GuardOptions
	audiences    []string // the accepted audiences of tokens
	metadata     []byte   // the protected resource metadata, as JSON
	metadataPath string
	metadataURL  string
	proofs       *proofVerifier // nil for API keys
	keyHeader    string         // the header of API keys, empty for tokens
}

// NewGuard returns a guard. It returns an error if an option is invalid, or if one of
// the required options Resource, AuthorizationServers and Verify is missing.
func NewGuard(opts *GuardOptions) (*Guard, error) {
	if opts == nil {
		opts = &GuardOptions{}
	}
	o := *opts
	resource, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("auth: new guard: %w", err)
	}
	m := &ResourceMetadata{
		Resource:               o.Resource,
		AuthorizationServers:   o.AuthorizationServers,
		ScopesSupported:        union(o.Scopes, o.ScopesSupported),
		BearerMethodsSupported: []string{"header"},
		ResourceName:           o.ResourceName,
		ResourceDocumentation:  o.ResourceDocumentation,
	}
	var dpop DPoPOptions
	if o.DPoP != nil {
		dpop = *o.DPoP
		m.DPoPSigningAlgValuesSupported, m.DPoPBoundAccessTokensRequired = publicKeyAlgorithms, dpop.Required
	}
	if err := dpop.complete(); err != nil {
		return nil, fmt.Errorf("auth: new guard: %w", err)
	}
	document, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("auth: new guard: encode metadata: %w", err)
	}
	at := wellKnown(resource, resourceWellKnown)
	g := &Guard{opts: o, metadataPath: at.EscapedPath(), metadata: document, metadataURL: at.String(), proofs: newProofVerifier(dpop, resource)}
	g.audiences = append(slices.Clone(o.Audiences), o.Resource)
	if strings.Trim(resource.Path, "/") == "" { // with and without a slash the URL is the same
		root := strings.TrimSuffix(o.Resource, "/")
		g.audiences = append(g.audiences, root, root+"/")
	}
	return g, nil
}

// Metadata returns a handler that serves the protected resource metadata (RFC 9728) of
// the server, and its pattern for a [http.ServeMux]. Clients read in this document which
// authorization servers issue tokens. It needs no token, and pages of any origin may
// read it.
func (g *Guard) Metadata() (pattern string, handler http.Handler) {
	return g.metadataPath, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			if g.metadata == nil {
				http.NotFound(w, r)
				return
			}
			h.Set("Content-Type", "application/json")
			w.Write(g.metadata)
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "*")
			w.WriteHeader(http.StatusNoContent)
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "method not allowed: use GET", http.StatusMethodNotAllowed)
		}
	})
}

// Protect returns a handler that passes a request to next if its token is valid, is
// for this server, and has the scopes of [GuardOptions].Scopes. It refuses any other
// request before it reads the body. In next, [CallerFromContext] returns the caller.
//
// The request that next receives has no Authorization header, so that the token cannot
// be passed on or logged by mistake. For this reason a guard inside another guard
// refuses every request. A program that needs the token, for example to exchange it at
// the authorization server, can store it in its [Verifier].
func (g *Guard) Protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, refused := g.authenticate(r)
		if refused != nil {
			refused.write(w, g)
			return
		}
		c := callerContext{caller, g, new(requiredScopes)}
		inner := r.WithContext(verified.ContextWithCaller(r.Context(), c))
		inner.Header = maps.Clone(r.Header)
		inner.Header.Del("Authorization")
		inner.Header.Del(dpopHeader)
		inner.Header.Del(g.keyHeader)
		if caller.KeyThumbprint != "" {
			g.renewNonce(w)
		}
		guarded := &guardedWriter{ResponseWriter: w, guard: g, required: c.required}
		next.ServeHTTP(guarded, inner)
		guarded.finish()
	})
}

// authenticate returns the caller of a request, or the response that refuses it.
func (g *Guard) authenticate(r *http.Request) (*Caller, *errorResponse) {
	scheme, token, refused := g.credentials(r)
	if refused != nil {
		return nil, refused
	}
	ctx := r.Context()
	caller, err := g.verify(ctx, token)
	if err == nil {
		err = g.validate(caller)
	}
	switch {
	case errors.Is(err, ErrInvalidToken):
		g.opts.Logger.DebugContext(ctx, "auth: token refused", "error", err)
		return nil, &invalidToken
	case err != nil && ctx.Err() != nil: // the client has cancelled the request
		return nil, &verifierFailed
	case errors.Is(err, errUnknownKey):
		g.opts.Logger.DebugContext(ctx, "auth: token cannot be verified yet", "error", err)
		return nil, verifierFailed.withRetryAfter(err)
	case err != nil:
		g.opts.Logger.ErrorContext(ctx, "auth: token could not be verified", "error", err)
		return nil, verifierFailed.withRetryAfter(err)
	}
	if g.keyHeader == "" {
		if refused := g.checkKey(r, caller, scheme, token); refused != nil {
			return nil, refused
		}
	}
	if g.missingScopes(caller, g.opts.Scopes) != nil {
		return nil, &insufficientScope
	}
	return caller, nil
}

// credentials returns the token or API key of a request, and the scheme of a token; or the
// response that refuses the request.
func (g *Guard) credentials(r *http.Request) (scheme, token string, refused *errorResponse) {
	if g.keyHeader == "" {
		return accessToken(r)
	}
	token, refused = g.apiKey(r)
	return "", token, refused
}

// verify calls the verifier. A panic of the verifier becomes an error.
func (g *Guard) verify(ctx context.Context, token string) (caller *Caller, err error) {
	defer recoverPanic("verifier", &err)
	caller, err = g.opts.Verify(ctx, token)
	if err == nil && caller == nil {
		err = errors.New("verifier returned neither a caller nor an error")
	}
	return caller, err
}

// validate checks everything that a verifier may have left out. A caller without a name
// is refused, because it could not be distinguished from other callers.
func (g *Guard) validate(c *Caller) error {
	switch {
	case g.keyHeader == "" && !slices.ContainsFunc(c.Audience, func(a string) bool { return slices.Contains(g.audiences, a) }):
		return fmt.Errorf("%w: audience is %q, want %q", ErrInvalidToken, c.Audience, g.opts.Resource)
	case c.Expiry.IsZero() && !g.opts.AllowNoExpiry:
		return fmt.Errorf("%w: no expiry", ErrInvalidToken)
	case !c.Expiry.IsZero() && !time.Now().Before(c.Expiry):
		return fmt.Errorf("%w: expired at %s", ErrInvalidToken, c.Expiry)
	case c.Subject == "" && c.ClientID == "":
		return fmt.Errorf("%w: neither a subject nor a client id", ErrInvalidToken)
	}
	return nil
}

// missingScopes returns the scopes that the caller does not have, nil if it has them
// all. A nil guard has no Implies, and a nil caller has no scopes.
func (g *Guard) missingScopes(c *Caller, required []string) (missing []string) {
	for _, needs := range required {
		grants := func(has string) bool {
			return has == needs || g != nil && g.opts.Implies != nil && g.opts.Implies(has, needs)
		}
		if c == nil || !slices.ContainsFunc(c.Scopes, grants) {
			missing = append(missing, needs)
		}
	}
	return missing
}

// GuardOptions are the options of a [Guard]. Resource, AuthorizationServers and Verify
// are required.
type GuardOptions struct {
	// Resource is the URL that clients use for the server, such as
	// "https://mcp.example.com/mcp". It is the audience of tokens for the server.
	Resource string
	// AuthorizationServers are the issuers of tokens for the server. Clients get their
	// tokens there. At least one is required.
	AuthorizationServers []string
	// Verify returns the caller of a token. Use [JWT], [Introspection], or a function of
	// your own.
	Verify Verifier

	// Scopes are the scopes that every request needs.
	Scopes []string
	// ScopesSupported are further scopes that clients may request.
	ScopesSupported []string
	// Implies reports whether the scope has includes the scope needs. An example is a
	// scope "files" that includes every scope with the prefix "files:". If Implies is
	// nil, each scope only includes itself.
	Implies func(has, needs string) bool

	// Audiences are other names of this server. The audience of a token must contain
	// Resource or one of them. Tokens for other servers are always refused.
	Audiences []string
	// AllowNoExpiry accepts tokens without an expiry. By default they are refused.
	AllowNoExpiry bool

	// DPoP offers clients to bind tokens to their key, and configures the proofs. A token
	// that is bound to a key needs a proof even if DPoP is nil.
	DPoP *DPoPOptions

	// ResourceName is the name of the server for people.
	ResourceName string
	// ResourceDocumentation is the URL of a page for developers of clients.
	ResourceDocumentation string
	// Logger receives the details that clients do not get: verifier errors at level
	// Error, and the reasons why tokens were refused at level Debug. It never receives
	// a token. Nil is [slog.Default].
	Logger *slog.Logger
}

// complete validates the options, sets the defaults and returns the URL of the resource.
func (o *GuardOptions) complete() (*url.URL, error) {
	resource, err := o.parseResource()
	switch err = cmp.Or(err, o.validateServers(), o.validateScopes()); {
	case err != nil:
		return nil, err
	case slices.Contains(o.Audiences, ""):
		return nil, fmt.Errorf("option Audiences: empty name in %q", o.Audiences)
	case o.Verify == nil:
		return nil, errors.New("option Verify is required")
	case o.Logger == nil:
		o.Logger = slog.Default()
	}
	o.Scopes = slices.Clone(o.Scopes)
	return resource, nil
}

func (o *GuardOptions) parseResource() (*url.URL, error) {
	if o.Resource == "" {
		return nil, errors.New("option Resource is required")
	}
	u, err := parseIdentifierURL(o.Resource)
	if err != nil {
		return nil, fmt.Errorf("option Resource: %w", err)
	}
	if !strings.Contains(o.Resource, "://"+u.Host) {
		return nil, fmt.Errorf("option Resource: host of %q is not in lower case", o.Resource)
	}
	return u, nil
}

func (o *GuardOptions) validateServers() error {
	if len(o.AuthorizationServers) == 0 {
		return errors.New("option AuthorizationServers is required")
	}
	for _, issuer := range o.AuthorizationServers {
		if _, err := parseIdentifierURL(issuer); err != nil {
			return fmt.Errorf("option AuthorizationServers: %w", err)
		}
	}
	return nil
}

func (o *GuardOptions) validateScopes() error {
	for _, s := range slices.Concat(o.Scopes, o.ScopesSupported) {
		switch {
		case s == offlineAccess:
			return fmt.Errorf("scope %q is for authorization servers, not for resources", s)
		case !isScope(s):
			return fmt.Errorf("invalid scope %q", s)
		}
	}
	return nil
}

// errorResponse is a response that refuses a request. Its descriptions are constants, so
// that details of a verifier or a token do not reach the client.
type errorResponse struct {
	status      int
	code        string // the OAuth error code, empty if the request has no token
	description string
	retryAfter  int // seconds, for status 429 and 503; 0 is 1
}

// withRetryAfter returns a copy of the response with the time of a [retryError].
func (e errorResponse) withRetryAfter(err error) *errorResponse {
	e.retryAfter = int((retryAfter(err) + time.Second - 1) / time.Second)
	return &e
}

var (
	missingToken      = errorResponse{status: http.StatusUnauthorized, description: "token required"}
	invalidToken      = errorResponse{status: http.StatusUnauthorized, code: "invalid_token", description: "the token is invalid or expired"}
	insufficientScope = errorResponse{status: http.StatusForbidden, code: "insufficient_scope", description: "the token lacks a required scope"}
	verifierFailed    = errorResponse{status: http.StatusServiceUnavailable, description: "tokens cannot be verified at the moment"}

	tokenInURL      = errorResponse{status: http.StatusBadRequest, code: "invalid_request", description: "the token must be in the Authorization header, not in the URL"}
	invalidProof    = errorResponse{status: http.StatusUnauthorized, code: errInvalidProof, description: "the DPoP proof is invalid or was used before"}
	nonceRequired   = errorResponse{status: http.StatusUnauthorized, code: errUseDPoPNonce, description: "the DPoP proof needs the nonce of this response"}
	tooManyOfCaller = errorResponse{status: http.StatusTooManyRequests, description: "too many requests"}
	tooManyProofs   = errorResponse{status: http.StatusServiceUnavailable, description: "too many requests"}

	malformedHeader = errorResponse{status: http.StatusBadRequest, code: "invalid_request", description: "the request must have one Authorization header with one token"}
)

// write sends the response.
func (e *errorResponse) write(w http.ResponseWriter, g *Guard) {
	switch e.status {
	case http.StatusServiceUnavailable, http.StatusTooManyRequests:
		w.Header().Set("Retry-After", strconv.Itoa(max(e.retryAfter, 1)))
	default:
		e.setChallenges(w.Header(), g, g.opts.Scopes)
	}
	if e.code == errUseDPoPNonce {
		w.Header().Set(dpopNonceHeader, g.proofs.nonce(time.Now()))
	}
	http.Error(w, e.description, e.status)
}

// setChallenges sets the challenges of the response: one for bearer tokens, unless they are
// refused, and one for tokens that are bound to a key, if clients should get them. They
// contain the URL of the metadata and the scopes that the client should request.
func (e *errorResponse) setChallenges(h http.Header, g *Guard, scopes []string) {
	if g.keyHeader != "" {
		h.Set("WWW-Authenticate", g.keyChallenge(e.params(g, scopes)).String())
		return
	}
	aboutProof := e.code == errInvalidProof || e.code == errUseDPoPNonce
	h.Del("WWW-Authenticate")
	if !aboutProof && !g.proofs.Required {
		h.Add("WWW-Authenticate", challenge.Challenge{Scheme: bearerScheme, Params: e.params(g, scopes)}.String())
	}
	if aboutProof || g.offersDPoP() {
		params := e.params(g, scopes)
		params["algs"] = strings.Join(publicKeyAlgorithms, " ")
		h.Add("WWW-Authenticate", challenge.Challenge{Scheme: dpopScheme, Params: params}.String())
	}
}

// params returns the parameters of a challenge.
func (e *errorResponse) params(g *Guard, scopes []string) map[string]string {
	params := map[string]string{}
	if g.metadataURL != "" {
		params["resource_metadata"] = g.metadataURL
	}
	if e.code != "" {
		params["error"], params["error_description"] = e.code, e.description
	}
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == offlineAccess || !isScope(s) })
	if len(scopes) > 0 {
		params["scope"] = strings.Join(scopes, " ")
	}
	return params
}

// maxTokenBytes limits the length of a token. Most proxies refuse longer headers.
const maxTokenBytes = 16 << 10

// accessToken returns the token of a request and its scheme, or the response that refuses
// it. A header with a scheme other than Bearer and DPoP counts as a missing token.
func accessToken(r *http.Request) (scheme, token string, refused *errorResponse) {
	if r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return "", "", &tokenInURL
	}
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return "", "", &missingToken
	}
	scheme, token, _ = strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case len(values) > 1:
		return "", "", &malformedHeader
	case !strings.EqualFold(scheme, bearerScheme) && !strings.EqualFold(scheme, dpopScheme):
		return "", "", &missingToken
	case len(token) > maxTokenBytes || !isToken(token):
		return "", "", &malformedHeader
	}
	return scheme, token, nil
}

// isToken reports whether s has the syntax of a bearer token (RFC 6750).
func isToken(s string) bool {
	body := strings.TrimRight(s, "=")
	return body != "" && strings.Trim(body, challenge.Alphanumeric+"-._~+/") == ""
}

// guardedWriter writes the response to a request that the guard has accepted. If the
// handler requires scopes that the caller lacks before the header is written, the
// response gets status 403 and a challenge. The body stays as the handler writes it, so
// that a client that ignores the status finds the same error there.
type guardedWriter struct {
	http.ResponseWriter
	guard       *Guard
	required    *requiredScopes
	wroteHeader bool
}

// WriteHeader implements [http.ResponseWriter].
func (w *guardedWriter) WriteHeader(status int) {
	informational := status < http.StatusOK && status != http.StatusSwitchingProtocols
	if !w.wroteHeader && !informational {
		w.wroteHeader = true
		if scopes := w.required.unmet(); scopes != nil {
			scopes = union(w.guard.opts.Scopes, scopes)
			insufficientScope.setChallenges(w.Header(), w.guard, scopes)
			status = insufficientScope.status
		}
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *guardedWriter) Write(b []byte) (int, error) {
	w.writeDefaultHeader()
	return w.ResponseWriter.Write(b)
}

// writeDefaultHeader writes the header if the handler has not done so.
func (w *guardedWriter) writeDefaultHeader() {
	if !w.wroteHeader {
		w.WriteHeader(http.StatusOK)
	}
}

// finish writes the header of an empty response if the caller lacks scopes.
func (w *guardedWriter) finish() {
	if !w.wroteHeader && w.required.unmet() != nil {
		w.writeDefaultHeader()
	}
}

// FlushError flushes the response. [http.ResponseController] calls it.
func (w *guardedWriter) FlushError() error {
	w.writeDefaultHeader()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Flush implements [http.Flusher].
func (w *guardedWriter) Flush() { _ = w.FlushError() }

// Unwrap returns the underlying writer for [http.ResponseController].
func (w *guardedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
