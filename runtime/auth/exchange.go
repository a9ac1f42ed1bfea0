package auth

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/oauth2"
)

// Exchange asks the issuer for a token as the given client. The form says by which
// grant; the resource is added, if it is not to be omitted. The request is not cancelled
// with ctx, lest a token that renews another be lost on its way.
func (n *Need) Exchange(ctx context.Context, as *Registration, form url.Values) (*oauth2.Token, error) {
	form = maps.Clone(form)
	n.named(form)
	body, err := n.post(ctx, n.Server, as, form)
	if err != nil {
		return nil, err
	}
	return parseToken(n.Server.TokenEndpoint, body)
}

// named adds the resource to a form.
func (n *Need) named(form url.Values) {
	if !n.unnamed {
		form.Set("resource", n.Resource)
	}
}

// scoped adds the scopes to a form, if there are any.
func (n *Need) scoped(form url.Values) url.Values {
	if len(n.Scopes) > 0 {
		form.Set("scope", strings.Join(n.Scopes, " "))
	}
	return form
}

// post sends a form to an issuer's endpoint for tokens, at which clients prove who they
// are.
func (n *Need) post(ctx context.Context, at *ServerMetadata, as *Registration, form url.Values) ([]byte, error) {
	u, err := n.fetch.check(at.TokenEndpoint)
	if err != nil {
		return nil, fmt.Errorf("token endpoint: %w", err)
	}
	header := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "Accept": {"application/json"}}
	if err := as.prove(at, header, form); err != nil {
		return nil, err
	}
	return n.fetch.post(context.WithoutCancel(ctx), u, header, []byte(form.Encode()))
}

// post sends a request and returns the body of its response if that means success.
func (f *fetcher) post(ctx context.Context, to *url.URL, header http.Header, data []byte) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to.String(), bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	req.Header = header
	status, body, err := f.do(req)
	switch {
	case err != nil:
		return nil, fmt.Errorf("POST %q: %w", display(to), err)
	case status == http.StatusOK || status == http.StatusCreated:
		return body, nil
	}
	busy := status >= http.StatusInternalServerError || status == http.StatusTooManyRequests // and refuses nothing
	if no := parseError(display(to), body); no != nil && !busy {
		return nil, no
	}
	return nil, fmt.Errorf("POST %q: status %d", display(to), status)
}

// parseError reads the response of an issuer that refuses, nil if it is none.
func parseError(endpoint string, body []byte) *Error {
	var no struct {
		Code        string `json:"error"`
		Description string `json:"error_description"`
		URI         string `json:"error_uri"`
	}
	if json.Unmarshal(body, &no) != nil || no.Code == "" {
		return nil
	}
	return &Error{Endpoint: endpoint, Code: no.Code, Description: no.Description, URI: no.URI}
}

// parseToken reads the response of a token endpoint.
func parseToken(endpoint string, body []byte) (*oauth2.Token, error) {
	var t struct {
		Access  string  `json:"access_token"`
		Type    string  `json:"token_type"`
		Refresh string  `json:"refresh_token"`
		Expires seconds `json:"expires_in"`
	}
	if err := json.Unmarshal(body, &t); err != nil {
		return nil, fmt.Errorf("token of %q: %w", endpoint, err)
	}
	no := parseError(endpoint, body)
	switch {
	case t.Access == "" && no != nil: // with the status of success, as GitHub does it
		return nil, no
	case t.Access == "":
		return nil, fmt.Errorf("token of %q: there is none in the response", endpoint)
	case t.Type != "" && !strings.EqualFold(t.Type, "Bearer") && !strings.EqualFold(t.Type, "N_A"):
		return nil, fmt.Errorf("token of %q: its type is %q, not that of a bearer's", endpoint, t.Type)
	}
	token := &oauth2.Token{AccessToken: t.Access, TokenType: "Bearer", RefreshToken: t.Refresh}
	if t.Expires > 0 && t.Expires < 1e9 {
		token.Expiry = time.Now().Add(time.Duration(t.Expires * seconds(time.Second)))
	}
	return token, nil
}

// seconds is a time as issuers write it: a number, in a string with some. Anything else
// is 0, since the rest of what they say is good without.
type seconds float64

// UnmarshalJSON implements [json.Unmarshaler].
func (s *seconds) UnmarshalJSON(data []byte) error {
	*s = 0
	if n, err := strconv.ParseFloat(strings.Trim(string(data), `"`), 64); err == nil && n > 0 && n < math.MaxInt64 {
		*s = seconds(n)
	}
	return nil
}
