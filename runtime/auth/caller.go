package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/verified"
)

// Caller is the sender of a request, as described by its token. All handlers of the
// request share it, so it must not be modified.
type Caller struct {
	// Subject identifies the user, or the program if it acts for itself. It is only
	// unique together with Issuer.
	Subject string
	// Issuer is the issuer of the token.
	Issuer string
	// ClientID identifies the program that the token was issued to. [JWT] and
	// [Introspection] use the claim client_id or azp. If the token has a subject, they
	// also use appid (Entra ID) and cid (Okta).
	ClientID string
	// Audience are the servers that the token is for.
	Audience []string
	// Scopes are the scopes of the token; see [RequireScopes].
	Scopes []string
	// Expiry is the time at which the token expires, including the leeway of the
	// verifier. A zero Expiry means never; see [GuardOptions].AllowNoExpiry.
	Expiry time.Time
	// KeyThumbprint is the thumbprint of the key that the token is bound to (RFC 9449),
	// from the claim cnf. It is empty for a bearer token. The [Guard] only accepts a token
	// with a KeyThumbprint together with a proof of the key.
	KeyThumbprint string
	// Claims are all claims of the token, nil if the verifier does not provide them.
	// Numbers are of type [json.Number], which preserves large integers.
	Claims map[string]any
}

// A Verifier returns the caller of a token. If the token is not valid, the chain of the
// error contains [ErrInvalidToken]. For any other error the [Guard] logs the error, and
// the client receives status 503. Verifiers are called concurrently.
//
// A verifier need not check what [GuardOptions] define: the [Guard] checks the audience,
// the expiry and the scopes. If tokens do not contain their audience or scopes, the
// verifier must fill them in.
type Verifier func(ctx context.Context, token string) (*Caller, error)

// ErrInvalidToken is in the chain of a [Verifier]'s error if the token is not valid.
var ErrInvalidToken = errors.New("invalid token")

// AnyVerifier returns a verifier for servers that accept tokens of several issuers. It
// calls the verifiers in order until one of them accepts the token. If none does, an
// error other than [ErrInvalidToken] has priority.
//
// A verifier such as [Introspection] sends opaque tokens to its issuer. Its issuer
// therefore also receives opaque tokens that are for one of the later verifiers.
func AnyVerifier(verifiers ...Verifier) Verifier {
	return func(ctx context.Context, token string) (*Caller, error) {
		var invalid, failed []error
		for _, verify := range verifiers {
			caller, err := verify(ctx, token)
			switch {
			case err == nil:
				return caller, nil
			case errors.Is(err, ErrInvalidToken):
				invalid = append(invalid, err)
			default:
				failed = append(failed, err)
			}
		}
		if failed != nil {
			return nil, errors.Join(failed...)
		}
		return nil, errors.Join(append(invalid, ErrInvalidToken)...)
	}
}

// CallerFromContext returns the caller of the current request, or nil if no [Guard] has
// verified one. It works in handlers of tools, resources and prompts and in HTTP
// handlers.
func CallerFromContext(ctx context.Context) *Caller { return callerContextFrom(ctx).caller }

// ContextWithCaller returns a context with the given caller in place of the caller that
// a [Guard] has verified. It is for tests, for programs that identify callers in another
// way, such as servers on a pipe, and for middleware that adds to a verified caller.
func ContextWithCaller(ctx context.Context, caller *Caller) context.Context {
	c := callerContextFrom(ctx)
	c.caller = caller
	return verified.ContextWithCaller(ctx, c)
}

// Principal returns a unique name for the caller of a request, made of issuer and
// subject. If the token has no subject, it is made of issuer and client id; these names
// differ from all names with a subject. It is empty if the request has no caller.
//
// Package streamable uses this name by default; see the option Principal there.
func Principal(r *http.Request) string { return verified.Principal(r.Context()) }

// Principal implements [verified.Caller].
func (c callerContext) Principal() string {
	caller := c.caller
	switch {
	case caller == nil || caller.Subject == "" && caller.ClientID == "":
		return ""
	case caller.Subject == "":
		return issuerEscaper.Replace(caller.Issuer) + " client=" + caller.ClientID
	}
	return issuerEscaper.Replace(caller.Issuer) + " sub=" + caller.Subject
}

// issuerEscaper escapes spaces, so that the issuer in a principal ends at the first
// space.
var issuerEscaper = strings.NewReplacer("%", "%25", " ", "%20")

// callerFromClaims returns the caller that claims describe, of a token or of an
// introspection response. It ignores claims of an unexpected type. An exception is the
// subject, without which all users of a client would be the same caller; others are the
// expiry and the key that the token is bound to.
func callerFromClaims(claims map[string]any) (*Caller, error) {
	c := &Caller{Audience: stringList(claims["aud"], false), Claims: claims}
	subject, isString := claims["sub"].(string)
	if !isString && claims["sub"] != nil {
		return nil, fmt.Errorf("%w: sub is %v, not a string", ErrInvalidToken, claims["sub"])
	}
	c.Subject = subject
	c.Issuer, _ = claims["iss"].(string)
	c.ClientID = clientIDFromClaims(claims, c.Subject != "")
	c.Scopes = union(stringList(claims["scope"], true), stringList(claims["scp"], true))
	if confirmation, _ := claims["cnf"].(map[string]any); confirmation["jkt"] != nil {
		if c.KeyThumbprint, _ = confirmation["jkt"].(string); c.KeyThumbprint == "" {
			return nil, fmt.Errorf("%w: jkt in cnf is %v", ErrInvalidToken, confirmation["jkt"])
		}
	}
	if exp, has := claims["exp"]; has {
		number, _ := exp.(json.Number)
		seconds, _ := number.Float64()
		if seconds < 1 || seconds > 1<<40 {
			return nil, fmt.Errorf("%w: exp is %v", ErrInvalidToken, exp)
		}
		c.Expiry = time.Unix(int64(seconds), 0)
	}
	return c, nil
}

// clientIDFromClaims returns the client that a token was issued to: the claim client_id
// of access tokens, or azp of OpenID Connect. If the token has a subject, it also tries
// appid (Entra ID) and cid (Okta). Without a subject it does not: other issuers may use
// these claims in another way, and the client id alone would identify the caller.
func clientIDFromClaims(claims map[string]any, hasSubject bool) string {
	names := []string{"client_id", "azp", "appid", "cid"}
	if !hasSubject {
		names = names[:2]
	}
	for _, name := range names {
		if id, _ := claims[name].(string); id != "" {
			return id
		}
	}
	return ""
}

// stringList returns the strings of a claim, which is a string or a list of strings. With
// split, a string is a list separated by spaces.
func stringList(claim any, split bool) (list []string) {
	switch claim := claim.(type) {
	case string:
		if split {
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
