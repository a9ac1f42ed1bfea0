package scale

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpwright/mcp/runtime/connection"
	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
	"github.com/mcpwright/mcp/runtime/streamable"
)

// record is the content of the record of a session.
type record struct {
	Owner     string `json:"owner,omitempty"` // tag of a replica; "" if the owner has handed the session over
	Principal string `json:"principal,omitempty"`
	Epoch     uint32 `json:"epoch,omitempty"`
	connection.Snapshot
}

// maxRecord limits the bytes of a record. Larger ones may not fit into the engine.
const maxRecord = 64 << 10

// heldSession is a session that this replica owns.
type heldSession struct {
	id    string
	epoch uint32
	users int32 // requests, or aboutToMove; guarded by the lock of the endpoint

	mu      sync.Mutex // held while the record is written
	version uint64     // of the record; 0 before it is written
	written time.Duration
	checked int64 // time since the start of the node when the owner was known; guarded by the lock of the endpoint

	rare atomic.Pointer[rareState] // nil for most idle sessions
}

// rareState is the part of a session that not all sessions have.
type rareState struct {
	log       eventLog
	since     time.Duration // time since the start of the node when this replica took the session over
	elsewhere atomic.Bool   // the session had an owner at another replica when it ended here
}

// more returns the part of the session that not all sessions have.
func (h *heldSession) more() *rareState {
	if h.rare.Load() == nil {
		h.rare.CompareAndSwap(nil, new(rareState))
	}
	return h.rare.Load()
}

// log returns the log of the session's events.
func (h *heldSession) log() *eventLog { return &h.more().log }

// key returns the key of the session in the engine.
func (h *heldSession) key(e *endpoint) string { return engineKey(e.purpose, h.id) }

// NewID implements [streamable.Sharing].
func (e *endpoint) NewID() string { return newSessionID(e.node.keys, e.purpose, e.node.tag) }

// hold returns a session of this replica.
func (e *endpoint) hold(id string) *heldSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.held[id]
	if h == nil {
		h = &heldSession{id: id, checked: int64(e.node.now())}
		e.held[id] = h
	}
	return h
}

// find returns a session of this replica, or nil.
func (e *endpoint) find(id string) *heldSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[id]
}

// remove removes a session of this replica, and returns it, or nil.
func (e *endpoint) remove(id string) *heldSession {
	e.mu.Lock()
	defer e.mu.Unlock()
	h := e.held[id]
	delete(e.held, id)
	return h
}

// Save implements [streamable.Sharing].
func (e *endpoint) Save(ctx context.Context, s *streamable.SessionState) error {
	h := e.hold(s.ID)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.version == 0 && e.node.leaving.Load() {
		return errLeaving
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
	defer cancel()
	err := e.write(ctx, h, &record{Owner: e.node.tag, Principal: s.Principal, Epoch: s.Epoch, Snapshot: s.Snapshot})
	if errors.Is(err, errFenced) {
		e.lose(h)
	}
	return err
}

// errFenced is returned if another replica has taken a session over.
var errFenced = errors.New("another replica has taken the session over")

// write writes the record of a session that this replica owns. The caller holds the lock of the session.
func (e *endpoint) write(ctx context.Context, h *heldSession, rec *record) error {
	data, err := e.sealRecord(h.key(e), rec)
	if err != nil {
		return err
	}
	version, err := sealed.Put(ctx, e.node.table, h.key(e), data, h.version, e.keep)
	if errors.Is(err, engine.ErrConflict) { // another owner, or an earlier write whose reply was lost
		var found *record
		if found, version, err = e.readRecord(ctx, h.key(e)); err != nil {
			return err
		}
		if found.Owner != e.node.tag || found.Epoch != h.epoch {
			return errFenced
		}
		version, err = sealed.Put(ctx, e.node.table, h.key(e), data, version, e.keep)
	}
	if err != nil {
		return err
	}
	h.version, h.written = version, e.node.now()
	return nil
}

func (e *endpoint) sealRecord(key string, rec *record) ([]byte, error) {
	content, err := json.Marshal(rec)
	if err != nil {
		return nil, err
	}
	if len(content) > maxRecord {
		return nil, fmt.Errorf("state of the session has %d bytes, more than %d", len(content), maxRecord)
	}
	return e.node.keys.Seal(content, "record "+key), nil
}

// readRecord reads the record of a session.
func (e *endpoint) readRecord(ctx context.Context, key string) (*record, uint64, error) {
	r, err := e.node.table.Get(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	content, err := e.node.keys.Open(r.Data, "record "+key)
	if err != nil {
		return nil, 0, err
	}
	rec := new(record)
	if err := json.Unmarshal(content, rec); err != nil {
		return nil, 0, err
	}
	return rec, r.Version, nil
}

// Ended implements [streamable.Sharing].
func (e *endpoint) Ended(ctx context.Context, id string) {
	e.mu.Lock()
	h := e.held[id]
	if h != nil {
		e.ended[id] = h
	}
	delete(e.held, id)
	e.mu.Unlock()
	if h != nil {
		e.deleteEnded(ctx, h)
	}
}

// deleteEnded deletes the record and the events of a session that has ended. If the engine cannot be
// reached, it is called again later.
func (e *endpoint) deleteEnded(ctx context.Context, h *heldSession) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout) // requests in flight may have taken all time
	defer cancel()
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := e.deleteRecord(ctx, h); err != nil {
		e.node.opts.Logger.WarnContext(ctx, "could not delete a session from the engine", "error", err)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.ended, h.id)
}

// deleteAgain deletes the record of a session that has ended here, if that has failed before. It reports whether it
// has failed again.
func (e *endpoint) deleteAgain(ctx context.Context, id string) bool {
	e.mu.Lock()
	h := e.ended[id]
	e.mu.Unlock()
	if h == nil {
		return false
	}
	e.deleteEnded(ctx, h)
	return e.hasEnded(id)
}

func (e *endpoint) deleteRecord(ctx context.Context, h *heldSession) error {
	for {
		found, version, err := e.readRecord(ctx, h.key(e))
		switch {
		case errors.Is(err, engine.ErrNone):
			return e.node.log.Drop(ctx, h.key(e))
		case err != nil:
			return err
		case found.Owner != e.node.tag || found.Epoch != h.epoch:
			h.more().elsewhere.Store(true) // it continues at another replica
			return nil
		}
		switch err := e.node.table.Delete(ctx, h.key(e), version); {
		case err == nil:
			return e.node.log.Drop(ctx, h.key(e))
		case !errors.Is(err, engine.ErrConflict): // otherwise, the record was changed meanwhile
			return err
		}
	}
}

// lose gives up a session that another replica has taken over. It does not wait for the end of its
// requests.
func (e *endpoint) lose(h *heldSession) {
	e.mu.Lock()
	lost := e.held[h.id] == h
	if lost {
		delete(e.held, h.id)
	}
	e.mu.Unlock()
	if !lost {
		return
	}
	go func() { // ends when the session has ended, or with the timeout of Release
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		e.inner.Release(ctx, h.id)
	}()
}

// verify reports whether this replica still owns a session. The lease may have ended for a while. Without the engine,
// the session is served until the node is cut off. An engine that is full can be read.
func (e *endpoint) verify(ctx context.Context, id string) bool {
	hasLease, timeout := e.node.leaseHeld(), engineTimeout
	if !hasLease {
		timeout = lateTimeout
	}
	if hasLease && e.isCurrent(id) || !hasLease && e.node.recently(&e.node.unreadable) {
		return true
	}
	h := e.find(id)
	if h == nil {
		return true
	}
	now := e.node.now()
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	err := e.claim(ctx, h, hasLease)
	switch {
	case errors.Is(err, errFenced), errors.Is(err, engine.ErrNone):
		e.lose(h)
		return false
	case err == nil && hasLease:
		e.mu.Lock()
		h.checked = int64(now)
		e.mu.Unlock()
	case err != nil && !hasLease:
		e.node.unreadable.Store(int64(now))
	}
	return true
}

// claim returns an error if this replica has lost a session. With a lease, it writes the record again: a replica
// that has found no lease of this one, a moment ago, can then no longer take the session over.
func (e *endpoint) claim(ctx context.Context, h *heldSession, hasLease bool) error {
	if hasLease {
		return e.putOwner(ctx, h, e.node.tag)
	}
	rec, _, err := e.readRecord(ctx, h.key(e))
	if err == nil && (rec.Owner != e.node.tag || rec.Epoch != h.epoch) {
		err = errFenced
	}
	return err
}

// findOwner finds the owner of a session by its record, and takes the session over if the owner is gone.
// Only one goroutine does that for a session at a time.
func (e *endpoint) findOwner(ctx context.Context, id, principal string) (*member, error) {
	for wait := e.beginMove(id); wait != nil; wait = e.beginMove(id) {
		select {
		case <-wait:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if e.inner.Holds(id) {
			return nil, nil
		}
	}
	defer e.endMove(id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
	defer cancel()
	for attempt := 1; ; attempt++ {
		m, err := e.readOwner(ctx, id, principal)
		if !errors.Is(err, errFenced) || attempt == maxAttempts {
			return m, err
		}
	}
}

// readOwner finds the owner of a session by its record, and takes the session over if the owner is gone. It
// returns errFenced if another replica was faster.
func (e *endpoint) readOwner(ctx context.Context, id, principal string) (*member, error) {
	rec, version, err := e.readRecord(ctx, engineKey(e.purpose, id))
	switch {
	case errors.Is(err, engine.ErrNone):
		e.inner.Forget(id)
		return nil, nil
	case err == nil && rec.Principal != principal: // others do not find the session
		return nil, nil
	case err != nil:
		return nil, err
	}
	isOwn := rec.Owner == e.node.tag
	if rec.Owner != "" && !isOwn {
		m, err := e.node.member(ctx, rec.Owner)
		if m != nil {
			e.setMoved(id, rec.Owner)
		}
		if m != nil || err != nil {
			return m, err
		}
	}
	switch {
	case e.inner.Holds(id):
		return nil, nil
	case isOwn && e.isEnding(id):
		return nil, errEnding
	case e.node.leaving.Load():
		return nil, errLeaving
	case rec.Owner != "" && !isOwn && !e.node.mayJudge():
		return nil, errTooSoon
	}
	return nil, e.takeOver(ctx, id, rec, version)
}

// isEnding reports whether a session that the handler does not have any more is not yet deleted from the
// engine. Requests in flight may delay its end.
func (e *endpoint) isEnding(id string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.held[id] != nil || e.ended[id] != nil
}

// beginMove returns nil if no other goroutine moves a session, and otherwise a channel that is closed
// when it has finished.
func (e *endpoint) beginMove(id string) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if wait := e.moving[id]; wait != nil {
		return wait
	}
	e.moving[id] = make(chan struct{})
	return nil
}

func (e *endpoint) endMove(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	close(e.moving[id])
	delete(e.moving, id)
}

// takeOver makes this replica the owner of a session. The compare-and-set of the record decides between
// several replicas, and an entry in the log fences the previous owner off.
func (e *endpoint) takeOver(ctx context.Context, id string, rec *record, version uint64) error {
	select {
	case e.node.takeovers <- struct{}{}:
		defer func() { <-e.node.takeovers }()
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.node.leaving.Load() {
		return errLeaving
	}
	rec.Owner, rec.Epoch = e.node.tag, rec.Epoch+1
	h := &heldSession{id: id, epoch: rec.Epoch, version: version, checked: int64(e.node.now())}
	h.more().since = e.node.now()
	if err := e.write(ctx, h, rec); err != nil {
		return fmt.Errorf("could not take over: %w", err)
	}
	events, err := e.fence(ctx, h)
	if err != nil {
		return fmt.Errorf("could not fence the log: %w", err)
	}
	for i := range events {
		events[i].Session, events[i].Principal = id, rec.Principal
		if err := e.memory.Append(ctx, events[i]); err != nil {
			e.node.opts.Logger.WarnContext(ctx, "could not store an event of a session from another replica", "error", err)
		}
	}
	e.mu.Lock()
	e.held[id] = h
	delete(e.moved, id)
	e.mu.Unlock()
	state := &streamable.SessionState{ID: id, Principal: rec.Principal, Epoch: rec.Epoch, Snapshot: rec.Snapshot}
	if err := e.inner.Restore(ctx, state, events); err != nil {
		e.remove(id)
		_ = e.memory.Forget(ctx, id)
		_ = e.putOwner(ctx, h, "") // another replica may have room
		return err
	}
	return nil
}

// maintain writes the records of sessions again before they end, and deletes the records of sessions
// that have ended.
func (e *endpoint) maintain(ctx context.Context) {
	due := e.node.now() - e.keep/4
	e.mu.Lock()
	var old, ended []*heldSession
	for _, h := range e.held {
		old = append(old, h)
	}
	for _, h := range e.ended {
		ended = append(ended, h)
	}
	e.mu.Unlock()
	for _, h := range old {
		if ctx.Err() == nil && h.refreshDue(due) {
			e.refresh(ctx, h)
		}
		if ctx.Err() == nil && !e.isCurrent(h.id) {
			e.verify(ctx, h.id)
		}
	}
	for _, h := range ended {
		if ctx.Err() == nil {
			e.deleteEnded(ctx, h)
		}
	}
}

func (h *heldSession) refreshDue(due time.Duration) bool {
	if !h.mu.TryLock() {
		return false
	}
	defer h.mu.Unlock()
	return h.version != 0 && h.written < due
}

// refresh writes the record of a session again.
func (e *endpoint) refresh(ctx context.Context, h *heldSession) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	err := e.putOwner(ctx, h, e.node.tag)
	switch {
	case errors.Is(err, errFenced), errors.Is(err, engine.ErrNone):
		e.lose(h)
	case err != nil:
		e.node.opts.Logger.WarnContext(ctx, "could not write the record of a session again", "error", err)
	}
}

// putOwner writes the record of a session with an owner.
func (e *endpoint) putOwner(ctx context.Context, h *heldSession, owner string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	rec, version, err := e.readRecord(ctx, h.key(e))
	if err != nil {
		return err
	}
	if rec.Owner != e.node.tag || rec.Epoch != h.epoch {
		return errFenced
	}
	rec.Owner, h.version = owner, version
	return e.write(ctx, h, rec)
}

// handOver gives up all sessions, so that other replicas continue them.
func (e *endpoint) handOver(ctx context.Context) {
	e.mu.Lock()
	list := make(chan *heldSession, len(e.held))
	for _, h := range e.held {
		list <- h
	}
	e.mu.Unlock()
	close(list)
	var all sync.WaitGroup
	for range min(len(list), maxTakeovers) {
		all.Go(func() { // ends when all sessions have moved
			for h := range list {
				e.handOverSession(ctx, h)
			}
		})
	}
	all.Wait()
}

func (e *endpoint) handOverSession(ctx context.Context, h *heldSession) {
	if e.inner.Release(ctx, h.id) {
		e.disown(ctx, h)
	}
}

// disown lets another replica take over a session that was released.
func (e *endpoint) disown(ctx context.Context, h *heldSession) {
	e.remove(h.id)
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), engineTimeout)
	defer cancel()
	if err := e.putOwner(last, h, ""); err != nil && !errors.Is(err, errFenced) {
		e.node.opts.Logger.WarnContext(ctx, "could not hand over a session", "error", err)
	}
}
