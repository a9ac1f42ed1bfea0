package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// AuthorizationCode is the [Grant] of a program that acts for a user. The user authorizes
// the program on a page of the authorization server, which then redirects the user to
// RedirectURL with a code. A local program sets OpenBrowser, and receives the redirect on
// a port of this machine. Any other program sets Authorize.
//
// The authorization server must know the client. The grant uses Client if it is set, else
// ClientMetadataURL if it is set and supported. Otherwise it registers the client.
type AuthorizationCode struct {
	// OpenBrowser shows a page to the user, for example with [OpenBrowser]. It may
	// return at once or when the page is closed. The URL comes from an authorization
	// server, which may not be trustworthy, but it is an HTTP URL.
	OpenBrowser func(page string) error
	// Authorize shows a page to the user, waits for the redirect, and returns the URL of
	// the redirect. If it is set, OpenBrowser is not used.
	Authorize func(ctx context.Context, page string) (redirected string, err error)
	// RedirectURL is the redirect URI. It must use https or be on this machine. Default
	// is http://127.0.0.1/callback. With OpenBrowser, a URL without a port gets a free
	// port.
	RedirectURL string

	// Client is a client that was registered before.
	Client *OAuthClient
	// ClientMetadataURL is the URL of the client's metadata document. Authorization
	// servers that support such documents use the URL as client id. It must use https and
	// have a path. The document must contain RedirectURL.
	ClientMetadataURL string
	// ClientName is the name of the client if it has to be registered. Default is the
	// name of the program.
	ClientName string
	// ClientURI is the URL of a page about the client if it has to be registered.
	ClientURI string

	// AuthorizationParams are further parameters of authorization requests, such as
	// access_type or audience. They replace the parameters scope, resource and prompt of
	// this package, and a parameter without values is omitted. The parameters of the code
	// flow itself cannot be replaced.
	AuthorizationParams url.Values

	// AssumePKCE sends requests to authorization servers whose metadata do not contain
	// support of PKCE. If such a server does not support it, an attacker who intercepts a
	// code can get the token.
	AssumePKCE bool
}

// issuer implements singleIssuer.
func (g *AuthorizationCode) issuer() string {
	if g.Client == nil {
		return ""
	}
	return g.Client.Issuer
}

// Token implements [Grant].
func (g *AuthorizationCode) Token(ctx context.Context, req *TokenRequest) (*oauth2.Token, error) {
	if req.RefreshToken != "" && *req.tokenClient != nil {
		return g.requestToken(ctx, req, *req.tokenClient, req.refreshForm())
	}
	known, err := g.knownClient(ctx, req)
	if err != nil {
		return nil, err
	}
	if req.RefreshToken != "" {
		if known == nil {
			return nil, &Error{Endpoint: req.AuthorizationServer.TokenEndpoint, Code: "invalid_client", Description: "the client registration is not in the store"}
		}
		return g.requestToken(ctx, req, known, req.refreshForm())
	}
	if err := g.validate(req.AuthorizationServer); err != nil {
		return nil, err
	}
	redirect, err := g.newRedirectTarget(known)
	if err != nil {
		return nil, err
	}
	defer redirect.close()
	client, err := g.ensureClient(ctx, req, known, redirect.url)
	if err != nil {
		return nil, err
	}
	verifier := oauth2.GenerateVerifier()
	code, err := g.requestCode(ctx, req, client, redirect, verifier)
	if err != nil {
		if client == known && clientMayBeUnknown(err) {
			err = errors.Join(err, g.forgetClient(ctx, req, client))
		}
		return nil, err
	}
	return g.requestToken(ctx, req, client, url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {redirect.url},
		"code_verifier": {verifier},
	})
}

// validate returns an error if no code must be requested from the authorization server.
func (g *AuthorizationCode) validate(s *AuthorizationServerMetadata) error {
	switch {
	case g.Client != nil && g.Client.Issuer == "":
		return errNoIssuer
	case g.ClientMetadataURL != "" && !isClientIDURL(g.ClientMetadataURL):
		return errors.New("invalid AuthorizationCode.ClientMetadataURL: it must have https, a host and a path, and nothing else")
	case g.protectedParam() != "":
		return fmt.Errorf("AuthorizationCode.AuthorizationParams: parameter %q cannot be replaced", g.protectedParam())
	case s.AuthorizationEndpoint == "":
		return fmt.Errorf("issuer %q has no authorization_endpoint", s.Issuer)
	case !g.AssumePKCE && !s.assumed && !slices.Contains(s.CodeChallengeMethodsSupported, "S256"):
		return fmt.Errorf("issuer %q does not support PKCE: code_challenge_methods_supported is %q, want S256 (AuthorizationCode.AssumePKCE disables this check)",
			s.Issuer, s.CodeChallengeMethodsSupported)
	}
	return nil
}

// codeParams are the parameters of an authorization request that a program cannot replace,
// because the security of the code flow depends on them.
var codeParams = []string{
	"response_type", "response_mode", "client_id", "redirect_uri", "state", "code_challenge", "code_challenge_method", "dpop_jkt", "request", "request_uri",
}

// protectedParam returns a name in AuthorizationParams that is not allowed, or "".
func (g *AuthorizationCode) protectedParam() string {
	for _, name := range codeParams {
		if g.AuthorizationParams.Has(name) {
			return name
		}
	}
	return ""
}

// isClientIDURL reports whether the URL of a client's metadata document is a valid client
// id.
func isClientIDURL(text string) bool {
	u, err := parseIdentifierURL(text)
	return err == nil && u.Scheme == "https" && strings.Trim(u.Path, "/") != ""
}

// requestToken requests a token with a code or a refresh token.
func (g *AuthorizationCode) requestToken(ctx context.Context, req *TokenRequest, client *OAuthClient, form url.Values) (*oauth2.Token, error) {
	token, err := req.Send(ctx, client, form)
	if err == nil && client.redirectURL != "" {
		*req.tokenClient = client
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "invalid_client" {
		err = errors.Join(err, g.forgetClient(ctx, req, client))
	}
	return token, err
}

// forgetClient deletes a registered client that the authorization server no longer knows,
// so that the next login registers a new one. If the store has another client, that one
// remains.
func (g *AuthorizationCode) forgetClient(ctx context.Context, req *TokenRequest, client *OAuthClient) error {
	ctx = context.WithoutCancel(ctx)
	known, err := req.loadClient(ctx)
	if err != nil || known == nil || known.ClientID != client.ClientID {
		return err
	}
	return req.saveClient(ctx, nil)
}

// clientMayBeUnknown reports whether the authorization server may no longer know the
// client. Such a server returns an error, or shows an error to the user without a
// redirect.
func clientMayBeUnknown(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Code == "invalid_client" || e.Code == "unauthorized_client"
}

// knownClient returns the client if it need not be registered, otherwise nil.
func (g *AuthorizationCode) knownClient(ctx context.Context, req *TokenRequest) (*OAuthClient, error) {
	switch {
	case g.Client != nil:
		return g.Client, nil
	case g.ClientMetadataURL != "" && req.AuthorizationServer.ClientIDMetadataDocumentSupported:
		return &OAuthClient{Issuer: req.AuthorizationServer.Issuer, ClientID: g.ClientMetadataURL, TokenEndpointAuthMethod: "none"}, nil
	}
	return req.loadClient(ctx)
}

// ensureClient returns the known client, or registers a new one. A client that was
// registered with another redirect URL, or without one of the scopes, cannot be used.
//
// The registration contains all scopes that the client may request later. Some
// authorization servers require it, and some issue no scopes to a client that was
// registered without. If the server refuses the scopes, the client is registered without.
func (g *AuthorizationCode) ensureClient(ctx context.Context, req *TokenRequest, known *OAuthClient, redirectURL string) (*OAuthClient, error) {
	if known != nil && (known.redirectURL == "" || known.redirectURL == redirectURL && known.mayRequest(req.Scopes)) {
		return known, nil
	}
	metadata := g.clientMetadata(req.AuthorizationServer, redirectURL)
	scopes := req.registrationScopes()
	if len(scopes) == 0 {
		return req.registerClient(ctx, metadata, redirectURL)
	}
	metadata["scope"] = strings.Join(scopes, " ")
	client, err := req.registerClient(ctx, metadata, redirectURL)
	if e, ok := errors.AsType[*Error](err); ok && (e.Code == "invalid_client_metadata" || e.Code == "invalid_scope") { // an unknown scope
		delete(metadata, "scope")
		return req.registerClient(ctx, metadata, redirectURL)
	}
	return client, err
}

// clientMetadata returns the metadata to register the client with.
func (g *AuthorizationCode) clientMetadata(s *AuthorizationServerMetadata, redirectURL string) map[string]any {
	metadata := map[string]any{
		"client_name":      g.ClientName,
		"redirect_uris":    []string{redirectURL},
		"grant_types":      []string{"authorization_code", "refresh_token"},
		"response_types":   []string{"code"},
		"application_type": "native",
	}
	if u, err := url.Parse(redirectURL); err == nil && u.Scheme == "https" && !isLoopback(u.Hostname()) {
		metadata["application_type"] = "web"
	}
	if g.ClientName == "" {
		metadata["client_name"] = filepath.Base(os.Args[0])
	}
	if g.ClientURI != "" {
		metadata["client_uri"] = g.ClientURI
	}
	for _, method := range []string{"none", "client_secret_basic", "client_secret_post"} {
		if slices.Contains(s.TokenEndpointAuthMethodsSupported, method) {
			metadata["token_endpoint_auth_method"] = method
			break
		}
	}
	return metadata
}

// requestCode shows the authorization page to the user, and returns the code of the
// redirect.
func (g *AuthorizationCode) requestCode(ctx context.Context, req *TokenRequest, client *OAuthClient, redirect *redirectTarget, verifier string) (string, error) {
	page, err := url.Parse(req.AuthorizationServer.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	state := rand.Text()
	query := page.Query()
	if scopes := req.authorizationScopes(); len(scopes) > 0 {
		query.Set("scope", strings.Join(scopes, " "))
		if slices.Contains(scopes, offlineAccess) { // without it, OpenID providers issue no refresh token
			query.Set("prompt", "consent")
		}
	}
	req.setResource(query)
	setParams(query, g.AuthorizationParams)
	for name, value := range map[string]string{
		"response_type":         "code",
		"client_id":             client.ClientID,
		"redirect_uri":          redirect.url,
		"state":                 state,
		"code_challenge":        oauth2.S256ChallengeFromVerifier(verifier),
		"code_challenge_method": "S256",
	} {
		query.Set(name, value)
	}
	if req.proofKey != nil {
		query.Set("dpop_jkt", req.proofKey.thumbprint())
	}
	page.RawQuery = query.Encode()
	response, err := g.authorize(ctx, redirect, page.String(), state)
	if err != nil {
		return "", fmt.Errorf("authorization at %q: %w", req.AuthorizationServer.Issuer, err)
	}
	return codeFromResponse(response, req.AuthorizationServer, state)
}

// codeFromResponse validates an authorization response and returns its code. It checks
// the issuer before it reads an error, because the text of another issuer could mislead
// the user.
func codeFromResponse(response url.Values, s *AuthorizationServerMetadata, state string) (string, error) {
	iss, hasIss := response.Get("iss"), response.Has("iss")
	switch {
	case subtle.ConstantTimeCompare([]byte(response.Get("state")), []byte(state)) == 0:
		return "", fmt.Errorf("authorization response of %q: wrong state", s.Issuer)
	case hasIss && iss != s.Issuer, !hasIss && s.AuthorizationResponseIssParameterSupported:
		return "", fmt.Errorf("authorization response of %q: iss is %q", s.Issuer, iss)
	case response.Has("error"):
		return "", &Error{
			Endpoint:    s.AuthorizationEndpoint,
			Code:        response.Get("error"),
			Description: response.Get("error_description"),
			URI:         response.Get("error_uri"),
		}
	case response.Get("code") == "":
		return "", fmt.Errorf("authorization response of %q: no code", s.Issuer)
	}
	return response.Get("code"), nil
}
