package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// grantFunc is a function that implements [Grant].
type grantFunc func() (*oauth2.Token, error)

func (f grantFunc) Token(context.Context, *TokenRequest) (*oauth2.Token, error) { return f() }

func TestInvalidGrantResults(t *testing.T) {
	for want, grant := range map[string]grantFunc{
		"grant returned neither a token nor an error":    func() (*oauth2.Token, error) { return nil, nil },
		"grant returned a token without an access token": func() (*oauth2.Token, error) { return &oauth2.Token{RefreshToken: "r"}, nil },
		"grant panicked: no screen":                      func() (*oauth2.Token, error) { panic("no screen") },
	} {
		w := newFakeNetwork(t)
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
		require.ErrorContains(t, err, want)
	}
}

func TestGrantCallsGoexit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.post(ctx, w.transport(func(o *TransportOptions) {
			o.Grant = grantFunc(func() (*oauth2.Token, error) { runtime.Goexit(); return nil, nil })
		}))
		require.ErrorIs(t, err, errGoexit)
	})
}

func TestRequestsShareOneLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		tr := w.transport(func(o *TransportOptions) {
			user := w.user()
			user.Authorize = func(ctx context.Context, page string) (string, error) {
				time.Sleep(time.Minute)
				return w.consent(ctx, page)
			}
			o.Grant = user
		})
		w.server.challengeScope = "use"
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { w.mustPost(tr) })
		}
		all.Wait()
		require.Equal(t, 1, w.count(authorizeRequest))
		require.Equal(t, 1, w.count(tokenRequest))
	})
}

func TestWaitingRequestCallsTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		tr := w.transport(func(o *TransportOptions) {
			o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
				time.Sleep(20500 * time.Millisecond)
				return w.consent(ctx, page)
			}}
		})
		var statuses []int
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			statuses = append(statuses, code)
			return nil
		}})
		w.server.challengeScope = "use"
		status, err := w.post(ctx, tr)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Len(t, statuses, 20)
		require.Equal(t, 102, statuses[0])
	})
}

func TestTokenIsRefreshedBeforeExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		w.server.metadataPath = "/meta" // only in the challenge
		w.issuer.expiresIn = 100
		tr := w.transport(nil)
		w.mustPost(tr)
		w.takeLog()
		time.Sleep(79 * time.Second)
		w.mustPost(tr)
		require.Len(t, w.takeLog(), 1)
		time.Sleep(2 * time.Second)
		w.mustPost(tr)
		require.Zero(t, w.count(authorizeRequest))
		require.Equal(t, 1, w.count("POST mcp.test/mcp"), "the old token must not be sent")
		form := w.issuer.lastForm()
		require.Equal(t, "refresh_token", form.Get("grant_type"))
		require.Equal(t, serverURL, form.Get("resource"))
		require.NotEmpty(t, form.Get("client_id"))
		w.mustPost(tr)
	})
}

func TestRejectedTokenIsRefreshed(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	w.takeLog()

	w.issuer.revoke(false)
	w.mustPost(tr)
	require.Zero(t, w.count(authorizeRequest))
	require.Equal(t, 1, w.count(tokenRequest))
	w.takeLog()

	w.issuer.revoke(true)
	w.mustPost(tr)
	require.Equal(t, 1, w.count(authorizeRequest))
	require.Equal(t, 2, w.count(tokenRequest))
	require.Zero(t, w.count(registerRequest), "the issuer knows the client")
}

func TestUserIsNotAskedIfRefreshFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		tr := w.transport(nil)
		w.mustPost(tr)
		w.takeLog()
		w.issuer.revoke(false)
		w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
			rw.WriteHeader(http.StatusBadGateway)
			return true
		}
		start := time.Now()
		_, err := w.post(t.Context(), tr)
		require.ErrorContains(t, err, `POST "https://login.test/token": status 502`)
		require.LessOrEqual(t, time.Since(start), maxRetryTime, "also without a deadline")
		require.Zero(t, w.count(authorizeRequest))
		w.issuer.tokenHandler = nil
		w.mustPost(tr) // without a pause, because the server has not refused
		require.Zero(t, w.count(authorizeRequest))
	})
}

func TestUserIsAskedAfterRefreshErrorWithStatus200(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	w.issuer.revoke(true)
	w.issuer.handleRefresh(http.StatusOK, `{"error":"bad_refresh_token","error_description":"it has expired"}`)
	w.takeLog()
	w.mustPost(tr)
	require.Equal(t, 1, w.count(authorizeRequest))
}

func TestRefusedRefreshIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		w.issuer.expiresIn = 100
		tr := w.transport(nil)
		w.mustPost(tr)
		w.takeLog()
		clear(w.issuer.refreshTokens)
		time.Sleep(90 * time.Second)
		w.mustPost(tr)
		w.mustPost(tr)
		require.Equal(t, 1, w.count(tokenRequest))
		require.Zero(t, w.count(authorizeRequest), "the token is still valid")
		w.issuer.revoke(true)
		w.mustPost(tr)
		require.Equal(t, 1, w.count(authorizeRequest))
	})
}

func TestUserIsNotAskedWhileTokenIsValid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		w.issuer.expiresIn = 100
		tr := w.transport(nil)
		w.mustPost(tr)
		w.server.metadata.Resource = "https://mcp.test" // prevents a refresh
		time.Sleep(90 * time.Second)
		w.takeLog()
		w.mustPost(tr)
		w.mustPost(tr)
		require.Zero(t, w.count(authorizeRequest)+w.count(tokenRequest))
		require.Equal(t, 1, w.count("GET login.test/.well-known/oauth-authorization-server"), "discovery must not be repeated")
	})
}

func TestRefreshTokenIsKept(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	w.issuer.tokenHandler = func(rw http.ResponseWriter, f url.Values) bool {
		w.issuer.tokens["only"] = []string{"use"}
		_, _ = io.WriteString(rw, `{"access_token":"only","token_type":"Bearer"}`)
		return true
	}
	w.issuer.revoke(false)
	w.mustPost(tr)
	w.issuer.tokenHandler = nil
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(tr)
	require.Zero(t, w.count(authorizeRequest))
}

func TestUserIsAskedIfRefreshedTokenIsRejected(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	w.issuer.revoke(false)
	w.issuer.handleRefresh(http.StatusOK, `{"access_token":"rejected","refresh_token":"r"}`)
	w.takeLog()
	w.mustPost(tr)
	require.Equal(t, 1, w.count(authorizeRequest))
	require.Equal(t, 2, w.count(tokenRequest))
}

func TestRefreshContinuesAfterRequestEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		tr := w.transport(nil)
		w.mustPost(tr)
		w.issuer.revoke(false)
		w.issuer.delay = 5 * time.Second
		w.takeLog()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.post(ctx, tr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		w.mustPost(tr) // the issuer accepts a refresh token only once
		require.Zero(t, w.count(authorizeRequest))
		require.Equal(t, 1, w.count(tokenRequest))
	})
}

func TestRejectedRequestDuringEarlyRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		w.issuer.expiresIn = 100
		tr := w.transport(nil)
		w.mustPost(tr)
		w.issuer.revoke(true)
		w.server.delay, w.issuer.delay = 10*time.Second, 10*time.Second
		time.Sleep(79 * time.Second)
		var all sync.WaitGroup
		all.Go(func() { w.mustPost(tr) }) // is rejected after ten seconds
		time.Sleep(5 * time.Second)
		all.Go(func() { w.mustPost(tr) }) // refreshes early, which is refused after ten seconds
		all.Wait()
		require.Equal(t, 2, w.count(authorizeRequest))
	})
}

func TestTokenForOtherResourceIsNotRefreshed(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	w.issuer.revoke(false)
	w.server.metadata.Resource = "https://mcp.test"
	w.takeLog()
	w.mustPost(tr)
	require.Equal(t, 1, w.count(authorizeRequest))
	require.Equal(t, 1, w.count(tokenRequest))
}

func TestBackoffAfterRefusedLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.issuer.changeRedirect = func(a url.Values) {
			a.Del("code")
			a.Set("error", "access_denied")
			a.Set("error_description", "not \"now\"")
		}
		tr := w.transport(nil)
		refused := func() error {
			_, err := w.post(t.Context(), tr)
			var e *Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, "access_denied", e.Code)
			return err
		}
		require.EqualError(t, refused(), `auth: token for "https://mcp.test/mcp": https://login.test/authorize?tenant=1 returned error "access_denied" ("not \"now\"")`)
		for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
			time.Sleep(pause - time.Second)
			require.ErrorContains(t, refused(), "no retry before")
			w.takeLog()
			time.Sleep(time.Second)
			require.NotContains(t, refused().Error(), "retry")
			require.Equal(t, 1, w.count(authorizeRequest))
		}
		w.takeLog()
		require.Error(t, tr.Login(t.Context()))
		require.Equal(t, 1, w.count(authorizeRequest), "Login must not wait")
		w.issuer.changeRedirect = nil
		require.NoError(t, tr.Login(t.Context()))
		w.server.scopes = nil
		w.mustPost(tr)
	})
}

func TestLoginIsCancelledWithLastRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		ended := 0
		tr := w.transport(func(o *TransportOptions) {
			o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
				<-ctx.Done()
				ended++
				return "", ctx.Err()
			}}
		})
		first, leave := context.WithCancelCause(t.Context())
		closed := errors.New("window closed")
		results := make(chan error, 2)
		go func() { _, err := w.post(first, tr); results <- err }()
		second, cancel := context.WithCancel(t.Context())
		go func() { _, err := w.post(second, tr); results <- err }()
		synctest.Wait()
		leave(closed)
		require.ErrorIs(t, <-results, closed)
		synctest.Wait()
		require.Zero(t, ended)
		cancel()
		require.ErrorIs(t, <-results, context.Canceled)
		synctest.Wait()
		require.Equal(t, 1, ended)

		third, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.post(third, tr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotContains(t, err.Error(), "retry", "a cancelled login must not cause a backoff")
	})
}

func TestRequestJoinsCancelledLogin(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, tr *Transport, leave func()){
		"all requests are cancelled": func(_ *testing.T, _ *Transport, leave func()) { leave() },
		"logout":                     func(t *testing.T, tr *Transport, _ func()) { require.NoError(t, tr.Logout(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newFakeNetwork(t)
				w.server.challengeScope = "use"
				tr := w.transport(nil)
				w.mustPost(tr)
				w.issuer.revoke(true)
				w.issuer.delay = 5 * time.Second
				w.takeLog()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				gone := make(chan error)
				go func() { _, err := w.post(ctx, tr); gone <- err }()
				synctest.Wait() // until the issuer has received the refresh token
				end(t, tr, leave)
				synctest.Wait()
				require.NoError(t, tr.Login(t.Context()))
				require.Error(t, <-gone)
				require.Equal(t, 1, w.count(authorizeRequest))
				w.mustPost(tr)
			})
		})
	}
}

func TestLoginTimeout(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{0: 5 * time.Minute, time.Hour: time.Hour, -1: 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeNetwork(t)
			tr := w.transport(func(o *TransportOptions) {
				o.LoginTimeout = timeout
				o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
					<-ctx.Done()
					return "", context.Cause(ctx)
				}}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			begin := time.Now()
			_, err := w.post(ctx, tr)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, want, time.Since(begin))
		})
	}
}

func TestShortLivedTokenIsNotRefreshedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.issuer.expiresIn = 16
		tr := w.transport(nil)
		w.mustPost(tr)
		w.takeLog()
		time.Sleep(11 * time.Second)
		w.mustPost(tr)
		require.Zero(t, w.count(tokenRequest))
		time.Sleep(2 * time.Second)
		w.mustPost(tr)
		require.Equal(t, 1, w.count(tokenRequest), "the token must be refreshed before its expiry")
		w.mustPost(tr)
		require.Equal(t, 1, w.count(tokenRequest))
	})
}

func TestFailedRefreshIsNotRepeatedEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		w.issuer.expiresIn = 100
		tr := w.transport(nil)
		w.mustPost(tr)
		w.issuer.tokenHandler = func(rw http.ResponseWriter, _ url.Values) bool {
			rw.WriteHeader(http.StatusBadGateway)
			return true
		}
		time.Sleep(90 * time.Second)
		w.takeLog()
		for range 10 {
			w.mustPost(tr) // the token is still valid
		}
		require.Equal(t, 1, w.count(tokenRequest))
		w.issuer.tokenHandler = nil
		w.issuer.revoke(false)
		w.mustPost(tr)
		require.Equal(t, 2, w.count(tokenRequest), "a rejected token must be refreshed")
		require.Zero(t, w.count(authorizeRequest))
		time.Sleep(90 * time.Second)
		w.mustPost(tr)
		require.Equal(t, 3, w.count(tokenRequest), "the issuer is available again")
	})
}

func TestUnavailableIssuer(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.server.challengeScope = "use"
			w.issuer.expiresIn = 60
			tr := w.transport(nil)
			w.mustPost(tr)
			w.issuer.handleRefresh(status, `{"error":"temporarily_unavailable"}`)
			time.Sleep(50 * time.Second)
			w.takeLog()
			w.mustPost(tr) // the token is still valid
			w.issuer.revoke(false)
			_, err := w.post(t.Context(), tr)
			require.ErrorContains(t, err, fmt.Sprint("status ", status))
			w.issuer.tokenHandler = nil
			time.Sleep(minBackoff)
			w.mustPost(tr)
			require.Zero(t, w.count(authorizeRequest), "the token can be refreshed")
		})
	}
}
