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

// A holding is a token and what is known about it. It does not change.
type holding struct {
	Token    *oauth2.Token `json:"token"`
	Since    time.Time     `json:"since,omitzero"` // when it was got
	Issuer   string        `json:"issuer"`
	Client   *Registration `json:"client,omitempty"` // that registered itself, which renews the token whatever is registered since
	Resource string        `json:"resource"`
	Metadata string        `json:"metadata,omitempty"` // where the server sent for those of its own
	Scopes   []string      `json:"scopes,omitempty"`   // those asked for

	renewed bool // nobody was asked for it
	found   bool // by another program, perhaps for another user
}

// renewable tells whether a token can be renewed into the one that is wanted.
func (h *holding) renewable(want *holding) bool {
	return h.Token.RefreshToken != "" && h.Issuer == want.Issuer && h.Resource == want.Resource
}

// is tells whether two are the same token, nil included.
func (h *holding) is(other *holding) bool {
	if h == nil || other == nil {
		return h == other
	}
	return h.Token.AccessToken == other.Token.AccessToken
}

// logins is which token a transport has and how it gets another.
type logins struct {
	key   string
	store Store
	using chan struct{} // has room for the one that uses the store, which may take its time

	mu      sync.Mutex
	loaded  bool
	held    *holding
	running *login   // nil while nobody needs a token
	asked   []string // scopes that were asked for because the server wanted more
	failed  failure
	missed  time.Time // when a token could not be renewed early, zero after a success
	consent int       // how often somebody was asked
}

// A login gets one token for all that wait for it.
type login struct {
	why    *refusal
	cancel context.CancelFunc
	done   chan struct{} // closed when next and err are set
	next   *holding
	err    error

	waiting int  // guarded by logins.mu, as are the next
	over    bool // it is being cancelled: what fails now fails for nobody
	dropped bool // nobody wants the token any more
}

// A failure keeps a user who has refused from being asked again by the next request
// of a program that does not know.
type failure struct {
	err    error // nil after a success
	until  time.Time
	pause  time.Duration
	scarce bool // it was about more scopes: what there is can still be renewed
}

// bars tells whether a login must not be begun yet.
func (f failure) bars(why *refusal) bool {
	return f.err != nil && (why.scarce || !f.scarce) && time.Now().Before(f.until)
}

const (
	firstPause = time.Minute
	mostPause  = time.Hour
)

// errMissed is no reason to hold up each request of a token that is still good.
var errMissed = errors.New("it could not be renewed a moment ago")

var errLoggedOut = errors.New("logged out meanwhile")

// forgive forgets that something failed.
func (s *logins) forgive() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed, s.asked = failure{}, nil
}

// clear forgets the token.
func (s *logins) clear(ctx context.Context) error {
	s.mu.Lock()
	if s.running != nil {
		s.running.over, s.running.dropped = true, true
		s.running.cancel()
	}
	s.loaded, s.held, s.asked, s.failed = true, nil, nil, failure{}
	s.consent++
	s.mu.Unlock()
	return s.save(ctx)
}

// current returns the token, nil for none. The first call takes it from the store.
func (s *logins) current(ctx context.Context) (*holding, error) {
	if held, loaded := s.known(); loaded {
		return held, nil
	}
	if err := s.use(ctx); err != nil {
		return nil, fmt.Errorf("auth: load %q: %w", s.key, err)
	}
	defer s.release()
	if held, loaded := s.known(); loaded {
		return held, nil
	}
	held, err := s.load(ctx)
	if err != nil {
		return nil, fmt.Errorf("auth: load %q: %w", s.key, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.loaded { // nobody has logged out meanwhile
		s.loaded, s.held = true, held
	}
	return s.held, nil
}

// load returns the token that is in the store, nil for none.
func (s *logins) load(ctx context.Context) (*holding, error) {
	data, err := s.store.Load(ctx, s.key)
	if err != nil || data == nil {
		return nil, err
	}
	held := &holding{}
	if err := json.Unmarshal(data, held); err != nil {
		return nil, err
	}
	if held.Token == nil {
		return nil, errors.New("there is no token in it")
	}
	return held, nil
}

// found returns the token in the store if it is another than the one at hand, and not from
// before it, as where that could not be saved: another program of the user's may have got
// it, and what renews the old one is of no use then.
func (s *logins) found(ctx context.Context, old *holding) *holding {
	if s.use(ctx) != nil {
		return nil
	}
	defer s.release()
	held, err := s.load(ctx)
	if err != nil || held == nil || held.is(old) || held.Since.Before(old.Since) {
		return nil
	}
	held.renewed, held.found = true, true
	return held
}

// known returns the token without asking the store, and whether that is needless.
func (s *logins) known() (held *holding, loaded bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held, s.loaded
}

// account names what somebody was asked for last.
func (s *logins) account() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strconv.Itoa(s.consent)
}

// save makes the store hold the token at hand, which is never older than that of an
// earlier call.
func (s *logins) save(ctx context.Context) error {
	if err := s.use(ctx); err != nil {
		return err
	}
	defer s.release()
	var data []byte
	if held, _ := s.known(); held != nil {
		var err error
		if data, err = json.Marshal(held); err != nil {
			return err
		}
	}
	return s.store.Save(ctx, s.key, data)
}

// use waits until the store is free. Its caller does not have the lock, so that who does
// not need the store does not wait for it.
func (s *logins) use(ctx context.Context) error {
	select {
	case s.using <- struct{}{}:
		return nil
	default:
	}
	select {
	case s.using <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *logins) release() { <-s.using }

// join returns the login to wait for, which begin may have to begin, or what came of an
// earlier one. It is late where the login will fail because of those who have left it.
func (s *logins) join(why *refusal, begin func(*login)) (l *login, late bool, held *holding, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch l := s.running; {
	case l != nil:
		l.waiting++
		return l, l.over, nil, nil
	case !s.held.is(why.held):
		return nil, false, s.held, nil
	case s.failed.bars(why):
		return nil, false, nil, fmt.Errorf("not asking again before %s: %w", s.failed.until.Format(time.TimeOnly), s.failed.err)
	case why.early && time.Since(s.missed) < firstPause:
		return nil, false, nil, errMissed
	case why.scarce && within(why.scopes, s.asked):
		return nil, false, nil, nil // asked for, and not given
	}
	s.running = &login{why: why, done: make(chan struct{}), waiting: 1}
	begin(s.running)
	return s.running, false, nil, nil
}

// leave is for one who does not wait any more.
func (s *logins) leave(l *login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.waiting--; l.waiting == 0 {
		l.over = true
		l.cancel()
	}
}

// end ends a login. The error is that of saving the token, for which those that have
// waited for the login wait, too: it may be the last that their program does.
func (s *logins) end(l *login, held *holding, err error) error {
	defer close(l.done)
	if !s.settle(l, held, err) {
		return nil
	}
	return s.save(context.Background())
}

// settle takes what has come of a login, and tells whether there is a token to save.
func (s *logins) settle(l *login, held *holding, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = nil
	if l.dropped {
		err = errLoggedOut
	}
	if err != nil {
		l.err = err
		s.fail(l)
		return false
	}
	s.held, l.next, s.failed, s.missed = held, held, failure{}, time.Time{}
	s.answered(l.why)
	if !held.renewed || held.found {
		s.consent++
	}
	return true
}

// errRejected is no reason to ask the user for each request.
var errRejected = errors.New("the server has refused a new token")

// reject notes that the server does not take a token that was got for it, or wants more
// and more scopes.
func (s *logins) reject(held *holding, scarce bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held.is(held) {
		s.failed = failure{err: errRejected, until: time.Now().Add(firstPause), pause: firstPause, scarce: scarce}
	}
}

// answered notes that the issuer has answered. Its caller has the lock.
func (s *logins) answered(why *refusal) {
	switch {
	case why.scarce:
		s.asked = union(s.asked, why.scopes)
	case !s.held.renewed: // it may be good for less than the one before
		s.asked = nil
	}
}

// fail notes that no token was to be had. Its caller has the lock.
func (s *logins) fail(l *login) {
	_, refused := errors.AsType[*Error](l.err)
	if refused && l.why.scarce {
		s.answered(l.why)
	}
	switch {
	case l.over: // it was not let finish
	case !l.why.early:
		s.failed = failure{err: l.err, pause: min(max(firstPause, 2*s.failed.pause), mostPause), scarce: l.why.scarce}
		s.failed.until = time.Now().Add(s.failed.pause)
	case refused || errors.Is(l.err, errElsewhere): // the token cannot be renewed: that is not tried again
		once := *s.held
		token := *once.Token
		token.RefreshToken, once.Token = "", &token
		s.held = &once
	default:
		s.missed = time.Now()
	}
}
