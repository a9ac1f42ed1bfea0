package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
)

// IDJAG lets the identity provider of an enterprise vouch for its users at the issuers
// of servers, so that nobody has to agree on a page: extension
// io.modelcontextprotocol/enterprise-managed-authorization. Its Assert is that of an
// [Assertion].
type IDJAG struct {
	// TokenEndpoint is that of the identity provider.
	TokenEndpoint string
	// Client is what the identity provider knows the program as.
	Client Registration
	// IDToken returns the identity token that the user has logged in with.
	IDToken func(ctx context.Context) (string, error)
}

const tokenTypeIDJAG = "urn:ietf:params:oauth:token-type:id-jag"

// Assert exchanges the user's identity token for a statement that the issuer takes.
func (p *IDJAG) Assert(ctx context.Context, need *Need) (string, error) {
	if p.IDToken == nil {
		return "", errors.New("IDJAG.IDToken is missing")
	}
	token, err := p.IDToken(ctx)
	if err != nil {
		return "", fmt.Errorf("identity token: %w", err)
	}
	form := need.scoped(url.Values{
		"grant_type":           {"urn:ietf:params:oauth:grant-type:token-exchange"},
		"requested_token_type": {tokenTypeIDJAG},
		"audience":             {need.Server.Issuer},
		"resource":             {need.Resource},
		"subject_token":        {token},
		"subject_token_type":   {"urn:ietf:params:oauth:token-type:id_token"},
	})
	provider := &ServerMetadata{Issuer: p.Client.Issuer, TokenEndpoint: p.TokenEndpoint}
	body, err := need.post(ctx, provider, &p.Client, form)
	if err != nil {
		return "", fmt.Errorf("identity provider: %w", err)
	}
	var answer struct {
		Token string `json:"access_token"`
		Kind  string `json:"issued_token_type"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return "", fmt.Errorf("identity provider: %w", err)
	}
	if answer.Token == "" || answer.Kind != tokenTypeIDJAG { // anything else is not for others to see
		return "", fmt.Errorf("identity provider: it has issued %q, which is no statement", answer.Kind)
	}
	return answer.Token, nil
}
