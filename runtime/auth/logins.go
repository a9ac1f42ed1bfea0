package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

// A holding is a token and what is known about it. It does not change.
type holding struct {
	Token    *oauth2.Token `json:"token"`
	Issuer   string        `json:"issuer"`
	Resource string        `json:"resource"`
	Metadata string        `json:"metadata,omitempty"` // where the server sent for those of its own
	Scopes   []string      `json:"scopes,omitempty"`   // those asked for

	renewed bool // nobody was asked for it
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

	mu      sync.Mutex
	loaded  bool
	held    *holding
	running *login   // nil while nobody needs a token
	asked   []string // scopes that were asked for because the server wanted more
	failed  failure
	consent int // how often somebody was asked
}

// A login gets one token for all that wait for it.
type login struct {
	why    *refusal
	cancel context.CancelFunc
	done   chan struct{} // closed when next and err are set
	next   *holding
	err    error

	waiting int  // guarded by logins.mu, as is the next
	dropped bool // nobody wants the token any more
}

// A failure keeps a user who has refused from being asked again by the next request
// of a program that does not know.
type failure struct {
	err   error // nil after a success
	until time.Time
	pause time.Duration
}

const (
	firstPause = time.Minute
	mostPause  = time.Hour
)

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
	defer s.mu.Unlock()
	if s.running != nil {
		s.running.dropped = true
		s.running.cancel()
	}
	s.loaded, s.held, s.asked, s.failed = true, nil, nil, failure{}
	s.consent++
	return s.store.Save(ctx, s.key, nil)
}

// current returns the token, nil for none. The first call takes it from the store.
func (s *logins) current(ctx context.Context) (*holding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.loaded {
		return s.held, nil
	}
	data, err := s.store.Load(ctx, s.key)
	if err == nil && data != nil {
		s.held = &holding{}
		if err = json.Unmarshal(data, s.held); err == nil && s.held.Token == nil {
			err = errors.New("there is no token in it")
		}
	}
	if err != nil {
		s.held = nil
		return nil, fmt.Errorf("auth: load %q: %w", s.key, err)
	}
	s.loaded = true
	return s.held, nil
}

// join returns the login to wait for, which begin may have to begin, or what came of an
// earlier one.
func (s *logins) join(why *refusal, begin func(*login)) (*login, *holding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch l := s.running; {
	case l != nil:
		l.waiting++
		return l, nil, nil
	case !s.held.is(why.held):
		return nil, s.held, nil
	case s.failed.err != nil && time.Now().Before(s.failed.until):
		return nil, nil, fmt.Errorf("not asking again before %s: %w", s.failed.until.Format(time.TimeOnly), s.failed.err)
	case why.scarce && within(why.scopes, s.asked):
		return nil, nil, nil // asked for, and not given
	}
	if why.scarce {
		s.asked = union(s.asked, why.scopes)
	}
	s.running = &login{why: why, done: make(chan struct{}), waiting: 1}
	begin(s.running)
	return s.running, nil, nil
}

// leave is for one who does not wait any more.
func (s *logins) leave(l *login) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.waiting--; l.waiting == 0 {
		l.cancel()
	}
}

// end ends a login. The error is that of saving the token.
func (s *logins) end(l *login, held *holding, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer close(l.done)
	s.running = nil
	if l.dropped {
		held, err = nil, errLoggedOut
	}
	if err != nil {
		l.err = err
		s.fail(l)
		return nil
	}
	s.held, l.next, s.failed = held, held, failure{}
	if !held.renewed {
		s.consent++
	}
	data, err := json.Marshal(held)
	if err != nil {
		return err
	}
	return s.store.Save(context.Background(), s.key, data)
}

// fail notes that no token was to be had. Its caller has the lock.
func (s *logins) fail(l *login) {
	_, refused := errors.AsType[*Error](l.err)
	switch {
	case l.dropped || l.waiting == 0: // it was not let finish
	case !l.why.early:
		s.failed = failure{l.err, time.Time{}, min(max(firstPause, 2*s.failed.pause), mostPause)}
		s.failed.until = time.Now().Add(s.failed.pause)
	case refused: // the token cannot be renewed: that is not tried again
		once := *s.held
		token := *once.Token
		token.RefreshToken, once.Token = "", &token
		s.held = &once
	}
}
