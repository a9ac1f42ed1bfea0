package page

import (
	"encoding/json"
	"sort"
	"sync"
)

// Limits of a log. The oldest entries are removed first.
const (
	maxEntries = 20_000
	maxBytes   = 64 << 20
)

// entry is an entry of a log. Its fields do not change, except dead.
type entry struct {
	seq    int64
	key    string // a later entry with the same key replaces this one; "" for none
	kind   string // name of the event
	data   json.RawMessage
	detail []byte // sent on request only: the message of an event
	keep   bool   // not removed to make room
	dead   bool   // replaced
}

func (e *entry) size() int { return len(e.data) + len(e.detail) + 200 }

// eventLog has the events for the page, in order. Each reader reads at its own speed, so that a page
// that is loaded again, or connects again, receives all that it has missed.
type eventLog struct {
	mu      sync.Mutex
	entries []*entry // by seq, some of them dead
	alive   int
	bytes   int
	keyed   map[string]*entry
	last    int64         // seq of the last entry
	removed int64         // the highest seq that was removed to make room
	changed chan struct{} // closed with the next entry
}

func newLog() *eventLog {
	return &eventLog{keyed: map[string]*entry{}, changed: make(chan struct{})}
}

// add adds an entry and returns its number.
func (l *eventLog) add(e *entry, data any) int64 {
	encoded, err := json.Marshal(data)
	if err != nil { // the types of this package can be encoded, so a value of the server is invalid
		encoded, _ = json.Marshal(map[string]string{"error": err.Error()})
	}
	e.data = encoded
	l.mu.Lock()
	defer l.mu.Unlock()
	if old := l.keyed[e.key]; old != nil {
		l.remove(old)
	}
	l.last++
	e.seq = l.last
	if e.key != "" {
		l.keyed[e.key] = e
	}
	l.entries = append(l.entries, e)
	l.alive++
	l.bytes += e.size()
	l.makeRoom()
	close(l.changed)
	l.changed = make(chan struct{})
	return e.seq
}

// remove marks an entry as dead. The mutex is locked.
func (l *eventLog) remove(e *entry) {
	e.dead = true
	l.alive--
	l.bytes -= e.size()
	if l.keyed[e.key] == e {
		delete(l.keyed, e.key)
	}
}

// makeRoom removes entries if the log exceeds its limits. It removes a tenth, so that it need not search
// for old entries each time. The mutex is locked.
func (l *eventLog) makeRoom() {
	if l.alive > maxEntries || l.bytes > maxBytes {
		for _, e := range l.entries[:len(l.entries)-1] {
			if l.alive <= maxEntries*9/10 && l.bytes <= maxBytes/10*9 {
				break
			}
			if !e.keep && !e.dead {
				l.remove(e)
				l.removed = max(l.removed, e.seq)
			}
		}
	}
	if len(l.entries) > 2*l.alive+100 {
		live := make([]*entry, 0, l.alive+1)
		for _, e := range l.entries {
			if !e.dead {
				live = append(live, e)
			}
		}
		l.entries = live
	}
}

// after returns the entries after a number, and a channel that is closed when there are more. It
// reports whether entries that the reader has not received were removed.
func (l *eventLog) after(seq int64, limit int) (list []*entry, gap bool, more <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].seq > seq })
	for ; i < len(l.entries) && len(list) < limit; i++ {
		if e := l.entries[i]; !e.dead {
			list = append(list, e)
		}
	}
	return list, seq < l.removed, l.changed
}

// detail returns the detail of an entry, or nil if there is none or it was removed.
func (l *eventLog) detail(seq int64) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := sort.Search(len(l.entries), func(i int) bool { return l.entries[i].seq >= seq })
	if i == len(l.entries) || l.entries[i].seq != seq || l.entries[i].dead {
		return nil
	}
	return l.entries[i].detail
}
