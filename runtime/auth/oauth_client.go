package auth

import (
	"context"
	"crypto"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// OAuthClient is a client as one authorization server has registered it, with the
// credentials that authenticate it there. The credentials are never sent to another
// server.
type OAuthClient struct {
	// Issuer identifies the authorization server.
	Issuer string `json:"issuer"`
	// ClientID is the client id.
	ClientID string `json:"client_id"`
	// ClientSecret is the client secret, empty if the client has none.
	ClientSecret string `json:"client_secret,omitempty"`
	// Key signs client assertions instead of a secret (private_key_jwt). It is a private
	// key for RSA, ECDSA or Ed25519, and may be in hardware.
	Key crypto.Signer `json:"-"`
	// KeyID is the key id in client assertions. It may be empty.
	KeyID string `json:"-"`
	// SigningAlgorithm is the signature algorithm of client assertions, such as "PS256".
	// If it is empty, the client uses an algorithm of Key that the server supports.
	SigningAlgorithm string `json:"-"`
	// TokenEndpointAuthMethod is the method to send the client secret:
	// "client_secret_basic", "client_secret_post", or "none". If it is empty, the client
	// uses a method that the server supports. It is ignored if Key is set.
	TokenEndpointAuthMethod string `json:"token_endpoint_auth_method,omitempty"`

	// The following fields are set if this package has registered the client.
	redirectURL string
	scopes      []string // empty if the registration has no scopes
}

// mayRequest reports whether the registration of the client allows the scopes.
func (c *OAuthClient) mayRequest(scopes []string) bool {
	return len(c.scopes) == 0 || isSubset(scopes, c.scopes)
}

// authenticate adds the client's credentials to a request to the token endpoint.
func (c *OAuthClient) authenticate(server *AuthorizationServerMetadata, header http.Header, form url.Values) error {
	if !sameIssuer(c.Issuer, server.Issuer) {
		return fmt.Errorf("client %q is registered at %q, not at %q", c.ClientID, c.Issuer, server.Issuer)
	}
	switch method := c.authMethod(server); method {
	case "private_key_jwt":
		assertion, err := c.signAssertion(server)
		if err != nil {
			return fmt.Errorf("client assertion of %q: %w", c.ClientID, err)
		}
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
		form.Set("client_id", c.ClientID)
	case "client_secret_basic":
		setBasicAuth(header, c.ClientID, c.ClientSecret)
	case "client_secret_post":
		form.Set("client_id", c.ClientID)
		form.Set("client_secret", c.ClientSecret)
	case "none":
		form.Set("client_id", c.ClientID)
	default:
		return fmt.Errorf("client %q: unsupported auth method %q", c.ClientID, method)
	}
	return nil
}

// setBasicAuth sets the Authorization header to a client id and secret. OAuth encodes
// both as in a form.
func setBasicAuth(header http.Header, id, secret string) {
	(&http.Request{Header: header}).SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
}

// authMethod returns the method of client authentication.
func (c *OAuthClient) authMethod(server *AuthorizationServerMetadata) string {
	supported := server.TokenEndpointAuthMethodsSupported
	switch {
	case c.Key != nil:
		return "private_key_jwt"
	case c.TokenEndpointAuthMethod != "":
		return c.TokenEndpointAuthMethod
	case c.ClientSecret == "":
		return "none"
	case !slices.Contains(supported, "client_secret_basic") && slices.Contains(supported, "client_secret_post"):
		return "client_secret_post"
	}
	return "client_secret_basic"
}

// signAssertion returns a client assertion for an authorization server.
func (c *OAuthClient) signAssertion(server *AuthorizationServerMetadata) (string, error) {
	if c.Key == nil {
		return "", errors.New("OAuthClient.Key is required")
	}
	alg, err := selectAlgorithm(c.Key, c.SigningAlgorithm, server.TokenEndpointAuthSigningAlgValuesSupported)
	if err != nil {
		return "", err
	}
	header := map[string]any{"typ": "JWT"}
	if c.KeyID != "" {
		header["kid"] = c.KeyID
	}
	now := time.Now()
	return signJWT(c.Key, alg, header, map[string]any{
		"iss": c.ClientID,
		"sub": c.ClientID,
		"aud": server.Issuer,
		"jti": rand.Text(),
		"iat": now.Unix(),
		"exp": now.Add(2 * time.Minute).Unix(),
	})
}

// registeredClient is a client that this package has registered. Its JSON is both the
// response of the registration endpoint and the value in the store.
type registeredClient struct {
	*OAuthClient
	RedirectURL     string  `json:"redirect_uri,omitempty"`
	Scope           string  `json:"scope,omitempty"`                    // the scopes of the registration
	SecretExpiresAt seconds `json:"client_secret_expires_at,omitempty"` // Unix time, 0 is never
}

// loadClient returns the registered client in the store, or nil.
func (r *TokenRequest) loadClient(ctx context.Context) (*OAuthClient, error) {
	data, err := r.store.Load(ctx, r.clientStoreKey())
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", r.clientStoreKey(), err)
	}
	c := registeredClient{OAuthClient: &OAuthClient{}}
	if data == nil || json.Unmarshal(data, &c) != nil || !sameIssuer(c.Issuer, r.AuthorizationServer.Issuer) || c.ClientID == "" {
		return nil, nil
	}
	if c.SecretExpiresAt > 0 && seconds(time.Now().Unix()) >= c.SecretExpiresAt {
		return nil, nil
	}
	c.redirectURL, c.scopes = c.RedirectURL, splitScopes(c.Scope)
	return c.OAuthClient, nil
}

// saveClient saves a registered client in the store. If c is nil, it deletes the client.
func (r *TokenRequest) saveClient(ctx context.Context, c *registeredClient) error {
	var data []byte
	if c != nil {
		var err error
		if data, err = json.Marshal(c); err != nil {
			return err
		}
	}
	return r.store.Save(ctx, r.clientStoreKey(), data)
}

func (r *TokenRequest) clientStoreKey() string { return "client " + r.AuthorizationServer.Issuer }

// registerClient registers a client with the given metadata (RFC 7591), and saves it. An
// error of the store is only logged.
func (r *TokenRequest) registerClient(ctx context.Context, metadata map[string]any, redirectURL string) (*OAuthClient, error) {
	server := r.AuthorizationServer
	endpoint := server.RegistrationEndpoint
	if endpoint == "" {
		return nil, fmt.Errorf("issuer %q has no registration_endpoint: register the client by hand", server.Issuer)
	}
	u, err := r.fetcher.checkURL(endpoint)
	if err != nil {
		return nil, fmt.Errorf("registration endpoint: %w", err)
	}
	data, err := json.Marshal(metadata)
	if err != nil {
		return nil, fmt.Errorf("register client: %w", err)
	}
	header := http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json"}}
	body, err := r.fetcher.post(ctx, u, header, data)
	if err != nil {
		return nil, fmt.Errorf("register client: %w", err)
	}
	c := registeredClient{OAuthClient: &OAuthClient{}}
	if err := json.Unmarshal(body, &c); err != nil {
		return nil, fmt.Errorf("register client at %q: %w", endpoint, err)
	}
	if c.ClientID == "" {
		return nil, fmt.Errorf("register client at %q: no client_id in the response", endpoint)
	}
	c.Scope, _ = metadata["scope"].(string) // not the scopes of the response, which may be fewer each time
	c.Issuer, c.RedirectURL = server.Issuer, redirectURL
	c.redirectURL, c.scopes = redirectURL, splitScopes(c.Scope)
	if err := c.authenticate(server, http.Header{}, url.Values{}); err != nil { // an unsupported auth method
		return nil, fmt.Errorf("register client at %q: %w", endpoint, err)
	}
	if err := r.saveClient(ctx, &c); err != nil {
		r.logger.Error("auth: client registration was not saved", "issuer", c.Issuer, "error", err)
	}
	return c.OAuthClient, nil
}
