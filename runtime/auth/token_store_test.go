package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// failingStore returns errors.
type failingStore struct{ load, save error }

func (s *failingStore) Load(context.Context, string) ([]byte, error) { return nil, s.load }
func (s *failingStore) Save(context.Context, string, []byte) error   { return s.save }
func (s *failingStore) Lock(context.Context, string) (func(), error) { return func() {}, nil }

func TestTokenIsLoadedFromStore(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &memoryStore{}
	share := func(o *TransportOptions) { o.Store = store }
	w.mustPost(w.transport(share))
	w.takeLog()
	w.mustPost(w.transport(share))
	require.Len(t, w.takeLog(), 1)
	w.issuer.revoke(false)
	w.mustPost(w.transport(share))
	require.Zero(t, w.count(authorizeRequest), "the refresh token must be loaded too")

	tr := w.transport(share)
	require.NoError(t, tr.Logout(t.Context()))
	require.Nil(t, store.values["token "+serverURL])
	require.NotNil(t, store.values["client "+issuerURL])
	w.takeLog()
	w.mustPost(tr)
	require.Equal(t, 1, w.count(authorizeRequest))
	require.Zero(t, w.count(registerRequest))
}

func TestAuthorizationID(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	tr := w.transport(nil)
	w.mustPost(tr)
	first := tr.AuthorizationID()
	w.issuer.revoke(false)
	w.mustPost(tr)
	require.Equal(t, first, tr.AuthorizationID(), "a refresh must not change it")
	require.NoError(t, tr.Logout(t.Context()))
	loggedOut := tr.AuthorizationID()
	require.NotEqual(t, first, loggedOut)
	w.mustPost(tr)
	require.NotContains(t, []string{first, loggedOut}, tr.AuthorizationID())
}

func TestTokenRefreshedByOtherProgram(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &memoryStore{}
	share := func(o *TransportOptions) { o.Store = store }
	one, other := w.transport(share), w.transport(share)
	w.mustPost(one)
	w.mustPost(other)
	account := other.AuthorizationID()
	w.issuer.revoke(false)
	used := one.tokens.current.Token.RefreshToken
	w.mustPost(one)
	delete(w.issuer.refreshTokens, used) // a refresh token can be used once
	w.takeLog()
	w.mustPost(other)
	require.Zero(t, w.count(tokenRequest))
	require.NotEqual(t, account, other.AuthorizationID(), "it may be the token of another user")
	w.issuer.revoke(false)
	w.mustPost(other)
	require.Equal(t, 1, w.count(tokenRequest))
	require.Zero(t, w.count(authorizeRequest))
}

func TestExpiredTokenRefreshedByOtherProgram(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &memoryStore{}
	share := func(o *TransportOptions) { o.Store = store }
	one, other := w.transport(share), w.transport(share)
	w.mustPost(one)
	w.mustPost(other)
	w.issuer.revoke(false)
	w.mustPost(one)
	w.issuer.revoke(false) // also the refreshed token
	w.takeLog()
	w.mustPost(other)
	require.Equal(t, 1, w.count(tokenRequest))
	require.Zero(t, w.count(authorizeRequest))
}

func TestUnsavedTokenIsRefreshed(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &panickingStore{}
	tr := w.transport(func(o *TransportOptions) { o.Store = store })
	w.mustPost(tr)
	store.save = true
	w.takeLog()
	for range 3 { // the token in the store is outdated
		w.issuer.revoke(false)
		w.mustPost(tr)
	}
	require.Equal(t, 3, w.count(tokenRequest))
	require.Zero(t, w.count(authorizeRequest))
}

// otherTransport returns a transport for another server with the same issuer.
func (w *fakeNetwork) otherTransport(store Store, grant Grant) *Transport {
	t, err := NewTransport(serverURL+"/more", &TransportOptions{Base: w, HTTPClient: &http.Client{Transport: w}, Store: store, Grant: grant})
	require.NoError(w.t, err)
	return t
}

func TestTokenIsRefreshedByItsClient(t *testing.T) {
	for name, change := range map[string]func(user *AuthorizationCode){
		"other client is registered": func(user *AuthorizationCode) { user.RedirectURL = "http://127.0.0.1:7778/callback" },
		"client is deleted":          func(user *AuthorizationCode) { user.Authorize = failAuthorize },
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeNetwork(t)
			w.server.challengeScope = "use"
			store := &memoryStore{}
			share := func(o *TransportOptions) { o.Store, o.Grant = store, wrappedGrant{o.Grant} }
			w.mustPost(w.transport(share))
			client := w.issuer.lastForm().Get("client_id")
			user := w.user()
			change(user)
			_ = w.otherTransport(store, user).Login(t.Context())
			stored := registeredClient{OAuthClient: &OAuthClient{}}
			_ = json.Unmarshal(store.values["client "+issuerURL], &stored)
			require.NotEqual(t, client, stored.ClientID)
			w.takeLog()
			for n := range 2 { // also with the refreshed token
				w.issuer.revoke(false)
				w.mustPost(w.transport(share))
				require.Equal(t, n+1, w.count(tokenRequest))
				require.Zero(t, w.count(authorizeRequest))
				require.Equal(t, client, w.issuer.lastForm().Get("client_id"))
			}
		})
	}
}

// wrappedGrant calls a grant with a copy of the request.
type wrappedGrant struct{ Grant }

func (g wrappedGrant) Token(ctx context.Context, req *TokenRequest) (*oauth2.Token, error) {
	copied := *req
	return g.Grant.Token(ctx, &copied)
}

func failAuthorize(context.Context, string) (string, error) { return "", errors.New("closed") }

func TestForgottenClientDoesNotDeleteNewClient(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &memoryStore{}
	share := func(o *TransportOptions) { o.Store = store }
	w.mustPost(w.transport(share))
	clear(w.issuer.clients)
	next := w.user()
	next.RedirectURL = "http://127.0.0.1:7778/callback"
	require.NoError(t, w.otherTransport(store, next).Login(t.Context()))
	registered := store.values["client "+issuerURL]
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(w.transport(func(o *TransportOptions) { o.Store, o.Grant = store, next }))
	require.Equal(t, 1, w.count(authorizeRequest))
	require.Zero(t, w.count(registerRequest))
	require.Equal(t, registered, store.values["client "+issuerURL])
}

func TestStoredTokenWithoutClient(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &memoryStore{}
	share := func(o *TransportOptions) { o.Store = store }
	w.mustPost(w.transport(share))
	var record tokenRecord
	require.NoError(t, json.Unmarshal(store.values["token "+serverURL], &record))
	client := record.Client
	require.NotNil(t, client)
	record.Client = nil // as saved by earlier versions
	data, err := json.Marshal(record)
	require.NoError(t, err)
	store.values["token "+serverURL] = data
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(w.transport(share))
	require.Zero(t, w.count(authorizeRequest))
	require.NoError(t, json.Unmarshal(store.values["token "+serverURL], &record))
	require.Equal(t, client, record.Client)
}

func TestStoreErrors(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	locked := errors.New("locked")
	store := &failingStore{load: locked}
	tr := w.transport(func(o *TransportOptions) { o.Store = store })
	_, err := w.post(t.Context(), tr)
	require.ErrorIs(t, err, locked)
	require.ErrorContains(t, err, `auth: load "token https://mcp.test/mcp": locked`)
	require.Empty(t, w.takeLog())
	store.load = nil
	tr = w.transport(func(o *TransportOptions) {
		o.Store = store
		o.Grant = &ClientCredentials{Client: OAuthClient{Issuer: issuerURL, ClientID: "c"}}
	})
	w.issuer.clients["c"] = ""
	store.save = locked
	w.mustPost(tr) // the token is used although it was not saved
	tr = w.transport(func(o *TransportOptions) { o.Store = store })
	w.mustPost(tr) // so is the client registration
	w.issuer.revoke(false)
	w.takeLog()
	w.mustPost(tr)
	require.Zero(t, w.count(registerRequest)+w.count(authorizeRequest))

	for _, value := range []string{"", "{", "null", "{}", `{"token":null}`} {
		store := &memoryStore{values: map[string][]byte{"token " + serverURL: []byte(value)}}
		tr := w.transport(func(o *TransportOptions) { o.Store = store })
		_, err := w.post(t.Context(), tr)
		require.ErrorContains(t, err, "auth: load", value)
		require.NoError(t, tr.Logout(t.Context()))
		w.mustPost(tr)
	}
}

// panickingStore panics in one of its methods.
type panickingStore struct {
	memoryStore
	load, save bool
}

func (s *panickingStore) Load(ctx context.Context, key string) ([]byte, error) {
	if s.load {
		panic("no key ring")
	}
	return s.memoryStore.Load(ctx, key)
}

func (s *panickingStore) Save(ctx context.Context, key string, value []byte) error {
	if s.save {
		panic("no key ring")
	}
	return s.memoryStore.Save(ctx, key, value)
}

func TestStorePanics(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &panickingStore{load: true}
	tr := w.transport(func(o *TransportOptions) { o.Store = store })
	_, err := w.post(t.Context(), tr)
	require.ErrorContains(t, err, `auth: load "token https://mcp.test/mcp": store panicked: no key ring`)
	store.load = false
	w.mustPost(tr)
	store.load, store.save = true, true
	require.ErrorContains(t, tr.Logout(t.Context()), "store panicked: no key ring")
	_, err = w.post(t.Context(), tr)
	require.ErrorContains(t, err, `load "client https://login.test": store panicked: no key ring`)
	store.load = false
	require.NoError(t, tr.Login(t.Context()), "the token is used although it was not saved")
	w.issuer.revoke(false)
	store.load = true
	w.mustPost(tr)
}

func TestLoginPanics(t *testing.T) {
	w := newFakeNetwork(t)
	for _, change := range []func(*TransportOptions){
		func(o *TransportOptions) { o.Grant = (*AuthorizationCode)(nil) },
		func(o *TransportOptions) {
			o.HTTPClient = &http.Client{Transport: roundTripFunc(func(*http.Request) (*http.Response, error) { panic("a bug") })}
		},
	} {
		_, err := w.post(t.Context(), w.transport(change))
		require.ErrorContains(t, err, `auth: token for "https://mcp.test/mcp": login panicked`)
	}
}

// slowStore blocks while it saves a token, until saveGate is closed.
type slowStore struct {
	memoryStore
	checkUnlocked func() bool   // reports whether the caller holds no lock
	saveGate      chan struct{} // nil does not block
}

func (s *slowStore) Load(ctx context.Context, key string) ([]byte, error) {
	if !s.checkUnlocked() {
		return nil, errors.New("the caller holds a lock")
	}
	return s.memoryStore.Load(ctx, key)
}

func (s *slowStore) Save(ctx context.Context, key string, value []byte) error {
	if !s.checkUnlocked() {
		return errors.New("the caller holds a lock")
	}
	if s.saveGate != nil && value != nil && strings.HasPrefix(key, "token ") {
		<-s.saveGate
	}
	return s.memoryStore.Save(ctx, key, value)
}

func TestSlowStoreDoesNotBlockRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		store := &slowStore{}
		tr := w.transport(func(o *TransportOptions) { o.Store = store })
		store.checkUnlocked = func() bool {
			time.Sleep(time.Nanosecond) // until a starting login has released the lock
			if !tr.tokens.mu.TryLock() {
				return false
			}
			tr.tokens.mu.Unlock()
			return true
		}
		w.mustPost(tr)
		require.NoError(t, tr.Logout(t.Context()))

		store.saveGate = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.post(ctx, tr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		w.mustPost(tr) // the token is available
		out := make(chan error)
		go func() { out <- tr.Logout(t.Context()) }()
		synctest.Wait()
		close(store.saveGate)
		require.NoError(t, <-out)
		require.Nil(t, store.values["token "+serverURL], "the token must be deleted")
	})
}

func TestLogoutCancelsLogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		store := &memoryStore{}
		tr := w.transport(func(o *TransportOptions) {
			o.Store = store
			o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
				<-ctx.Done()
				return w.consent(context.WithoutCancel(ctx), page) // after the logout
			}}
		})
		result := make(chan error)
		go func() { _, err := w.post(t.Context(), tr); result <- err }()
		synctest.Wait()
		require.NoError(t, tr.Logout(t.Context()))
		require.ErrorIs(t, <-result, errLoggedOut)
		require.Nil(t, store.values["token "+serverURL])
		require.Nil(t, tr.tokens.current)
	})
}

// oneTimeRefresh makes the issuer revoke all tokens when a refresh token is used twice, as
// many authorization servers do.
func (s *fakeIssuer) oneTimeRefresh() {
	used := map[string]bool{}
	s.tokenHandler = func(w http.ResponseWriter, f url.Values) bool {
		token := f.Get("refresh_token")
		if token == "" {
			return false
		}
		if used[token] {
			clear(s.tokens)
			clear(s.refreshTokens)
		}
		used[token] = true
		s.grant(w, f)
		delete(s.refreshTokens, token)
		return true
	}
}

func TestProgramsWithOneStoreRefreshOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		w.issuer.oneTimeRefresh()
		store := &memoryStore{}
		share := func(o *TransportOptions) { o.Store = store }
		programs := []*Transport{w.transport(share), w.transport(share), w.transport(share)}
		for _, tr := range programs {
			w.mustPost(tr)
		}
		require.Equal(t, 1, w.count(authorizeRequest))
		w.issuer.delay = time.Second
		for range 3 {
			w.issuer.revoke(false)
			w.takeLog()
			var all sync.WaitGroup
			for _, tr := range programs {
				all.Go(func() { w.mustPost(tr) })
			}
			all.Wait()
			require.Equal(t, 1, w.count(tokenRequest), "the other programs use the new token")
			require.Zero(t, w.count(authorizeRequest))
		}
	})
}

func TestProgramsWithOneStoreAskOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		w.server.challengeScope = "use"
		store := &memoryStore{}
		share := func(o *TransportOptions) {
			user := w.user()
			user.Authorize = func(ctx context.Context, page string) (string, error) {
				time.Sleep(time.Minute)
				return w.consent(ctx, page)
			}
			o.Store, o.Grant = store, user
		}
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() { w.mustPost(w.transport(share)) })
		}
		all.Wait()
		require.Equal(t, 1, w.count(authorizeRequest))
	})
}

// unlockedStore is a store whose programs do not share its locks.
type unlockedStore struct{ memoryStore }

func (s *unlockedStore) Lock(context.Context, string) (func(), error) { return func() {}, nil }

func TestStoreIsReadAgainAfterInvalidGrant(t *testing.T) {
	w := newFakeNetwork(t)
	w.server.challengeScope = "use"
	store := &unlockedStore{}
	share := func(o *TransportOptions) { o.Store = store }
	one, other := w.transport(share), w.transport(share)
	w.mustPost(one)
	w.mustPost(other)
	w.issuer.revoke(false)
	racing := false
	w.issuer.tokenHandler = func(rw http.ResponseWriter, f url.Values) bool {
		if racing || f.Get("refresh_token") == "" {
			return false
		}
		racing = true // the other program is faster
		w.issuer.mu.Unlock()
		w.mustPost(other)
		w.issuer.mu.Lock()
		delete(w.issuer.refreshTokens, f.Get("refresh_token"))
		return false
	}
	w.takeLog()
	w.mustPost(one)
	require.True(t, racing)
	require.Zero(t, w.count(authorizeRequest), "the token of the other program is used")
}

// lockingStore returns an error from Lock.
type lockingStore struct {
	memoryStore
	err error
}

func (s *lockingStore) Lock(context.Context, string) (func(), error) { return nil, s.err }

func TestLockErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFakeNetwork(t)
		store := &lockingStore{err: errors.New("disk full")}
		_, err := w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Store = store }))
		require.ErrorContains(t, err, `lock "token https://mcp.test/mcp": disk full`)
		store.err = nil
		_, err = w.post(t.Context(), w.transport(func(o *TransportOptions) { o.Store = store }))
		require.ErrorContains(t, err, "store returned no function to unlock")
		require.Zero(t, w.count(authorizeRequest))
	})
}
