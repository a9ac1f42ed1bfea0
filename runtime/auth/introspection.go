package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// IntrospectionOptions are the options of [Introspection]. Endpoint, Client and Issuer are
// required.
type IntrospectionOptions struct {
	// Endpoint is the URL of the issuer's introspection endpoint.
	Endpoint string
	// Client authenticates this server at the endpoint, with a secret or a key. Its Issuer
	// may be empty, and is Issuer then.
	Client OAuthClient
	// Issuer is the issuer of the tokens. A token of another issuer is not valid. If the
	// token itself contains another issuer, it is not sent to the endpoint.
	Issuer string
	// HTTPClient sends the requests. It follows no redirects. Nil is
	// [http.DefaultClient].
	HTTPClient *http.Client
}

// Introspection returns a verifier that sends each token to the introspection endpoint
// (RFC 7662) of the issuer. It supports opaque tokens. Introspection returns an error if
// an option is invalid.
//
// If the response has a username but no subject, the username becomes the Subject of the
// caller.
//
// Responses are not cached, so a revoked token is refused from the next request on. The
// number of requests to the endpoint is not limited. If untrusted clients can reach the
// server, limit the rate of requests by address in front of it.
func Introspection(opts *IntrospectionOptions) (Verifier, error) {
	if opts == nil {
		opts = &IntrospectionOptions{}
	}
	o := *opts
	endpoint, err := o.validate()
	if err != nil {
		return nil, fmt.Errorf("auth: introspection verifier: %w", err)
	}
	return (&introspector{o, endpoint, newFetcher(o.HTTPClient)}).verify, nil
}

// validate checks the options and returns the URL of the endpoint.
func (o *IntrospectionOptions) validate() (*url.URL, error) {
	switch {
	case o.Endpoint == "":
		return nil, errors.New("option Endpoint is required")
	case o.Client.ClientID == "":
		return nil, errors.New("option Client.ClientID is required")
	case o.Issuer == "":
		return nil, errors.New("option Issuer is required")
	}
	if _, err := parseIdentifierURL(o.Issuer); err != nil {
		return nil, fmt.Errorf("option Issuer: %w", err)
	}
	switch {
	case o.Client.Issuer == "":
		o.Client.Issuer = o.Issuer
	case !sameIssuer(o.Client.Issuer, o.Issuer):
		return nil, fmt.Errorf("option Client: registered at %q, not at %q", o.Client.Issuer, o.Issuer)
	}
	if o.Client.Key == nil && o.Client.TokenEndpointAuthMethod == "" {
		o.Client.TokenEndpointAuthMethod = "client_secret_basic"
	}
	if err := o.authenticate(http.Header{}, url.Values{}); err != nil {
		return nil, fmt.Errorf("option Client: %w", err)
	}
	endpoint, err := parseURL(o.Endpoint, false)
	if err != nil {
		return nil, fmt.Errorf("option Endpoint: %w", err)
	}
	return endpoint, nil
}

// authenticate adds the credentials of the client to a request to the endpoint.
func (o *IntrospectionOptions) authenticate(header http.Header, form url.Values) error {
	return o.Client.authenticate(&AuthorizationServerMetadata{Issuer: o.Issuer}, header, form)
}

// introspector verifies tokens at the introspection endpoint of one issuer.
type introspector struct {
	IntrospectionOptions
	endpoint *url.URL
	fetcher  *fetcher
}

func (i *introspector) verify(ctx context.Context, token string) (*Caller, error) {
	if issuer := unverifiedIssuer(token); issuer != "" && !sameIssuer(issuer, i.Issuer) {
		return nil, fmt.Errorf("%w: issuer is %q, want %q", ErrInvalidToken, issuer, i.Issuer)
	}
	claims, err := i.introspect(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("introspect a token: %w", err)
	}
	if active, _ := claims["active"].(bool); !active {
		return nil, fmt.Errorf("%w: not active", ErrInvalidToken)
	}
	c, err := callerFromClaims(claims)
	if err != nil {
		return nil, err
	}
	if c.Subject == "" { // some issuers only return the username
		c.Subject, _ = claims["username"].(string)
	}
	if claims["iss"] != nil && !sameIssuer(c.Issuer, i.Issuer) {
		return nil, fmt.Errorf("%w: issuer is %q, want %q", ErrInvalidToken, c.Issuer, i.Issuer)
	}
	c.Issuer = i.Issuer
	return c, nil
}

// unverifiedIssuer returns the issuer in a token without verification, empty if the token
// contains none. It prevents that a token is disclosed to another issuer.
func unverifiedIssuer(token string) string {
	claims := jwt.MapClaims{}
	jwt.NewParser().ParseUnverified(token, claims)
	issuer, _ := claims["iss"].(string)
	return issuer
}

// introspect sends a token to the endpoint and returns the response.
func (i *introspector) introspect(ctx context.Context, token string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, verifierTimeout)
	defer cancel()
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if err := i.authenticate(header, form); err != nil {
		return nil, err
	}
	data, err := i.fetcher.post(ctx, i.endpoint, header, []byte(form.Encode()))
	if e, ok := errors.AsType[*Error](err); ok { // the error is logged, and some issuers repeat the token
		e.Description = strings.ReplaceAll(e.Description, token, "...")
	}
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil {
		return nil, fmt.Errorf("response of %q: %w", redactedString(i.endpoint), err)
	}
	return claims, nil
}
