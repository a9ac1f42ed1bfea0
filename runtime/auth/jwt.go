package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// JWTOptions say which tokens [JWT] takes.
type JWTOptions struct {
	// Issuer is who issues the tokens, exactly as they have it.
	Issuer string
	// JWKS is the URL of the issuer's keys. Empty, it is looked up in the
	// issuer's metadata.
	JWKS string
	// Algorithms are those with which tokens may be signed. Nil is all with a
	// key that is public: RS256, PS256 and ES256, each with 384 and 512, and
	// EdDSA. There are no others.
	Algorithms []string
	// Leeway is how far clocks may differ. Default 30 s, negative is none.
	Leeway time.Duration
	// Client fetches keys and metadata, without following redirects. Nil is
	// [http.DefaultClient].
	Client *http.Client
	// Logger is told when keys cannot be fetched while older ones still serve.
	// Nil is [slog.Default].
	Logger *slog.Logger
}

// JWT returns a verifier of signed tokens, which checks who signed them, with which
// algorithm, and from when to when they are valid. The error is about the options.
//
// The keys of the issuer are fetched when the first token comes and every ten
// minutes from then on, and when a token names a key that is not known, at most
// once in ten seconds. While they cannot be fetched those that there are serve for
// an hour.
func JWT(opts JWTOptions) (Verifier, error) {
	if err := opts.complete(); err != nil {
		return nil, fmt.Errorf("verify signed tokens: %w", err)
	}
	v := &jwtVerifier{issuer: opts.Issuer, leeway: max(opts.Leeway, 0)}
	v.keys.fetch = (&keySource{newFetcher(opts.Client), opts.Issuer, opts.JWKS}).fetch
	v.keys.log = opts.Logger.With("issuer", opts.Issuer)
	v.parser = jwt.NewParser(jwt.WithValidMethods(opts.Algorithms), jwt.WithLeeway(v.leeway), jwt.WithStrictDecoding(), jwt.WithJSONNumber())
	return v.verify, nil
}

// publicKeyAlgorithms are those in which only the issuer can sign.
var publicKeyAlgorithms = []string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}

func (o *JWTOptions) complete() error {
	if _, err := plainURL(o.Issuer); err != nil {
		return fmt.Errorf("option Issuer: %w", err)
	}
	if o.JWKS != "" {
		if _, err := parseURL(o.JWKS, false); err != nil {
			return fmt.Errorf("option JWKS: %w", err)
		}
	}
	for _, alg := range o.Algorithms {
		if !slices.Contains(publicKeyAlgorithms, alg) {
			return fmt.Errorf("option Algorithms %q: there are %s", alg, strings.Join(publicKeyAlgorithms, ", "))
		}
	}
	if o.Algorithms = slices.Clone(o.Algorithms); o.Algorithms == nil {
		o.Algorithms = publicKeyAlgorithms
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
	var trouble error
	_, err := v.parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		keys, err := v.keysFor(ctx, t)
		if err != nil && !errors.Is(err, ErrInvalidToken) {
			trouble = err
		}
		return keys, err
	})
	switch {
	case trouble != nil:
		return nil, fmt.Errorf("find the key of a token of %q: %w", v.issuer, trouble)
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrInvalidToken, err)
	}
	return v.caller(claims)
}

// keysFor returns the keys with which a token may have been signed. Nobody is asked
// for keys because of a token that could not be valid with any.
func (v *jwtVerifier) keysFor(ctx context.Context, t *jwt.Token) (any, error) {
	if issuer, err := t.Claims.GetIssuer(); err != nil || issuer != v.issuer {
		return nil, fmt.Errorf("%w: it is of issuer %q", ErrInvalidToken, issuer)
	}
	if _, has := t.Header["crit"]; has {
		return nil, fmt.Errorf("%w: it insists on extensions", ErrInvalidToken)
	}
	if kind, has := t.Header["typ"]; has && !isAccessToken(kind) {
		return nil, fmt.Errorf("%w: its type is %v", ErrInvalidToken, kind)
	}
	id, has := t.Header["kid"].(string)
	if !has && t.Header["kid"] != nil {
		return nil, fmt.Errorf("%w: the id of its key is no string", ErrInvalidToken)
	}
	keys, err := v.keys.find(ctx, id, t.Method.Alg())
	return jwt.VerificationKeySet{Keys: keys}, err
}

// isAccessToken judges the type that a token says to have.
func isAccessToken(kind any) bool {
	name, _ := kind.(string)
	name = strings.TrimPrefix(strings.ToLower(name), "application/")
	return name == "jwt" || name == "at+jwt"
}

// caller is what the claims say.
func (v *jwtVerifier) caller(claims jwt.MapClaims) (*Caller, error) {
	c, err := callerFrom(claims)
	if err == nil && !c.Expiry.IsZero() {
		c.Expiry = c.Expiry.Add(v.leeway)
	}
	return c, err
}

// callerFrom reads what tokens and introspection have in common. What is not of
// the type that it should be says nothing, but for the subject, without which all
// users of a client would be one, and the expiry.
func callerFrom(claims map[string]any) (*Caller, error) {
	c := &Caller{Audience: words(claims["aud"], false), Claims: claims}
	subject, isText := claims["sub"].(string)
	if !isText && claims["sub"] != nil {
		return nil, fmt.Errorf("%w: its subject is %v, which is no string", ErrInvalidToken, claims["sub"])
	}
	c.Subject = subject
	c.Issuer, _ = claims["iss"].(string)
	c.ClientID = clientFrom(claims, c.Subject != "")
	c.Scopes = union(words(claims["scope"], true), words(claims["scp"], true))
	if exp, has := claims["exp"]; has {
		number, _ := exp.(json.Number)
		seconds, _ := number.Float64()
		if seconds < 1 || seconds > 1<<40 {
			return nil, fmt.Errorf("%w: it expires at %v", ErrInvalidToken, exp)
		}
		c.Expiry = time.Unix(int64(seconds), 0)
	}
	return c, nil
}

// clientFrom reads whom a token was issued to: the claim of access tokens, or that of
// OpenID Connect. Beside a subject it also takes what two issuers call it, Entra ID and
// Okta: elsewhere these claims may be of something else, which must not be all that
// tells a caller from others.
func clientFrom(claims map[string]any, subject bool) string {
	names := []string{"client_id", "azp", "appid", "cid"}
	if !subject {
		names = names[:2]
	}
	for _, name := range names {
		if id, _ := claims[name].(string); id != "" {
			return id
		}
	}
	return ""
}

// words reads a string or a list of strings. A string may have several words.
func words(claim any, parted bool) (list []string) {
	switch claim := claim.(type) {
	case string:
		if parted {
			return splitScopes(claim)
		}
		return []string{claim}
	case []any:
		for _, one := range claim {
			if s, ok := one.(string); ok {
				list = append(list, s)
			}
		}
	}
	return list
}
