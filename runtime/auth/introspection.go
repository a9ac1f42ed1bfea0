package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

// IntrospectionOptions say whom [Introspection] asks.
type IntrospectionOptions struct {
	// URL is where the issuer tells about tokens.
	URL string
	// ClientID and ClientSecret are how this server names itself there.
	ClientID, ClientSecret string
	// Issuer is who issues the tokens. One that is said to be of somebody
	// else is not valid, and nobody is asked about one that says so itself.
	Issuer string
	// Client sends the questions, without following redirects. Nil is
	// [http.DefaultClient].
	Client *http.Client
}

// Introspection returns a verifier that asks the issuer about each token, for tokens
// that say nothing by themselves. The error is about the options.
//
// A user of whom the issuer only tells the username has that as Subject.
//
// Answers are not kept, so that a token that is taken back is refused from then on.
// Nor does anything bound how often strangers make the server ask: where they can
// reach it, put a limit of requests by address in front.
func Introspection(opts IntrospectionOptions) (Verifier, error) {
	at, err := parseURL(opts.URL, false)
	if err != nil {
		return nil, fmt.Errorf("introspect tokens: option URL: %w", err)
	}
	if _, err := plainURL(opts.Issuer); err != nil {
		return nil, fmt.Errorf("introspect tokens: option Issuer: %w", err)
	}
	if opts.ClientID == "" {
		return nil, errors.New("introspect tokens: option ClientID is empty: an issuer does not tell strangers about tokens")
	}
	return (&introspector{opts, at, newFetcher(opts.Client)}).verify, nil
}

// introspector asks one issuer.
type introspector struct {
	IntrospectionOptions
	at    *url.URL
	fetch *fetcher
}

func (o *introspector) verify(ctx context.Context, token string) (*Caller, error) {
	if issuer := issuerOf(token); issuer != "" && issuer != o.Issuer {
		return nil, fmt.Errorf("%w: it is of issuer %q", ErrInvalidToken, issuer)
	}
	claims, err := o.ask(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("introspect a token: %w", err)
	}
	if active, _ := claims["active"].(bool); !active {
		return nil, fmt.Errorf("%w: it is not active", ErrInvalidToken)
	}
	c, err := callerFrom(claims)
	if err != nil {
		return nil, err
	}
	if c.Subject == "" { // the name may be all that an issuer tells of a user
		c.Subject, _ = claims["username"].(string)
	}
	if claims["iss"] == nil {
		c.Issuer = o.Issuer
	}
	if c.Issuer != o.Issuer {
		return nil, fmt.Errorf("%w: it is of issuer %q", ErrInvalidToken, c.Issuer)
	}
	return c, nil
}

// issuerOf returns whom a token names as its issuer, true or not, empty where it
// names nobody. Whoever is asked about a token has it from then on.
func issuerOf(token string) string {
	claims := jwt.MapClaims{}
	jwt.NewParser().ParseUnverified(token, claims)
	issuer, _ := claims["iss"].(string)
	return issuer
}

// ask returns what the issuer tells about a token.
func (o *introspector) ask(ctx context.Context, token string) (map[string]any, error) {
	ctx, cancel := context.WithTimeout(ctx, fetchPatience)
	defer cancel()
	form := url.Values{"token": {token}, "token_type_hint": {"access_token"}}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	basicAuth(header, o.ClientID, o.ClientSecret)
	data, err := o.fetch.post(ctx, o.at, header, []byte(form.Encode()))
	if no, ok := errors.AsType[*Error](err); ok { // which the log has, and some issuers repeat the token
		no.Description = strings.ReplaceAll(no.Description, token, "...")
	}
	if err != nil {
		return nil, err
	}
	claims := map[string]any{}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&claims); err != nil {
		return nil, fmt.Errorf("read the answer of %q: %w", display(o.at), err)
	}
	return claims, nil
}
