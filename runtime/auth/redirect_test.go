package auth

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRedirectListener(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	var redirects []string
	tr := w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{OpenBrowser: func(page string) error {
			u, err := url.Parse(page)
			require.NoError(t, err)
			redirects = append(redirects, u.Query().Get("redirect_uri"))
			go func() { // ends with the last response
				redirect := u.Query().Get("redirect_uri")
				for query, want := range map[string]int{"?code=x&state=x&iss=" + issuerURL: 400, "?error=access_denied": 400, "x": 404} {
					res, err := http.Get(redirect + query)
					if err == nil {
						res.Body.Close()
					}
					if err != nil || res.StatusCode != want {
						t.Errorf("GET %s: want status %d: %v", query, want, err)
					}
				}
				to, _ := w.consent(t.Context(), page)
				res, err := http.Get(to)
				if err != nil || res.StatusCode != 200 {
					t.Error(err)
					return
				}
				res.Body.Close()
			}()
			return nil
		}}
	})
	w.mustPost(tr)
	w.issuer.revoke(true)
	w.mustPost(tr)
	require.Len(t, redirects, 2)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/callback$`, redirects[0])
	require.Equal(t, redirects[0], redirects[1], "the port must be used again if it is free")
	require.Equal(t, 1, w.count(registerRequest))
	_, err := http.Get(redirects[0])
	require.Error(t, err, "the listener must be closed")
}

func TestRedirectListenerWithIdleConnection(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	read := make(chan string, 1)
	tr := w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{OpenBrowser: func(page string) error {
			to, err := w.consent(t.Context(), page)
			require.NoError(t, err)
			u, err := url.Parse(to)
			require.NoError(t, err)
			idle, err := net.Dial("tcp", u.Host) // browsers open such connections in advance
			require.NoError(t, err)
			t.Cleanup(func() { idle.Close() })
			go func() { // ends with the response
				res, err := http.Get(to)
				if err != nil {
					read <- err.Error()
					return
				}
				defer res.Body.Close()
				text, err := io.ReadAll(res.Body)
				read <- fmt.Sprint(string(text), err)
			}()
			return nil
		}}
	})
	begin := time.Now()
	w.mustPost(tr)
	require.Less(t, time.Since(begin), 4*time.Second)
	require.Equal(t, "Done. You can close this page and return to the program.\n<nil>", <-read)
}

func TestOpenBrowserMayBlock(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	release := make(chan struct{})
	tr := w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{OpenBrowser: func(page string) error {
			to, err := w.consent(t.Context(), page)
			if err != nil {
				return err
			}
			res, err := http.Get(to)
			if err != nil {
				return err
			}
			<-release
			return res.Body.Close()
		}}
	})
	defer close(release)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	status, err := w.post(ctx, tr)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}

func TestOpenBrowserRefusesOtherURLs(t *testing.T) {
	for _, page := range []string{"", "file:///etc/passwd", "javascript:alert(1)", "-a", "calc.exe", "ssh://host"} {
		require.Error(t, OpenBrowser(page), page)
	}
}
