package auth

import (
	"context"
	"fmt"
)

// keySource is where the keys of an issuer are published.
type keySource struct {
	*fetcher
	issuer string
	url    string // empty where the issuer's metadata have it
}

// fetch fetches the keys.
func (s *keySource) fetch(ctx context.Context) ([]publicKey, error) {
	at := s.url
	if at == "" {
		m, err := s.fetcher.issuer(ctx, s.issuer)
		if err != nil {
			return nil, err
		}
		if at = m.JWKSURI; at == "" {
			return nil, fmt.Errorf("keys of issuer %q: its metadata have no jwks_uri", s.issuer)
		}
	}
	data, err := s.get(ctx, at)
	if err != nil {
		return nil, fmt.Errorf("keys of issuer %q: %w", s.issuer, err)
	}
	keys, err := parseKeys(data)
	if err != nil {
		return nil, fmt.Errorf("keys of issuer %q: %w", s.issuer, err)
	}
	return keys, nil
}
