package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"slices"
	"time"
)

// Login gets a new token at a time that the program chooses, for example before the first
// request. It is optional, because requests get a token when they need one. After a failed
// attempt, requests fail without another attempt for a minute, and longer after each
// further failure. Login does not wait for this time.
func (t *Transport) Login(ctx context.Context) error {
	t.tokens.clearFailure()
	token, err := t.tokens.load(ctx)
	if err != nil {
		return err
	}
	reason, err := t.probe(ctx)
	if err != nil {
		return err
	}
	reason.token = token
	_, err = t.newToken(ctx, reason)
	return err
}

// Logout deletes the token, even if the store has one that cannot be read. A token that
// is being obtained at the same time is discarded. The registration of the client remains.
func (t *Transport) Logout(ctx context.Context) error { return t.tokens.logout(ctx) }

// AuthorizationID returns a string that identifies the current authorization. It changes
// with each new authorization and with a logout, but not when a token is refreshed. It is
// suitable as CacheOptions.Context of package mcpclient if the user of a client may
// change.
func (t *Transport) AuthorizationID() string { return t.tokens.authorizationID() }

// probe sends a request without a token to get the challenge of the server. If the server
// accepts the request, there is no challenge, and the metadata are at a well-known URL.
func (t *Transport) probe(ctx context.Context) (*rejection, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	at := *t.server
	at.RawQuery = t.query
	req := (&http.Request{Method: http.MethodGet, URL: &at, Header: header}).WithContext(ctx)
	res, err := t.opts.Base.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("auth: token for %q: %w", t.server, err)
	}
	defer res.Body.Close()
	if reason := parseRejection(res, nil); reason != nil {
		return reason, nil
	}
	return &rejection{}, nil
}

// currentToken returns the token for the next request, or nil. It refreshes a token that
// expires soon. If that fails, it returns the old token, which may still be valid.
func (t *Transport) currentToken(ctx context.Context) (*tokenRecord, error) {
	token, err := t.tokens.load(ctx)
	if err != nil || token == nil || token.Token.RefreshToken == "" || !token.needsRefresh() {
		return token, err
	}
	if next, err := t.newToken(ctx, &rejection{token: token, metadataURL: token.MetadataURL, refreshOnly: true}); err == nil {
		return next, nil
	}
	return token, nil
}

// newToken returns a token that may be accepted: a token that another request has
// obtained since, or a new one. It returns nil if no other token is available.
func (t *Transport) newToken(ctx context.Context, reason *rejection) (*tokenRecord, error) {
	for {
		a, cancelled, token, err := t.tokens.join(reason, t.startAttempt)
		if err != nil {
			return nil, fmt.Errorf("auth: token for %q: %w", t.server, err)
		}
		if a == nil {
			return token, nil
		}
		if err := t.wait(ctx, a); err != nil {
			return nil, fmt.Errorf("auth: token for %q: %w", t.server, err)
		}
		if a.err == nil {
			return a.token, nil
		}
		// If the attempt was cancelled before this request joined it, or only tried a
		// refresh while this request may do more, start another attempt.
		if !cancelled && (reason.refreshOnly || !a.reason.refreshOnly) {
			return nil, fmt.Errorf("auth: token for %q: %w", t.server, a.err)
		}
	}
}

// keepAliveInterval is the interval of calls to Got1xxResponse while a request waits. After
// a temporary failure there are no calls, so that the timeout of the request ends it.
const keepAliveInterval = time.Second

// wait waits until the attempt is done. It returns an error if ctx ends before.
func (t *Transport) wait(ctx context.Context, a *attempt) error {
	trace := httptrace.ContextClientTrace(ctx)
	alive := time.NewTicker(keepAliveInterval)
	defer alive.Stop()
	for {
		select {
		case <-a.done:
			return nil
		case <-ctx.Done():
			t.tokens.leave(a)
			if err := t.tokens.lastFailure(a); err != nil {
				return fmt.Errorf("%w, after: %w", context.Cause(ctx), err)
			}
			return context.Cause(ctx)
		case <-alive.C:
			if trace != nil && trace.Got1xxResponse != nil && t.tokens.lastFailure(a) == nil {
				_ = trace.Got1xxResponse(http.StatusProcessing, nil)
			}
		}
	}
}

// startAttempt starts a goroutine that obtains a token. It has its own context, because
// requests may join and leave the attempt.
func (t *Transport) startAttempt(a *attempt) {
	ctx, cancel := t.opts.loginContext()
	a.cancel, a.interactive = cancel, isInteractive(t.opts.Grant)
	go func() { // ends after LoginTimeout, or soon after the last request has left
		defer cancel()
		var token *tokenRecord
		err, unlock := errGoexit, func() {}
		defer func() {
			if err := t.tokens.finish(a, token, err); err != nil {
				t.opts.Logger.Error("auth: token was not saved", "server", t.server.String(), "error", err)
			}
			unlock()
		}()
		release, lockErr := t.tokens.lockLogin(ctx, a.reason)
		if lockErr != nil {
			err = lockErr
			return
		}
		unlock = release
		token, err = t.obtainToken(ctx, a)
	}()
}

// The delay between two attempts after a temporary failure doubles from minRetryDelay to
// maxRetryDelay. A request without a deadline fails after maxRetryTime.
const (
	minRetryDelay = 250 * time.Millisecond
	maxRetryDelay = 5 * time.Second
	maxRetryTime  = time.Minute
)

// obtainToken obtains a token that can replace the rejected token. After a temporary
// failure, such as a network error or status 503, it tries again for up to maxRetryTime,
// unless a person would be asked again. The requests that wait have their own deadlines.
func (t *Transport) obtainToken(ctx context.Context, a *attempt) (*tokenRecord, error) {
	end := time.Now().Add(maxRetryTime)
	for delay := minRetryDelay; ; delay = min(2*delay, maxRetryDelay) {
		token, err := t.tryToObtainToken(ctx, a)
		if err == nil || a.reason.refreshOnly || !a.mayRetry(err) {
			return token, err
		}
		t.tokens.setRetrying(a, err)
		pause := max(delay, retryAfter(err))
		if time.Now().Add(pause).After(end) || sleep(ctx, pause) != nil {
			return nil, err
		}
	}
}

// errGoexit is the error of an attempt whose grant calls [runtime.Goexit], as a failing
// test does.
var errGoexit = errors.New("grant called runtime.Goexit")

// tryToObtainToken makes one attempt to obtain a token. It tries the store, a refresh and
// a new authorization, in this order.
func (t *Transport) tryToObtainToken(ctx context.Context, a *attempt) (_ *tokenRecord, err error) {
	defer recoverPanic("login", &err)
	reason := a.reason
	if token := t.otherToken(ctx, reason); token != nil {
		return token, nil
	}
	req, err := t.newTokenRequest(ctx, reason)
	if err != nil {
		return nil, err
	}
	token := &tokenRecord{Issuer: req.AuthorizationServer.Issuer, Resource: req.Resource, MetadataURL: reason.metadataURL}
	req.tokenClient = &token.Client
	if old := reason.token; old != nil && old.canRefresh(token) && !reason.insufficientScope && !reason.tokenIsNew {
		req.RefreshToken, token.Client, token.Scopes, token.refreshed = old.Token.RefreshToken, old.Client, old.Scopes, true
		newKey := req.proofKey
		req.proofKey = old.Key // the refresh token may be bound to it
		err = t.callGrant(ctx, a, req, token)
		req.proofKey = newKey
		if err == nil && token.Token.RefreshToken == "" {
			token.Token.RefreshToken = old.Token.RefreshToken // the response omits it if it has not changed
		}
		_, refused := errors.AsType[*Error](err)
		if refused { // another program may have used the refresh token
			if token := t.otherToken(ctx, reason); token != nil {
				return token, nil
			}
		}
		if !refused || reason.refreshOnly {
			return token, err
		}
		req.RefreshToken, token.Client, token.refreshed = "", nil, false
	}
	if reason.refreshOnly {
		return nil, errCannotRefresh
	}
	token.Scopes = req.Scopes
	return token, t.callGrant(ctx, a, req, token)
}

// otherToken returns a token that another program has saved, and that may be accepted in
// place of the rejected token; or nil.
func (t *Transport) otherToken(ctx context.Context, reason *rejection) *tokenRecord {
	if reason.tokenIsNew {
		return nil
	}
	token := t.tokens.newerInStore(ctx, reason.token)
	if token == nil || reason.insufficientScope && !isSubset(reason.scopes, token.Scopes) {
		return nil
	}
	return token
}

// callGrant calls the grant, validates its result, and sets the token of the record. A
// panic of the grant becomes an error.
func (t *Transport) callGrant(ctx context.Context, a *attempt, req *TokenRequest, token *tokenRecord) (err error) {
	defer recoverPanic("grant", &err)
	a.asked = a.asked || a.interactive && req.RefreshToken == ""
	token.Token, err = t.opts.Grant.Token(ctx, req)
	token.ObtainedAt = time.Now()
	switch {
	case err != nil:
		return err
	case token.Token == nil:
		return errors.New("grant returned neither a token nor an error")
	case token.Token.AccessToken == "":
		return errors.New("grant returned a token without an access token")
	case !isTokenText(token.Token.AccessToken):
		return fmt.Errorf("grant returned a token: %w", errTokenText)
	}
	switch bound := token.Token.Type() == dpopScheme; {
	case bound && req.proofKey == nil:
		return errors.New("grant returned a token that is bound to an unknown key")
	case !bound && t.opts.RequireDPoP:
		return fmt.Errorf("token of %q is not bound to a key, but RequireDPoP is set", req.AuthorizationServer.Issuer)
	case bound:
		token.Key = req.proofKey
	}
	return nil
}

// newTokenRequest discovers the authorization server, and selects the scopes to request.
func (t *Transport) newTokenRequest(ctx context.Context, reason *rejection) (*TokenRequest, error) {
	m, err := t.discovery.resourceMetadata(ctx, reason.metadataURL)
	if err != nil {
		return nil, err
	}
	req := &TokenRequest{Resource: m.Resource, fetcher: t.discovery.fetcher, store: t.opts.Store, logger: t.opts.Logger, omitResource: t.opts.OmitResource}
	if m.Resource == "" {
		req.Resource = t.server.String()
		if req.AuthorizationServer, err = t.discovery.legacyIssuerMetadata(ctx); err == nil {
			_, err = t.usableIssuers([]string{req.AuthorizationServer.Issuer})
		}
		if err == nil {
			err = req.fetcher.checkEndpoints(req.AuthorizationServer)
		}
	} else {
		req.AuthorizationServer, err = t.selectIssuer(ctx, m.AuthorizationServers, reason.token)
	}
	if err != nil {
		return nil, err
	}
	req.Scopes, req.supportedScopes = t.scopesToRequest(reason, m), m.ScopesSupported
	if t.opts.RequireDPoP || supportsDPoP(req.AuthorizationServer.DPoPSigningAlgValuesSupported) && (reason.dpop || m.DPoPBoundAccessTokensRequired || supportsDPoP(m.DPoPSigningAlgValuesSupported)) {
		if req.proofKey, err = newProofKey(); err != nil {
			return nil, err
		}
	}
	return req, nil
}

// selectIssuer returns the metadata of the first issuer whose metadata are valid. It tries
// the issuer of the current token first.
func (t *Transport) selectIssuer(ctx context.Context, issuers []string, token *tokenRecord) (*AuthorizationServerMetadata, error) {
	issuers, err := t.usableIssuers(issuers)
	if err != nil {
		return nil, err
	}
	if token != nil && containsIssuer(issuers, token.Issuer) {
		rest := slices.DeleteFunc(slices.Clone(issuers), func(s string) bool { return sameIssuer(s, token.Issuer) })
		issuers = append([]string{token.Issuer}, rest...)
	}
	var errs []error
	for _, issuer := range issuers {
		m, err := t.discovery.fetcher.issuerMetadata(ctx, issuer)
		if err == nil {
			err = t.discovery.fetcher.checkEndpoints(m)
		}
		if err == nil {
			return m, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// usableIssuers returns the issuers that the grant can be used with.
func (t *Transport) usableIssuers(issuers []string) ([]string, error) {
	g, ok := t.opts.Grant.(singleIssuer)
	switch {
	case !ok || g.issuer() == "":
		return issuers, nil
	case !containsIssuer(issuers, g.issuer()):
		return nil, fmt.Errorf("server accepts tokens of %q, but the client is registered at %q", issuers, g.issuer())
	}
	return []string{g.issuer()}, nil
}

// scopesToRequest returns the scopes to request. If the token lacks scopes, these are the
// scopes of the token and of the challenge.
func (t *Transport) scopesToRequest(reason *rejection, m *ResourceMetadata) []string {
	switch {
	case reason.insufficientScope && reason.token != nil:
		return union(reason.token.Scopes, reason.scopes)
	case len(reason.scopes) > 0:
		return reason.scopes
	case t.opts.Scopes != nil:
		return t.opts.Scopes
	case reason.token != nil:
		return reason.token.Scopes // includes scopes that earlier requests have required
	}
	return m.ScopesSupported
}
