package mcpserver

import (
	"slices"
	"sync"
)

// fewWaiting is how many events are looked through rather than looked up.
const fewWaiting = 8

// mailbox holds the announcements that wait for one listener. An event that
// waits already is not put in again: it would say nothing new. The zero mailbox
// is ready.
type mailbox struct {
	mu      sync.Mutex // no other lock is taken under it
	waiting []*rendered
	lookup  map[Event]struct{} // what waits; nil while that is a few
	full    bool               // an event found no room
	emptier bool               // somebody is going to empty it
}

// idle tells whether nothing is waiting, nor on its way from here: what comes
// next may go past the mailbox.
func (m *mailbox) idle() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.emptier
}

// put puts an announcement in, where no more than so many wait. It is true where
// somebody has to be sent to empty the mailbox.
func (m *mailbox) put(r *rendered, most int) (send bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.has(r.event) {
		return false
	}
	if len(m.waiting) >= most {
		m.full = true
		return false
	}
	m.waiting = append(m.waiting, r)
	switch {
	case m.lookup != nil:
		m.lookup[r.event] = struct{}{}
	case len(m.waiting) > fewWaiting:
		m.lookup = make(map[Event]struct{}, 2*fewWaiting)
		for _, r := range m.waiting {
			m.lookup[r.event] = struct{}{}
		}
	}
	send = !m.emptier
	m.emptier = true
	return send
}

func (m *mailbox) has(e Event) bool {
	if m.lookup == nil {
		return slices.ContainsFunc(m.waiting, func(r *rendered) bool { return r.event == e })
	}
	_, waits := m.lookup[e]
	return waits
}

// take empties the mailbox into a list that had its announcements before. When
// there are none, whoever takes is not going to come again by itself.
func (m *mailbox) take(before []*rendered) (waiting []*rendered, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(before) // they may be the last that hold on to what they tell
	waiting, full = m.waiting, m.full
	m.waiting, m.full = before[:0], false
	m.lookup = nil
	m.emptier = len(waiting) > 0
	return waiting, full
}
