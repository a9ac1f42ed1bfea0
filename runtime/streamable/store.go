package streamable

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/mcpwright/mcp/runtime/internal/limit"
)

// EventStore keeps what is sent to the clients of sessions, for those who come
// back after they lost a stream, or have not opened one yet. It is safe for
// concurrent use.
type EventStore interface {
	// Append keeps an event. It may forget older events to make room.
	Append(ctx context.Context, e Event) error
	// After returns the events of a stream that come after a number, in their
	// order, as far as they are still there. It may return only the first of
	// them.
	After(ctx context.Context, session string, stream, seq uint64) ([]Event, error)
	// Forget drops all events of a session.
	Forget(ctx context.Context, session string) error
}

// Event is one message as it was sent to a client.
type Event struct {
	// Session is the id of the session.
	Session string
	// Stream is the number of the stream in its session; 0 is the one that
	// belongs to no request.
	Stream uint64
	// Seq counts the events of the stream, from 1 without a gap.
	Seq uint64
	// Data is the message. It is not to be changed.
	Data []byte
}

// MemoryOptions are the limits of a [MemoryStore]. A zero is the default, a
// negative one is none.
type MemoryOptions struct {
	// MaxEvents is how many events of one session are kept. Default 1,000.
	MaxEvents int
	// MaxBytes is how many bytes of one session are kept. Default 4 MiB.
	MaxBytes int
	// MaxTotal is how many bytes are kept of all sessions together. Default
	// 256 MiB.
	MaxTotal int
}

// MemoryStore is an [EventStore] in memory. A session that has too many events
// loses its oldest; when all have too many together, so do others.
type MemoryStore struct {
	opts MemoryOptions

	mu    sync.Mutex
	logs  map[string]*eventLog
	total int // bytes
}

// eventLog is what is kept of one session, the oldest first.
type eventLog struct {
	events []Event
	bytes  int
}

// eventWeight is what an event takes besides its data, about.
const eventWeight = 96

func (e *Event) weight() int { return len(e.Data) + eventWeight }

// ErrEventTooLarge refuses an event that alone is more than a store keeps.
var ErrEventTooLarge = errors.New("event is too large to be kept")

// NewMemoryStore returns a store; nil is the default limits.
func NewMemoryStore(opts *MemoryOptions) *MemoryStore {
	m := &MemoryStore{logs: make(map[string]*eventLog)}
	if opts != nil {
		m.opts = *opts
	}
	o := &m.opts
	o.MaxEvents, o.MaxBytes, o.MaxTotal = limit.Count(o.MaxEvents, 1000), limit.Count(o.MaxBytes, 4<<20), limit.Count(o.MaxTotal, 256<<20)
	return m
}

// Append implements [EventStore].
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

// shrink drops events until the total fits: of any other sessions than the one that
// has just got one, whose client may be following, and only then of that.
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

// drop drops the oldest event of a session.
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
	for _, e := range slices.Backward(l.events) { // whoever follows a stream wants its end
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
