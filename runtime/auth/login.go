package auth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"time"
)

// Login gets a token before the server asks for one, or another in place of the one at
// hand: for a program that wants to choose the time. Requests by themselves do without
// it, except that after an attempt that failed they fail for a minute, and longer each
// time, without asking the user again. Login asks at once.
func (t *Transport) Login(ctx context.Context) error {
	t.state.forgive()
	held, err := t.state.current(ctx)
	if err != nil {
		return err
	}
	why, err := t.ask(ctx)
	if err != nil {
		return err
	}
	why.held = held
	_, err = t.renew(ctx, why)
	return err
}

// Logout forgets the token, also one in the store that cannot be read, and saves none that
// is being got. What the client is registered as stays known.
func (t *Transport) Logout(ctx context.Context) error { return t.state.clear(ctx) }

// Account names whatever the user or issuer has agreed to: it is another after each
// token that was not only renewed, and after a logout. It is a CacheOptions.Context for
// a client of package mcpclient whose user may change.
func (t *Transport) Account() string { return t.state.account() }

// ask makes a request without a token, to hear what the server says to that. One that
// does not mind has its metadata where they belong.
func (t *Transport) ask(ctx context.Context) (*refusal, error) {
	header := http.Header{"Accept": {"text/event-stream"}}
	at := *t.server
	at.RawQuery = t.query
	req := (&http.Request{Method: http.MethodGet, URL: &at, Header: header}).WithContext(ctx)
	res, err := t.opts.Base.RoundTrip(req)
	if err != nil {
		return nil, fmt.Errorf("auth: token for %q: %w", t.server, err)
	}
	defer res.Body.Close()
	if why := refusalOf(res, nil); why != nil {
		return why, nil
	}
	return &refusal{}, nil
}

// mostEarly is how long before its end a token counts as run out, unless it lives so
// short that this would be most of its life.
const mostEarly = 20 * time.Second

// old tells whether a token is to be renewed, if it can be.
func (h *holding) old() bool {
	end := h.Token.Expiry
	return !end.IsZero() && time.Until(end) <= min(mostEarly, end.Sub(h.Since)/4)
}

// current returns the token for the next request, nil while there is none. If it cannot
// be renewed in time it is used as it is: the server will say what it thinks of it.
func (t *Transport) current(ctx context.Context) (*holding, error) {
	held, err := t.state.current(ctx)
	if err != nil || held == nil || held.Token.RefreshToken == "" || !held.old() {
		return held, err
	}
	if next, err := t.renew(ctx, &refusal{held: held, metadata: held.Metadata, early: true}); err == nil {
		return next, nil
	}
	return held, nil
}

// renew returns a token that may help against a refusal: that which another request
// has got meanwhile, or a new one. Without error and token, there is none that would.
func (t *Transport) renew(ctx context.Context, why *refusal) (*holding, error) {
	for {
		l, late, held, err := t.state.join(why, t.begin)
		if err != nil {
			return nil, fmt.Errorf("auth: token for %q: %w", t.server, err)
		}
		if l == nil {
			return held, nil
		}
		if err := t.wait(ctx, l); err != nil {
			return nil, fmt.Errorf("auth: token for %q: %w", t.server, err)
		}
		if l.err == nil {
			return l.next, nil
		}
		if !late && (why.early || !l.why.early) { // which did not ask the user
			return nil, fmt.Errorf("auth: token for %q: %w", t.server, l.err)
		}
	}
}

// aliveEvery is how often a request that waits for a user gives a sign of life.
const aliveEvery = time.Second

// wait waits until a login is over. The error is that of ctx.
func (t *Transport) wait(ctx context.Context, l *login) error {
	trace := httptrace.ContextClientTrace(ctx)
	alive := time.NewTicker(aliveEvery)
	defer alive.Stop()
	for {
		select {
		case <-l.done:
			return nil
		case <-ctx.Done():
			t.state.leave(l)
			return context.Cause(ctx)
		case <-alive.C:
			if trace != nil && trace.Got1xxResponse != nil {
				_ = trace.Got1xxResponse(http.StatusProcessing, nil)
			}
		}
	}
}

// begin begins a login. The requests that wait for it come and go, so that it has a
// context of its own.
func (t *Transport) begin(l *login) {
	ctx, cancel := t.opts.patient()
	l.cancel = cancel
	go func() { // ends with Patience, or soon after the last that waits has left
		defer cancel()
		var held *holding
		err := errGone
		defer func() {
			if err := t.state.end(l, held, err); err != nil {
				t.opts.Logger.Error("auth: token was not saved, and will be asked for again", "server", t.server.String(), "error", err)
			}
		}()
		held, err = t.obtain(ctx, l.why)
	}()
}

// errGone is what a grant leaves that ends its goroutine, as a test that fails does.
var errGone = errors.New("the grant has ended its goroutine")

// errElsewhere says that a token cannot be renewed, and will do until it ends.
var errElsewhere = errors.New("the server takes tokens of another issuer or for another resource now")

// obtain gets a token that a refusal does not concern.
func (t *Transport) obtain(ctx context.Context, why *refusal) (_ *holding, err error) {
	defer recovered("a login", &err)
	if why.held != nil && !why.scarce && !why.again {
		if held := t.state.found(ctx, why.held); held != nil {
			return held, nil
		}
	}
	need, err := t.need(ctx, why)
	if err != nil {
		return nil, err
	}
	held := &holding{Issuer: need.Server.Issuer, Resource: need.Resource, Metadata: why.metadata}
	need.client = &held.Client
	if old := why.held; old != nil && old.renewable(held) && !why.scarce && !why.again {
		need.Refresh, held.Client, held.Scopes, held.renewed = old.Token.RefreshToken, old.Client, old.Scopes, true
		err = t.token(ctx, need, held)
		if err == nil && held.Token.RefreshToken == "" {
			held.Token.RefreshToken = old.Token.RefreshToken // it stays the same
		}
		if _, refused := errors.AsType[*Error](err); !refused || why.early {
			return held, err
		}
		need.Refresh, held.Client, held.renewed = "", nil, false
	}
	if why.early {
		return nil, errElsewhere
	}
	held.Scopes = need.Scopes
	return held, t.token(ctx, need, held)
}

// token calls the grant, of which nothing is taken for granted, and holds what it returns.
func (t *Transport) token(ctx context.Context, need *Need, held *holding) (err error) {
	defer recovered("the grant", &err)
	held.Token, err = t.opts.Grant.Token(ctx, need)
	held.Since = time.Now()
	switch {
	case err != nil:
		return err
	case held.Token == nil:
		return errors.New("the grant returned neither a token nor an error")
	case held.Token.AccessToken == "":
		return errors.New("the grant returned a token without an access token")
	}
	return nil
}
