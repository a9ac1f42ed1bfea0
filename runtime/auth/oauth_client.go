package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/golang-jwt/jwt/v5"
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
	// key for RSA, ECDSA or Ed25519.
	Key crypto.Signer `json:"-"`
	// KeyID is the key id in client assertions. It may be empty.
	KeyID string `json:"-"`
	// TokenEndpointAuthMethod is the method to send the client secret:
	// "client_secret_basic", "client_secret_post", or "none". If it is empty, the client
	// uses a method that the server supports. It is ignored if Key is set.
	TokenEndpointAuthMethod string `json:"token_endpoint_auth_method,omitempty"`

	redirectURL string // of a client that this package has registered, otherwise empty
}

// authenticate adds the client's credentials to a request to the token endpoint.
func (c *OAuthClient) authenticate(server *AuthorizationServerMetadata, header http.Header, form url.Values) error {
	if c.Issuer != server.Issuer {
		return fmt.Errorf("client %q is registered at %q, not at %q", c.ClientID, c.Issuer, server.Issuer)
	}
	switch method := c.authMethod(server); method {
	case "private_key_jwt":
		assertion, err := c.signAssertion(server.Issuer)
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

// signAssertion returns a client assertion for an issuer.
func (c *OAuthClient) signAssertion(audience string) (string, error) {
	if c.Key == nil {
		return "", errors.New("OAuthClient.Key is required")
	}
	var method jwt.SigningMethod
	switch key := c.Key.Public().(type) {
	case *rsa.PublicKey:
		method = jwt.SigningMethodRS256
	case *ecdsa.PublicKey:
		method = map[int]jwt.SigningMethod{256: jwt.SigningMethodES256, 384: jwt.SigningMethodES384, 521: jwt.SigningMethodES512}[key.Params().BitSize]
	case ed25519.PublicKey:
		method = jwt.SigningMethodEdDSA
	}
	if method == nil {
		return "", fmt.Errorf("unsupported key of type %T", c.Key)
	}
	now := time.Now()
	token := jwt.NewWithClaims(method, jwt.RegisteredClaims{
		Issuer:    c.ClientID,
		Subject:   c.ClientID,
		Audience:  jwt.ClaimStrings{audience},
		ID:        rand.Text(),
		IssuedAt:  jwt.NewNumericDate(now),
		ExpiresAt: jwt.NewNumericDate(now.Add(2 * time.Minute)),
	})
	if c.KeyID != "" {
		token.Header["kid"] = c.KeyID
	}
	return token.SignedString(c.Key)
}

// registeredClient is a client that this package has registered. Its JSON is both the
// response of the registration endpoint and the value in the store.
type registeredClient struct {
	*OAuthClient
	RedirectURL     string  `json:"redirect_uri,omitempty"`
	SecretExpiresAt seconds `json:"client_secret_expires_at,omitempty"` // Unix time, 0 is never
}

// loadClient returns the registered client in the store, or nil.
func (r *TokenRequest) loadClient(ctx context.Context) (*OAuthClient, error) {
	data, err := r.store.Load(ctx, r.clientStoreKey())
	if err != nil {
		return nil, fmt.Errorf("load %q: %w", r.clientStoreKey(), err)
	}
	c := registeredClient{OAuthClient: &OAuthClient{}}
	if data == nil || json.Unmarshal(data, &c) != nil || c.Issuer != r.AuthorizationServer.Issuer || c.ClientID == "" {
		return nil, nil
	}
	if c.SecretExpiresAt > 0 && seconds(time.Now().Unix()) >= c.SecretExpiresAt {
		return nil, nil
	}
	c.redirectURL = c.RedirectURL
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
	c.Issuer, c.RedirectURL, c.redirectURL = server.Issuer, redirectURL, redirectURL
	if err := c.authenticate(server, http.Header{}, url.Values{}); err != nil { // an unsupported auth method
		return nil, fmt.Errorf("register client at %q: %w", endpoint, err)
	}
	if err := r.saveClient(ctx, &c); err != nil {
		r.logger.Error("auth: client registration was not saved", "issuer", c.Issuer, "error", err)
	}
	return c.OAuthClient, nil
}
