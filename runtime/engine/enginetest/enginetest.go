package enginetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
)

// slack is the time that an engine may take to end a record, in addition to the time that the
// caller has set.
const slack = 3 * time.Second

// long is a time after the end of a test.
const long = time.Minute

// Run tests a table and a log. It uses keys with random names, and takes about ten seconds if the
// clock is real.
func Run(t *testing.T, table engine.Table, log engine.Log) {
	for _, test := range tests {
		if err := test.run(t.Context(), table, log); err != nil {
			t.Errorf("%s: %v", test.name, err)
		}
	}
}

// Check is like Run, and returns the first failure.
func Check(ctx context.Context, table engine.Table, log engine.Log) error {
	for _, test := range tests {
		if err := test.run(ctx, table, log); err != nil {
			return fmt.Errorf("%s: %w", test.name, err)
		}
	}
	return nil
}

var tests = []struct {
	name string
	run  func(ctx context.Context, table engine.Table, log engine.Log) error
}{
	{"a missing record", missingRecord},
	{"changes of a record", recordChanges},
	{"data of a record", recordData},
	{"the end of a record", recordEnds},
	{"one winner per version", oneWinner},
	{"a log", logEntries},
	{"data of a log", logData},
	{"the end of a log", logEnds},
	{"one writer per position", oneWriter},
	{"a dropped log", droppedLog},
	{"a fence", fence},
	{"a cancelled context", cancelled},
	{"lost responses", lostResponses},
}

// newKey returns a key that no other test has.
func newKey() string { return "test/" + rand.Text() }

// expect returns an error if got is not the error want.
func expect(what string, got, want error) error {
	if !errors.Is(got, want) {
		return fmt.Errorf("%s: the error is %v, expected %v", what, got, want)
	}
	return nil
}

func missingRecord(ctx context.Context, table engine.Table, _ engine.Log) error {
	key := newKey()
	_, err := table.Get(ctx, key)
	_, putErr := table.Put(ctx, key, []byte("data"), 7, long)
	return errors.Join(
		expect("Get", err, engine.ErrNone),
		expect("Put with a version", putErr, engine.ErrConflict),
		expect("Delete", table.Delete(ctx, key, 7), engine.ErrConflict))
}

// recordChanges writes, deletes and writes again. No version comes twice.
func recordChanges(ctx context.Context, table engine.Table, _ engine.Log) error {
	key := newKey()
	seen := map[uint64]bool{0: true}
	var prev uint64
	for i := range 6 {
		data := fmt.Appendf(nil, "data %d", i)
		version, err := table.Put(ctx, key, data, prev, long)
		if err != nil {
			return fmt.Errorf("Put %d: %w", i, err)
		}
		if seen[version] {
			return fmt.Errorf("Put %d: the version %d is not new", i, version)
		}
		seen[version] = true
		if r, err := table.Get(ctx, key); err != nil || r.Version != version || !bytes.Equal(r.Data, data) {
			return fmt.Errorf("Get %d returned %q, version %d, %v; expected version %d", i, r.Data, r.Version, err, version)
		}
		_, stale := table.Put(ctx, key, []byte("other"), prev, long)
		if err := errors.Join(expect("Put with an old version", stale, engine.ErrConflict),
			expect("Delete with an old version", table.Delete(ctx, key, prev), engine.ErrConflict)); err != nil {
			return err
		}
		if prev = version; i%3 == 2 {
			if err := table.Delete(ctx, key, version); err != nil {
				return fmt.Errorf("Delete: %w", err)
			}
			_, err := table.Get(ctx, key)
			_, putErr := table.Put(ctx, key, data, version, long)
			if err := errors.Join(expect("Get after Delete", err, engine.ErrNone), expect("Put after Delete", putErr, engine.ErrConflict),
				expect("second Delete", table.Delete(ctx, key, version), engine.ErrConflict)); err != nil {
				return err
			}
			prev = 0
		}
	}
	return nil
}

// samples returns data that an engine may damage.
func samples() [][]byte {
	large := make([]byte, 64<<10)
	rand.Read(large)
	return [][]byte{{}, {0}, []byte("text\r\n\x00"), []byte("\xff\xfe invalid text"), large}
}

func recordData(ctx context.Context, table engine.Table, _ engine.Log) error {
	for _, data := range samples() {
		key := newKey()
		if _, err := table.Put(ctx, key, data, 0, long); err != nil {
			return err
		}
		r, err := table.Get(ctx, key)
		if err != nil || !bytes.Equal(r.Data, data) {
			return fmt.Errorf("%d bytes came back as %d bytes, or with other values: %w", len(data), len(r.Data), err)
		}
	}
	return nil
}

// recordEnds checks that a record ends in time, and that writing it again prolongs it.
func recordEnds(ctx context.Context, table engine.Table, _ engine.Log) error {
	short, prolonged := newKey(), newKey()
	_, err := table.Put(ctx, short, []byte("data"), 0, time.Second)
	version, err2 := table.Put(ctx, prolonged, []byte("data"), 0, time.Second)
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	if _, err := table.Put(ctx, prolonged, []byte("data"), version, long); err != nil {
		return err
	}
	if r, err := table.Get(ctx, short); err != nil || string(r.Data) != "data" {
		return fmt.Errorf("the record ended at once: %w", err)
	}
	if err := wait(ctx, time.Second+slack); err != nil {
		return err
	}
	_, err = table.Get(ctx, short)
	_, err2 = table.Get(ctx, prolonged)
	if err := errors.Join(expect("Get after the end", err, engine.ErrNone), expect("Get of a prolonged record", err2, nil)); err != nil {
		return err
	}
	_, err = table.Put(ctx, short, []byte("new"), 0, long)
	return expect("Put after the end", err, nil)
}

// wait waits for a time, or the end of ctx.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// concurrently calls f from 16 goroutines and returns the number of calls without an error. All
// others must fail with ErrConflict.
func concurrently(f func(i int) error) (succeeded int, err error) {
	var all sync.WaitGroup
	results := make([]error, 16)
	for i := range results {
		all.Go(func() { results[i] = f(i) }) // ends with the call
	}
	all.Wait()
	for _, result := range results {
		if result == nil {
			succeeded++
		} else if !errors.Is(result, engine.ErrConflict) {
			err = errors.Join(err, result)
		}
	}
	return succeeded, err
}

func oneWinner(ctx context.Context, table engine.Table, _ engine.Log) error {
	key := newKey()
	var prev uint64
	for round := range 8 {
		winners, err := concurrently(func(i int) error {
			_, err := table.Put(ctx, key, fmt.Appendf(nil, "%d from %d", round, i), prev, long)
			return err
		})
		if winners != 1 || err != nil {
			return fmt.Errorf("round %d has %d winners: %w", round, winners, err)
		}
		r, err := table.Get(ctx, key)
		if err != nil {
			return err
		}
		prev = r.Version
	}
	return nil
}

func logEntries(ctx context.Context, _ engine.Table, log engine.Log) error {
	key := newKey()
	if list, err := log.Read(ctx, key, 0); err != nil || len(list) > 0 {
		return fmt.Errorf("an empty log has %d entries: %w", len(list), err)
	}
	_, err := log.Append(ctx, key, []byte("data"), 5, long)
	if err := expect("Append to an empty log", err, engine.ErrConflict); err != nil {
		return err
	}
	numbers := []uint64{0}
	for i := range 5 {
		n, err := log.Append(ctx, key, fmt.Appendf(nil, "entry %d", i), numbers[i], long)
		if err != nil || n <= numbers[i] {
			return fmt.Errorf("entry %d has the number %d after %d: %w", i, n, numbers[i], err)
		}
		_, stale := log.Append(ctx, key, []byte("other"), numbers[i], long)
		if err := expect("Append at an old position", stale, engine.ErrConflict); err != nil {
			return err
		}
		numbers = append(numbers, n)
	}
	for after, n := range numbers {
		list, err := log.Read(ctx, key, n)
		if err != nil || len(list) != 5-after {
			return fmt.Errorf("%d entries come after %d entries of 5: %w", len(list), after, err)
		}
		for i, e := range list {
			if want := fmt.Sprintf("entry %d", after+i); string(e.Data) != want || e.Number != numbers[after+i+1] {
				return fmt.Errorf("got %q with the number %d, expected %q with %d", e.Data, e.Number, want, numbers[after+i+1])
			}
		}
	}
	return nil
}

func logData(ctx context.Context, _ engine.Table, log engine.Log) error {
	key := newKey()
	all := samples()
	var last uint64
	for _, data := range all {
		var err error
		if last, err = log.Append(ctx, key, data, last, long); err != nil {
			return err
		}
	}
	list, err := log.Read(ctx, key, 0)
	if err != nil || len(list) != len(all) {
		return fmt.Errorf("the log has %d entries: %w", len(list), err)
	}
	for i, data := range all {
		if !bytes.Equal(list[i].Data, data) {
			return fmt.Errorf("%d bytes came back as %d bytes, or with other values", len(data), len(list[i].Data))
		}
	}
	return nil
}

// logEnds checks that entries end in time, and that the number of the last one stays.
func logEnds(ctx context.Context, _ engine.Table, log engine.Log) error {
	key := newKey()
	first, err := log.Append(ctx, key, []byte("short"), 0, time.Second)
	if err != nil {
		return err
	}
	second, err := log.Append(ctx, key, []byte("long"), first, long)
	if err != nil {
		return err
	}
	if err := wait(ctx, time.Second+slack); err != nil {
		return err
	}
	list, err := log.Read(ctx, key, 0)
	if err != nil || len(list) != 1 || list[0].Number != second {
		return fmt.Errorf("%d entries are left of one: %w", len(list), err)
	}
	_, err = log.Append(ctx, key, []byte("next"), second, long)
	return expect("Append after an entry has ended", err, nil)
}

func oneWriter(ctx context.Context, _ engine.Table, log engine.Log) error {
	key := newKey()
	var last uint64
	for round := range 8 {
		winners, err := concurrently(func(i int) error {
			_, err := log.Append(ctx, key, fmt.Appendf(nil, "%d from %d", round, i), last, long)
			return err
		})
		list, readErr := log.Read(ctx, key, 0)
		if winners != 1 || len(list) != round+1 || err != nil || readErr != nil {
			return fmt.Errorf("position %d has %d writers and the log %d entries: %w", round, winners, len(list), errors.Join(err, readErr))
		}
		last = list[round].Number
	}
	return nil
}

func droppedLog(ctx context.Context, _ engine.Table, log engine.Log) error {
	key := newKey()
	n, err := log.Append(ctx, key, []byte("data"), 0, long)
	if err != nil {
		return err
	}
	if err := errors.Join(log.Drop(ctx, key), log.Drop(ctx, key)); err != nil {
		return err
	}
	if list, err := log.Read(ctx, key, 0); err != nil || len(list) > 0 {
		return fmt.Errorf("%d entries are left: %w", len(list), err)
	}
	_, err = log.Append(ctx, key, []byte("late"), n, long)
	return expect("Append after Drop", err, engine.ErrConflict)
}

// fence checks that a writer is refused after another writer has appended an entry, even if it
// has not read that entry.
func fence(ctx context.Context, _ engine.Table, log engine.Log) error {
	key := newKey()
	last, err := log.Append(ctx, key, []byte("of the old owner"), 0, long)
	if err != nil {
		return err
	}
	if _, err := log.Append(ctx, key, []byte("fence"), last, long); err != nil {
		return err
	}
	winners, err := concurrently(func(int) error {
		_, err := log.Append(ctx, key, []byte("late"), last, long)
		return err
	})
	if winners > 0 || err != nil {
		return fmt.Errorf("%d appends of the old owner succeeded: %w", winners, err)
	}
	return nil
}

func cancelled(ctx context.Context, table engine.Table, log engine.Log) error {
	done, cancel := context.WithCancel(ctx)
	cancel()
	key := newKey()
	_, getErr := table.Get(done, key)
	_, putErr := table.Put(done, key, nil, 0, long)
	_, appendErr := log.Append(done, key, nil, 0, long)
	_, readErr := log.Read(done, key, 0)
	for _, err := range []error{getErr, putErr, appendErr, readErr} {
		if err == nil || errors.Is(err, engine.ErrNone) || errors.Is(err, engine.ErrConflict) {
			return fmt.Errorf("the error is %v", err)
		}
	}
	return nil
}
