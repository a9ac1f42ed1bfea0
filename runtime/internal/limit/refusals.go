package limit

import (
	"maps"
	"sync"
)

// Refusals counts how often limits have refused something, by the name of the limit. The names are
// names of options, and not texts of a peer. It is safe for concurrent use.
type Refusals struct {
	mu    sync.Mutex
	count map[string]int64 // nil before the first refusal
}

// Add counts a refusal.
func (r *Refusals) Add(limit string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count = make(map[string]int64)
	}
	r.count[limit]++
}

// AddTo adds all counts to a map.
func (r *Refusals) AddTo(all map[string]int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for limit, n := range r.count {
		all[limit] += n
	}
}

// All returns a copy of all counts. It is nil before the first refusal.
func (r *Refusals) All() map[string]int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return maps.Clone(r.count)
}

// OfConnections returns a function for the option OnLimit of package jsonrpc. It counts refusals, and
// then calls next, which may be nil.
func (r *Refusals) OfConnections(next func(limit string)) func(limit string) {
	return func(limit string) {
		r.Add("JSONRPC." + limit)
		if next != nil {
			next(limit)
		}
	}
}
