package auth

import (
	"net/http"
	"slices"
	"strings"
)

// guardRefusal is why a request is not let in. Its texts are constants: what a
// verifier or a token says is nothing for those who are outside.
type guardRefusal struct {
	status int
	code   string // of OAuth, empty where nothing was tried
	text   string
}

var (
	refusedStranger = guardRefusal{http.StatusUnauthorized, "", "a token is needed"}
	refusedInvalid  = guardRefusal{http.StatusUnauthorized, "invalid_token", "the token is not valid here, or not any more"}
	refusedScope    = guardRefusal{http.StatusForbidden, "insufficient_scope", "the token does not go far enough"}
	refusedTrouble  = guardRefusal{status: http.StatusServiceUnavailable, text: "tokens cannot be verified at the moment"}

	refusedQuery  = guardRefusal{http.StatusBadRequest, "invalid_request", "a token belongs in the header Authorization, not in the URL"}
	refusedHeader = guardRefusal{http.StatusBadRequest, "invalid_request", "the header Authorization is to be there once, with one token"}
)

// write answers a request.
func (no *guardRefusal) write(w http.ResponseWriter, g *Guard) {
	if no.status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	} else {
		w.Header().Set("WWW-Authenticate", no.challenge(g, g.opts.Scopes).String())
	}
	http.Error(w, no.text, no.status)
}

// challenge says what a client can do about it, and with which scopes.
func (no *guardRefusal) challenge(g *Guard, scopes []string) challenge {
	c := challenge{"Bearer", map[string]string{"resource_metadata": g.announced}}
	if no.code != "" {
		c.params["error"], c.params["error_description"] = no.code, no.text
	}
	scopes = slices.DeleteFunc(slices.Clone(scopes), func(s string) bool { return s == offlineAccess || !isScope(s) })
	if len(scopes) > 0 {
		c.params["scope"] = strings.Join(scopes, " ")
	}
	return c
}

// maxToken is how long a token may be. More does not get through most proxies.
const maxToken = 16 << 10

// bearerToken returns the token of a request. Other schemes count as none.
func bearerToken(r *http.Request) (string, *guardRefusal) {
	if r.URL.RawQuery != "" && r.URL.Query().Has("access_token") {
		return "", &refusedQuery
	}
	values := r.Header["Authorization"]
	if len(values) == 0 {
		return "", &refusedStranger
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case len(values) > 1:
		return "", &refusedHeader
	case !strings.EqualFold(scheme, "Bearer"):
		return "", &refusedStranger
	case len(token) > maxToken || !isToken(token):
		return "", &refusedHeader
	}
	return token, nil
}

// isToken tells whether s is written as bearer tokens are, whatever is in it.
func isToken(s string) bool {
	body := strings.TrimRight(s, "=")
	return body != "" && strings.Trim(body, alphanumeric+"-._~+/") == ""
}
