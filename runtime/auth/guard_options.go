package auth

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

// GuardOptions say what a [Guard] protects and whom it lets in.
type GuardOptions struct {
	// Resource is the URL by which clients know the server, and the audience
	// of tokens for it, such as "https://mcp.example.com/mcp".
	Resource string
	// AuthorizationServers are the issuers of tokens, where clients send their
	// users. There is at least one.
	AuthorizationServers []string
	// Verify tells whose a token is: [JWT], [Introspection], or a function of
	// your own.
	Verify Verifier

	// Scopes are those that every request needs.
	Scopes []string
	// ScopesSupported are the scopes that clients may ask for besides.
	ScopesSupported []string
	// Implies tells whether a scope includes another one, such as "files" all
	// that begins with "files:". Nil is for scopes that only include themselves.
	Implies func(has, needs string) bool

	// Audiences are other names of this server. A token has to be for one of
	// them or for Resource: there is no way to take tokens for somebody else.
	Audiences []string
	// NoExpiry lets in tokens that never expire, which are refused otherwise.
	NoExpiry bool

	// Name is what people call the server.
	Name string
	// Documentation is the URL of a page for those who write clients.
	Documentation string
	// Logger takes what clients are not told: at level Error why tokens could
	// not be verified, at level Debug why some were refused. It never has a
	// token. Nil is [slog.Default].
	Logger *slog.Logger
}

// complete fills in the defaults, and returns the URL of the resource.
func (o *GuardOptions) complete() (*url.URL, error) {
	resource, err := o.resource()
	switch err = cmp.Or(err, o.checkServers(), o.checkScopes()); {
	case err != nil:
		return nil, err
	case slices.Contains(o.Audiences, ""):
		return nil, fmt.Errorf("option Audiences %q: a server has no empty name", o.Audiences)
	case o.Verify == nil:
		return nil, errors.New("option Verify is nil: nobody would check tokens")
	case o.Logger == nil:
		o.Logger = slog.Default()
	}
	o.Scopes = slices.Clone(o.Scopes)
	return resource, nil
}

func (o *GuardOptions) resource() (*url.URL, error) {
	u, err := plainURL(o.Resource)
	if err != nil {
		return nil, fmt.Errorf("option Resource: %w", err)
	}
	if !strings.Contains(o.Resource, "://"+u.Host) {
		return nil, fmt.Errorf("option Resource %q: the host is to be in lower case, as clients write it", o.Resource)
	}
	return u, nil
}

func (o *GuardOptions) checkServers() error {
	if len(o.AuthorizationServers) == 0 {
		return errors.New("option AuthorizationServers is empty: clients would not know where to get a token")
	}
	for _, issuer := range o.AuthorizationServers {
		if _, err := plainURL(issuer); err != nil {
			return fmt.Errorf("option AuthorizationServers: %w", err)
		}
	}
	return nil
}

func (o *GuardOptions) checkScopes() error {
	for _, s := range slices.Concat(o.Scopes, o.ScopesSupported) {
		switch {
		case s == offlineAccess:
			return fmt.Errorf("scope %q: it is between clients and their authorization server, and none of a resource", s)
		case !isScope(s):
			return fmt.Errorf("scope %q: a scope is one word of ASCII without quotes and backslashes", s)
		}
	}
	return nil
}

// plainURL reads a URL that is nothing but a place, and one that nobody on the
// way can speak for.
func plainURL(s string) (*url.URL, error) {
	u, err := parseURL(s, false)
	if err == nil && (u.User != nil || strings.ContainsAny(s, "?#")) {
		err = fmt.Errorf("%q has more than host and path", display(u))
	}
	return u, err
}
