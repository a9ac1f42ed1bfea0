package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// grantFunc is a grant of somebody's own.
type grantFunc func() (*oauth2.Token, error)

func (f grantFunc) Token(context.Context, *Need) (*oauth2.Token, error) { return f() }

func TestNothingIsTakenForGrantedOfAGrant(t *testing.T) {
	for want, grant := range map[string]grantFunc{
		"the grant returned neither a token nor an error":    func() (*oauth2.Token, error) { return nil, nil },
		"the grant returned a token without an access token": func() (*oauth2.Token, error) { return &oauth2.Token{RefreshToken: "r"}, nil },
		"the grant panicked: no screen":                      func() (*oauth2.Token, error) { panic("no screen") },
	} {
		w := newWorld(t)
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Grant = grant }))
		require.ErrorContains(t, err, want)
	}
}

func TestAGrantThatEndsItsGoroutineKeepsNobodyWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := w.post(ctx, w.transport(func(o *TransportOptions) {
			o.Grant = grantFunc(func() (*oauth2.Token, error) { runtime.Goexit(); return nil, nil })
		}))
		require.ErrorIs(t, err, errGone)
	})
}

func TestAResponseThatRefusesNothingCostsNothing(t *testing.T) {
	res := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}}
	require.Zero(t, testing.AllocsPerRun(100, func() { refusalOf(res, nil) }))
}

func TestARequestThatIsRefusedLogsInAndIsMadeAgain(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	require.Equal(t, []string{
		"POST mcp.test/mcp",
		"GET mcp.test/.well-known/oauth-protected-resource/mcp",
		"GET login.test/.well-known/oauth-authorization-server",
		askedRegister,
		askedAuthorize,
		askedToken,
		"POST mcp.test/mcp",
	}, w.asked())
	w.enters(tr)
	require.Equal(t, []string{"POST mcp.test/mcp"}, w.asked())

	require.Equal(t, []map[string]any{{
		"client_name": "tester", "application_type": "native", "redirect_uris": []any{"http://127.0.0.1:7777/callback"},
		"grant_types": []any{"authorization_code", "refresh_token"}, "response_types": []any{"code"}, "token_endpoint_auth_method": "none",
	}}, w.issuer.registry)
	form := w.issuer.lastForm()
	require.Equal(t, serverURL, form.Get("resource"))
	require.Empty(t, form.Get("client_secret"))
}

func TestAllThatNeedATokenWaitForOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tr := w.transport(func(o *TransportOptions) {
			user := w.user()
			user.Authorize = func(ctx context.Context, page string) (string, error) {
				time.Sleep(time.Minute)
				return w.agree(ctx, page)
			}
			o.Grant = user
		})
		w.server.hint = "use"
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() { w.enters(tr) })
		}
		all.Wait()
		require.Equal(t, 1, w.count(askedAuthorize))
		require.Equal(t, 1, w.count(askedToken))
	})
}

func TestARequestThatWaitsForAUserGivesSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tr := w.transport(func(o *TransportOptions) {
			o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
				time.Sleep(20500 * time.Millisecond)
				return w.agree(ctx, page)
			}}
		})
		var signs []int
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, _ textproto.MIMEHeader) error {
			signs = append(signs, code)
			return nil
		}})
		w.server.hint = "use"
		status, err := w.post(ctx, tr)
		require.NoError(t, err)
		require.Equal(t, 200, status)
		require.Len(t, signs, 20)
		require.Equal(t, 102, signs[0])
	})
}

func TestWhatTheServerIsNotGetsNoToken(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	var seen http.Header
	w.hosts["elsewhere.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		seen = r.Header
		rw.WriteHeader(http.StatusUnauthorized)
	})
	w.hosts["mcp.test:8443"] = w.hosts["elsewhere.test"]
	for _, to := range []string{"https://elsewhere.test/mcp", "https://mcp.test:8443/mcp", "http://elsewhere.test/mcp"} {
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
	require.NotEmpty(t, seen.Get("Authorization"), "another spelling of the server")
	require.Empty(t, req.Header.Get("Authorization"), "a request is its caller's")

	w.asked()
	req, err = http.NewRequest(http.MethodGet, serverURL, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Basic own")
	res, err := tr.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	require.Len(t, w.asked(), 1)
}

func TestATokenIsRenewedBeforeItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		w.server.path = "/meta" // which only a refusal tells
		w.issuer.life = 100
		tr := w.transport(nil)
		w.enters(tr)
		w.asked()
		time.Sleep(79 * time.Second)
		w.enters(tr)
		require.Len(t, w.asked(), 1)
		time.Sleep(2 * time.Second)
		w.enters(tr)
		require.Zero(t, w.count(askedAuthorize))
		require.Equal(t, 1, w.count("POST mcp.test/mcp"), "the server never saw the old one")
		form := w.issuer.lastForm()
		require.Equal(t, "refresh_token", form.Get("grant_type"))
		require.Equal(t, serverURL, form.Get("resource"))
		require.NotEmpty(t, form.Get("client_id"))
		w.enters(tr)
	})
}

func TestATokenThatIsNotTakenAnyMoreIsRenewedAndIfThatFailsTheUserIsAsked(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.asked()

	w.issuer.refuse(false)
	w.enters(tr)
	require.Zero(t, w.count(askedAuthorize))
	require.Equal(t, 1, w.count(askedToken))
	w.asked()

	w.issuer.refuse(true)
	w.enters(tr)
	require.Equal(t, 1, w.count(askedAuthorize))
	require.Equal(t, 2, w.count(askedToken))
	require.Zero(t, w.count(askedRegister), "the issuer still knows the client")
}

func TestAnIssuerThatFailsToRenewIsNotTheUsersBusiness(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.asked()
	w.issuer.refuse(false)
	w.issuer.token = func(rw http.ResponseWriter, _ url.Values) bool {
		rw.WriteHeader(http.StatusBadGateway)
		return true
	}
	_, err := w.post(t.Context(), tr)
	require.ErrorContains(t, err, `POST "https://login.test/token": status 502`)
	require.Zero(t, w.count(askedAuthorize))
}

func TestARenewalThatIsRefusedWithSuccessAsksTheUser(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.issuer.refuse(true)
	w.issuer.renewing(http.StatusOK, `{"error":"bad_refresh_token","error_description":"it has expired"}`)
	w.asked()
	w.enters(tr)
	require.Equal(t, 1, w.count(askedAuthorize))
}

func TestARenewalThatCannotBeIsTriedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		w.issuer.life = 100
		tr := w.transport(nil)
		w.enters(tr)
		w.asked()
		clear(w.issuer.renewals)
		time.Sleep(90 * time.Second)
		w.enters(tr)
		w.enters(tr)
		require.Equal(t, 1, w.count(askedToken))
		require.Zero(t, w.count(askedAuthorize), "the token is still good")
		w.issuer.refuse(true)
		w.enters(tr)
		require.Equal(t, 1, w.count(askedAuthorize))
	})
}

func TestATokenThatIsStillGoodIsNoReasonToAskTheUser(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		w.issuer.life = 100
		tr := w.transport(nil)
		w.enters(tr)
		w.server.about.Resource = "https://mcp.test" // so that it cannot be renewed
		time.Sleep(90 * time.Second)
		w.asked()
		w.enters(tr)
		w.enters(tr)
		require.Zero(t, w.count(askedAuthorize)+w.count(askedToken))
		require.Equal(t, 1, w.count("GET login.test/.well-known/oauth-authorization-server"), "it is found out once")
	})
}

func TestARenewedTokenKeepsWhatRenewsIt(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.issuer.token = func(rw http.ResponseWriter, f url.Values) bool {
		w.issuer.tokens["only"] = []string{"use"}
		_, _ = io.WriteString(rw, `{"access_token":"only","token_type":"Bearer"}`)
		return true
	}
	w.issuer.refuse(false)
	w.enters(tr)
	w.issuer.token = nil
	w.issuer.refuse(false)
	w.asked()
	w.enters(tr)
	require.Zero(t, w.count(askedAuthorize))
}

func TestARenewedTokenThatIsRefusedAsksTheUser(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.issuer.refuse(false)
	w.issuer.renewing(http.StatusOK, `{"access_token":"as good as the old one","refresh_token":"r"}`)
	w.asked()
	w.enters(tr)
	require.Equal(t, 1, w.count(askedAuthorize))
	require.Equal(t, 2, w.count(askedToken))
}

func TestARenewalGoesOnWithoutWhoBeganIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		tr := w.transport(nil)
		w.enters(tr)
		w.issuer.refuse(false)
		w.issuer.slow = 5 * time.Second
		w.asked()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.post(ctx, tr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		w.enters(tr) // the issuer takes what renews a token only once
		require.Zero(t, w.count(askedAuthorize))
		require.Equal(t, 1, w.count(askedToken))
	})
}

func TestARequestThatIsRefusedDuringARenewalAsksTheUserIfThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		w.issuer.life = 100
		tr := w.transport(nil)
		w.enters(tr)
		w.issuer.refuse(true)
		w.server.slow, w.issuer.slow = 10*time.Second, 10*time.Second
		time.Sleep(79 * time.Second)
		var all sync.WaitGroup
		all.Go(func() { w.enters(tr) }) // is refused after ten seconds
		time.Sleep(5 * time.Second)
		all.Go(func() { w.enters(tr) }) // renews in time, and is refused that after ten seconds
		all.Wait()
		require.Equal(t, 2, w.count(askedAuthorize))
	})
}

func TestATokenForAnotherPartOfTheServerIsNotARenewedOne(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.issuer.refuse(false)
	w.server.about.Resource = "https://mcp.test"
	w.asked()
	w.enters(tr)
	require.Equal(t, 1, w.count(askedAuthorize))
	require.Equal(t, 1, w.count(askedToken))
}

func TestARefusalThatDoesNotEndHoldsNobodyUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		tr := w.transport(func(o *TransportOptions) {
			o.Base = asked(func(r *http.Request) (*http.Response, error) {
				res, err := w.RoundTrip(r)
				if err == nil && res.StatusCode == http.StatusUnauthorized {
					res.Body, _ = io.Pipe()
				}
				return res, err
			})
		})
		w.enters(tr) // a test that waits for nothing is a deadlock
	})
}

func TestATokenOfThisMomentThatIsRefusedIsTheEnd(t *testing.T) {
	w := newWorld(t)
	w.issuer.token = func(rw http.ResponseWriter, _ url.Values) bool {
		_, _ = io.WriteString(rw, `{"access_token":"bad","token_type":"Bearer"}`)
		return true
	}
	status, err := w.post(t.Context(), w.transport(nil))
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Equal(t, 1, w.count(askedAuthorize))
}

func TestAServerThatTakesNoTokenIsNoReasonToAskTheUserEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tr := w.transport(nil)
		for range 2 {
			w.issuer.refuse(true)
			w.issuer.token = func(rw http.ResponseWriter, f url.Values) bool {
				_, _ = fmt.Fprintf(rw, `{"access_token":"bad-%d","refresh_token":"r"}`, w.issuer.n)
				return true
			}
			w.asked()
			status, err := w.post(t.Context(), tr)
			require.NoError(t, err)
			require.Equal(t, http.StatusUnauthorized, status)
			for range 5 {
				_, err = w.post(t.Context(), tr)
				require.ErrorIs(t, err, errRejected)
			}
			require.Equal(t, 1, w.count(askedAuthorize))
			time.Sleep(firstPause)
		}
		w.server.scopes, w.issuer.token = nil, nil
		w.enters(tr)
	})
}

func TestMoreScopesAreAskedForOnce(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.asked()

	w.server.scopes = []string{"write"}
	w.enters(tr)
	require.Equal(t, 1, w.count(askedAuthorize))
	scopes, _ := w.issuer.good(tr.state.held.Token.AccessToken)
	require.Equal(t, []string{"use", "write"}, scopes, "what it was good for before stays")

	w.issuer.refuse(true)
	w.server.hint = ""
	w.asked()
	w.enters(tr)
	require.Equal(t, 1, w.count(askedAuthorize), "what it had grown to is asked for again")

	w.issuer.answer = func(url.Values) { // the user gives less than was asked for
		for code := range w.issuer.codes {
			w.issuer.codes[code].Set("scope", "use")
		}
	}
	w.asked()
	w.server.scopes = []string{"delete"}
	for range 3 {
		status, err := w.post(t.Context(), tr)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, status)
	}
	require.Equal(t, 1, w.count(askedAuthorize))

	require.NoError(t, tr.Login(t.Context()), "who asks to be asked, is")
	status, err := w.post(t.Context(), tr)
	require.NoError(t, err)
	require.Equal(t, http.StatusForbidden, status)
}

func TestAServerThatWantsMoreAndMoreIsNoReasonToAskTheUserEachTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		tr := w.transport(nil)
		w.enters(tr)
		wants := 0
		tr.opts.Base = asked(func(r *http.Request) (*http.Response, error) {
			wants++
			w.server.scopes = []string{fmt.Sprint("part-", wants)}
			return w.RoundTrip(r)
		})
		for range 2 {
			w.asked()
			status, err := w.post(t.Context(), tr)
			require.NoError(t, err)
			require.Equal(t, http.StatusForbidden, status)
			for range 5 {
				_, err = w.post(t.Context(), tr)
				require.ErrorIs(t, err, errRejected)
			}
			require.Equal(t, mostLogins, w.count(askedAuthorize))
			time.Sleep(firstPause)
		}
		tr.opts.Base, w.server.scopes = w, []string{"use"}
		w.enters(tr)
	})
}

func TestScopesThatANewTokenLacksAreAskedForAgain(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use" // of every token, whatever the one before was good for
	tr := w.transport(nil)
	w.enters(tr)
	w.server.scopes = []string{"use", "write"}
	for range 2 {
		w.enters(tr)
		w.issuer.refuse(true)
	}
}

func TestScopesThatNobodyWasAskedForAreAskedForAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		user := w.user()
		tr := w.transport(func(o *TransportOptions) { o.Grant = user })
		w.enters(tr)
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
		user.Authorize = w.agree
		w.enters(tr)

		w.server.scopes = []string{"use", "delete"}
		w.issuer.answer = func(a url.Values) { a.Set("error", "access_denied") }
		w.asked()
		_, err = w.post(t.Context(), tr)
		require.ErrorContains(t, err, "access_denied")
		time.Sleep(mostPause)
		status, err := w.post(t.Context(), tr)
		require.NoError(t, err)
		require.Equal(t, http.StatusForbidden, status)
		require.Equal(t, 1, w.count(askedAuthorize), "who has refused them is not asked again")
	})
}

func TestOtherRefusalsAreNotOurs(t *testing.T) {
	for name, h := range map[string]http.HandlerFunc{
		"forbidden": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"no scope": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope"`)
			w.WriteHeader(http.StatusForbidden)
		},
		"another reason": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="x", scope="a"`)
			w.WriteHeader(http.StatusForbidden)
		},
		"a proxy":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) },
		"too many": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
		"without a token": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer error="insufficient_scope", scope="a"`)
			w.WriteHeader(http.StatusForbidden)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.hosts["mcp.test"] = h
			_, err := w.post(t.Context(), w.transport(nil))
			require.NoError(t, err)
			require.Len(t, w.asked(), 1)
			if name == "without a token" {
				return
			}
			w = newWorld(t)
			w.server.hint = "use"
			tr := w.transport(nil)
			w.enters(tr)
			w.asked()
			w.hosts["mcp.test"] = h
			_, err = w.post(t.Context(), tr)
			require.NoError(t, err)
			require.Len(t, w.asked(), 1, "with a token")
		})
	}
}

func TestAUserWhoRefusesIsNotAskedAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.issuer.answer = func(a url.Values) {
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
		require.EqualError(t, refused(), `auth: token for "https://mcp.test/mcp": https://login.test/authorize?tenant=1 refuses: "access_denied" ("not \"now\"")`)
		for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, time.Hour, time.Hour} {
			time.Sleep(pause - time.Second)
			require.ErrorContains(t, refused(), "not asking again before")
			w.asked()
			time.Sleep(time.Second)
			require.NotContains(t, refused().Error(), "again")
			require.Equal(t, 1, w.count(askedAuthorize))
		}
		w.asked()
		require.Error(t, tr.Login(t.Context()))
		require.Equal(t, 1, w.count(askedAuthorize), "who asks to be asked, is")
		w.issuer.answer = nil
		require.NoError(t, tr.Login(t.Context()))
		w.server.scopes = nil
		w.enters(tr)
	})
}

func TestAUserWhoRefusesMoreScopesKeepsWhatThereIs(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	w.server.scopes = []string{"use", "write"}
	w.issuer.answer = func(a url.Values) { a.Set("error", "access_denied") }
	_, err := w.post(t.Context(), tr)
	require.ErrorContains(t, err, "access_denied")
	w.server.scopes = []string{"use"}
	w.issuer.refuse(false)
	w.asked()
	w.enters(tr)
	require.Zero(t, w.count(askedAuthorize))
}

func TestALoginEndsWithTheLastThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		ended := 0
		tr := w.transport(func(o *TransportOptions) {
			o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
				<-ctx.Done()
				ended++
				return "", ctx.Err()
			}}
		})
		first, leave := context.WithCancelCause(t.Context())
		gone := errors.New("closed the window")
		results := make(chan error, 2)
		go func() { _, err := w.post(first, tr); results <- err }()
		second, cancel := context.WithCancel(t.Context())
		go func() { _, err := w.post(second, tr); results <- err }()
		synctest.Wait()
		leave(gone)
		require.ErrorIs(t, <-results, gone)
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
		require.NotContains(t, err.Error(), "again", "nobody has refused")
	})
}

func TestARequestThatComesToALoginThatIsOverHasOneOfItsOwn(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, tr *Transport, leave func()){
		"everybody has left": func(_ *testing.T, _ *Transport, leave func()) { leave() },
		"logged out":         func(t *testing.T, tr *Transport, _ func()) { require.NoError(t, tr.Logout(t.Context())) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.server.hint = "use"
				tr := w.transport(nil)
				w.enters(tr)
				w.issuer.refuse(true)
				w.issuer.slow = 5 * time.Second
				w.asked()
				ctx, leave := context.WithCancel(t.Context())
				defer leave()
				gone := make(chan error)
				go func() { _, err := w.post(ctx, tr); gone <- err }()
				synctest.Wait() // for the issuer, which is asked to renew the token
				end(t, tr, leave)
				synctest.Wait()
				require.NoError(t, tr.Login(t.Context()))
				require.Error(t, <-gone)
				require.Equal(t, 1, w.count(askedAuthorize))
				w.enters(tr)
			})
		})
	}
}

func TestAUserHasFiveMinutesUnlessTheOptionsSayOtherwise(t *testing.T) {
	for patience, want := range map[time.Duration]time.Duration{0: 5 * time.Minute, time.Hour: time.Hour, -1: 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			tr := w.transport(func(o *TransportOptions) {
				o.Patience = patience
				o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
					<-ctx.Done()
					return "", context.Cause(ctx)
				}}
			})
			ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
			defer cancel()
			begun := time.Now()
			_, err := w.post(ctx, tr)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, want, time.Since(begun))
		})
	}
}

func TestARequestWhoseBodyCannotBeReadTwiceIsNotMadeAgain(t *testing.T) {
	w := newWorld(t)
	req, err := http.NewRequest(http.MethodPost, serverURL, io.NopCloser(strings.NewReader(`{"a":1}`)))
	require.NoError(t, err)
	tr := w.transport(nil)
	res, err := tr.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, res.StatusCode)
	w.server.hint = "use"
	require.NoError(t, tr.Login(t.Context()))
	req.Body = io.NopCloser(bytes.NewReader([]byte(`{"a":1}`)))
	res, err = tr.RoundTrip(req)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
}

func TestAGoodbyeAsksNoUser(t *testing.T) {
	goodbye := func(w *world, tr *Transport) int {
		w.asked()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodDelete, serverURL, nil)
		require.NoError(t, err)
		res, err := tr.RoundTrip(req)
		require.NoError(t, err)
		res.Body.Close()
		require.Zero(t, w.count("GET login.test/authorize"))
		return res.StatusCode
	}
	w := newWorld(t)
	tr := w.transport(nil)
	require.Equal(t, http.StatusUnauthorized, goodbye(w, tr), "there is no token")
	require.Equal(t, []string{"DELETE mcp.test/mcp"}, w.asked())
	w.enters(tr)
	w.issuer.refuse(false)
	require.Equal(t, http.StatusOK, goodbye(w, tr), "the token is renewed")
	require.Equal(t, 1, w.count(askedToken))
	w.server.scopes = []string{"more"}
	require.Equal(t, http.StatusForbidden, goodbye(w, tr), "the token is not good enough")
	w.server.scopes = []string{"use"}
	w.issuer.refuse(true)
	require.Equal(t, http.StatusUnauthorized, goodbye(w, tr), "the token cannot be renewed")
	w.enters(tr)
}

func TestATokenThatLivesShortIsNotRenewedForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.issuer.life = 16
		tr := w.transport(nil)
		w.enters(tr)
		w.asked()
		time.Sleep(11 * time.Second)
		w.enters(tr)
		require.Zero(t, w.count(askedToken))
		time.Sleep(2 * time.Second)
		w.enters(tr)
		require.Equal(t, 1, w.count(askedToken), "shortly before its end it is renewed")
		w.enters(tr)
		require.Equal(t, 1, w.count(askedToken))
	})
}

func TestATransportShowsNoSecretsOfTheURL(t *testing.T) {
	const secret = "?api_key=s3cret"
	w := newWorld(t)
	var queries []string
	w.hosts["mcp.test"] = http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		w.server.ServeHTTP(rw, r)
	})
	kept := &memory{}
	opts := TransportOptions{Base: w, Client: &http.Client{Transport: w}, Grant: w.user(), Store: kept}
	tr, err := NewTransport(serverURL+secret, opts)
	require.NoError(t, err)
	require.NoError(t, tr.Login(t.Context()))
	require.Contains(t, queries, "api_key=s3cret", "the server itself sees it")
	require.NotEmpty(t, kept.values)
	for key := range kept.values {
		require.NotContains(t, key, "s3cret")
	}
	other, err := NewTransport(serverURL+"?api_key=other", opts)
	require.NoError(t, err)
	held, err := other.state.current(t.Context())
	require.NoError(t, err)
	require.Nil(t, held, "it may be another user's")

	w.server.about, w.server.quiet = nil, true // the server's own tokens, for the resource that its URL names
	need, err := tr.need(t.Context(), &refusal{})
	require.NoError(t, err)
	require.Equal(t, serverURL, need.Resource)
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

func TestATransportRefusesWhatCannotWork(t *testing.T) {
	grant := &ClientCredentials{}
	for url, want := range map[string]string{
		"":                     `"" is no absolute URL of HTTP`,
		"mcp.test/mcp":         `"mcp.test/mcp" is no absolute URL of HTTP`,
		"ftp://mcp.test":       "is no absolute URL of HTTP",
		"http://mcp.test/mcp":  `"http://mcp.test/mcp" is without TLS`,
		"https://mcp.test/%zz": "is no URL",
	} {
		_, err := NewTransport(url, TransportOptions{Grant: grant})
		require.ErrorContains(t, err, want, url)
	}
	_, err := NewTransport(serverURL, TransportOptions{})
	require.ErrorContains(t, err, "TransportOptions.Grant is missing")
	for _, url := range []string{"http://localhost:80", "http://127.0.0.1/mcp", "http://[::1]:8080/mcp", "https://mcp.test/"} {
		_, err := NewTransport(url, TransportOptions{Grant: grant})
		require.NoError(t, err, url)
	}
	_, err = NewTransport("http://mcp.test/mcp", TransportOptions{Grant: grant, AllowInsecure: true})
	require.NoError(t, err)
	for url, want := range map[string]string{
		"https://ada:secret@MCP.test/mcp#part": serverURL,
		"https://mcp.test/":                    "https://mcp.test",
		"https://mcp.test/mcp/?tenant=1":       "https://mcp.test/mcp/",
	} {
		tr, err := NewTransport(url, TransportOptions{Grant: grant})
		require.NoError(t, err)
		require.Equal(t, want, tr.server.String(), "how a token names it where the server does not say")
	}
}

func TestARenewalThatFailsIsNotTriedForEachRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		w.issuer.life = 100
		tr := w.transport(nil)
		w.enters(tr)
		w.issuer.token = func(rw http.ResponseWriter, _ url.Values) bool {
			rw.WriteHeader(http.StatusBadGateway)
			return true
		}
		time.Sleep(90 * time.Second)
		w.asked()
		for range 10 {
			w.enters(tr) // the token is still good
		}
		require.Equal(t, 1, w.count(askedToken))
		w.issuer.token = nil
		w.issuer.refuse(false)
		w.enters(tr)
		require.Equal(t, 2, w.count(askedToken), "now it has to be")
		require.Zero(t, w.count(askedAuthorize))
		time.Sleep(90 * time.Second)
		w.enters(tr)
		require.Equal(t, 3, w.count(askedToken), "the issuer is there again")
	})
}

func TestAnIssuerThatIsBusyRefusesNothing(t *testing.T) {
	for _, status := range []int{http.StatusServiceUnavailable, http.StatusTooManyRequests} {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			w.server.hint = "use"
			w.issuer.life = 60
			tr := w.transport(nil)
			w.enters(tr)
			w.issuer.renewing(status, `{"error":"temporarily_unavailable"}`)
			time.Sleep(50 * time.Second)
			w.asked()
			w.enters(tr) // the token is still good
			w.issuer.refuse(false)
			_, err := w.post(t.Context(), tr)
			require.ErrorContains(t, err, fmt.Sprint("status ", status))
			w.issuer.token = nil
			time.Sleep(firstPause)
			w.enters(tr)
			require.Zero(t, w.count(askedAuthorize), "it can be renewed")
		})
	}
}
