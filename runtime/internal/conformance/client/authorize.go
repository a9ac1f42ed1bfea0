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

// given is what a scenario tells its client beforehand.
type given struct {
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

// grants are the ways to a token that scenarios ask for by name. Others have a user.
var grants = map[string]func(*given, auth.Registration) (auth.Grant, error){
	"auth/client-credentials-basic":         byCredentials,
	"auth/client-credentials-jwt":           byCredentials,
	"auth/wif-jwt-bearer":                   byPlatform,
	"auth/enterprise-managed-authorization": byEnterprise,
}

// httpClient returns what makes the requests of a scenario with OAuth.
func httpClient(ctx context.Context, scenario, server string) (*http.Client, error) {
	var g given
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &g); err != nil {
			return nil, fmt.Errorf("context of the scenario: %w", err)
		}
	}
	client := auth.Registration{Issuer: g.Issuer, ClientID: g.ClientID, ClientSecret: g.ClientSecret}
	byUser := &auth.AuthorizationCode{
		Authorize:   agree,
		RedirectURL: "http://localhost:3000/callback",
		MetadataURL: "https://conformance-test.local/client-metadata.json",
		Name:        "mcpwright-conformance",
	}
	if g.ClientID != "" {
		byUser.Client = &client
	}
	var grant auth.Grant = byUser
	if by := grants[scenario]; by != nil {
		var err error
		if client.Issuer, err = issuerOf(ctx, server); err != nil {
			return nil, err
		}
		if grant, err = by(&g, client); err != nil {
			return nil, err
		}
	}
	transport, err := auth.NewTransport(server, auth.TransportOptions{Grant: grant})
	return &http.Client{Transport: transport}, err
}

// agree is a user who agrees to everything: the suite's page sends her back at once.
func agree(ctx context.Context, page string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	res, err := http.DefaultTransport.RoundTrip(req) // follows nothing
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 3 {
		return "", fmt.Errorf("the page does not send the user back, but answers %s", res.Status)
	}
	return res.Header.Get("Location"), nil
}

func byCredentials(g *given, client auth.Registration) (auth.Grant, error) {
	if g.PrivateKey != "" {
		key, err := jwt.ParseECPrivateKeyFromPEM([]byte(g.PrivateKey))
		if err != nil {
			return nil, err
		}
		client.Key = key
	}
	return &auth.ClientCredentials{Client: client}, nil
}

func byPlatform(g *given, client auth.Registration) (auth.Grant, error) {
	return &auth.Assertion{Client: client, Assert: func(context.Context, *auth.Need) (string, error) { return g.JWT, nil }}, nil
}

func byEnterprise(g *given, client auth.Registration) (auth.Grant, error) {
	provider := &auth.IDJAG{
		TokenEndpoint: g.IDPTokenEndpoint,
		Client:        auth.Registration{Issuer: g.IDPIssuer, ClientID: g.IDPClientID},
		IDToken:       func(context.Context) (string, error) { return g.IDPIDToken, nil },
	}
	return &auth.Assertion{Client: client, Assert: provider.Assert}, nil
}

// issuerOf returns who knows the client: the suite does not say, a user would know.
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
	var about auth.ResourceMetadata
	if err := json.NewDecoder(res.Body).Decode(&about); err != nil {
		return "", err
	}
	if len(about.AuthorizationServers) == 0 {
		return "", errors.New("the suite's server names no issuer")
	}
	return about.AuthorizationServers[0], nil
}

// callTestTool uses a server that lets nobody in without a token.
func callTestTool(ctx context.Context, c *mcpclient.Client) error {
	if err := listTools(ctx, c); err != nil {
		return err
	}
	return call(ctx, c, "test-tool", json.RawMessage(`{}`))
}
