package streamable

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/runtime/budget"
	"github.com/mcpwright/mcp/runtime/internal/limit"
)

// EventStore stores the messages that are sent to the clients of sessions. Clients
// receive stored messages when they resume a broken stream, or open their standalone
// stream. An EventStore must be safe for concurrent use.
type EventStore interface {
	// Append stores an event. It may delete older events to make room.
	Append(ctx context.Context, e Event) error
	// After returns the stored events of a stream with a number greater than seq, in
	// order. It may return only the first of them. Events that have been deleted are
	// missing.
	After(ctx context.Context, session string, stream, seq uint64) ([]Event, error)
	// Forget deletes all events of a session.
	Forget(ctx context.Context, session string) error
}

// Event is a message that is sent to a client.
type Event struct {
	// Session is the id of the session.
	Session string
	// Principal is the principal of the session, or the empty string. [EventStore].After need
	// not return it.
	Principal string
	// Stream is the number of the stream in its session. The standalone stream has the
	// number 0.
	Stream uint64
	// Seq is the number of the event in its stream. Numbers begin with 1 and have no
	// gaps.
	Seq uint64
	// Data is the message. It must not be modified.
	Data []byte
}

// MemoryStore is an [EventStore] in memory. If a session exceeds its limits, its oldest
// events are deleted. If all sessions together exceed MaxTotal, the oldest events of the
// principal with the most stored bytes are deleted, so that one principal cannot make
// streams of others unresumable. Sessions without a principal count on their own.
type MemoryStore struct {
	opts MemoryOptions

	mu     sync.Mutex
	logs   map[string]*eventLog
	owners map[string]*eventOwner // by ownerKey
	queue  eventOwners            // all owners, with the largest first
	total  int                    // bytes of all sessions
	held   []*budget.Reservation  // of the stored bytes, each of eventsHeld bytes
}

// MemoryOptions are the limits of a [MemoryStore]. A limit that is zero has its
// default; a negative one means no limit.
type MemoryOptions struct {
	// MaxEvents limits the stored events of one session. Default 1,000.
	MaxEvents int
	// MaxBytes limits the stored bytes of one session. Default 4 MiB.
	MaxBytes int
	// MaxTotal limits the stored bytes of all sessions. Default 64 MiB, or a quarter of the
	// Budget if that is less.
	MaxTotal int
	// Budget counts the stored bytes. If it refuses them, events are deleted as if MaxTotal
	// were exceeded. Nil is [budget.Default].
	Budget *budget.Budget
}

const (
	defaultMaxTotal = 64 << 20
	// eventsHeld is how many bytes of events are counted in the budget at a time. Less than
	// that is not counted.
	eventsHeld = 1 << 20
)

// ErrEventTooLarge is returned for an event that alone exceeds a limit of the store.
var ErrEventTooLarge = errors.New("event exceeds the limits of the store")

// NewMemoryStore returns an empty store. Nil options are the defaults.
func NewMemoryStore(opts *MemoryOptions) *MemoryStore {
	m := &MemoryStore{logs: make(map[string]*eventLog), owners: make(map[string]*eventOwner)}
	if opts != nil {
		m.opts = *opts
	}
	o := &m.opts
	if o.Budget == nil {
		o.Budget = budget.Default()
	}
	o.MaxEvents, o.MaxBytes = limit.Count(o.MaxEvents, 1000), limit.Count(o.MaxBytes, 4<<20)
	o.MaxTotal = limit.Count(o.MaxTotal, min(defaultMaxTotal, o.Budget.MaxBytes()/4))
	return m
}

// eventLog contains the events of one session, the oldest first.
type eventLog struct {
	session string
	owner   *eventOwner
	events  []loggedEvent
	bytes   int
}

// loggedEvent is an event without the members that its log has.
type loggedEvent struct {
	stream, seq uint64
	data        []byte
}

// eventOwner is a principal with its sessions, or a session without a principal.
type eventOwner struct {
	key   string
	bytes int
	logs  map[*eventLog]struct{}
	place int // in the queue
}

// ownerKey returns the key of the owner of an event.
func ownerKey(e *Event) string {
	if e.Principal == "" {
		return "session " + e.Session
	}
	return "principal " + e.Principal
}

// eventOwners is a heap with the largest owner first.
type eventOwners []*eventOwner

func (q eventOwners) Len() int           { return len(q) }
func (q eventOwners) Less(i, j int) bool { return q[i].bytes > q[j].bytes }
func (q eventOwners) Swap(i, j int) {
	q[i], q[j] = q[j], q[i]
	q[i].place, q[j].place = i, j
}

// Push implements [heap.Interface].
func (q *eventOwners) Push(x any) {
	o := x.(*eventOwner)
	o.place = len(*q)
	*q = append(*q, o)
}

// Pop implements [heap.Interface].
func (q *eventOwners) Pop() any {
	last := len(*q) - 1
	o := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return o
}

// eventWeight is about the number of bytes of an event without its data.
const eventWeight = 96

func weight(data []byte) int { return len(data) + eventWeight }

// Append implements [EventStore]. It returns [ErrEventTooLarge] if the event alone
// exceeds a limit.
func (m *MemoryStore) Append(_ context.Context, e Event) error {
	_, err := m.appendTo(nil, &e)
	return err
}

// appendTo is Append for a caller that keeps the log of the session, which it returns. The caller
// passes nil at first.
func (m *MemoryStore) appendTo(l *eventLog, e *Event) (*eventLog, error) {
	if w := weight(e.Data); w > m.opts.MaxBytes || w > m.opts.MaxTotal {
		return l, ErrEventTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if l == nil || l.bytes == 0 { // an empty log has been removed
		l = m.logs[e.Session]
	}
	if l == nil {
		l = m.addLog(e)
	}
	l.events = append(l.events, loggedEvent{e.Stream, e.Seq, e.Data})
	m.count(l, weight(e.Data))
	for len(l.events) > m.opts.MaxEvents || l.bytes > m.opts.MaxBytes {
		m.drop(l)
	}
	for m.total > m.opts.MaxTotal || !m.hold() && m.total > weight(e.Data) {
		m.drop(m.largestOwner(l).largestLog(l))
	}
	return l, nil
}

// hold counts the stored bytes in the budget. It returns false if the budget refuses them.
func (m *MemoryStore) hold() bool {
	for len(m.held) > m.total/eventsHeld {
		last := len(m.held) - 1
		m.held[last].Release()
		m.held = m.held[:last]
	}
	for len(m.held) < m.total/eventsHeld {
		r, err := m.opts.Budget.Reserve("", eventsHeld)
		if err != nil {
			return false
		}
		m.held = append(m.held, r)
	}
	return true
}

// addLog adds the log of an event's session.
func (m *MemoryStore) addLog(e *Event) *eventLog {
	key := ownerKey(e)
	o := m.owners[key]
	if o == nil {
		o = &eventOwner{key: key, logs: make(map[*eventLog]struct{}, 1)}
		m.owners[key] = o
		heap.Push(&m.queue, o)
	}
	l := &eventLog{session: e.Session, owner: o}
	o.logs[l] = struct{}{}
	m.logs[e.Session] = l
	return l
}

// count adds n bytes to a log. It removes the log if it is empty, and then its owner.
func (m *MemoryStore) count(l *eventLog, n int) {
	o := l.owner
	l.bytes, o.bytes, m.total = l.bytes+n, o.bytes+n, m.total+n
	heap.Fix(&m.queue, o.place)
	if l.bytes > 0 {
		return
	}
	l.events = nil
	delete(m.logs, l.session)
	if delete(o.logs, l); len(o.logs) == 0 {
		delete(m.owners, o.key)
		heap.Remove(&m.queue, o.place)
	}
}

// largestOwner returns the owner with the most bytes. It does not return an owner that has only
// the one event of the log last, which a client may be receiving. The caller has found that
// there are other events.
func (m *MemoryStore) largestOwner(last *eventLog) *eventOwner {
	o := m.queue[0]
	if o != last.owner || len(o.logs) > 1 || len(last.events) > 1 {
		return o
	}
	if len(m.queue) > 2 && m.queue.Less(2, 1) {
		return m.queue[2]
	}
	return m.queue[1]
}

// largestLog returns the log with the most bytes. It avoids the log last, because a client
// may be receiving its events.
func (o *eventOwner) largestLog(last *eventLog) *eventLog {
	largest := last
	for l := range o.logs {
		if l != last && (largest == last || l.bytes > largest.bytes) {
			largest = l
		}
	}
	return largest
}

// drop deletes the oldest event of a session.
func (m *MemoryStore) drop(l *eventLog) {
	w := weight(l.events[0].data)
	l.events[0] = loggedEvent{}
	l.events = l.events[1:]
	m.count(l, -w)
}

// size returns the number of stored events and their bytes.
func (m *MemoryStore) size() (events, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, l := range m.logs {
		events += len(l.events)
	}
	return events, m.total
}

// After implements [EventStore].
func (m *MemoryStore) After(_ context.Context, session string, stream, seq uint64) ([]Event, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[session]
	if l == nil {
		return nil, nil
	}
	var found []Event
	for _, e := range slices.Backward(l.events) { // most callers need only the last events
		if e.stream != stream {
			continue
		}
		if e.seq <= seq {
			break
		}
		found = append(found, Event{Session: session, Stream: stream, Seq: e.seq, Data: e.data})
	}
	slices.Reverse(found)
	return found, nil
}

// Forget implements [EventStore].
func (m *MemoryStore) Forget(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.logs[session]; l != nil {
		m.count(l, -l.bytes)
		m.hold()
	}
	return nil
}
