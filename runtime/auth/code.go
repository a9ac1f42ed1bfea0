package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/oauth2"
)

// AuthorizationCode is the [Grant] of a program that acts for a user, who agrees to it on
// a page of the issuer's. It is shown by Open, after which the program waits on a port of
// this machine for the user to be sent back; or by Authorize, in a program that is
// reached in another way.
//
// The issuer has to know the client. It is told by Client what it knows it as, by
// MetadataURL where to read about it, or it registers the client on the spot: the first
// of these that is there and that the issuer takes.
type AuthorizationCode struct {
	// Open shows a page to the user, as [Browse] does. It may return at once or when
	// the page is closed: nobody waits for that. The URL is an issuer's, which may be
	// a stranger, but is one of HTTP.
	Open func(page string) error
	// Authorize shows a page to the user, waits, and returns the URL that the user was
	// sent back to. It goes before Open.
	Authorize func(ctx context.Context, page string) (redirected string, err error)
	// RedirectURL is where the user is sent back to: on this machine, or with https.
	// Default is http://127.0.0.1/callback; without a port it is any that is free.
	RedirectURL string

	// Client is what an issuer knows the client as.
	Client *Registration
	// MetadataURL is that of a document about the client, its client id at issuers
	// that read such documents: with https and a path. RedirectURL must be one of
	// those in it.
	MetadataURL string
	// Name is what the client is called where it registers itself. Default is the
	// name of the program.
	Name string
	// HomePage is a URL at which people can read about the client.
	HomePage string

	// AssumePKCE goes on where an issuer does not say that it ties a code to the
	// client that asked for it. Without that, whoever gets hold of a code on its way
	// gets the token.
	AssumePKCE bool
}

// issuer implements issued.
func (g *AuthorizationCode) issuer() string {
	if g.Client == nil {
		return ""
	}
	return g.Client.Issuer
}

// Token implements [Grant].
func (g *AuthorizationCode) Token(ctx context.Context, need *Need) (*oauth2.Token, error) {
	if need.Refresh != "" && *need.client != nil {
		return g.exchange(ctx, need, *need.client, refreshForm(need))
	}
	known, err := g.known(ctx, need)
	if err != nil {
		return nil, err
	}
	if need.Refresh != "" {
		if known == nil {
			return nil, &Error{Endpoint: need.Server.TokenEndpoint, Code: "invalid_client", Description: "what the client was registered as has been forgotten"}
		}
		return g.exchange(ctx, need, known, refreshForm(need))
	}
	if err := g.safe(need.Server); err != nil {
		return nil, err
	}
	back, err := g.land(known)
	if err != nil {
		return nil, err
	}
	defer back.close()
	client, err := g.client(ctx, need, known, back.url)
	if err != nil {
		return nil, err
	}
	verifier := oauth2.GenerateVerifier()
	code, err := g.ask(ctx, need, client, back, verifier)
	if err != nil {
		if client == known && doubtful(err) {
			err = errors.Join(err, g.forget(ctx, need, client))
		}
		return nil, err
	}
	return g.exchange(ctx, need, client, url.Values{
		"grant_type":    {"authorization_code"},
		"code":          {code},
		"redirect_uri":  {back.url},
		"code_verifier": {verifier},
	})
}

// safe tells why a code of this issuer must not be asked for.
func (g *AuthorizationCode) safe(s *ServerMetadata) error {
	switch {
	case g.Client != nil && g.Client.Issuer == "":
		return errNoIssuer
	case g.MetadataURL != "" && !isClientID(g.MetadataURL):
		return errors.New("AuthorizationCode.MetadataURL is no client id: it takes https, a host and a path, and nothing else")
	case s.AuthorizationEndpoint == "":
		return fmt.Errorf("issuer %q has no authorization_endpoint", s.Issuer)
	case !g.AssumePKCE && !s.assumed && !slices.Contains(s.CodeChallengeMethodsSupported, "S256"):
		return fmt.Errorf("issuer %q ties no code to its client: code_challenge_methods_supported are %q, S256 is needed (AuthorizationCode.AssumePKCE goes on regardless)",
			s.Issuer, s.CodeChallengeMethodsSupported)
	}
	return nil
}

// isClientID tells whether the URL of a document about a client is an id for it.
func isClientID(text string) bool {
	u, err := plainURL(text)
	return err == nil && u.Scheme == "https" && strings.Trim(u.Path, "/") != ""
}

// exchange gets a token for what the user or an earlier token has allowed.
func (g *AuthorizationCode) exchange(ctx context.Context, need *Need, client *Registration, form url.Values) (*oauth2.Token, error) {
	token, err := need.Exchange(ctx, client, form)
	if err == nil && client.redirect != "" {
		*need.client = client
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "invalid_client" {
		err = errors.Join(err, g.forget(ctx, need, client))
	}
	return token, err
}

// forget forgets what the client has registered itself as, since the issuer has: the next
// login registers anew. What it has registered itself as since then stays.
func (g *AuthorizationCode) forget(ctx context.Context, need *Need, client *Registration) error {
	ctx = context.WithoutCancel(ctx)
	known, err := need.registered(ctx)
	if err != nil || known == nil || known.ClientID != client.ClientID {
		return err
	}
	return need.remember(ctx, nil)
}

// doubtful tells whether the issuer may not know the client any more: it then shows the
// user an error, and sends nobody back, or says so.
func doubtful(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Code == "invalid_client" || e.Code == "unauthorized_client"
}

// known returns what the client is known as without registering it, nil for nothing.
func (g *AuthorizationCode) known(ctx context.Context, need *Need) (*Registration, error) {
	switch {
	case g.Client != nil:
		return g.Client, nil
	case g.MetadataURL != "" && need.Server.ClientIDMetadataDocumentSupported:
		return &Registration{Issuer: need.Server.Issuer, ClientID: g.MetadataURL, Method: "none"}, nil
	}
	return need.registered(ctx)
}

// client returns what the client is known as, which registers it if need be: what was
// registered with another redirect is of no use.
func (g *AuthorizationCode) client(ctx context.Context, need *Need, known *Registration, redirect string) (*Registration, error) {
	if known != nil && (known.redirect == "" || known.redirect == redirect) {
		return known, nil
	}
	return need.register(ctx, g.about(need.Server, redirect), redirect)
}

// about is what an issuer is told about the client.
func (g *AuthorizationCode) about(s *ServerMetadata, redirect string) map[string]any {
	about := map[string]any{
		"client_name":      g.Name,
		"redirect_uris":    []string{redirect},
		"grant_types":      []string{"authorization_code", "refresh_token"},
		"response_types":   []string{"code"},
		"application_type": "native",
	}
	if u, err := url.Parse(redirect); err == nil && u.Scheme == "https" && !isLoopback(u.Hostname()) {
		about["application_type"] = "web"
	}
	if g.Name == "" {
		about["client_name"] = filepath.Base(os.Args[0])
	}
	if g.HomePage != "" {
		about["client_uri"] = g.HomePage
	}
	for _, method := range []string{"none", "client_secret_basic", "client_secret_post"} {
		if slices.Contains(s.TokenEndpointAuthMethodsSupported, method) {
			about["token_endpoint_auth_method"] = method
			break
		}
	}
	return about
}

// ask leads the user to the issuer and returns the code that the issuer sends back.
func (g *AuthorizationCode) ask(ctx context.Context, need *Need, client *Registration, back *landing, verifier string) (string, error) {
	page, err := url.Parse(need.Server.AuthorizationEndpoint)
	if err != nil {
		return "", err
	}
	state := rand.Text()
	query := need.scoped(page.Query())
	if slices.Contains(need.Server.ScopesSupported, offlineAccess) && len(need.Scopes) > 0 {
		query.Set("scope", strings.Join(union(need.Scopes, []string{offlineAccess}), " "))
	}
	for name, value := range map[string]string{
		"response_type":         "code",
		"client_id":             client.ClientID,
		"redirect_uri":          back.url,
		"state":                 state,
		"code_challenge":        oauth2.S256ChallengeFromVerifier(verifier),
		"code_challenge_method": "S256",
	} {
		query.Set(name, value)
	}
	need.named(query)
	page.RawQuery = query.Encode()
	answer, err := g.lead(ctx, back, page.String(), state)
	if err != nil {
		return "", fmt.Errorf("consent of the user at %q: %w", need.Server.Issuer, err)
	}
	return codeOf(answer, need.Server, state)
}

// codeOf returns the code that an issuer sends the user back with. What another issuer
// sends is not even reported: it could be a lure.
func codeOf(answer url.Values, s *ServerMetadata, state string) (string, error) {
	iss, named := answer.Get("iss"), answer.Has("iss")
	switch {
	case subtle.ConstantTimeCompare([]byte(answer.Get("state")), []byte(state)) == 0:
		return "", fmt.Errorf("answer of issuer %q: it is to another question (its state is not ours)", s.Issuer)
	case named && iss != s.Issuer, !named && s.AuthorizationResponseIssParameterSupported:
		return "", fmt.Errorf("answer of issuer %q: it comes from %q", s.Issuer, iss)
	case answer.Has("error"):
		return "", &Error{
			Endpoint:    s.AuthorizationEndpoint,
			Code:        answer.Get("error"),
			Description: answer.Get("error_description"),
			URI:         answer.Get("error_uri"),
		}
	case answer.Get("code") == "":
		return "", fmt.Errorf("answer of issuer %q: there is no code in it", s.Issuer)
	}
	return answer.Get("code"), nil
}
