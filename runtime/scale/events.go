package scale

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
	"github.com/mcpwright/mcp/runtime/streamable"
)

const (
	eventKeep    = time.Hour // of events in the engine
	maxEntrySize = 256 << 10 // of several events in one entry; one event may be larger

	appendTimeout = time.Second // of an attempt to append an entry
)

// eventLog is the log of a session's events in the engine. Events that come while an entry is being
// appended go into the next entry together.
type eventLog struct {
	mu      sync.Mutex
	next    *entryGroup
	writing bool // a goroutine appends entries
	fenced  bool

	// The following fields belong to the goroutine that appends entries.
	last  uint64 // number of the last entry
	entry uint64 // number of entries of this owner
}

// entryGroup is a sequence of events that become one entry.
type entryGroup struct {
	events []streamable.Event
	size   int
	done   chan struct{} // closed when err is set
	err    error
}

// Append implements [streamable.EventStore]. When it returns, the event is in the engine.
func (e *endpoint) Append(ctx context.Context, ev streamable.Event) error {
	h := e.find(ev.Session)
	if h == nil {
		return errNotHeld
	}
	g, err := e.enqueue(h, ev)
	if err != nil {
		return err
	}
	if <-g.done; g.err != nil {
		return g.err
	}
	return e.memory.Append(ctx, ev)
}

var errNotHeld = errors.New("the session has ended, continues at another replica, or has not begun")

// enqueue adds an event to the next entry.
func (e *endpoint) enqueue(h *heldSession, ev streamable.Event) (*entryGroup, error) {
	l := h.log()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fenced {
		return nil, errFenced
	}
	g := l.next
	if g == nil {
		g = &entryGroup{done: make(chan struct{})}
		l.next = g
	}
	g.events, g.size = append(g.events, ev), g.size+len(ev.Data)
	if !l.writing {
		l.writing = true
		go e.writeEntries(h) // ends when there are no more events
	}
	return g, nil
}

// take returns the next entry, or nil. Events beyond the limit of an entry are left for another one.
func (l *eventLog) take() *entryGroup {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.next
	l.next, l.writing = nil, g != nil
	if g != nil && l.fenced {
		g.err = errFenced
	}
	return g
}

// writeEntries appends entries to the log of a session.
func (e *endpoint) writeEntries(h *heldSession) {
	for g := h.log().take(); g != nil; g = h.log().take() {
		if g.err == nil {
			g.err = e.writeGroup(h, g)
		}
		close(g.done)
		if errors.Is(g.err, errFenced) {
			e.lose(h)
		}
	}
}

// writeGroup appends events, as one entry unless it would be too large.
func (e *endpoint) writeGroup(h *heldSession, g *entryGroup) error {
	if g.size <= maxEntrySize || len(g.events) == 1 {
		return e.appendEntry(h, g.events)
	}
	for i := range g.events {
		if err := e.appendEntry(h, g.events[i:i+1]); err != nil {
			return err
		}
	}
	return nil
}

// appendEntry appends an entry. If the engine leaves open whether it was appended, appendEntry reads the
// log. If the log has an entry of a later owner, it returns errFenced.
func (e *endpoint) appendEntry(h *heldSession, events []streamable.Event) error {
	ctx, cancel := context.WithTimeout(context.Background(), engineTimeout)
	defer cancel()
	h.log().entry++
	own := logEntry{epoch: h.epoch, number: h.log().entry, events: events}
	data := e.node.keys.Seal(own.append(nil), "entry "+h.key(e))
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		last, err := e.tryAppend(ctx, h, data)
		if err == nil {
			h.log().last = last
			return nil
		}
		switch found, readErr := e.catchUp(ctx, h, own.number); {
		case errors.Is(readErr, errFenced):
			h.log().mu.Lock()
			h.log().fenced = true
			h.log().mu.Unlock()
			return errFenced
		case found:
			return nil
		}
		if !sealed.Sleep(ctx, delay) {
			return err
		}
	}
}

// tryAppend appends an entry after the last one. If the response is lost, time is left to read the log.
func (e *endpoint) tryAppend(ctx context.Context, h *heldSession, data []byte) (last uint64, err error) {
	ctx, cancel := context.WithTimeout(ctx, appendTimeout)
	defer cancel()
	return e.node.log.Append(ctx, h.key(e), data, h.log().last, eventKeep)
}

// catchUp reads the log, and reports whether it has an entry of this owner with a number.
func (e *endpoint) catchUp(ctx context.Context, h *heldSession, number uint64) (found bool, err error) {
	list, err := e.node.log.Read(ctx, h.key(e), 0)
	if err != nil {
		return false, err
	}
	if len(list) == 0 && h.log().last != 0 { // the entries have ended, and a fence may have been among them
		rec, _, err := e.readRecord(ctx, h.key(e))
		if err != nil {
			return false, err
		}
		if rec.Owner != e.node.tag || rec.Epoch != h.epoch {
			return false, errFenced
		}
		h.log().last = 0
	}
	for _, entry := range list {
		h.log().last = entry.Number
		content, err := e.openEntry(h.key(e), entry.Data)
		if errors.Is(err, sealed.ErrForged) {
			continue
		}
		if err != nil {
			return false, err
		}
		if content.epoch > h.epoch {
			return false, errFenced
		}
		found = found || content.epoch == h.epoch && content.number == number
	}
	return found, nil
}

// fence appends an entry without events, so that the previous owner can append none, and returns the
// events before it.
func (e *endpoint) fence(ctx context.Context, h *heldSession) ([]streamable.Event, error) {
	own := logEntry{epoch: h.epoch}
	data := e.node.keys.Seal(own.append(nil), "entry "+h.key(e))
	for delay := firstDelay; ; delay = min(2*delay, maxDelay) {
		list, err := e.node.log.Read(ctx, h.key(e), 0)
		if err != nil {
			return nil, err
		}
		h.log().last = 0
		if len(list) > 0 {
			h.log().last = list[len(list)-1].Number
		}
		events, fenced, err := e.readEvents(h, list)
		if err != nil || fenced {
			return events, err
		}
		if h.log().last, err = e.node.log.Append(ctx, h.key(e), data, h.log().last, eventKeep); err == nil {
			return events, nil
		}
		if !sealed.Sleep(ctx, delay) {
			return nil, err
		}
	}
}

// readEvents decodes the entries of a log. It reports whether it has found the fence of this owner. If the
// previous owner did not learn whether an event was stored, the log may have two with the same number:
// the later one is valid.
func (e *endpoint) readEvents(h *heldSession, list []engine.Entry) (events []streamable.Event, fenced bool, err error) {
	type position struct{ stream, seq uint64 }
	found := make(map[position]int)
	var epoch uint32
	var number uint64 // of the last entry in the epoch
	for _, entry := range list {
		content, err := e.openEntry(h.key(e), entry.Data)
		if errors.Is(err, sealed.ErrForged) { // it is no entry of a replica
			e.node.opts.Logger.Warn("entry in the log of a session ignored", "error", err)
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if content.epoch > h.epoch {
			return nil, false, errFenced
		}
		if content.epoch < epoch || content.epoch == epoch && content.number <= number { // a replayed entry
			continue
		}
		epoch, number = content.epoch, content.number
		fenced = fenced || epoch == h.epoch
		for _, ev := range content.events {
			p := position{ev.Stream, ev.Seq}
			if i, has := found[p]; has {
				events[i] = ev
				continue
			}
			found[p] = len(events)
			events = append(events, ev)
		}
	}
	return events, fenced, nil
}

// After implements [streamable.EventStore].
func (e *endpoint) After(ctx context.Context, session string, stream, seq uint64) ([]streamable.Event, error) {
	return e.memory.After(ctx, session, stream, seq)
}

// Forget implements [streamable.EventStore]. The events in the engine stay, because another replica may
// continue the session; Ended drops them.
func (e *endpoint) Forget(ctx context.Context, session string) error {
	return e.memory.Forget(ctx, session)
}

// logEntry is the content of an entry: integers of variable length, and data with their length before
// them.
type logEntry struct {
	epoch  uint32
	number uint64 // of the entry of this owner, from 1; 0 for a fence
	events []streamable.Event
}

func (l *logEntry) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(l.epoch))
	b = binary.AppendUvarint(b, l.number)
	for _, ev := range l.events {
		b = binary.AppendUvarint(b, ev.Stream)
		b = binary.AppendUvarint(b, ev.Seq)
		b = binary.AppendUvarint(b, uint64(len(ev.Data)))
		b = append(b, ev.Data...)
	}
	return b
}

var errMalformed = errors.New("malformed entry")

// openEntry decrypts and decodes an entry.
func (e *endpoint) openEntry(key string, data []byte) (l logEntry, err error) {
	b, err := e.node.keys.Open(data, "entry "+key)
	if err != nil {
		return l, err
	}
	integer := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			b, err = nil, errMalformed
			return 0
		}
		b = b[n:]
		return v
	}
	l.epoch, l.number = uint32(integer()), integer()
	for len(b) > 0 && err == nil {
		ev := streamable.Event{Stream: integer(), Seq: integer()}
		size := integer()
		if err != nil || size > uint64(len(b)) {
			return l, errMalformed
		}
		ev.Data, b = slices.Clip(b[:size]), b[size:]
		l.events = append(l.events, ev)
	}
	return l, err
}
