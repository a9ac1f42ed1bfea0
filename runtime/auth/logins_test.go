package auth

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/oauth2"
)

// failing is a store that does not work.
type failing struct{ load, save error }

func (s *failing) Load(context.Context, string) ([]byte, error) { return nil, s.load }
func (s *failing) Save(context.Context, string, []byte) error   { return s.save }

func TestATokenOutlivesItsProgram(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &memory{}
	share := func(o *TransportOptions) { o.Store = store }
	w.enters(w.transport(share))
	w.asked()
	w.enters(w.transport(share))
	require.Len(t, w.asked(), 1)
	w.issuer.refuse(false)
	w.enters(w.transport(share))
	require.Zero(t, w.count(askedAuthorize), "what renews it does, too")

	tr := w.transport(share)
	require.NoError(t, tr.Logout(t.Context()))
	require.Nil(t, store.values["token "+serverURL])
	require.NotNil(t, store.values["client "+issuerURL])
	w.asked()
	w.enters(tr)
	require.Equal(t, 1, w.count(askedAuthorize))
	require.Zero(t, w.count(askedRegister))
}

func TestAnAccountIsThatOfOneConsent(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	tr := w.transport(nil)
	w.enters(tr)
	ada := tr.Account()
	w.issuer.refuse(false)
	w.enters(tr)
	require.Equal(t, ada, tr.Account(), "the token was renewed")
	require.NoError(t, tr.Logout(t.Context()))
	nobody := tr.Account()
	require.NotEqual(t, ada, nobody)
	w.enters(tr)
	require.NotContains(t, []string{ada, nobody}, tr.Account())
}

func TestATokenThatAnotherProgramHasRenewedIsUsed(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &memory{}
	share := func(o *TransportOptions) { o.Store = store }
	one, other := w.transport(share), w.transport(share)
	w.enters(one)
	w.enters(other)
	account := other.Account()
	w.issuer.refuse(false)
	once := one.state.held.Token.RefreshToken
	w.enters(one)
	delete(w.issuer.renewals, once) // it could be used once
	w.asked()
	w.enters(other)
	require.Zero(t, w.count(askedToken))
	require.NotEqual(t, account, other.Account(), "who knows whose it is")
	w.issuer.refuse(false)
	w.enters(other)
	require.Equal(t, 1, w.count(askedToken))
	require.Zero(t, w.count(askedAuthorize))
}

func TestATokenThatAnotherProgramHasRenewedIsRenewedOnceMore(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &memory{}
	share := func(o *TransportOptions) { o.Store = store }
	one, other := w.transport(share), w.transport(share)
	w.enters(one)
	w.enters(other)
	w.issuer.refuse(false)
	w.enters(one)
	w.issuer.refuse(false) // that one, too
	w.asked()
	w.enters(other)
	require.Equal(t, 1, w.count(askedToken))
	require.Zero(t, w.count(askedAuthorize))
}

func TestATokenThatCouldNotBeSavedIsRenewedAllTheSame(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &panicking{}
	tr := w.transport(func(o *TransportOptions) { o.Store = store })
	w.enters(tr)
	store.save = true
	w.asked()
	for range 3 { // what is in the store is of no use any more
		w.issuer.refuse(false)
		w.enters(tr)
	}
	require.Equal(t, 3, w.count(askedToken))
	require.Zero(t, w.count(askedAuthorize))
}

// elsewhere returns the transport for another server of the same issuer.
func (w *world) elsewhere(store Store, grant Grant) *Transport {
	t, err := NewTransport(serverURL+"/more", TransportOptions{Base: w, Client: &http.Client{Transport: w}, Store: store, Grant: grant})
	require.NoError(w.t, err)
	return t
}

func TestATokenIsRenewedByTheClientThatItWasIssuedTo(t *testing.T) {
	for name, change := range map[string]func(user *AuthorizationCode){
		"another has registered since": func(user *AuthorizationCode) { user.RedirectURL = "http://127.0.0.1:7778/callback" },
		"it may be unknown":            func(user *AuthorizationCode) { user.Authorize = closed },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.server.hint = "use"
			store := &memory{}
			share := func(o *TransportOptions) { o.Store, o.Grant = store, around{o.Grant} }
			w.enters(w.transport(share))
			client := w.issuer.lastForm().Get("client_id")
			user := w.user()
			change(user)
			_ = w.elsewhere(store, user).Login(t.Context())
			now := enrolled{Registration: &Registration{}}
			_ = json.Unmarshal(store.values["client "+issuerURL], &now)
			require.NotEqual(t, client, now.ClientID)
			w.asked()
			for n := range 2 { // a renewed token is one like the first
				w.issuer.refuse(false)
				w.enters(w.transport(share))
				require.Equal(t, n+1, w.count(askedToken))
				require.Zero(t, w.count(askedAuthorize))
				require.Equal(t, client, w.issuer.lastForm().Get("client_id"))
			}
		})
	}
}

// around is a grant around another, which gets needs that are copies.
type around struct{ Grant }

func (g around) Token(ctx context.Context, need *Need) (*oauth2.Token, error) {
	copied := *need
	return g.Grant.Token(ctx, &copied)
}

func closed(context.Context, string) (string, error) { return "", errors.New("closed") }

func TestAClientThatTheIssuerHasForgottenLeavesTheNextAlone(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &memory{}
	share := func(o *TransportOptions) { o.Store = store }
	w.enters(w.transport(share))
	clear(w.issuer.clients)
	next := w.user()
	next.RedirectURL = "http://127.0.0.1:7778/callback"
	require.NoError(t, w.elsewhere(store, next).Login(t.Context()))
	registered := store.values["client "+issuerURL]
	w.issuer.refuse(false)
	w.asked()
	w.enters(w.transport(func(o *TransportOptions) { o.Store, o.Grant = store, next }))
	require.Equal(t, 1, w.count(askedAuthorize))
	require.Zero(t, w.count(askedRegister))
	require.Equal(t, registered, store.values["client "+issuerURL])
}

func TestATokenThatDoesNotTellItsClientIsRenewedByTheOneThatIsRegistered(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &memory{}
	share := func(o *TransportOptions) { o.Store = store }
	w.enters(w.transport(share))
	var held holding
	require.NoError(t, json.Unmarshal(store.values["token "+serverURL], &held))
	client := held.Client
	require.NotNil(t, client)
	held.Client = nil // as earlier versions kept it
	data, err := json.Marshal(held)
	require.NoError(t, err)
	store.values["token "+serverURL] = data
	w.issuer.refuse(false)
	w.asked()
	w.enters(w.transport(share))
	require.Zero(t, w.count(askedAuthorize))
	require.NoError(t, json.Unmarshal(store.values["token "+serverURL], &held))
	require.Equal(t, client, held.Client)
}

func TestAStoreThatFails(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	broken := errors.New("locked")
	store := &failing{load: broken}
	tr := w.transport(func(o *TransportOptions) { o.Store = store })
	_, err := w.post(t.Context(), tr)
	require.ErrorIs(t, err, broken)
	require.ErrorContains(t, err, `auth: load "token https://mcp.test/mcp": locked`)
	require.Empty(t, w.asked())
	store.load = nil
	tr = w.transport(func(o *TransportOptions) {
		o.Store = store
		o.Grant = &ClientCredentials{Client: Registration{Issuer: issuerURL, ClientID: "c"}}
	})
	w.issuer.clients["c"] = ""
	store.save = broken
	w.enters(tr) // the token is good all the same
	tr = w.transport(func(o *TransportOptions) { o.Store = store })
	w.enters(tr) // and so is what the client is registered as
	w.issuer.refuse(false)
	w.asked()
	w.enters(tr)
	require.Zero(t, w.count(askedRegister)+w.count(askedAuthorize))

	for _, value := range []string{"", "{", "null", "{}", `{"token":null}`} {
		kept := &memory{values: map[string][]byte{"token " + serverURL: []byte(value)}}
		tr := w.transport(func(o *TransportOptions) { o.Store = kept })
		_, err := w.post(t.Context(), tr)
		require.ErrorContains(t, err, "auth: load", value)
		require.NoError(t, tr.Logout(t.Context()))
		w.enters(tr)
	}
}

// panicking is a store with a bug in one of its methods.
type panicking struct {
	memory
	load, save bool
}

func (s *panicking) Load(ctx context.Context, key string) ([]byte, error) {
	if s.load {
		panic("no key ring")
	}
	return s.memory.Load(ctx, key)
}

func (s *panicking) Save(ctx context.Context, key string, value []byte) error {
	if s.save {
		panic("no key ring")
	}
	return s.memory.Save(ctx, key, value)
}

func TestAStoreThatPanicsEndsNoProcess(t *testing.T) {
	w := newWorld(t)
	w.server.hint = "use"
	store := &panicking{load: true}
	tr := w.transport(func(o *TransportOptions) { o.Store = store })
	_, err := w.post(t.Context(), tr)
	require.ErrorContains(t, err, `auth: load "token https://mcp.test/mcp": the store panicked: no key ring`)
	store.load = false
	w.enters(tr)
	store.load, store.save = true, true
	require.ErrorContains(t, tr.Logout(t.Context()), "the store panicked: no key ring")
	_, err = w.post(t.Context(), tr)
	require.ErrorContains(t, err, `load "client https://login.test": the store panicked: no key ring`)
	store.load = false
	require.NoError(t, tr.Login(t.Context()), "the token is good all the same")
	w.issuer.refuse(false)
	store.load = true
	w.enters(tr)
}

func TestWhatPanicsInALoginEndsNoProcess(t *testing.T) {
	w := newWorld(t)
	for _, change := range []func(*TransportOptions){
		func(o *TransportOptions) { o.Grant = (*AuthorizationCode)(nil) },
		func(o *TransportOptions) {
			o.Client = &http.Client{Transport: asked(func(*http.Request) (*http.Response, error) { panic("a bug") })}
		},
	} {
		_, err := w.post(t.Context(), w.transport(change))
		require.ErrorContains(t, err, `auth: token for "https://mcp.test/mcp": a login panicked`)
	}
}

// slow is a store that takes as long to save a token as it is told to.
type slow struct {
	memory
	free func() bool   // whether nobody waits for it who need not
	gate chan struct{} // nil lets everybody pass
}

func (s *slow) Load(ctx context.Context, key string) ([]byte, error) {
	if !s.free() {
		return nil, errors.New("others wait")
	}
	return s.memory.Load(ctx, key)
}

func (s *slow) Save(ctx context.Context, key string, value []byte) error {
	if !s.free() {
		return errors.New("others wait")
	}
	if s.gate != nil && value != nil && strings.HasPrefix(key, "token ") {
		<-s.gate
	}
	return s.memory.Save(ctx, key, value)
}

func TestWhoDoesNotNeedTheStoreDoesNotWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.server.hint = "use"
		store := &slow{}
		tr := w.transport(func(o *TransportOptions) { o.Store = store })
		store.free = func() bool {
			time.Sleep(time.Nanosecond) // those that have just begun a login let go of it
			if !tr.state.mu.TryLock() {
				return false
			}
			tr.state.mu.Unlock()
			return true
		}
		w.enters(tr)
		require.NoError(t, tr.Logout(t.Context()))

		store.gate = make(chan struct{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := w.post(ctx, tr)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		w.enters(tr) // the token is there
		out := make(chan error)
		go func() { out <- tr.Logout(t.Context()) }()
		synctest.Wait()
		close(store.gate)
		require.NoError(t, <-out)
		require.Nil(t, store.values["token "+serverURL], "what was logged out of stays so")
	})
}

func TestALogoutEndsALogin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		store := &memory{}
		tr := w.transport(func(o *TransportOptions) {
			o.Store = store
			o.Grant = &AuthorizationCode{RedirectURL: "http://127.0.0.1:1/", Authorize: func(ctx context.Context, page string) (string, error) {
				<-ctx.Done()
				return w.agree(context.WithoutCancel(ctx), page) // at the last moment
			}}
		})
		result := make(chan error)
		go func() { _, err := w.post(t.Context(), tr); result <- err }()
		synctest.Wait()
		require.NoError(t, tr.Logout(t.Context()))
		require.ErrorIs(t, <-result, errLoggedOut)
		require.Nil(t, store.values["token "+serverURL])
		require.Nil(t, tr.state.held)
	})
}
