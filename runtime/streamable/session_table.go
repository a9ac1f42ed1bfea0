package streamable

import (
	"context"
	"slices"
	"sync"
	"time"
)

// sessionTable has the sessions of a handler. Its lock comes before those of
// the sessions.
type sessionTable struct {
	opts  *Options
	clock clock

	mu      sync.Mutex
	all     map[string]*session // with those about to begin
	count   tally
	sweeper *time.Timer // nil while there is nothing to sweep
	awake   []*session  // those that have a dispatcher
	bed     *time.Timer // nil while none has
	ended   bool
	ending  sync.WaitGroup // sessions that were overdue
}

func (t *sessionTable) init(o *Options) {
	t.opts, t.clock, t.all = o, newClock(), make(map[string]*session)
}

// reserve makes room for a session. It is false where there is none.
func (t *sessionTable) reserve(principal string) bool {
	if t.full() {
		t.sweep(t.opts.SessionIdleTimeout) // what is overdue need not wait for the sweeper
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended || !within(t.count.all, t.opts.MaxSessions) || !t.count.fits(principal, t.opts.MaxSessionsPerPrincipal) {
		return false
	}
	t.count.add(principal, 1)
	return true
}

func (t *sessionTable) full() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !within(t.count.all, t.opts.MaxSessions)
}

// release gives back the room of a session.
func (t *sessionTable) release(principal string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.count.add(principal, -1)
}

// add adds a session that is about to begin, if there is room for it: it ends with
// the others, but nobody finds it yet.
func (t *sessionTable) add(s *session) bool {
	if !t.reserve(s.principal) {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		t.count.add(s.principal, -1)
		return false
	}
	t.all[s.id] = s
	if t.sweeper == nil {
		t.sweeper = time.AfterFunc(t.interval(), t.sweepAgain)
	}
	return true
}

// begin makes a session one that can be found.
func (t *sessionTable) begin(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s.begun = true
}

// interval is how often overdue sessions are looked for.
func (t *sessionTable) interval() time.Duration {
	if t.opts.SessionIdleTimeout < 0 {
		return time.Minute
	}
	return min(max(t.opts.SessionIdleTimeout/8, time.Second), time.Minute)
}

// use finds a session and begins a use of it. To anybody but its principal it
// does not exist.
func (t *sessionTable) use(id, principal string) *session {
	t.mu.Lock()
	s := t.all[id]
	if s != nil && s.begun && s.principal == principal {
		s.enter()
	} else {
		s = nil
	}
	t.mu.Unlock()
	return s
}

// remove takes a session off the table. It is false where somebody else did.
func (t *sessionTable) remove(s *session) bool {
	t.mu.Lock()
	_, found := t.all[s.id]
	delete(t.all, s.id)
	t.mu.Unlock()
	if found {
		t.release(s.principal)
	}
	return found
}

// bedtime is how often sessions that are awake are looked at. Those that nobody uses
// are let sleep after one to two of these.
const bedtime = 50 * time.Millisecond

// watch sees to it that a session sleeps once nobody uses it.
func (t *sessionTable) watch(s *session) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.awake = append(t.awake, s)
	if t.bed == nil && !t.ended {
		t.bed = time.AfterFunc(bedtime, t.putToBed)
	}
}

// putToBed lets sessions sleep, and comes back while any are awake.
func (t *sessionTable) putToBed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.clock.now()
	t.awake = slices.DeleteFunc(t.awake, func(s *session) bool { return s.sleep(now) })
	if t.bed = nil; t.ended || len(t.awake) == 0 {
		t.awake = nil
		return
	}
	t.bed = time.AfterFunc(bedtime, t.putToBed)
}

// sweepAgain ends the sessions that are overdue, and comes back while there are
// others.
func (t *sessionTable) sweepAgain() {
	t.sweep(t.opts.SessionIdleTimeout)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.sweeper = nil; len(t.all) > 0 && !t.ended {
		t.sweeper = time.AfterFunc(t.interval(), t.sweepAgain)
	}
}

// sweep ends the sessions that nobody has used for a while.
func (t *sessionTable) sweep(idle time.Duration) {
	if idle < 0 {
		return
	}
	now := t.clock.now()
	list := t.overdue(now, now-idle)
	rest := make(chan *session, len(list))
	for _, s := range list {
		rest <- s
	}
	close(rest)
	for range min(len(list), mostEnding) {
		go t.endOverdue(rest) // ends when all of them have
	}
}

// mostEnding is how many sessions end at a time that were overdue together: each may
// take a while, and nobody is to wait for that.
const mostEnding = 64

func (t *sessionTable) endOverdue(list <-chan *session) {
	for s := range list {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		s.end(ctx, errSessionIdle)
		cancel()
		t.ending.Done()
	}
}

// overdue takes off the table what nobody has used since. It is counted as ending.
func (t *sessionTable) overdue(now, since time.Duration) []*session {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return nil
	}
	var list []*session
	for id, s := range t.all {
		if s.isIdle(now, since) {
			list = append(list, s)
			delete(t.all, id)
			t.count.add(s.principal, -1)
		}
	}
	t.ending.Add(len(list))
	return list
}

// hangUp ends the streams that only wait for something to happen.
func (t *sessionTable) hangUp() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, s := range t.all {
		s.alone().end()
	}
}

// end ends all sessions, and lets no more begin.
func (t *sessionTable) end(ctx context.Context) {
	t.mu.Lock()
	t.ended = true
	if t.sweeper != nil {
		t.sweeper.Stop()
	}
	if t.bed != nil {
		t.bed.Stop()
	}
	list := make([]*session, 0, len(t.all))
	for _, s := range t.all {
		list = append(list, s)
	}
	t.mu.Unlock()
	var all sync.WaitGroup
	for _, s := range list {
		if t.remove(s) {
			all.Go(func() { s.end(ctx, ErrClosing) }) // ends with ctx
		}
	}
	all.Wait()
	overdue := make(chan struct{})
	go func() { // ends when they have
		t.ending.Wait()
		close(overdue)
	}()
	select {
	case <-overdue:
	case <-ctx.Done():
	}
}
