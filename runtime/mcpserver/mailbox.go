package mcpserver

import (
	"slices"
	"sync"
)

// maxWaiting is how many events may wait for one listener.
const maxWaiting = 1024

// fewWaiting is how many events are looked through rather than looked up.
const fewWaiting = 8

// mailbox holds the events that wait for one listener. An event that waits
// already is not put in again: it would say nothing new. The zero mailbox is
// ready.
type mailbox struct {
	mu      sync.Mutex // no other lock is taken under it
	waiting []Event
	lookup  map[Event]struct{} // what waits; nil while that is a few
	full    bool               // an event found no room
	emptier bool               // somebody is going to empty it
}

// put puts an event in. It is true where somebody has to be sent to empty the
// mailbox.
func (m *mailbox) put(e Event) (send bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.has(e) {
		return false
	}
	if len(m.waiting) == maxWaiting {
		m.full = true
		return false
	}
	m.waiting = append(m.waiting, e)
	switch {
	case m.lookup != nil:
		m.lookup[e] = struct{}{}
	case len(m.waiting) > fewWaiting:
		m.lookup = make(map[Event]struct{}, 2*fewWaiting)
		for _, e := range m.waiting {
			m.lookup[e] = struct{}{}
		}
	}
	send = !m.emptier
	m.emptier = true
	return send
}

func (m *mailbox) has(e Event) bool {
	if m.lookup == nil {
		return slices.Contains(m.waiting, e)
	}
	_, waits := m.lookup[e]
	return waits
}

// take empties the mailbox into a list that had its events before. When there
// are none, whoever takes is not going to come again by itself.
func (m *mailbox) take(before []Event) (events []Event, full bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	events, full = m.waiting, m.full
	m.waiting, m.full = before[:0], false
	m.lookup = nil
	m.emptier = len(events) > 0
	return events, full
}
