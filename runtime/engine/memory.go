package engine

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"sync"
	"time"
)

// maxEntries limits the entries of a log in memory.
const maxEntries = 1000

// sweepInterval is the least time between two searches for records and entries that have ended.
const sweepInterval = time.Minute

// Memory is a [Table] and a [Log] in the memory of one process. It keeps the last 1,000 entries
// of a log. The zero value is empty and ready to use.
type Memory struct {
	mu      sync.Mutex
	last    uint64 // the last version or number
	records map[string]memoryRecord
	logs    map[string][]memoryEntry
	swept   time.Time
}

type memoryRecord struct {
	Record
	ends time.Time
}

type memoryEntry struct {
	Entry
	ends time.Time
}

// Get implements [Table].
func (m *Memory) Get(ctx context.Context, key string) (Record, error) {
	if err := ctx.Err(); err != nil {
		return Record{}, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.record(key)
	if r.Version == 0 {
		return Record{}, ErrNone
	}
	return r, nil
}

// record returns a record that has not ended, or the zero value.
func (m *Memory) record(key string) Record {
	if r := m.records[key]; time.Now().Before(r.ends) {
		return r.Record
	}
	return Record{}
}

// Put implements [Table].
func (m *Memory) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	if m.record(key).Version != prev {
		return 0, ErrConflict
	}
	if m.records == nil {
		m.records = make(map[string]memoryRecord)
	}
	m.last++
	m.records[key] = memoryRecord{Record{Data: bytes.Clone(data), Version: m.last}, time.Now().Add(keep)}
	return m.last, nil
}

// Delete implements [Table].
func (m *Memory) Delete(ctx context.Context, key string, prev uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if v := m.record(key).Version; v == 0 || v != prev {
		return ErrConflict
	}
	delete(m.records, key)
	return nil
}

// Append implements [Log].
func (m *Memory) Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sweep()
	list := m.entries(key)
	if last := len(list) - 1; last < 0 && prev != 0 || last >= 0 && list[last].Number != prev {
		return 0, ErrConflict
	}
	if m.logs == nil {
		m.logs = make(map[string][]memoryEntry)
	}
	if len(list) == maxEntries {
		list[0] = memoryEntry{}
		list = list[1:]
	}
	m.last++
	m.logs[key] = append(list, memoryEntry{Entry{Number: m.last, Data: bytes.Clone(data)}, time.Now().Add(keep)})
	return m.last, nil
}

// entries removes the entries of a log that have ended, and returns the others.
func (m *Memory) entries(key string) []memoryEntry {
	now := time.Now()
	kept := slices.DeleteFunc(m.logs[key], func(e memoryEntry) bool { return !now.Before(e.ends) })
	if len(kept) == 0 {
		delete(m.logs, key)
	} else {
		m.logs[key] = kept
	}
	return kept
}

// Read implements [Log].
func (m *Memory) Read(ctx context.Context, key string, after uint64) ([]Entry, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := m.entries(key)
	first, _ := slices.BinarySearchFunc(kept, after+1, func(e memoryEntry, n uint64) int { return cmp.Compare(e.Number, n) })
	list := make([]Entry, 0, len(kept)-first)
	for _, e := range kept[first:] {
		list = append(list, e.Entry)
	}
	return list, nil
}

// Drop implements [Log].
func (m *Memory) Drop(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.logs, key)
	return nil
}

// sweep removes everything that has ended, at most once in an interval.
func (m *Memory) sweep() {
	now := time.Now()
	if now.Sub(m.swept) < sweepInterval {
		return
	}
	m.swept = now
	for key, r := range m.records {
		if !now.Before(r.ends) {
			delete(m.records, key)
		}
	}
	for key := range m.logs {
		m.entries(key)
	}
}
