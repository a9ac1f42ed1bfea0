package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
)

// ErrLost is the error of a call of a [Lossy] engine that lost its request or its response.
var ErrLost = errors.New("connection lost")

// Lossy is an engine that fails every nth change with [ErrLost]. It fails in turn before the
// change is made and after it was made. The other calls go to Table and Log.
type Lossy struct {
	Table engine.Table
	Log   engine.Log
	// Nth is the distance of the failures, or 0 for none.
	Nth int64

	lose    func() // makes the connection to the engine lose the response; nil loses it here
	changes atomic.Int64
}

// change makes a change, and fails before or after it if its turn has come.
func (l *Lossy) change(f func() error) error {
	n := l.changes.Add(1)
	switch {
	case l.Nth == 0 || n%l.Nth != 0:
		return f()
	case l.lose != nil:
		l.lose()
		return f()
	}
	if n/l.Nth%2 == 1 {
		_ = f() // the response is lost, also if it is an error
	}
	return ErrLost
}

// Get implements [engine.Table].
func (l *Lossy) Get(ctx context.Context, key string) (engine.Record, error) {
	return l.Table.Get(ctx, key)
}

// Put implements [engine.Table].
func (l *Lossy) Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (version uint64, err error) {
	err = l.change(func() error {
		version, err = l.Table.Put(ctx, key, data, prev, keep)
		return err
	})
	if err != nil {
		return 0, err
	}
	return version, nil
}

// Delete implements [engine.Table].
func (l *Lossy) Delete(ctx context.Context, key string, prev uint64) error {
	return l.change(func() error { return l.Table.Delete(ctx, key, prev) })
}

// Append implements [engine.Log].
func (l *Lossy) Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (number uint64, err error) {
	err = l.change(func() error {
		number, err = l.Log.Append(ctx, key, data, prev, keep)
		return err
	})
	if err != nil {
		return 0, err
	}
	return number, nil
}

// Read implements [engine.Log].
func (l *Lossy) Read(ctx context.Context, key string, after uint64) ([]engine.Entry, error) {
	return l.Log.Read(ctx, key, after)
}

// Drop implements [engine.Log].
func (l *Lossy) Drop(ctx context.Context, key string) error {
	return l.change(func() error { return l.Log.Drop(ctx, key) })
}

// lostResponses writes a counter and a log over an engine that loses every third request or
// response. It reads to find out whether a change was made. Each change must be made once.
func lostResponses(ctx context.Context, table engine.Table, log engine.Log) error {
	return changeOnce(ctx, &Lossy{Table: table, Log: log, Nth: 3})
}

// RunLossy tests a table and a log over connections that fail. The function lose makes them lose the response to the
// next request, after the engine has received it.
func RunLossy(t *testing.T, table engine.Table, log engine.Log, lose func()) {
	if err := changeOnce(t.Context(), &Lossy{Table: table, Log: log, Nth: 7, lose: lose}); err != nil {
		t.Error(err)
	}
}

func changeOnce(ctx context.Context, l *Lossy) error {
	key := newKey()
	var version, last uint64
	for i := range 30 {
		data := fmt.Appendf(nil, "%d", i)
		var err error
		if version, err = putOnce(ctx, l, key, data, version); err != nil {
			return fmt.Errorf("Put %d: %w", i, err)
		}
		if last, err = appendOnce(ctx, l, key, data, last); err != nil {
			return fmt.Errorf("Append %d: %w", i, err)
		}
	}
	list, err := l.Read(ctx, key, 0)
	if err != nil || len(list) != 30 {
		return fmt.Errorf("the log has %d entries, expected 30: %w", len(list), err)
	}
	for i, e := range list {
		if string(e.Data) != fmt.Sprint(i) {
			return fmt.Errorf("entry %d is %q", i, e.Data)
		}
	}
	return nil
}

// lossyTimeout is the time after which a response counts as lost.
const lossyTimeout = time.Second

func putOnce(ctx context.Context, l *Lossy, key string, data []byte, prev uint64) (uint64, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, lossyTimeout)
		version, err := l.Put(attempt, key, data, prev, long)
		cancel()
		if err == nil || ctx.Err() != nil {
			return version, err
		}
		switch r, getErr := l.Get(ctx, key); {
		case getErr == nil && bytes.Equal(r.Data, data):
			return r.Version, nil
		case getErr != nil && !errors.Is(getErr, engine.ErrNone):
			return 0, getErr
		case r.Version != prev:
			return 0, fmt.Errorf("another change was made: version %d, expected %d", r.Version, prev)
		}
	}
}

func appendOnce(ctx context.Context, l *Lossy, key string, data []byte, prev uint64) (uint64, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, lossyTimeout)
		number, err := l.Append(attempt, key, data, prev, long)
		cancel()
		if err == nil || ctx.Err() != nil {
			return number, err
		}
		list, readErr := l.Read(ctx, key, prev)
		if readErr != nil {
			return 0, readErr
		}
		if len(list) > 0 {
			if len(list) > 1 || !bytes.Equal(list[0].Data, data) {
				return 0, fmt.Errorf("%d other entries were added: %w", len(list), err)
			}
			return list[0].Number, nil
		}
	}
}
