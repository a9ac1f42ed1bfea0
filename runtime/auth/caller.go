package auth

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/verified"
)

// Caller is who sends a request, as a valid token says. It is not to be changed:
// all who handle the request share it.
type Caller struct {
	// Subject names the user, or the program where nobody stands behind it. It
	// is unique at its issuer only.
	Subject string
	// Issuer is who says so.
	Issuer string
	// ClientID names the program that the token was issued to. [JWT] and
	// [Introspection] read the claim client_id, else azp, else, if there is a
	// subject, appid (Entra ID) or cid (Okta).
	ClientID string
	// Audience are the servers that the token is for.
	Audience []string
	// Scopes are what the token lets its bearer do, see [NeedScopes].
	Scopes []string
	// Expiry is when the token stops being valid, with whatever the verifier
	// grants for clocks that differ. Zero is never, see [GuardOptions].NoExpiry.
	Expiry time.Time
	// Claims is everything that the token says, nil if its verifier does not
	// tell. Numbers are a [json.Number], so that long ones keep their digits.
	Claims map[string]any
}

// A Verifier tells whose a token is. The error of a token that is not valid has
// [ErrInvalidToken] in its chain. Any other error is trouble of the server's own:
// nobody is let in, the log has it, and the client is told to come again.
//
// What [GuardOptions] speak of is for the [Guard] to check: the audience, the
// expiry and the scopes. A verifier of tokens that do not say for whom they are,
// or whose scopes, fills in what it knows of them. It is called concurrently.
type Verifier func(ctx context.Context, token string) (*Caller, error)

// ErrInvalidToken is in the chain of a [Verifier]'s errors where the token is to
// blame.
var ErrInvalidToken = errors.New("invalid token")

// Any is the verifier of servers with several issuers: it asks one verifier after
// another until one of them knows the token. Trouble of one counts if no other
// one takes the token. Where some ask about tokens that say nothing by themselves,
// each issuer gets to see those of the ones after it.
func Any(verifiers ...Verifier) Verifier {
	return func(ctx context.Context, token string) (*Caller, error) {
		var invalid, trouble []error
		for _, verify := range verifiers {
			caller, err := verify(ctx, token)
			switch {
			case err == nil:
				return caller, nil
			case errors.Is(err, ErrInvalidToken):
				invalid = append(invalid, err)
			default:
				trouble = append(trouble, err)
			}
		}
		if trouble != nil {
			return nil, errors.Join(trouble...)
		}
		return nil, errors.Join(append(invalid, ErrInvalidToken)...)
	}
}

// CallerOf returns the caller of the request that is being handled, nil where no
// [Guard] has let one in. The handlers of tools have it as well as those of HTTP.
func CallerOf(ctx context.Context) *Caller { return visitOf(ctx).caller }

// WithCaller returns a context with another caller, whom no [Guard] has let in: for
// tests, for programs that know otherwise who calls, such as those on a pipe, and
// for middleware behind a guard that knows more of a caller than his token says.
func WithCaller(ctx context.Context, caller *Caller) context.Context {
	v := visitOf(ctx)
	v.caller = caller
	return verified.With(ctx, v)
}

// Principal names the caller of a request as package streamable does without its
// option of that name: by issuer and subject, so that nobody is taken for a user of
// the same name elsewhere. Where a token has no subject its client takes that place,
// in a way in which no subject can be written. Without a caller it is empty.
func Principal(r *http.Request) string { return verified.Principal(r) }

// Principal implements [verified.Caller].
func (v visit) Principal() string {
	c := v.caller
	switch {
	case c == nil || c.Subject == "" && c.ClientID == "":
		return ""
	case c.Subject == "":
		return issuerWord.Replace(c.Issuer) + " client=" + c.ClientID
	}
	return issuerWord.Replace(c.Issuer) + " sub=" + c.Subject
}

// issuerWord makes one word of an issuer: what follows the first space of a
// principal is not of the issuer, whatever verifiers call theirs.
var issuerWord = strings.NewReplacer("%", "%25", " ", "%20")
