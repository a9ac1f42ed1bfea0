package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// A Store saves the secrets of a client: tokens and client registrations. It is called
// concurrently. Keys contain a URL and no secrets; values are JSON. Anyone who can read a
// value can act as the user, so restrict access to it: a file should only be readable by
// its owner.
//
// Keys do not contain the user. A program with several users needs a [Transport] and a
// Store for each user. The stores may share the keys with the prefix "client ", so that
// the program is only registered once at each authorization server.
type Store interface {
	// Load returns the value of a key, or nil if it has none.
	Load(ctx context.Context, key string) ([]byte, error)
	// Save sets the value of a key. A nil value deletes it.
	Save(ctx context.Context, key string, value []byte) error
	// Lock waits until no other caller has locked the key, and locks it until unlock is
	// called. It returns an error if ctx ends before. A transport holds the lock of its
	// token while it gets another one. If several programs share the store, they must
	// share the locks too: a refresh token can often be used only once, and some
	// authorization servers revoke all tokens of a user if it is used again. While a key
	// is locked, Load and Save of this key must work.
	Lock(ctx context.Context, key string) (unlock func(), err error)
}

// safeStore wraps a store. Panics of the store become errors.
type safeStore struct{ Store }

func (s safeStore) Load(ctx context.Context, key string) (value []byte, err error) {
	defer recoverPanic("store", &err)
	return s.Store.Load(ctx, key)
}

func (s safeStore) Save(ctx context.Context, key string, value []byte) (err error) {
	defer recoverPanic("store", &err)
	return s.Store.Save(ctx, key, value)
}

func (s safeStore) Lock(ctx context.Context, key string) (unlock func(), err error) {
	defer recoverPanic("store", &err)
	unlock, err = s.Store.Lock(ctx, key)
	if err == nil && unlock == nil {
		err = errors.New("store returned no function to unlock")
	}
	return unlock, err
}

// memoryStore is the default store. It keeps values until the program ends.
type memoryStore struct {
	locks keyLocks

	mu     sync.Mutex
	values map[string][]byte
}

func (m *memoryStore) Lock(ctx context.Context, key string) (unlock func(), err error) {
	return m.locks.lock(ctx, key)
}

func (m *memoryStore) Load(_ context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.values[key], nil
}

func (m *memoryStore) Save(_ context.Context, key string, value []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.values == nil {
		m.values = map[string][]byte{}
	}
	m.values[key] = value
	return nil
}

// tokenRecord is a token and the facts that are needed to refresh it. Its JSON is saved
// in the store. It is immutable once it is in use.
type tokenRecord struct {
	Token       *oauth2.Token `json:"token"`
	ObtainedAt  time.Time     `json:"since,omitzero"`
	Issuer      string        `json:"issuer"`
	Client      *OAuthClient  `json:"client,omitempty"` // the registered client that the token was issued to, nil if another party registered it
	Resource    string        `json:"resource"`
	MetadataURL string        `json:"metadata,omitempty"` // URL of the server's metadata, from its challenge
	Scopes      []string      `json:"scopes,omitempty"`   // the requested scopes
	Key         *proofKey     `json:"key,omitempty"`      // the key that the token is bound to, or nil

	refreshed bool // obtained without a new authorization
	fromStore bool // saved by another program, possibly for another user
}

// canRefresh reports whether refreshing the token can result in the wanted token.
func (r *tokenRecord) canRefresh(want *tokenRecord) bool {
	return r.Token.RefreshToken != "" && sameIssuer(r.Issuer, want.Issuer) && r.Resource == want.Resource
}

// sameToken reports whether two records have the same access token, or both are nil.
func (r *tokenRecord) sameToken(other *tokenRecord) bool {
	if r == nil || other == nil {
		return r == other
	}
	return r.Token.AccessToken == other.Token.AccessToken
}

// refreshMargin is the time before its expiry at which a token is refreshed. For a
// short-lived token it is a quarter of the lifetime.
const refreshMargin = 20 * time.Second

// needsRefresh reports whether the token expires soon.
func (r *tokenRecord) needsRefresh() bool {
	expiry := r.Token.Expiry
	return !expiry.IsZero() && time.Until(expiry) <= min(refreshMargin, expiry.Sub(r.ObtainedAt)/4)
}

// tokenState has the current token of a transport, and the attempt to obtain another
// one. It is safe for concurrent use.
type tokenState struct {
	key       string
	store     Store
	onlyBound bool          // ignore a stored token that is not bound to a key
	storeLock chan struct{} // capacity 1; held while the store is in use, which may be slow

	mu              sync.Mutex
	loaded          bool         // current has been read from the store, or set since
	current         *tokenRecord // nil if there is no token
	attempt         *attempt     // the attempt in progress, nil if there is none
	requestedScopes []string     // scopes that were requested because of a 403
	failure         failure
	refreshFailedAt time.Time // time of the last failed early refresh, zero after a success
	authorizations  int       // number of new authorizations and logouts
}

// attempt is an attempt to obtain a token. All requests that need a token wait for it.
type attempt struct {
	reason *rejection
	cancel context.CancelFunc
	done   chan struct{} // closed when token or err is set
	token  *tokenRecord
	err    error

	// The following fields are only used by the goroutine of the attempt.
	interactive bool // the grant may ask a person
	asked       bool // the grant has been called, and may have asked a person

	// The following fields are guarded by tokenState.mu.
	waiters   int   // number of requests that wait
	cancelled bool  // cancelled by logout, or because no request waits
	loggedOut bool  // the token must be discarded
	retrying  error // the last failure, after which the attempt continues; or nil
}

// mayRetry reports whether a failure is temporary, and no person would be asked again.
func (a *attempt) mayRetry(err error) bool { return isRetryError(err) && !a.asked }

// failure is the last failed attempt. It prevents that the next request asks a user
// again who has just refused the authorization.
type failure struct {
	err               error // nil after a success
	until             time.Time
	delay             time.Duration
	insufficientScope bool // only further scopes failed: the token can still be refreshed
}

// blocks reports whether an attempt for this reason is too early.
func (f failure) blocks(reason *rejection) bool {
	return f.err != nil && (reason.insufficientScope || !f.insufficientScope) && time.Now().Before(f.until)
}

// The backoff after failed attempts doubles from minBackoff to maxBackoff.
const (
	minBackoff = time.Minute
	maxBackoff = time.Hour
)

var (
	// errRefreshFailed is returned for an early refresh after a failed one. It prevents a
	// delay of every request while the token is still valid.
	errRefreshFailed = errors.New("refreshing the token has failed recently")
	// errRejected is the failure if the server rejects a token that has just been issued.
	errRejected = errors.New("server rejected a new token")
	// errCannotRefresh is returned if a token cannot be refreshed. It may still be valid.
	errCannotRefresh = errors.New("server now accepts tokens of another issuer or for another resource")
	// errLoggedOut is returned to requests that wait for a token during a logout.
	errLoggedOut = errors.New("logged out while waiting for a token")
)

// clearFailure ends the backoff.
func (s *tokenState) clearFailure() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failure, s.requestedScopes = failure{}, nil
}

// logout deletes the token and cancels the attempt in progress.
func (s *tokenState) logout(ctx context.Context) error {
	s.mu.Lock()
	if s.attempt != nil {
		s.attempt.cancelled, s.attempt.loggedOut = true, true
		s.attempt.cancel()
	}
	s.loaded, s.current, s.requestedScopes, s.failure = true, nil, nil, failure{}
	s.authorizations++
	s.mu.Unlock()
	return s.save(ctx)
}

// authorizationID identifies the current authorization.
func (s *tokenState) authorizationID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(s.authorizations)
}

// load returns the current token, or nil. The first call reads it from the store.
func (s *tokenState) load(ctx context.Context) (*tokenRecord, error) {
	if token, loaded := s.cached(); loaded {
		return token, nil
	}
	if err := s.lockStore(ctx); err != nil {
		return nil, fmt.Errorf("auth: load %q: %w", s.key, err)
	}
	defer s.unlockStore()
	if token, loaded := s.cached(); loaded {
		return token, nil
	}
	token, err := s.readStore(ctx)
	if err != nil {
		return nil, fmt.Errorf("auth: load %q: %w", s.key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded { // a logout sets it
		s.loaded, s.current = true, token
	}
	return s.current, nil
}

// cached returns the current token, and reports whether it has been loaded.
func (s *tokenState) cached() (token *tokenRecord, loaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.loaded
}

// lockLogin locks the token for all programs that share the store. It waits for the login
// of another program. For an early refresh it only waits for a short time, because the
// token is still valid.
func (s *tokenState) lockLogin(ctx context.Context, reason *rejection) (unlock func(), err error) {
	if reason.refreshOnly {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, earlyRefreshLockTimeout)
		defer cancel()
	}
	unlock, err = s.store.Lock(ctx, s.key)
	if err != nil {
		return nil, fmt.Errorf("lock %q: %w", s.key, &retryError{err: err})
	}
	return unlock, nil
}

// earlyRefreshLockTimeout limits the time to wait for another program before an early
// refresh.
const earlyRefreshLockTimeout = 2 * time.Second

// setRetrying sets the last failure of an attempt that continues.
func (s *tokenState) setRetrying(a *attempt, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.retrying = err
}

// lastFailure returns the last failure of an attempt that continues, or nil.
func (s *tokenState) lastFailure(a *attempt) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return a.retrying
}

// newerInStore returns the token in the store if it differs from old and is not older. The
// token old may be nil.
// Another program of the user may have saved it, and may have used the refresh token of
// old. The token in the store is older if old could not be saved.
func (s *tokenState) newerInStore(ctx context.Context, old *tokenRecord) *tokenRecord {
	if s.lockStore(ctx) != nil {
		return nil
	}
	defer s.unlockStore()
	token, err := s.readStore(ctx)
	if err != nil || token == nil || token.sameToken(old) || old != nil && token.ObtainedAt.Before(old.ObtainedAt) {
		return nil
	}
	token.refreshed, token.fromStore = true, true
	return token
}

// readStore returns the token in the store, or nil. The caller holds storeLock.
func (s *tokenState) readStore(ctx context.Context) (*tokenRecord, error) {
	data, err := s.store.Load(ctx, s.key)
	if err != nil || data == nil {
		return nil, err
	}
	token := &tokenRecord{}
	if err := json.Unmarshal(data, token); err != nil {
		return nil, err
	}
	if token.Token == nil {
		return nil, errors.New("stored value has no token")
	}
	if s.onlyBound && token.Key == nil {
		return nil, nil
	}
	if !isTokenText(token.Token.AccessToken) {
		return nil, fmt.Errorf("stored value: %w", errTokenText)
	}
	return token, nil
}

// save writes the current token to the store. It reads the token after it has locked the
// store, so that a later call never writes an older token.
func (s *tokenState) save(ctx context.Context) error {
	if err := s.lockStore(ctx); err != nil {
		return err
	}
	defer s.unlockStore()
	var data []byte
	if token, _ := s.cached(); token != nil {
		var err error
		if data, err = json.Marshal(token); err != nil {
			return err
		}
	}
	return s.store.Save(ctx, s.key, data)
}

// lockStore waits until the store is free. The caller must not hold mu, so that requests
// that do not need the store do not wait for it.
func (s *tokenState) lockStore(ctx context.Context) error {
	select {
	case s.storeLock <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.storeLock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *tokenState) unlockStore() { <-s.storeLock }

// join returns the attempt in progress, or starts one. It returns no attempt if the
// current token is another one than the rejected token, or if an attempt would be
// useless; then token may be nil. It reports whether the attempt was already cancelled,
// in which case it fails although this request waits for it.
func (s *tokenState) join(reason *rejection, start func(*attempt)) (a *attempt, cancelled bool, token *tokenRecord, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch a := s.attempt; {
	case a != nil:
		a.waiters++
		return a, a.cancelled, nil, nil
	case !s.current.sameToken(reason.token):
		return nil, false, s.current, nil
	case s.failure.blocks(reason):
		return nil, false, nil, fmt.Errorf("no retry before %s: %w", s.failure.until.Format(time.TimeOnly), s.failure.err)
	case reason.refreshOnly && time.Since(s.refreshFailedAt) < minBackoff:
		return nil, false, nil, errRefreshFailed
	case reason.insufficientScope && isSubset(reason.scopes, s.requestedScopes):
		return nil, false, nil, nil // the scopes were requested before, and not granted
	}
	s.attempt = &attempt{reason: reason, done: make(chan struct{}), waiters: 1}
	start(s.attempt)
	return s.attempt, false, nil, nil
}

// leave is called when a request no longer waits for the attempt. The last one cancels
// the attempt.
func (s *tokenState) leave(a *attempt) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.waiters--; a.waiters == 0 {
		a.cancelled = true
		a.cancel()
	}
}

// finish ends an attempt and saves its token. It returns the error of the store. Requests
// that wait for the attempt also wait for the store, because the program may end after
// them.
func (s *tokenState) finish(a *attempt, token *tokenRecord, err error) error {
	defer close(a.done)
	if !s.setResult(a, token, err) {
		return nil
	}
	return s.save(context.Background())
}

// setResult sets the result of an attempt. It reports whether there is a token to save.
func (s *tokenState) setResult(a *attempt, token *tokenRecord, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempt = nil
	if a.loggedOut {
		err = errLoggedOut
	}
	if err != nil {
		a.err = err
		s.setFailure(a)
		return false
	}
	s.current, a.token, s.failure, s.refreshFailedAt = token, token, failure{}, time.Time{}
	s.updateRequestedScopes(a.reason)
	if !token.refreshed || token.fromStore {
		s.authorizations++
	}
	return true
}

// rejectToken starts a backoff if the server rejects a token that has just been issued,
// or requires further scopes with each request.
func (s *tokenState) rejectToken(token *tokenRecord, insufficientScope bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.current.sameToken(token) {
		s.failure = failure{err: errRejected, until: time.Now().Add(minBackoff), delay: minBackoff, insufficientScope: insufficientScope}
	}
}

// updateRequestedScopes updates requestedScopes after a response of the authorization
// server. The caller holds mu.
func (s *tokenState) updateRequestedScopes(reason *rejection) {
	switch {
	case reason.insufficientScope:
		s.requestedScopes = union(s.requestedScopes, reason.scopes)
	case !s.current.refreshed: // a new authorization may have fewer scopes
		s.requestedScopes = nil
	}
}

// setFailure handles a failed attempt. The caller holds mu.
func (s *tokenState) setFailure(a *attempt) {
	_, refused := errors.AsType[*Error](a.err)
	if refused && a.reason.insufficientScope {
		s.updateRequestedScopes(a.reason)
	}
	switch {
	case a.cancelled: // not a failure of the authorization server
	case !a.reason.refreshOnly && !refused && (!a.interactive || a.mayRetry(a.err)): // not refused, and no user was asked
	case !a.reason.refreshOnly:
		s.failure = failure{err: a.err, delay: min(max(minBackoff, 2*s.failure.delay), maxBackoff), insufficientScope: a.reason.insufficientScope}
		s.failure.until = time.Now().Add(s.failure.delay)
	case refused || errors.Is(a.err, errCannotRefresh): // do not try to refresh this token again
		record := *s.current
		token := *record.Token
		token.RefreshToken, record.Token = "", &token
		s.current = &record
	default:
		s.refreshFailedAt = time.Now()
	}
}
