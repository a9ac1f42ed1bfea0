package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/golang-jwt/jwt/v5"

	"github.com/mcpwright/mcp/runtime/auth"
	"github.com/mcpwright/mcp/runtime/mcpclient"
)

// authContext has the credentials in the context of a scenario.
type authContext struct {
	ClientID         string `json:"client_id"`
	ClientSecret     string `json:"client_secret"`
	PrivateKey       string `json:"private_key_pem"`
	Issuer           string `json:"issuer"`
	JWT              string `json:"valid_jwt"`
	IDPClientID      string `json:"idp_client_id"`
	IDPIDToken       string `json:"idp_id_token"`
	IDPIssuer        string `json:"idp_issuer"`
	IDPTokenEndpoint string `json:"idp_token_endpoint"`
}

// grants are the grants of scenarios without a user.
var grants = map[string]func(*authContext, auth.OAuthClient) (auth.Grant, error){
	"auth/client-credentials-basic":         credentialsGrant,
	"auth/client-credentials-jwt":           credentialsGrant,
	"auth/wif-jwt-bearer":                   assertionGrant,
	"auth/enterprise-managed-authorization": enterpriseGrant,
}

// httpClient returns the HTTP client for a scenario with OAuth.
func httpClient(ctx context.Context, scenario, server string) (*http.Client, error) {
	var c authContext
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			return nil, fmt.Errorf("read the scenario's context: %w", err)
		}
	}
	client := auth.OAuthClient{Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: c.ClientSecret}
	userGrant := &auth.AuthorizationCode{
		Authorize:         authorize,
		RedirectURL:       "http://localhost:3000/callback",
		ClientMetadataURL: "https://conformance-test.local/client-metadata.json",
		ClientName:        "mcpwright-conformance",
	}
	if c.ClientID != "" {
		userGrant.Client = &client
	}
	var grant auth.Grant = userGrant
	if newGrant := grants[scenario]; newGrant != nil {
		var err error
		if client.Issuer, err = issuerOf(ctx, server); err != nil {
			return nil, err
		}
		if grant, err = newGrant(&c, client); err != nil {
			return nil, err
		}
	}
	transport, err := auth.NewTransport(server, &auth.TransportOptions{Grant: grant})
	return &http.Client{Transport: transport}, err
}

// authorize is a user who consents: the suite's page redirects immediately.
func authorize(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultTransport.RoundTrip(req) // does not follow the redirect
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 3 {
		return "", fmt.Errorf("authorize: page has status %s, want a redirect", res.Status)
	}
	return res.Header.Get("Location"), nil
}

func credentialsGrant(c *authContext, client auth.OAuthClient) (auth.Grant, error) {
	if c.PrivateKey != "" {
		key, err := jwt.ParseECPrivateKeyFromPEM([]byte(c.PrivateKey))
		if err != nil {
			return nil, err
		}
		client.Key = key
	}
	return &auth.ClientCredentials{Client: client}, nil
}

func assertionGrant(c *authContext, client auth.OAuthClient) (auth.Grant, error) {
	return &auth.Assertion{Client: client, Assert: func(context.Context, *auth.TokenRequest) (string, error) { return c.JWT, nil }}, nil
}

func enterpriseGrant(c *authContext, client auth.OAuthClient) (auth.Grant, error) {
	provider := &auth.IDJAG{
		TokenEndpoint: c.IDPTokenEndpoint,
		Client:        auth.OAuthClient{Issuer: c.IDPIssuer, ClientID: c.IDPClientID},
		IDToken:       func(context.Context) (string, error) { return c.IDPIDToken, nil },
	}
	return &auth.Assertion{Client: client, Assert: provider.Assert}, nil
}

// issuerOf returns the issuer of a server, which the scenario's context does not have.
func issuerOf(ctx context.Context, server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil {
		return "", err
	}
	u.Path = "/.well-known/oauth-protected-resource" + strings.TrimSuffix(u.Path, "/")
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	var metadata auth.ResourceMetadata
	if err := json.NewDecoder(res.Body).Decode(&metadata); err != nil {
		return "", err
	}
	if len(metadata.AuthorizationServers) == 0 {
		return "", errors.New("the server's metadata has no issuer")
	}
	return metadata.AuthorizationServers[0], nil
}

// callTestTool uses a server that requires a token.
func callTestTool(ctx context.Context, c *mcpclient.Client) error {
	if err := listTools(ctx, c); err != nil {
		return err
	}
	return call(ctx, c, "test-tool", json.RawMessage(`{}`))
}
