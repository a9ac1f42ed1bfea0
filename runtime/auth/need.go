package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"golang.org/x/oauth2"
)

// A Grant is a way to get tokens. It is asked for one at a time by each [TransportContext].
type Grant interface {
	// Token gets a token, or renews one if need has a Refresh. An [*Error] is the
	// answer of an issuer that refuses.
	Token(ctx context.Context, need *Need) (*oauth2.Token, error)
}

// Need is what a [Grant] is asked for.
type Need struct {
	// Resource is the server that the token is for, as requests for tokens name it.
	Resource string
	// Server issues the token.
	Server *ServerMetadata
	// Scopes are what the token should be good for; none leaves it to Server.
	Scopes []string
	// Refresh is what renews an earlier token; empty is none.
	Refresh string

	unnamed bool // the issuer is not told the Resource
	fetch   *fetcher
	store   Store
	log     *slog.Logger
	client  **Registration // that Refresh was issued to, then the token; nil for one that others registered
}

// issued is implemented by grants that know a client at one issuer only.
type issued interface{ issuer() string }

// need finds out where to get a token, and which scopes it is asked for.
func (t *Transport) need(ctx context.Context, why *refusal) (*Need, error) {
	about, err := t.found.resource(ctx, why.metadata)
	if err != nil {
		return nil, err
	}
	need := &Need{Resource: about.Resource, fetch: t.found.fetch, store: t.opts.Store, log: t.opts.Logger, unnamed: t.opts.OmitResource}
	if about.Resource == "" {
		need.Resource = t.server.String()
		if need.Server, err = t.found.own(ctx); err == nil {
			_, err = t.eligible([]string{need.Server.Issuer})
		}
		if err == nil {
			err = need.fetch.endpoints(need.Server)
		}
	} else {
		need.Server, err = t.issuer(ctx, about.AuthorizationServers, why.held)
	}
	if err != nil {
		return nil, err
	}
	need.Scopes = t.scopes(why, about)
	return need, nil
}

// issuer returns the first of the issuers that is usable, that of the token at hand
// before others, or that one which alone knows the client.
func (t *Transport) issuer(ctx context.Context, names []string, held *holding) (*ServerMetadata, error) {
	names, err := t.eligible(names)
	if err != nil {
		return nil, err
	}
	if held != nil && slices.Contains(names, held.Issuer) {
		names = union([]string{held.Issuer}, names)
	}
	var all []error
	for _, name := range names {
		m, err := t.found.fetch.issuer(ctx, name)
		if err == nil {
			err = t.found.fetch.endpoints(m)
		}
		if err == nil {
			return m, nil
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

// eligible returns those of the issuers that the client may be known to.
func (t *Transport) eligible(names []string) ([]string, error) {
	g, ok := t.opts.Grant.(issued)
	switch {
	case !ok || g.issuer() == "":
		return names, nil
	case !slices.Contains(names, g.issuer()):
		return nil, fmt.Errorf("the server takes tokens of %q, the client is known to %q only", names, g.issuer())
	}
	return []string{g.issuer()}, nil
}

// scopes returns what to ask for: what the request needs, and where that was too much
// for a token, also what that was good for.
func (t *Transport) scopes(why *refusal, about *ResourceMetadata) []string {
	switch {
	case why.scarce && why.held != nil:
		return union(why.held.Scopes, why.scopes)
	case len(why.scopes) > 0:
		return why.scopes
	case t.opts.Scopes != nil:
		return t.opts.Scopes
	case why.held != nil:
		return why.held.Scopes // what it has grown to
	}
	return about.ScopesSupported
}
