package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// discovery finds out who issues tokens for a server.
type discovery struct {
	server *url.URL
	fetch  *fetcher
}

// resource reads what the server says of itself. Where it published nothing, as up to
// 2025-03-26, it counts as the issuer of its own tokens: the document has no Resource.
func (d *discovery) resource(ctx context.Context, at string) (*ResourceMetadata, error) {
	places := []string{at}
	if at == "" {
		root := &url.URL{Scheme: d.server.Scheme, Host: d.server.Host}
		places = slices.Compact([]string{wellKnown(d.server, resourceWellKnown).String(), wellKnown(root, resourceWellKnown).String()})
	}
	for _, place := range places {
		var m ResourceMetadata
		err := d.fetch.document(ctx, place, &m)
		if errors.Is(err, errNotThere) && at == "" {
			continue
		}
		if err == nil {
			err = d.describes(&m)
		}
		if err != nil {
			return nil, fmt.Errorf("metadata of the server: %w", err)
		}
		m.AuthorizationServers = m.AuthorizationServers[:min(mostIssuers, len(m.AuthorizationServers))]
		return &m, nil
	}
	return &ResourceMetadata{}, nil
}

// mostIssuers is how many a server leads its clients to.
const mostIssuers = 20

// describes tells why a document is not about the server. It may be about all below
// one of the server's paths.
func (d *discovery) describes(m *ResourceMetadata) error {
	u, err := url.Parse(m.Resource)
	if err != nil || !sameOrigin(u, d.server) || !below(d.server.Path, u.Path) {
		return fmt.Errorf("it is about %q, not about %q", m.Resource, d.server)
	}
	if len(m.AuthorizationServers) == 0 {
		return fmt.Errorf("it names nobody who issues tokens for %q", m.Resource)
	}
	return nil
}

// below tells whether a path is another or below it.
func below(path, top string) bool {
	top = strings.TrimSuffix(top, "/")
	rest, ok := strings.CutPrefix(path, top)
	return ok && (rest == "" || rest[0] == '/')
}

const (
	serverWellKnown = "/.well-known/oauth-authorization-server"
	openIDWellKnown = "/.well-known/openid-configuration"
)

// issuer reads what an issuer says of itself. The document must bear the name that it
// was found by: otherwise one issuer could pass as another.
func (f *fetcher) issuer(ctx context.Context, name string) (*ServerMetadata, error) {
	u, err := f.check(name)
	if err != nil {
		return nil, fmt.Errorf("issuer: %w", err)
	}
	u.RawQuery, u.Fragment = "", ""
	var absent []error
	for _, place := range metadataPlaces(u) {
		m := &ServerMetadata{}
		switch err = f.document(ctx, place, m); {
		case errors.Is(err, errNotThere):
			absent = append(absent, err)
			continue
		case err == nil && m.Issuer != name:
			err = fmt.Errorf("%q: it is about %q", place, m.Issuer)
		}
		if err != nil {
			return nil, fmt.Errorf("metadata of issuer %q: %w", name, err)
		}
		return m, nil
	}
	return nil, fmt.Errorf("metadata of issuer %q: %w", name, errors.Join(absent...))
}

// metadataPlaces returns where an issuer may publish its metadata, in order.
func metadataPlaces(issuer *url.URL) []string {
	places := []string{wellKnown(issuer, serverWellKnown).String(), wellKnown(issuer, openIDWellKnown).String()}
	if path := strings.TrimSuffix(issuer.Path, "/"); path != "" {
		places = append(places, (&url.URL{Scheme: issuer.Scheme, Host: issuer.Host, Path: path + openIDWellKnown}).String())
	}
	return places
}

// endpoints tells why no token can be got by the endpoints of an issuer.
func (f *fetcher) endpoints(m *ServerMetadata) error {
	for what, at := range map[string]string{
		"authorization_endpoint": m.AuthorizationEndpoint,
		"token_endpoint":         m.TokenEndpoint,
		"registration_endpoint":  m.RegistrationEndpoint,
	} {
		if at == "" {
			continue
		}
		if _, err := f.check(at); err != nil {
			return fmt.Errorf("metadata of issuer %q: %s: %w", m.Issuer, what, err)
		}
	}
	if m.TokenEndpoint == "" {
		return fmt.Errorf("metadata of issuer %q: no token_endpoint", m.Issuer)
	}
	return nil
}

// own returns the metadata of a server that issues its own tokens, as up to 2025-03-26.
func (d *discovery) own(ctx context.Context) (*ServerMetadata, error) {
	origin := (&url.URL{Scheme: d.server.Scheme, Host: d.server.Host}).String()
	m := &ServerMetadata{}
	switch err := d.fetch.document(ctx, origin+serverWellKnown, m); {
	case err == nil && strings.TrimSuffix(m.Issuer, "/") != origin:
		return nil, fmt.Errorf("metadata of issuer %q: it is about %q", origin, m.Issuer)
	case err == nil:
		return m, nil
	case !errors.Is(err, errNotThere):
		return nil, fmt.Errorf("metadata of issuer %q: %w", origin, err)
	}
	return &ServerMetadata{
		Issuer:                origin,
		AuthorizationEndpoint: origin + "/authorize",
		TokenEndpoint:         origin + "/token",
		RegistrationEndpoint:  origin + "/register",
		assumed:               true,
	}, nil
}
