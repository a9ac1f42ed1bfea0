package auth

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseRejectionDoesNotAllocate(t *testing.T) {
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
	require.Zero(t, testing.AllocsPerRun(100, func() { parseRejection(res, nil) }))
}

func TestTransportLogsInAfter401(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	require.Equal(t, []string{
		"POST mcp.test/mcp",
		"GET mcp.test/.well-known/oauth-protected-resource/mcp",
		"GET login.test/.well-known/oauth-authorization-server",
		registerRequest,
		authorizeRequest,
		tokenRequest,
		"POST mcp.test/mcp",
	}, w.takeLog())
	w.mustPost(tr)
	require.Equal(t, []string{"POST mcp.test/mcp"}, w.takeLog())

	require.Equal(t, []map[string]any{{
		"client_name": "tester", "application_type": "native", "redirect_uris": []any{"http://127.0.0.1:7777/callback"},
		"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"}, "token_endpoint_auth_method": "none", "scope": "use",
	}}, w.issuer.registrations)
	form := w.issuer.lastForm()
	require.Equal(t, serverURL, form.Get("resource"))
	require.Empty(t, form.Get("client_secret"))
}

func TestOtherOriginsGetNoToken(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	var seen http.Header
	w.hosts["other.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		seen = r.Header
		rw.WriteHeader(http.StatusUnauthorized)
	})
	w.hosts["mcp.test:8443"] = w.hosts["other.test"]
	for _, to := range []string{"https://other.test/mcp", "https://mcp.test:8443/mcp", "http://other.test/mcp"} {
		req, err := http.NewRequest(http.MethodGet, to, nil)
		require.NoError(t, err)
		res, err := tr.RoundTrip(req)
		require.NoError(t, err)
		require.Equal(t, http.StatusUnauthorized, res.StatusCode)
		require.Empty(t, seen.Get("Authorization"), to)
	}

	req, err := http.NewRequest(http.MethodGet, "https://MCP.test:443/mcp", nil)
	require.NoError(t, err)
	w.hosts["MCP.test:443"] = http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header })
	_, err = tr.RoundTrip(req)
	require.NoError(t, err)
	require.NotEmpty(t, seen.Get("Authorization"), "the same origin in another spelling")
	require.Empty(t, req.Header.Get("Authorization"), "the request of the caller must not change")

	w.takeLog()
	req, err = http.NewRequest(http.MethodGet, serverURL, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Basic own")
	res, err := tr.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Len(t, w.takeLog(), 1)
}

func TestRejectionWithEndlessBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		tr := w.transport(func(o *TransportOptions) {
			o.Base = roundTripFunc(func(r *http.Request) (*http.Response, error) {
				res, err := w.RoundTrip(r)
				if err == nil && res.StatusCode == http.StatusUnauthorized {
					res.Body, _ = io.Pipe()
				}
				return res, err
			})
		})
		w.mustPost(tr) // synctest reports a deadlock if it reads the body
	})
}

func TestNewTokenIsRejected(t *testing.T) {
	w := newFakeNetwork(t)
	w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
		_, _ = io.WriteString(rw, `{"access_token":"bad","token_type":"Bearer"}`)
		return true
	}
	status, err := w.post(t.Context(), w.transport(nil))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, 1, w.count(authorizeRequest))
}

func TestBackoffAfterRejectedToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		tr := w.transport(nil)
		for range 2 {
			w.issuer.revoke(true)
			w.issuer.tokenHandler = func(rw http.ResponseWriter, f url.Values) bool {
				_, _ = fmt.Fprintf(rw, `{"access_token":"bad-%d","refresh_token":"r"}`, w.issuer.requests)
				return true
			}
			w.takeLog()
			status, err := w.post(t.Context(), tr)
			require.NoError(t, err)
			require.Equal(t, http.StatusUnauthorized, status)
			for range 5 {
				_, err = w.post(t.Context(), tr)
				require.ErrorIs(t, err, errRejected)
			}
			require.Equal(t, 1, w.count(authorizeRequest))
			time.Sleep(minBackoff)
		}
		w.server.scopes, w.issuer.tokenHandler = nil, nil
		w.mustPost(tr)
	})
}

func TestScopesAreRequestedOnce(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	w.takeLog()

	w.server.scopes = []string{"write"}
	w.mustPost(tr)
	require.Equal(t, 1, w.count(authorizeRequest))
	scopes, _ := w.issuer.scopesOf(tr.tokens.current.Token.AccessToken)
	require.Equal(t, []string{"use", "write"}, scopes, "the scopes of the old token must be requested too")

	w.issuer.revoke(true)
	w.server.challengeScope = ""
	w.takeLog()
	w.mustPost(tr)
	require.Equal(t, 1, w.count(authorizeRequest), "all scopes of the old token must be requested again")

	w.issuer.changeRedirect = func(url.Values) { // the user grants fewer scopes
		for code := range w.issuer.codes {
			w.issuer.codes[code].Set("scope", "use")
		}
	}
	w.takeLog()
	w.server.scopes = []string{"delete"}
	for range 3 {
		status, err := w.post(t.Context(), tr)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, status)
	}
	require.Equal(t, 1, w.count(authorizeRequest))

	require.NoError(t, tr.Login(t.Context()), "Login must not wait")
	status, err := w.post(t.Context(), tr)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status)
}

func TestBackoffIfServerRequiresMoreScopesEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		tr := w.transport(nil)
		w.mustPost(tr)
		requests := 0
		tr.opts.Base = roundTripFunc(func(r *http.Request) (*http.Response, error) {
			requests++
			w.server.scopes = []string{fmt.Sprint("part-", requests)}
			return w.RoundTrip(r)
		})
		for range 2 {
			w.takeLog()
			status, err := w.post(t.Context(), tr)
			require.NoError(t, err)
			require.Equal(t, http.StatusForbidden, status)
			for range 5 {
				_, err = w.post(t.Context(), tr)
				require.ErrorIs(t, err, errRejected)
			}
			require.Equal(t, maxTokensPerRequest, w.count(authorizeRequest))
			time.Sleep(minBackoff)
		}
		tr.opts.Base, w.server.scopes = w, []string{"use"}
		w.mustPost(tr)
	})
}

func TestScopesAreRequestedAgainForNewToken(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use" // a new token only gets this scope
	tr := w.transport(nil)
	w.mustPost(tr)
	w.server.scopes = []string{"use", "write"}
	for range 2 {
		w.mustPost(tr)
		w.issuer.revoke(true)
	}
}

func TestScopesAreRequestedAgainAfterCancelledLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		user := w.user()
		tr := w.transport(func(o *TransportOptions) { o.Grant = user })
		w.mustPost(tr)
		w.server.scopes = []string{"use", "write"}
		user.Authorize = func(ctx context.Context, _ string) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.post(ctx, tr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		synctest.Wait()
		user.Authorize = w.consent
		w.mustPost(tr)

		w.server.scopes = []string{"use", "delete"}
		w.issuer.changeRedirect = func(a url.Values) { a.Set("error", "access_denied") }
		w.takeLog()
		_, err = w.post(t.Context(), tr)
		require.ErrorContains(t, err, "access_denied")
		time.Sleep(maxBackoff)
		status, err := w.post(t.Context(), tr)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, status)
		require.Equal(t, 1, w.count(authorizeRequest), "the user has refused these scopes")
	})
}

func TestOtherErrorStatusesArePassedOn(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"challenge without scope": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			w.WriteHeader(http.StatusForbidden)
		},
		"other error code": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="x", scope="a"`)
			w.WriteHeader(http.StatusForbidden)
		},
		"proxy":             func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) },
		"too many requests": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"without a token": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="a"`)
			w.WriteHeader(http.StatusForbidden)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.hosts["mcp.test"] = h
			_, err := w.post(t.Context(), w.transport(nil))
			require.NoError(t, err)
			require.Len(t, w.takeLog(), 1)
			if name == "without a token" {
				return
			}
			w = newFakeNetwork(t)
			w.server.challengeScope = "use"
			tr := w.transport(nil)
			w.mustPost(tr)
			w.takeLog()
			w.hosts["mcp.test"] = h
			_, err = w.post(t.Context(), tr)
			require.NoError(t, err)
			require.Len(t, w.takeLog(), 1, "with a token")
		})
	}
}

func TestTokenRemainsIfUserRefusesMoreScopes(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	w.server.scopes = []string{"use", "write"}
	w.issuer.changeRedirect = func(a url.Values) { a.Set("error", "access_denied") }
	_, err := w.post(t.Context(), tr)
	require.ErrorContains(t, err, "access_denied")
	w.server.scopes = []string{"use"}
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(tr)
	require.Zero(t, w.count(authorizeRequest))
}

func TestRequestWithoutGetBodyIsNotRepeated(t *testing.T) {
	w := newFakeNetwork(t)
	req, err := http.NewRequest(http.MethodPost, serverURL, io.NopCloser(strings.NewReader(`{"a":1}`)))
	require.NoError(t, err)
	tr := w.transport(nil)
	res, err := tr.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	w.server.challengeScope = "use"
	require.NoError(t, tr.Login(t.Context()))
	req.Body = io.NopCloser(bytes.NewReader([]byte(`{"a":1}`)))
	res, err = tr.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
}

func TestDeleteDoesNotAskUser(t *testing.T) {
	sendDelete := func(w *fakeNetwork, tr *Transport) int {
		w.takeLog()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, serverURL, nil)
		require.NoError(t, err)
		res, err := tr.RoundTrip(req)
		require.NoError(t, err)
		res.Body.Close()
		require.Zero(t, w.count("GET login.test/authorize"))
		return res.StatusCode
	}
	w := newFakeNetwork(t)
	tr := w.transport(nil)
	require.Equal(t, http.StatusUnauthorized, sendDelete(w, tr), "there is no token")
	require.Equal(t, []string{"DELETE mcp.test/mcp"}, w.takeLog())
	w.mustPost(tr)
	w.issuer.revoke(false)
	require.Equal(t, http.StatusOK, sendDelete(w, tr), "the token is refreshed")
	require.Equal(t, 1, w.count(tokenRequest))
	w.server.scopes = []string{"more"}
	require.Equal(t, http.StatusForbidden, sendDelete(w, tr), "the token lacks a scope")
	w.server.scopes = []string{"use"}
	w.issuer.revoke(true)
	require.Equal(t, http.StatusUnauthorized, sendDelete(w, tr), "the token cannot be refreshed")
	w.mustPost(tr)
}

func TestTransportRedactsURL(t *testing.T) {
	const secret = "?api_key=s3cret"
	w := newFakeNetwork(t)
	var queries []string
	w.hosts["mcp.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		w.server.ServeHTTP(rw, r)
	})
	store := &memoryStore{}
	opts := &TransportOptions{Base: w, HTTPClient: &http.Client{Transport: w}, Grant: w.user(), Store: store}
	tr, err := NewTransport(serverURL+secret, opts)
	require.NoError(t, err)
	require.NoError(t, tr.Login(t.Context()))
	require.Contains(t, queries, "api_key=s3cret", "requests to the server contain the query")
	require.NotEmpty(t, store.values)
	for key := range store.values {
		require.NotContains(t, key, "s3cret")
	}
	other, err := NewTransport(serverURL+"?api_key=other", opts)
	require.NoError(t, err)
	token, err := other.tokens.load(t.Context())
	require.NoError(t, err)
	require.Nil(t, token, "the token may be for another user")

	w.server.metadata, w.server.omitMetadataURL = nil, true // the server issues its own tokens, and its URL is the resource
	req, err := tr.newTokenRequest(t.Context(), &rejection{})
	require.NoError(t, err)
	require.Equal(t, serverURL, req.Resource)
	opts.Store = nil
	tr, err = NewTransport(serverURL+secret, opts)
	require.NoError(t, err)
	_, err = w.post(t.Context(), tr)
	require.ErrorContains(t, err, serverURL)
	require.NotContains(t, err.Error(), "s3cret")

	for _, url := range []string{"https://ada:s3cret@mcp.test:x/" + secret, "http://ada:s3cret@mcp.test/" + secret, "ftp://ada:s3cret@mcp.test/" + secret} {
		_, err := NewTransport(url, opts)
		require.ErrorContains(t, err, "URL of the server")
		require.NotContains(t, err.Error(), "s3cret")
	}
}

func TestNewTransportErrors(t *testing.T) {
	grant := &ClientCredentials{}
	for url, want := range map[string]string{
		"":                     `"" is not an absolute HTTP URL`,
		"mcp.test/mcp":         `"mcp.test/mcp" is not an absolute HTTP URL`,
		"ftp://mcp.test":       "is not an absolute HTTP URL",
		"http://mcp.test/mcp":  `"http://mcp.test/mcp" is a URL without TLS`,
		"https://mcp.test/%zz": "malformed URL",
	} {
		_, err := NewTransport(url, &TransportOptions{Grant: grant})
		require.ErrorContains(t, err, want, url)
	}
	_, err := NewTransport(serverURL, &TransportOptions{})
	require.ErrorContains(t, err, "option Grant is required")
	for _, url := range []string{"http://localhost:80", "http://127.0.0.1/mcp", "http://[::1]:8080/mcp", "https://mcp.test/"} {
		_, err := NewTransport(url, &TransportOptions{Grant: grant})
		require.NoError(t, err, url)
	}
	_, err = NewTransport("http://mcp.test/mcp", &TransportOptions{Grant: grant, AllowInsecure: true})
	require.NoError(t, err)
	for url, want := range map[string]string{
		"https://ada:secret@MCP.test/mcp#part": serverURL,
		"https://mcp.test/":                    "https://mcp.test",
		"https://mcp.test/mcp/?tenant=1":       "https://mcp.test/mcp/",
	} {
		tr, err := NewTransport(url, &TransportOptions{Grant: grant})
		require.NoError(t, err)
		require.Equal(t, want, tr.server.String(), "the resource of tokens if the server publishes no metadata")
	}
}

func TestLoginErrorHasReasonOfServer(t *testing.T) {
	w := newFakeNetwork(t)
	w.hosts["mcp.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("WWW-Authenticate", `Bearer error="invalid_token", error_description="signed by an old key"`)
		rw.WriteHeader(http.StatusUnauthorized)
	})
	delete(w.hosts, "login.test")
	_, err := w.post(t.Context(), w.transport(nil))
	require.ErrorContains(t, err, `auth: token for "https://mcp.test/mcp": `)
	require.ErrorContains(t, err, `; the server responded with status 401: invalid_token "signed by an old key"`)
}
