package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// TokenRequest describes the token that a [Grant] should obtain.
type TokenRequest struct {
	// Resource is the URL of the server that the token is for. It is the parameter
	// resource of the request.
	Resource string
	// AuthorizationServer is the metadata of the server that issues the token.
	AuthorizationServer *AuthorizationServerMetadata
	// Scopes are the scopes to request. If there are none, the authorization server
	// determines them.
	Scopes []string
	// RefreshToken is the refresh token of an earlier token. It is empty for a new
	// authorization.
	RefreshToken string

	omitResource    bool     // do not send Resource
	supportedScopes []string // the scopes in the metadata of the server
	fetcher         *fetcher
	store           Store
	logger          *slog.Logger
	proofKey        *proofKey // the key that the token will be bound to, nil for a bearer token
	// tokenClient points to the registered client that RefreshToken was issued to, and
	// is set to the client that the new token is issued to. The client is nil if another
	// party registered it.
	tokenClient **OAuthClient
}

// Send sends a request to the token endpoint, authenticated as the given client, and
// returns the token. The form contains the parameters of the grant; Send adds the
// resource. The end of ctx does not cancel the request, because the response may contain
// the only valid refresh token.
func (r *TokenRequest) Send(ctx context.Context, client *OAuthClient, form url.Values) (*oauth2.Token, error) {
	return r.send(ctx, client, form, nil)
}

// send is Send with further parameters, which replace the other parameters.
func (r *TokenRequest) send(ctx context.Context, client *OAuthClient, form, params url.Values) (*oauth2.Token, error) {
	form = maps.Clone(form)
	r.setResource(form)
	setParams(form, params)
	body, err := r.postForm(ctx, r.AuthorizationServer, client, form, r.proofKey)
	if err != nil {
		return nil, err
	}
	return parseToken(r.AuthorizationServer.TokenEndpoint, body, r.proofKey != nil)
}

// setResource adds the resource to a form, unless it is omitted.
func (r *TokenRequest) setResource(form url.Values) {
	if !r.omitResource {
		form.Set("resource", r.Resource)
	}
}

// setParams replaces parameters of a form. A parameter without values is deleted.
func setParams(form, params url.Values) {
	for name, values := range params {
		if form[name] = values; len(values) == 0 {
			form.Del(name)
		}
	}
}

// setScopes adds the scopes to a form, if there are any.
func (r *TokenRequest) setScopes(form url.Values) url.Values {
	if len(r.Scopes) > 0 {
		form.Set("scope", strings.Join(r.Scopes, " "))
	}
	return form
}

// authorizationScopes returns the scopes of an authorization request: the requested scopes
// and, if the authorization server supports it, the scope for a refresh token.
func (r *TokenRequest) authorizationScopes() []string {
	if slices.Contains(r.AuthorizationServer.ScopesSupported, offlineAccess) {
		return union(r.Scopes, []string{offlineAccess})
	}
	return r.Scopes
}

// registrationScopes returns the scopes to register a client with: the scopes of the
// authorization request, and the scopes that the MCP server may require later. It omits
// scopes that the authorization server does not list.
func (r *TokenRequest) registrationScopes() []string {
	later := slices.Clone(r.supportedScopes)
	if known := r.AuthorizationServer.ScopesSupported; len(known) > 0 {
		later = slices.DeleteFunc(later, func(s string) bool { return !slices.Contains(known, s) })
	}
	return union(r.authorizationScopes(), later)
}

// refreshForm returns the parameters for refreshing a token.
func (r *TokenRequest) refreshForm() url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {r.RefreshToken}}
}

// postForm sends a form to the token endpoint of a server, authenticated as the client. If
// key is not nil, it adds a proof of the key, and repeats the request if the server
// requires a nonce in the proof.
func (r *TokenRequest) postForm(ctx context.Context, server *AuthorizationServerMetadata, client *OAuthClient, form url.Values, key *proofKey) ([]byte, error) {
	u, err := r.fetcher.checkURL(server.TokenEndpoint)
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	for retries := 0; ; retries++ {
		header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
		if err := client.authenticate(server, header, form); err != nil {
			return nil, err
		}
		nonce := ""
		if key != nil {
			nonce = r.fetcher.nonces.of(u)
			proof, err := key.proof(http.MethodPost, u, "", nonce)
			if err != nil {
				return nil, err
			}
			header.Set(dpopHeader, proof)
		}
		body, err := r.fetcher.post(context.WithoutCancel(ctx), u, header, []byte(form.Encode()))
		e, refused := errors.AsType[*Error](err)
		if key == nil || !refused || e.Code != errUseDPoPNonce || retries == maxNonceRetries || r.fetcher.nonces.of(u) == nonce {
			return body, err
		}
	}
}

// parseToken parses the response of a token endpoint. It reports an error for a token that
// is bound to a key, unless the request had a proof of a key.
func parseToken(endpoint string, body []byte, hasProof bool) (*oauth2.Token, error) {
	var t struct {
		Access  string  `json:"access_token"`
		Type    string  `json:"token_type"`
		Refresh string  `json:"refresh_token"`
		Expires seconds `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &t); err != nil {
		return nil, fmt.Errorf("token of %q: %w", endpoint, err)
	}
	e := parseError(endpoint, body)
	switch {
	case t.Access == "" && e != nil: // GitHub sends errors with status 200
		return nil, e
	case t.Access == "":
		return nil, fmt.Errorf("token of %q: no access_token in the response", endpoint)
	case !isTokenText(t.Access):
		return nil, fmt.Errorf("token of %q: %w", endpoint, errTokenText)
	case hasProof && strings.EqualFold(t.Type, dpopScheme):
		t.Type = dpopScheme
	case t.Type != "" && !strings.EqualFold(t.Type, "Bearer") && !strings.EqualFold(t.Type, "N_A"):
		return nil, fmt.Errorf("token of %q: unsupported token_type %q", endpoint, t.Type)
	default:
		t.Type = bearerScheme
	}
	token := &oauth2.Token{AccessToken: t.Access, TokenType: t.Type, RefreshToken: t.Refresh}
	if t.Expires > 0 && t.Expires < 1e9 {
		token.Expiry = time.Now().Add(time.Duration(t.Expires * seconds(time.Second)))
	}
	return token, nil
}

// errTokenText is returned for a token that cannot be sent in a header.
var errTokenText = errors.New("access token contains a line break or another invalid character")

// isTokenText reports whether an access token only has visible ASCII characters and
// spaces, as OAuth requires.
func isTokenText(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' })
}

// seconds is a number of seconds. Some authorization servers send it as a string. Any
// other value decodes to 0, because the rest of the response is useful without it.
type seconds float64

// UnmarshalJSON implements [json.Unmarshaler].
func (s *seconds) UnmarshalJSON(data []byte) error {
	*s = 0
	if n, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64); err == nil && n > 0 && n < math.MaxInt64 {
		*s = seconds(n)
	}
	return nil
}
