package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// ResourceMetadata is the metadata of a protected server: OAuth 2.0 protected resource
// metadata (RFC 9728).
type ResourceMetadata struct {
	// Resource is the URL of the server, and the audience of its tokens.
	Resource string `json:"resource"`
	// AuthorizationServers are the issuers of tokens for the server.
	AuthorizationServers []string `json:"authorization_servers,omitempty"`
	// ScopesSupported are the scopes that clients may request.
	ScopesSupported []string `json:"scopes_supported,omitempty"`
	// BearerMethodsSupported are the parts of a request that may contain the token.
	BearerMethodsSupported []string `json:"bearer_methods_supported,omitempty"`
	// DPoPSigningAlgValuesSupported are the supported signature algorithms of proofs, for
	// tokens that are bound to a key (RFC 9449). Nil if unknown.
	DPoPSigningAlgValuesSupported []string `json:"dpop_signing_alg_values_supported,omitempty"`
	// DPoPBoundAccessTokensRequired reports whether the server only accepts tokens that are
	// bound to a key.
	DPoPBoundAccessTokensRequired bool `json:"dpop_bound_access_tokens_required,omitempty"`
	// ResourceName is the name of the server for people.
	ResourceName string `json:"resource_name,omitempty"`
	// ResourceDocumentation is the URL of a page for developers of clients.
	ResourceDocumentation string `json:"resource_documentation,omitempty"`
}

// AuthorizationServerMetadata is the metadata of an authorization server (RFC 8414). The
// discovery document of OpenID Connect has the same members.
type AuthorizationServerMetadata struct {
	// Issuer is the URL that identifies the authorization server.
	Issuer string `json:"issuer"`
	// AuthorizationEndpoint is the URL of the page on which users authorize clients.
	AuthorizationEndpoint string `json:"authorization_endpoint,omitempty"`
	// TokenEndpoint is the URL that issues tokens.
	TokenEndpoint string `json:"token_endpoint,omitempty"`
	// JWKSURI is the URL of the keys that verify signed tokens.
	JWKSURI string `json:"jwks_uri,omitempty"`
	// RegistrationEndpoint is the URL for dynamic client registration, empty if the
	// server does not support it.
	RegistrationEndpoint string `json:"registration_endpoint,omitempty"`
	// ScopesSupported are the supported scopes, nil if unknown.
	ScopesSupported []string `json:"scopes_supported,omitempty"`
	// GrantTypesSupported are the supported grant types, nil if unknown.
	GrantTypesSupported []string `json:"grant_types_supported,omitempty"`
	// TokenEndpointAuthMethodsSupported are the supported methods of client
	// authentication at the token endpoint.
	TokenEndpointAuthMethodsSupported []string `json:"token_endpoint_auth_methods_supported,omitempty"`
	// TokenEndpointAuthSigningAlgValuesSupported are the supported signature algorithms of
	// client assertions, nil if unknown.
	TokenEndpointAuthSigningAlgValuesSupported []string `json:"token_endpoint_auth_signing_alg_values_supported,omitempty"`
	// DPoPSigningAlgValuesSupported are the supported signature algorithms of proofs, for
	// tokens that are bound to a key (RFC 9449). Nil if it issues none.
	DPoPSigningAlgValuesSupported []string `json:"dpop_signing_alg_values_supported,omitempty"`
	// CodeChallengeMethodsSupported are the supported methods of PKCE.
	CodeChallengeMethodsSupported []string `json:"code_challenge_methods_supported,omitempty"`
	// ClientIDMetadataDocumentSupported reports whether the server accepts the URL of a
	// client's metadata document as client id.
	ClientIDMetadataDocumentSupported bool `json:"client_id_metadata_document_supported,omitempty"`
	// AuthorizationResponseIssParameterSupported reports whether authorization responses
	// contain the issuer.
	AuthorizationResponseIssParameterSupported bool `json:"authorization_response_iss_parameter_supported,omitempty"`

	// assumed is set if the server publishes no metadata, and the endpoints are the
	// default endpoints of revision 2025-03-26.
	assumed bool
}

const (
	resourceWellKnown = "/.well-known/oauth-protected-resource"
	serverWellKnown   = "/.well-known/oauth-authorization-server"
	openIDWellKnown   = "/.well-known/openid-configuration"
)

// wellKnown returns the URL of metadata about a URL. The well-known path is inserted
// between host and path.
func wellKnown(of *url.URL, path string) *url.URL {
	escaped := path + strings.TrimSuffix(of.EscapedPath(), "/") // preserves an escaped slash
	plain, _ := url.PathUnescape(escaped)                       // no error: it was parsed before
	return &url.URL{Scheme: of.Scheme, Host: of.Host, Path: plain, RawPath: escaped}
}

// discovery finds the issuers of tokens for a server.
type discovery struct {
	server  *url.URL
	fetcher *fetcher
}

// maxIssuers limits the number of issuers that are used from the metadata of a server.
const maxIssuers = 20

// resourceMetadata fetches the metadata of the server. If metadataURL is empty, it tries
// the well-known URLs. If the server publishes no metadata, the result has no Resource:
// under revision 2025-03-26 such a server issues its own tokens.
func (d *discovery) resourceMetadata(ctx context.Context, metadataURL string) (*ResourceMetadata, error) {
	candidates := []string{metadataURL}
	if metadataURL == "" {
		root := &url.URL{Scheme: d.server.Scheme, Host: d.server.Host}
		candidates = slices.Compact([]string{wellKnown(d.server, resourceWellKnown).String(), wellKnown(root, resourceWellKnown).String()})
	}
	for _, candidate := range candidates {
		var m ResourceMetadata
		err := d.fetcher.getJSON(ctx, candidate, &m)
		if errors.Is(err, errNotFound) && metadataURL == "" {
			continue
		}
		if err == nil {
			err = d.validate(&m)
		}
		if err != nil {
			return nil, fmt.Errorf("metadata of server %q: %w", d.server, err)
		}
		m.AuthorizationServers = m.AuthorizationServers[:min(maxIssuers, len(m.AuthorizationServers))]
		return &m, nil
	}
	return &ResourceMetadata{}, nil
}

// validate returns an error if the metadata is not about the server. The resource may be
// a URL above the server's URL.
func (d *discovery) validate(m *ResourceMetadata) error {
	u, err := url.Parse(m.Resource)
	if err != nil || !sameOrigin(u, d.server) || !isBelow(d.server.Path, u.Path) {
		return fmt.Errorf("resource is %q", m.Resource)
	}
	if len(m.AuthorizationServers) == 0 {
		return errors.New("no authorization_servers")
	}
	return nil
}

// isBelow reports whether path equals top or is below it.
func isBelow(path, top string) bool {
	top = strings.TrimSuffix(top, "/")
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || rest[0] == '/')
}

// legacyIssuerMetadata returns the metadata of a server that issues its own tokens, as
// in revision 2025-03-26.
func (d *discovery) legacyIssuerMetadata(ctx context.Context) (*AuthorizationServerMetadata, error) {
	origin := (&url.URL{Scheme: d.server.Scheme, Host: d.server.Host}).String()
	m := &AuthorizationServerMetadata{}
	switch err := d.fetcher.getJSON(ctx, origin+serverWellKnown, m); {
	case err == nil && strings.TrimSuffix(m.Issuer, "/") != origin:
		return nil, fmt.Errorf("metadata of issuer %q: issuer is %q", origin, m.Issuer)
	case err == nil:
		return m, nil
	case !errors.Is(err, errNotFound):
		return nil, fmt.Errorf("metadata of issuer %q: %w", origin, err)
	}
	return &AuthorizationServerMetadata{
		Issuer:                origin,
		AuthorizationEndpoint: origin + "/authorize",
		TokenEndpoint:         origin + "/token",
		RegistrationEndpoint:  origin + "/register",
		assumed:               true,
	}, nil
}

// issuerMetadata fetches the metadata of an issuer. The issuer in the metadata must be
// the given one, except for a slash after the host. Otherwise an issuer could impersonate
// another issuer.
func (f *fetcher) issuerMetadata(ctx context.Context, issuer string) (*AuthorizationServerMetadata, error) {
	u, err := f.checkURL(issuer)
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	u.RawQuery, u.Fragment = "", ""
	var notFound []error
	for _, candidate := range issuerMetadataURLs(u) {
		m := &AuthorizationServerMetadata{}
		switch err = f.getJSON(ctx, candidate, m); {
		case errors.Is(err, errNotFound):
			notFound = append(notFound, err)
			continue
		case err == nil && !sameIssuer(m.Issuer, issuer):
			err = fmt.Errorf("%q: issuer is %q", candidate, m.Issuer)
		}
		if err != nil {
			return nil, fmt.Errorf("metadata of issuer %q: %w", issuer, err)
		}
		return m, nil
	}
	return nil, fmt.Errorf("metadata of issuer %q: %w", issuer, errors.Join(notFound...))
}

// issuerMetadataURLs returns the URLs that an issuer may publish its metadata at, in the
// order in which they are tried.
func issuerMetadataURLs(issuer *url.URL) []string {
	urls := []string{wellKnown(issuer, serverWellKnown).String(), wellKnown(issuer, openIDWellKnown).String()}
	if path := strings.TrimSuffix(issuer.Path, "/"); path != "" {
		urls = append(urls, (&url.URL{Scheme: issuer.Scheme, Host: issuer.Host, Path: path + openIDWellKnown}).String())
	}
	return urls
}

// checkEndpoints returns an error if an endpoint of an issuer must not be used, or if the
// token endpoint is missing.
func (f *fetcher) checkEndpoints(m *AuthorizationServerMetadata) error {
	for name, endpoint := range map[string]string{
		"authorization_endpoint": m.AuthorizationEndpoint,
		"token_endpoint":         m.TokenEndpoint,
		"registration_endpoint":  m.RegistrationEndpoint,
	} {
		if endpoint == "" {
			continue
		}
		if _, err := f.checkURL(endpoint); err != nil {
			return fmt.Errorf("metadata of issuer %q: %s: %w", m.Issuer, name, err)
		}
	}
	if m.TokenEndpoint == "" {
		return fmt.Errorf("metadata of issuer %q: no token_endpoint", m.Issuer)
	}
	return nil
}
