package limit

import "sync"

// Quota limits how many things exist, of all owners together and of each owner. It is safe for
// concurrent use. A nil Quota has no limits.
type Quota struct {
	max, maxPerOwner int

	mu       sync.Mutex // no other lock is taken while it is held
	total    int
	perOwner map[any]int
}

// NewQuota returns a quota of max things, of which one owner may have maxPerOwner.
func NewQuota(max, maxPerOwner int) *Quota {
	return &Quota{max: max, maxPerOwner: maxPerOwner, perOwner: make(map[any]int)}
}

// Acquire counts one more thing of an owner. It returns false if a limit is reached. A nil owner
// has no limit of its own.
func (q *Quota) Acquire(owner any) bool {
	if q == nil {
		return true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.total >= q.max || owner != nil && q.perOwner[owner] >= q.maxPerOwner {
		return false
	}
	q.total++
	if owner != nil {
		q.perOwner[owner]++
	}
	return true
}

// Release undoes one Acquire of the owner.
func (q *Quota) Release(owner any) {
	if q == nil {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.total--
	if owner == nil {
		return
	}
	if q.perOwner[owner]--; q.perOwner[owner] == 0 {
		delete(q.perOwner, owner)
	}
}
