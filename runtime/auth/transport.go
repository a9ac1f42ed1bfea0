package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/challenge"
)

// Transport is an [http.RoundTripper] that adds a token to the requests to a protected
// server, and a proof of its key if the token is bound to one (DPoP). When the server responds with 401, or with 403 because the token
// lacks scopes, Transport finds an authorization server of the server, gets a token with
// its [Grant], and sends the request again. It refreshes tokens before they expire. For a
// DELETE request, which ends a session, it may refresh a token, but does not ask the user
// for authorization.
//
// Transport adds no token to requests to other origins, or to requests that have an
// Authorization header. It is safe for concurrent use: requests that need a token at the
// same time wait for the same token.
//
// A user may need minutes to authorize the client. While a request waits, Transport calls
// Got1xxResponse of [net/http/httptrace] every second, as if the server had sent an
// informational response. This prevents a timeout in the Client of package streamable/client.
// Its LegacySSE client does time out: with it, call [Transport.Login] before connecting.
type Transport struct {
	server    *url.URL // without credentials and query, which may be secret
	query     string   // the query of the server's URL
	opts      TransportOptions
	discovery *discovery
	tokens    tokenState
	nonces    serverNonces // for proofs of tokens that are bound to a key
}

// NewTransport returns a transport for the server with the given URL. Only opts.Grant is
// required.
func NewTransport(server string, opts *TransportOptions) (*Transport, error) {
	if opts == nil {
		opts = &TransportOptions{}
	}
	full, err := parseURL(server, opts.AllowInsecure)
	if err != nil {
		return nil, fmt.Errorf("auth: new transport: URL of the server: %w", err)
	}
	if opts.Grant == nil {
		return nil, errors.New("auth: new transport: option Grant is required")
	}
	u := redacted(full)
	if u.Path == "/" {
		u.Path = ""
	}
	o := opts.complete(u)
	t := &Transport{server: u, query: full.RawQuery, opts: o, discovery: &discovery{server: u, fetcher: o.newFetcher(u)}}
	t.discovery.fetcher.nonces = &t.nonces
	t.tokens.key = "token " + u.String()
	if t.query != "" { // the query may identify a user or be secret, so the key has its hash
		t.tokens.key += fmt.Sprintf(" %x", sha256.Sum256([]byte(t.query)))
	}
	t.tokens.store, t.tokens.onlyBound = o.Store, o.RequireDPoP
	t.tokens.storeLock = make(chan struct{}, 1)
	return t, nil
}

// maxTokensPerRequest limits the number of tokens that are obtained for one request.
const maxTokensPerRequest = 2

// RoundTrip implements [http.RoundTripper]. If a token cannot be obtained, it returns
// that error and not the response of the server.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, t.server) || req.Header.Get("Authorization") != "" {
		return t.opts.Base.RoundTrip(req)
	}
	ctx := req.Context()
	token, err := t.currentToken(ctx)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	for obtained := 0; ; obtained++ {
		res, err := t.send(req, token)
		if err != nil {
			return nil, err
		}
		reason := parseRejection(res, token)
		if reason == nil || req.Body != nil && req.GetBody == nil {
			return res, nil
		}
		reason.tokenIsNew = obtained > 0 && !token.fromStore
		if reason.tokenIsNew && !reason.insufficientScope && !token.refreshed { // the server does not accept our tokens
			t.tokens.rejectToken(token, false)
			return res, nil
		}
		if obtained == maxTokensPerRequest {
			if reason.insufficientScope { // the server may require further scopes each time
				t.tokens.rejectToken(token, true)
			}
			return res, nil
		}
		reason.refreshOnly = req.Method == http.MethodDelete
		if reason.refreshOnly && (token == nil || reason.insufficientScope || reason.tokenIsNew) {
			return res, nil
		}
		next, err := t.newToken(ctx, reason)
		if err == nil && next == nil || err != nil && reason.refreshOnly { // no other token is available
			return res, nil
		}
		_ = res.Body.Close() // without reading it, because it may not end
		if text := challenge.Reason(res.Header); err != nil && text != "" {
			err = fmt.Errorf("%w; the server responded with status %d: %s", err, res.StatusCode, text)
		}
		if err != nil {
			return nil, err
		}
		token = next
		if req, err = withNewBody(req); err != nil {
			return nil, err
		}
	}
}

// withToken returns a copy of a request that has the token, or the request itself if
// token is nil.
func withToken(req *http.Request, token *tokenRecord) *http.Request {
	if token == nil {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", token.Token.Type()+" "+token.Token.AccessToken)
	return req
}

// withNewBody returns a copy of a request that can be sent again.
func withNewBody(req *http.Request) (*http.Request, error) {
	if req.GetBody == nil {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("auth: send the request again: %w", err)
	}
	req = req.Clone(req.Context())
	req.Body = body
	return req, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// rejection is the reason why a request needs another token. Usually the server has
// rejected the request with status 401 or 403.
type rejection struct {
	token             *tokenRecord // the token of the request, nil if it had none
	metadataURL       string       // from the challenge, empty if it has none
	scopes            []string     // from the challenge, nil if it has none
	insufficientScope bool         // the token is valid, but lacks scopes
	refreshOnly       bool         // only refresh the token, do not ask the user
	tokenIsNew        bool         // the token was obtained for the same request
	dpop              bool         // the server accepts tokens that are bound to a key
}

// parseRejection returns the reason why the server rejected a request, or nil if another
// token would not change the response.
func parseRejection(res *http.Response, token *tokenRecord) *rejection {
	insufficient := res.StatusCode == http.StatusForbidden
	if !insufficient && res.StatusCode != http.StatusUnauthorized {
		return nil
	}
	bearer, dpop := challenge.Find(res.Header, bearerScheme), challenge.Find(res.Header, dpopScheme)
	params := bearer.Params
	if bearer.Scheme == "" || dpop.Scheme != "" && token != nil && token.Key != nil {
		params = dpop.Params
	}
	if code := params["error"]; token != nil && (code == errUseDPoPNonce || code == errInvalidProof) {
		return nil // the token is not the reason
	}
	reason := &rejection{token: token, metadataURL: params["resource_metadata"], scopes: splitScopes(params["scope"]), insufficientScope: insufficient}
	reason.dpop = dpop.Scheme != "" && (dpop.Params["algs"] == "" || supportsDPoP(strings.Fields(dpop.Params["algs"])))
	if insufficient && (params["error"] != "insufficient_scope" || len(reason.scopes) == 0 || token == nil) {
		return nil
	}
	return reason
}

// TransportOptions are the options of a [Transport]. Only Grant is required.
type TransportOptions struct {
	// Grant gets the tokens: [AuthorizationCode] for a program that acts for a user,
	// [ClientCredentials] for a program that acts for itself, or [Assertion] for a
	// program that has a signed assertion.
	Grant Grant
	// Base sends the requests to the server. Nil is [http.DefaultTransport].
	Base http.RoundTripper
	// HTTPClient sends the requests to authorization servers and for metadata. It
	// follows no redirects. The server determines their URLs, and may not be
	// trustworthy. For this reason the default client uses no proxy, and does not
	// connect to private addresses unless the server is on the local machine.
	HTTPClient *http.Client
	// AllowInsecure allows URLs without TLS, and allows the default HTTPClient to
	// connect to every address. Use it only in networks that are entirely trusted.
	AllowInsecure bool
	// Store saves tokens and client registrations beyond the end of the program. If
	// Store is nil, they are kept in memory.
	Store Store
	// Scopes are the scopes to request if the server does not specify them in its
	// challenge. Nil requests the scopes of the last token, or all scopes in the
	// server's metadata.
	Scopes []string
	// OmitResource omits the parameter resource in token requests. Some authorization
	// servers, such as Entra ID, refuse it, and derive the server from the scopes.
	OmitResource bool
	// RequireDPoP only accepts tokens that are bound to a key of this transport (RFC 9449).
	// By default, the transport requests such a token if both the server and the
	// authorization server support it, and accepts any token.
	RequireDPoP bool
	// LoginTimeout limits the time for obtaining a token, including the time that the
	// user needs. Default 5 min, negative is no limit.
	LoginTimeout time.Duration
	// Logger receives errors that no caller sees. Nil is [slog.Default].
	Logger *slog.Logger
}

// complete returns a copy of the options with the defaults set.
func (o TransportOptions) complete(server *url.URL) TransportOptions {
	if o.Base == nil {
		o.Base = http.DefaultTransport
	}
	if o.HTTPClient == nil {
		o.HTTPClient = newPublicClient(o.AllowInsecure || isLoopback(server.Hostname()))
	}
	if o.Store == nil {
		o.Store = &memoryStore{}
	}
	o.Store = safeStore{o.Store}
	if o.LoginTimeout == 0 {
		o.LoginTimeout = 5 * time.Minute
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// loginContext returns a context with the LoginTimeout.
func (o *TransportOptions) loginContext() (context.Context, context.CancelFunc) {
	if o.LoginTimeout < 0 {
		return context.WithCancel(context.Background())
	}
	return context.WithTimeout(context.Background(), o.LoginTimeout)
}

// newFetcher returns the fetcher for metadata and authorization servers of the server.
func (o *TransportOptions) newFetcher(server *url.URL) *fetcher {
	return &fetcher{client: withoutRedirects(o.HTTPClient), allowInsecure: o.AllowInsecure, allowLoopback: isLoopback(server.Hostname())}
}
