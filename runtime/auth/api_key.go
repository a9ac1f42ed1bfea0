package auth

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/runtime/internal/challenge"
)

// KeyGuardOptions are the options of [NewKeyGuard]. Only Verify is required.
type KeyGuardOptions struct {
	// Header is the header with the key. The whole value is the key, except in the header
	// Authorization, in which the scheme Bearer precedes it. Default "X-API-Key".
	Header string
	// Verify returns the caller of a key. If the key is not valid, the chain of its error
	// contains [ErrInvalidToken]. A caller needs a Subject or a ClientID. An Expiry is
	// optional, and the Audience is ignored. Verify should look up a hash of the key, or
	// compare keys in constant time.
	Verify Verifier
	// Scopes are the scopes that every request needs.
	Scopes []string
	// Implies reports whether the scope has includes the scope needs. Nil means that each
	// scope only includes itself.
	Implies func(has, needs string) bool
	// Logger receives the details that clients do not get, but never a key. Nil is
	// [slog.Default].
	Logger *slog.Logger
}

// NewKeyGuard returns a guard for API keys, which needs no authorization server. Its
// handlers use [CallerFromContext], [RequireScopes] and [HasScopes] like the handlers of
// any other guard. A client cannot get a key from the guard, so the guard publishes no
// metadata.
func NewKeyGuard(opts *KeyGuardOptions) (*Guard, error) {
	if opts == nil {
		opts = &KeyGuardOptions{}
	}
	o := GuardOptions{Verify: opts.Verify, Scopes: slices.Clone(opts.Scopes), Implies: opts.Implies, Logger: opts.Logger, AllowNoExpiry: true}
	header := http.CanonicalHeaderKey(opts.Header)
	if header == "" {
		header = http.CanonicalHeaderKey("X-API-Key")
	}
	err := o.validateScopes()
	switch {
	case err != nil:
	case strings.Trim(header, challenge.Alphanumeric+"-_") != "":
		err = fmt.Errorf("option Header: invalid name %q", opts.Header)
	case o.Verify == nil:
		err = errors.New("option Verify is required")
	}
	if err != nil {
		return nil, fmt.Errorf("auth: new guard: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Guard{opts: o, keyHeader: header, metadataPath: resourceWellKnown}, nil
}

// apiKey returns the key of a request, or the response that refuses it.
func (g *Guard) apiKey(r *http.Request) (key string, refused *errorResponse) {
	if g.keyHeader == "Authorization" {
		scheme, key, refused := accessToken(r)
		if refused == nil && strings.EqualFold(scheme, dpopScheme) {
			refused = &missingKey
		}
		return key, refused
	}
	values := r.Header[g.keyHeader]
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", &missingKey
	case len(values) > 1 || len(values[0]) > maxTokenBytes || !isTokenText(values[0]):
		return "", &malformedKey
	}
	return values[0], nil
}

var (
	missingKey   = errorResponse{status: http.StatusUnauthorized, description: "API key required"}
	malformedKey = errorResponse{status: http.StatusBadRequest, code: "invalid_request", description: "the request must have one header with one API key"}
)

// keyChallenge returns the challenge of a guard for API keys.
func (g *Guard) keyChallenge(params map[string]string) challenge.Challenge {
	if g.keyHeader == "Authorization" {
		return challenge.Challenge{Scheme: bearerScheme, Params: params}
	}
	params["header"] = g.keyHeader
	return challenge.Challenge{Scheme: "ApiKey", Params: params}
}
