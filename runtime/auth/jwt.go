package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// JWTOptions are the options of [JWT]. Only Issuer is required.
type JWTOptions struct {
	// Issuer is the issuer of the tokens. It must be equal to the claim iss of the
	// tokens. Only a slash after the host makes no difference.
	Issuer string
	// JWKSURI is the URL of the issuer's keys. If it is empty, it is read from the
	// issuer's metadata.
	JWKSURI string
	// Algorithms are the accepted signature algorithms. Nil accepts all algorithms with
	// a public key: RS256, PS256 and ES256, each also with 384 and 512, EdDSA and its
	// other name Ed25519. EdDSA includes Ed25519. No other algorithm is supported.
	Algorithms []string
	// Leeway is the accepted difference between clocks. Default 30 s, negative is none.
	Leeway time.Duration
	// HTTPClient fetches the keys and the metadata. It follows no redirects. Nil is
	// [http.DefaultClient].
	HTTPClient *http.Client
	// Logger receives errors in fetching keys, which no caller sees while earlier keys
	// are in use. Nil is [slog.Default].
	Logger *slog.Logger
}

// JWT returns a verifier of signed tokens. It checks the signature, the algorithm, the
// issuer, and the time during which the token is valid. JWT returns an error if an option
// is invalid.
//
// The verifier fetches the keys of the issuer with the first token, and again every ten
// minutes. If a token has an unknown key, it fetches them too, at most once in ten
// seconds; until then, the token cannot be verified, and the client of a [Guard] should
// retry. If fetching fails, the verifier uses the last keys for up to an hour.
func JWT(opts *JWTOptions) (Verifier, error) {
	if opts == nil {
		opts = &JWTOptions{}
	}
	o := *opts
	if err := o.complete(); err != nil {
		return nil, fmt.Errorf("auth: JWT verifier: %w", err)
	}
	registerEd25519()
	v := &jwtVerifier{issuer: o.Issuer, leeway: max(o.Leeway, 0)}
	v.keys.fetch = (&keySource{newFetcher(o.HTTPClient), o.Issuer, o.JWKSURI}).fetch
	v.keys.logger = o.Logger.With("issuer", o.Issuer)
	v.parser = jwt.NewParser(jwt.WithValidMethods(o.Algorithms), jwt.WithLeeway(v.leeway), jwt.WithStrictDecoding(), jwt.WithJSONNumber())
	return v.verify, nil
}

// complete validates the options and sets the defaults.
func (o *JWTOptions) complete() error {
	if o.Issuer == "" {
		return errors.New("option Issuer is required")
	}
	if _, err := parseIdentifierURL(o.Issuer); err != nil {
		return fmt.Errorf("option Issuer: %w", err)
	}
	if o.JWKSURI != "" {
		if _, err := parseURL(o.JWKSURI, false); err != nil {
			return fmt.Errorf("option JWKSURI: %w", err)
		}
	}
	for _, alg := range o.Algorithms {
		if !slices.Contains(publicKeyAlgorithms, alg) {
			return fmt.Errorf("option Algorithms: unsupported algorithm %q, want one of %s", alg, strings.Join(publicKeyAlgorithms, ", "))
		}
	}
	if o.Algorithms = slices.Clone(o.Algorithms); o.Algorithms == nil {
		o.Algorithms = publicKeyAlgorithms
	}
	if slices.Contains(o.Algorithms, algEdDSA) {
		o.Algorithms = append(o.Algorithms, algEd25519)
	}
	if o.Leeway == 0 {
		o.Leeway = 30 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return nil
}

// jwtVerifier verifies the tokens of one issuer.
type jwtVerifier struct {
	issuer string
	leeway time.Duration
	parser *jwt.Parser
	keys   keySet
}

func (v *jwtVerifier) verify(ctx context.Context, token string) (*Caller, error) {
	claims := jwt.MapClaims{}
	var keyErr error
	_, err := v.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		keys, err := v.verificationKeys(ctx, t)
		if err != nil && !errors.Is(err, ErrInvalidToken) {
			keyErr = err
		}
		return keys, err
	})
	switch {
	case keyErr != nil:
		return nil, fmt.Errorf("keys for a token of %q: %w", v.issuer, keyErr)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	c, err := callerFromClaims(claims)
	if err != nil {
		return nil, err
	}
	c.Issuer = v.issuer // the claim may have another slash
	if !c.Expiry.IsZero() {
		c.Expiry = c.Expiry.Add(v.leeway)
	}
	return c, nil
}

// verificationKeys returns the keys that may have signed the token. It checks the token
// first, so that keys are not fetched for a token that no key could make valid.
func (v *jwtVerifier) verificationKeys(ctx context.Context, t *jwt.Token) (any, error) {
	if issuer, err := t.Claims.GetIssuer(); err != nil || !sameIssuer(issuer, v.issuer) {
		return nil, fmt.Errorf("%w: issuer is %q, want %q", ErrInvalidToken, issuer, v.issuer)
	}
	if _, has := t.Header["crit"]; has {
		return nil, fmt.Errorf("%w: unsupported header crit", ErrInvalidToken)
	}
	if typ, has := t.Header["typ"]; has && !isAccessTokenType(typ) {
		return nil, fmt.Errorf("%w: typ is %v", ErrInvalidToken, typ)
	}
	id, has := t.Header["kid"].(string)
	if !has && t.Header["kid"] != nil {
		return nil, fmt.Errorf("%w: kid is not a string", ErrInvalidToken)
	}
	keys, err := v.keys.find(ctx, id, t.Method.Alg())
	return jwt.VerificationKeySet{Keys: keys}, err
}

// isAccessTokenType reports whether the header typ allows an access token.
func isAccessTokenType(typ any) bool {
	name, _ := typ.(string)
	name = strings.TrimPrefix(strings.ToLower(name), "application/")
	return name == "jwt" || name == "at+jwt"
}
