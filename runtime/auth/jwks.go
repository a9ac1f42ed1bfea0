package auth

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	keysFresh     = 10 * time.Minute // how long keys are not fetched anew
	keysUsable    = time.Hour        // how long they serve while they cannot be
	fetchPause    = 10 * time.Second // between one fetch and the next, whatever tokens say
	fetchPatience = 10 * time.Second
)

// keySet is the keys of an issuer. It is safe for concurrent use.
type keySet struct {
	fetch func(context.Context) ([]publicKey, error)
	log   *slog.Logger

	mu      sync.Mutex
	keys    []publicKey
	since   time.Time     // when the keys were asked for, zero while there are none
	tried   time.Time     // when keys were asked for last
	failure error         // of that, nil if it went well
	running chan struct{} // closed when the fetch ends, nil while there is none
}

// find returns the keys with an id that go with an algorithm. Without an id all
// that do may have signed. The error of a key that the issuer does not have is
// [ErrInvalidToken].
func (s *keySet) find(ctx context.Context, id, alg string) ([]jwt.VerificationKey, error) {
	found, running, err := s.look(id, alg)
	if found != nil || running == nil {
		return found, err
	}
	select {
	case <-running:
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for keys: %w", context.Cause(ctx))
	}
	found, _, err = s.look(id, alg)
	return found, err
}

// look returns the keys that there are. It has keys fetched if that is due; without
// a key, a fetch that is running is worth waiting for.
func (s *keySet) look(id, alg string) (found []jwt.VerificationKey, running <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := time.Since(s.since)
	if age >= keysUsable {
		s.keys = nil
	}
	for _, key := range s.keys {
		if key.fits(id, alg) {
			found = append(found, key.key)
		}
	}
	stale := found == nil || age >= keysFresh
	if stale && s.running == nil && time.Since(s.tried) >= fetchPause {
		s.tried, s.running = time.Now(), make(chan struct{})
		go s.run() // ends with the fetch, which has fetchPatience
	}
	switch {
	case found != nil:
		return found, s.running, nil
	case s.failure != nil:
		err = s.failure
	default:
		err = fmt.Errorf("%w: the issuer has no key %q for %s", ErrInvalidToken, id, alg)
	}
	return nil, s.running, err
}

// run fetches the keys. Whoever began it may have gone by then.
func (s *keySet) run() {
	ctx, cancel := context.WithTimeout(context.Background(), fetchPatience)
	defer cancel()
	keys, err := s.tryFetch(ctx)
	if err != nil {
		s.log.Warn("keys of an issuer could not be fetched", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failure = err; err == nil {
		s.keys, s.since = keys, s.tried
	}
	close(s.running)
	s.running = nil
}

// tryFetch is fetch, where nothing of others can end the process.
func (s *keySet) tryFetch(ctx context.Context) (keys []publicKey, err error) {
	defer recovered("what fetches keys", &err)
	return s.fetch(ctx)
}
