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

func TestTheUserIsAwaitedOnAPortOfThisMachine(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	var redirects []string
	tr := w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{Open: func(page string) error {
			u, err := url.Parse(page)
			require.NoError(t, err)
			redirects = append(redirects, u.Query().Get("redirect_uri"))
			go func() { // ends with the responses
				back := u.Query().Get("redirect_uri")
				for query, want := range map[string]int{"?code=x&state=x&iss=" + issuerURL: 400, "?error=access_denied": 400, "x": 404} {
					res, err := http.Get(back + query)
					if err == nil {
						res.Body.Close()
					}
					if err != nil || res.StatusCode != want {
						t.Error("a stranger was heard:", query, err)
					}
				}
				to, _ := w.agree(t.Context(), page)
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
	w.enters(tr)
	w.issuer.refuse(true)
	w.enters(tr)
	require.Len(t, redirects, 2)
	require.Regexp(t, `^http://127\.0\.0\.1:\d+/callback$`, redirects[0])
	require.Equal(t, redirects[0], redirects[1], "a port that is still free is used again")
	require.Equal(t, 1, w.count(askedRegister))
	_, err := http.Get(redirects[0])
	require.Error(t, err, "nobody waits any more")
}

func TestAConnectionThatSaysNothingKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	read := make(chan string, 1)
	tr := w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{Open: func(page string) error {
			to, err := w.agree(t.Context(), page)
			require.NoError(t, err)
			u, err := url.Parse(to)
			require.NoError(t, err)
			ahead, err := net.Dial("tcp", u.Host) // browsers like to have one in hand
			require.NoError(t, err)
			t.Cleanup(func() { ahead.Close() })
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
	begun := time.Now()
	w.enters(tr)
	require.Less(t, time.Since(begun), 4*time.Second)
	require.Equal(t, "That is all. You can close this page and go back to the program.\n<nil>", <-read)
}

func TestABrowserThatStaysOpenKeepsNobodyWaiting(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	end := make(chan struct{})
	tr := w.transport(func(o *TransportOptions) {
		o.Grant = &AuthorizationCode{Open: func(page string) error {
			to, err := w.agree(t.Context(), page)
			if err != nil {
				return err
			}
			res, err := http.Get(to)
			if err != nil {
				return err
			}
			<-end
			return res.Body.Close()
		}}
	})
	defer close(end)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	status, err := w.post(ctx, tr)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status)
}

func TestBrowseShowsPagesOnly(t *testing.T) {
	for _, page := range []string{"", "file:///etc/passwd", "javascript:alert(1)", "-a", "calc.exe", "ssh://host"} {
		require.Error(t, Browse(page), page)
	}
}
