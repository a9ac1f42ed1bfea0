package jsonrpc

import (
	"time"

	"github.com/mcpwright/mcp/runtime/wire"
)

// early are the requests that were cancelled when they had not come, which they may
// be about to: messages overtake each other where each has a way of its own. Nearly
// all are requests that were answered meanwhile. The zero early is empty.
type early struct {
	ids, older  map[wire.RequestID]time.Time // when they were cancelled
	since, last time.Time                    // of the first in ids, and of the last
}

// earlyFor is how long after its cancellation a request may come.
const earlyFor = 5 * time.Second

// mostEarly is how many are kept at least, and half of how many at most: a client may
// cancel all that it has in flight at once. It is 0 where nothing is overtaken.
func (o *Options) mostEarly() int {
	if !o.Unordered {
		return 0
	}
	return 2 * min(max(o.MaxInFlight, 256), 8192)
}

// add remembers a request. What is too old, or too much, is forgotten with all that
// is older.
func (e *early) add(id wire.RequestID, most int) {
	now := time.Now()
	if e.ids == nil || len(e.ids) >= most || now.Sub(e.since) >= earlyFor {
		e.ids, e.older, e.since = make(map[wire.RequestID]time.Time), e.ids, now
	}
	e.ids[key(id)], e.last = now, now
}

// take tells, once, whether a request was cancelled before it came.
func (e *early) take(id wire.RequestID) bool {
	if e.isEmpty() {
		return false
	}
	id = key(id)
	when, has := e.ids[id]
	if !has {
		when, has = e.older[id]
	}
	delete(e.ids, id)
	delete(e.older, id)
	return has && time.Since(when) < earlyFor
}

// isEmpty tells whether there is nothing that may still come.
func (e *early) isEmpty() bool {
	return len(e.ids)+len(e.older) == 0 || time.Since(e.last) >= earlyFor
}
