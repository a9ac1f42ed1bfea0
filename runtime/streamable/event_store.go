package streamable

import (
	"context"
	"errors"
	"slices"
	"sync"

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
// events are deleted. If all sessions together exceed MaxTotal, the oldest events of
// any session are deleted.
type MemoryStore struct {
	opts MemoryOptions

	mu    sync.Mutex
	logs  map[string]*eventLog
	total int // bytes of all sessions
}

// MemoryOptions are the limits of a [MemoryStore]. A limit that is zero has its
// default; a negative one means no limit.
type MemoryOptions struct {
	// MaxEvents limits the stored events of one session. Default 1,000.
	MaxEvents int
	// MaxBytes limits the stored bytes of one session. Default 4 MiB.
	MaxBytes int
	// MaxTotal limits the stored bytes of all sessions. Default 256 MiB.
	MaxTotal int
}

// ErrEventTooLarge is returned for an event that alone exceeds a limit of the store.
var ErrEventTooLarge = errors.New("event exceeds the limits of the store")

// NewMemoryStore returns an empty store. Nil options are the defaults.
func NewMemoryStore(opts *MemoryOptions) *MemoryStore {
	m := &MemoryStore{logs: make(map[string]*eventLog)}
	if opts != nil {
		m.opts = *opts
	}
	o := &m.opts
	o.MaxEvents, o.MaxBytes, o.MaxTotal = limit.Count(o.MaxEvents, 1000), limit.Count(o.MaxBytes, 4<<20), limit.Count(o.MaxTotal, 256<<20)
	return m
}

// eventLog contains the events of one session, the oldest first.
type eventLog struct {
	events []Event
	bytes  int
}

// eventWeight is about the number of bytes of an event without its data.
const eventWeight = 96

func (e *Event) weight() int { return len(e.Data) + eventWeight }

// Append implements [EventStore]. It returns [ErrEventTooLarge] if the event alone
// exceeds a limit.
func (m *MemoryStore) Append(_ context.Context, e Event) error {
	if w := e.weight(); w > m.opts.MaxBytes || w > m.opts.MaxTotal {
		return ErrEventTooLarge
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	l := m.logs[e.Session]
	if l == nil {
		l = new(eventLog)
		m.logs[e.Session] = l
	}
	l.events = append(l.events, e)
	l.bytes += e.weight()
	m.total += e.weight()
	for len(l.events) > m.opts.MaxEvents || l.bytes > m.opts.MaxBytes {
		m.drop(e.Session, l)
	}
	m.shrink(e.Session)
	return nil
}

// shrink deletes events until MaxTotal is met. It first deletes events of sessions
// other than last, because a client may be receiving the events of last.
func (m *MemoryStore) shrink(last string) {
	for name, l := range m.logs {
		for name != last && m.total > m.opts.MaxTotal && len(l.events) > 0 {
			m.drop(name, l)
		}
		if m.total <= m.opts.MaxTotal {
			return
		}
	}
	for l := m.logs[last]; m.total > m.opts.MaxTotal; {
		m.drop(last, l)
	}
}

// drop deletes the oldest event of a session.
func (m *MemoryStore) drop(name string, l *eventLog) {
	w := l.events[0].weight()
	l.events[0] = Event{}
	l.events = l.events[1:]
	l.bytes -= w
	m.total -= w
	if len(l.events) == 0 {
		delete(m.logs, name)
	}
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
		if e.Stream != stream {
			continue
		}
		if e.Seq <= seq {
			break
		}
		found = append(found, e)
	}
	slices.Reverse(found)
	return found, nil
}

// Forget implements [EventStore].
func (m *MemoryStore) Forget(_ context.Context, session string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if l := m.logs[session]; l != nil {
		m.total -= l.bytes
		delete(m.logs, session)
	}
	return nil
}
