package auth

import (
	"net/url"
	"slices"
	"strings"
)

// ResourceMetadata is what a protected server says of itself, for clients that want
// to be let in: the document of RFC 9728.
type ResourceMetadata struct {
	// Resource is the URL of the server, the audience of the tokens it takes.
	Resource string `json:"resource"`
	// AuthorizationServers are the issuers of tokens for it.
	AuthorizationServers []string `json:"authorization_servers,omitempty"`
	// ScopesSupported are the scopes that a token for it may have.
	ScopesSupported []string `json:"scopes_supported,omitempty"`
	// BearerMethodsSupported says where a request may carry its token.
	BearerMethodsSupported []string `json:"bearer_methods_supported,omitempty"`
	// ResourceName is the name of the server for people.
	ResourceName string `json:"resource_name,omitempty"`
	// ResourceDocumentation is the URL of a page on how to use it.
	ResourceDocumentation string `json:"resource_documentation,omitempty"`
}

const resourceWellKnown = "/.well-known/oauth-protected-resource"

// wellKnown returns the URL at which metadata of a URL are published: the well-known
// path goes between its host and its path.
func wellKnown(of *url.URL, path string) *url.URL {
	escaped := path + strings.TrimSuffix(of.EscapedPath(), "/") // an escaped slash stays one
	plain, _ := url.PathUnescape(escaped)                       // what has been read can be
	return &url.URL{Scheme: of.Scheme, Host: of.Host, Path: plain, RawPath: escaped}
}

// splitScopes returns the scopes in the notation of OAuth, with spaces between them.
func splitScopes(s string) []string { return strings.Fields(s) }

// union returns all of a, and what of b is not among them.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, s := range b {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}
