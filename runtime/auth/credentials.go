package auth

import (
	"context"
	"errors"
	"net/url"

	"golang.org/x/oauth2"
)

// ClientCredentials is the [Grant] of a program that acts on its own account.
type ClientCredentials struct {
	// Client is what the issuer knows the program as, with a secret or a key.
	Client Registration
}

func (g *ClientCredentials) issuer() string { return g.Client.Issuer }

// Token implements [Grant].
func (g *ClientCredentials) Token(ctx context.Context, need *Need) (*oauth2.Token, error) {
	if need.Refresh != "" {
		return renew(ctx, need, &g.Client)
	}
	if g.Client.Issuer == "" {
		return nil, errNoIssuer
	}
	return need.Exchange(ctx, &g.Client, need.scoped(url.Values{"grant_type": {"client_credentials"}}))
}

// errNoIssuer says that a secret could go to whomever the server names.
var errNoIssuer = errors.New("Registration.Issuer is missing: it says who may see the client's secret")

// renew renews a token.
func renew(ctx context.Context, need *Need, client *Registration) (*oauth2.Token, error) {
	return need.Exchange(ctx, client, refreshForm(need))
}

func refreshForm(need *Need) url.Values {
	return url.Values{"grant_type": {"refresh_token"}, "refresh_token": {need.Refresh}}
}

// Assertion is the [Grant] of a program for which somebody vouches whom the issuer
// trusts: the platform it runs on, or the identity provider of its users.
type Assertion struct {
	// Client is what the issuer knows the program as.
	Client Registration
	// Assert returns a signed statement (JWT) for the issuer need.Server about a
	// token for need.Resource. [IDJAG.Assert] is one.
	Assert func(ctx context.Context, need *Need) (string, error)
}

func (g *Assertion) issuer() string { return g.Client.Issuer }

// Token implements [Grant].
func (g *Assertion) Token(ctx context.Context, need *Need) (*oauth2.Token, error) {
	switch {
	case need.Refresh != "":
		return renew(ctx, need, &g.Client)
	case g.Client.Issuer == "":
		return nil, errNoIssuer
	case g.Assert == nil:
		return nil, errors.New("Assertion.Assert is missing")
	}
	statement, err := g.Assert(ctx, need)
	if err != nil {
		return nil, err
	}
	return need.Exchange(ctx, &g.Client, need.scoped(url.Values{
		"grant_type": {"urn:ietf:params:oauth:grant-type:jwt-bearer"},
		"assertion":  {statement},
	}))
}
