package auth

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Transport is the [http.RoundTripper] of a client that is let in by a token. It puts
// the token on each request to its server, and gets one when the server asks for it:
// it finds out who issues tokens for the server, lets its [Grant] get one there, and
// makes the request again. Tokens that are about to run out are renewed, and where the
// server wants more than a token is good for, a better one is got. For a DELETE, which
// ends a session, a token may be renewed, but nobody is asked for one.
//
// Whatever goes to another origin than the server's goes without a token, and so does a
// request that has an Authorization of its own. A Transport may be used concurrently:
// requests that need a token at the same time wait for one and the same.
//
// The user may take long to agree. Meanwhile the request counts as alive for
// [net/http/httptrace]: its Got1xxResponse is called now and then, as if the server
// had sent word, which keeps the Client of package streamable waiting. Its
// LegacySSEClient does not wait: for that, call [TransportContext.Login] first.
type Transport struct {
	server *url.URL // without what may be a secret, as others get to see it
	query  string   // of the URL
	opts   TransportOptions
	found  *discovery
	state  logins
}

// NewTransport returns the transport of a client whose server has this URL.
func NewTransport(server string, opts TransportOptions) (*Transport, error) {
	full, err := parseURL(server, opts.AllowInsecure)
	if err != nil {
		return nil, fmt.Errorf("auth: URL of the server: %w", err)
	}
	u := bare(full)
	if opts.Grant == nil {
		return nil, fmt.Errorf("auth: tokens for %q: TransportOptions.Grant is missing", u)
	}
	if u.Path == "/" {
		u.Path = ""
	}
	opts = opts.complete(u)
	t := &Transport{server: u, query: full.RawQuery, opts: opts, found: &discovery{server: u, fetch: opts.fetch(u)}}
	t.state.key = "token " + u.String()
	if t.query != "" { // it may choose between users or be a secret: keys are told apart by it, and do not show it
		t.state.key += fmt.Sprintf(" %x", sha256.Sum256([]byte(t.query)))
	}
	t.state.store = opts.Store
	t.state.using = make(chan struct{}, 1)
	return t, nil
}

// mostLogins is how often one request leads to another token.
const mostLogins = 2

// RoundTrip implements [http.RoundTripper]. Its error is that of getting a token, if
// that failed: what the server said without one is no use to anybody.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if !sameOrigin(req.URL, t.server) || req.Header.Get("Authorization") != "" {
		return t.opts.Base.RoundTrip(req)
	}
	ctx := req.Context()
	held, err := t.current(ctx)
	if err != nil {
		closeBody(req)
		return nil, err
	}
	for logins := 0; ; logins++ {
		res, err := t.opts.Base.RoundTrip(withToken(req, held))
		if err != nil {
			return nil, err
		}
		why := refusalOf(res, held)
		if why == nil || req.Body != nil && req.GetBody == nil {
			return res, nil
		}
		why.again = logins > 0 && !held.found
		if why.again && !why.scarce && !held.renewed { // a token of this moment
			t.state.reject(held, false)
			return res, nil
		}
		if logins == mostLogins {
			if why.scarce { // there may be no end to what it wants
				t.state.reject(held, true)
			}
			return res, nil
		}
		why.early = req.Method == http.MethodDelete // the end of a session is worth a renewal, and no login
		if why.early && (held == nil || why.scarce || why.again) {
			return res, nil
		}
		next, err := t.renew(ctx, why)
		if err == nil && next == nil || err != nil && why.early { // it would be of no use
			return res, nil
		}
		_ = res.Body.Close() // unread: it may not end
		if err != nil {
			return nil, err
		}
		held = next
		if req, err = again(req); err != nil {
			return nil, err
		}
	}
}

// withToken returns a copy of a request that shows a token.
func withToken(req *http.Request, held *holding) *http.Request {
	if held == nil {
		return req
	}
	req = req.Clone(req.Context())
	req.Header.Set("Authorization", held.Token.Type()+" "+held.Token.AccessToken)
	return req
}

// again returns a request that can be sent once more.
func again(req *http.Request) (*http.Request, error) {
	if req.GetBody == nil {
		return req, nil
	}
	body, err := req.GetBody()
	if err != nil {
		return nil, fmt.Errorf("auth: the request once more: %w", err)
	}
	req = req.Clone(req.Context())
	req.Body = body
	return req, nil
}

// A refusal is why a server did not serve a request, where another token may help.
type refusal struct {
	held     *holding // what the request showed, nil for nothing
	metadata string   // where the server says who issues tokens, if it says so
	scopes   []string // what it wants, if it says so
	scarce   bool     // the token is good, but not for this
	early    bool     // the token is renewed or left as it is: it is about to run out, or hardly needed any more
	again    bool     // the token was got because of another refusal, and not only found
}

// refusalOf returns what of a response another token could change, nil for nothing.
func refusalOf(res *http.Response, held *holding) *refusal {
	scarce := res.StatusCode == http.StatusForbidden
	if !scarce && res.StatusCode != http.StatusUnauthorized {
		return nil
	}
	says := bearer(res.Header).params
	why := &refusal{held: held, metadata: says["resource_metadata"], scopes: splitScopes(says["scope"]), scarce: scarce}
	if scarce && (says["error"] != "insufficient_scope" || len(why.scopes) == 0 || held == nil) {
		return nil
	}
	return why
}

// sameOrigin tells whether two URLs are of one server.
func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	if u.Scheme == "https" {
		return cmp.Or(u.Port(), "443")
	}
	return cmp.Or(u.Port(), "80")
}

// within tells whether b has all of a.
func within(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
