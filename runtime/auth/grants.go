package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"

	"golang.org/x/oauth2"
)

// A Grant obtains tokens from an authorization server. [AuthorizationCode],
// [ClientCredentials] and [Assertion] are grants. A [Transport] makes one call at a time.
type Grant interface {
	// Token obtains a token. If req has a RefreshToken, it refreshes that token. If the
	// authorization server refuses the request, the error should be an [*Error].
	Token(ctx context.Context, req *TokenRequest) (*oauth2.Token, error)
}

// singleIssuer is implemented by grants whose client is registered at one issuer.
type singleIssuer interface{ issuer() string }

// nonInteractive is implemented by grants that never ask a person.
type nonInteractive interface{ nonInteractive() }

// isInteractive reports whether a grant may ask a person. A grant of the program may.
func isInteractive(g Grant) bool {
	_, no := g.(nonInteractive)
	return !no
}

// errNoIssuer is returned for a client with credentials but without an issuer. An MCP
// server could otherwise name an authorization server that collects them.
var errNoIssuer = errors.New("OAuthClient.Issuer is required")

// ClientCredentials is the [Grant] of a program that acts for itself.
type ClientCredentials struct {
	// Client is the client, with a secret or a key.
	Client OAuthClient
	// TokenParams are further parameters of token requests, such as audience. They replace
	// the parameters scope and resource of this package, and a parameter without values is
	// omitted.
	TokenParams url.Values
}

func (g *ClientCredentials) nonInteractive() {}

func (g *ClientCredentials) issuer() string { return g.Client.Issuer }

// Token implements [Grant].
func (g *ClientCredentials) Token(ctx context.Context, req *TokenRequest) (*oauth2.Token, error) {
	if req.RefreshToken != "" {
		return req.Send(ctx, &g.Client, req.refreshForm())
	}
	if g.Client.Issuer == "" {
		return nil, errNoIssuer
	}
	return req.send(ctx, &g.Client, req.setScopes(url.Values{"grant_type": {"client_credentials"}}), g.TokenParams)
}

// Assertion is the [Grant] of a program that has a signed assertion of a party that the
// authorization server trusts, such as the platform that the program runs on, or the
// identity provider of its users. It is the JWT bearer grant of RFC 7523.
type Assertion struct {
	// Client is the client at the authorization server.
	Client OAuthClient
	// Assert returns an assertion (a JWT) for the issuer req.AuthorizationServer and the
	// resource req.Resource. [IDJAG.Assert] is an implementation.
	Assert func(ctx context.Context, req *TokenRequest) (string, error)
}

func (g *Assertion) nonInteractive() {}

func (g *Assertion) issuer() string { return g.Client.Issuer }

// Token implements [Grant].
func (g *Assertion) Token(ctx context.Context, req *TokenRequest) (*oauth2.Token, error) {
	switch {
	case req.RefreshToken != "":
		return req.Send(ctx, &g.Client, req.refreshForm())
	case g.Client.Issuer == "":
		return nil, errNoIssuer
	case g.Assert == nil:
		return nil, errors.New("Assertion.Assert is required")
	}
	assertion, err := g.Assert(ctx, req)
	if err != nil {
		return nil, err
	}
	return req.Send(ctx, &g.Client, req.setScopes(url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"assertion":  {assertion},
	}))
}

// IDJAG gets assertions from the identity provider of an enterprise: identity assertion
// JWT authorization grants (ID-JAG). Users need not authorize the client themselves. Use
// its Assert in an [Assertion]. It implements the extension
// io.modelcontextprotocol/enterprise-managed-authorization.
type IDJAG struct {
	// TokenEndpoint is the token endpoint of the identity provider.
	TokenEndpoint string
	// Client is the client at the identity provider.
	Client OAuthClient
	// IDToken returns the identity token of the user.
	IDToken func(ctx context.Context) (string, error)
}

const tokenTypeIDJAG = "urn:ietf:params:oauth:token-type:id-jag"

// Assert exchanges the identity token of the user for an assertion.
func (p *IDJAG) Assert(ctx context.Context, req *TokenRequest) (string, error) {
	if p.IDToken == nil {
		return "", errors.New("IDJAG.IDToken is required")
	}
	token, err := p.IDToken(ctx)
	if err != nil {
		return "", fmt.Errorf("identity token: %w", err)
	}
	form := req.setScopes(url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"requested_token_type": {tokenTypeIDJAG},
		"audience":             {req.AuthorizationServer.Issuer},
		"resource":             {req.Resource},
		"subject_token":        {token},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:id_token"},
	})
	provider := &AuthorizationServerMetadata{Issuer: p.Client.Issuer, TokenEndpoint: p.TokenEndpoint}
	body, err := req.postForm(ctx, provider, &p.Client, form, nil)
	if err != nil {
		return "", fmt.Errorf("identity provider: %w", err)
	}
	var response struct {
		Token string `json:"access_token"`
		Type  string `json:"issued_token_type"`
	}
	if err := json.Unmarshal(body, &response); err != nil {
		return "", fmt.Errorf("identity provider: %w", err)
	}
	if response.Token == "" || response.Type != tokenTypeIDJAG { // a token of another type must not be disclosed
		return "", fmt.Errorf("identity provider: issued_token_type is %q, want %q", response.Type, tokenTypeIDJAG)
	}
	return response.Token, nil
}
