package taskrecords

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/mcpwright/mcp/runtime/engine"
	"github.com/mcpwright/mcp/runtime/internal/sealed"
)

// Record is the stored state of a task.
type Record[T any] struct {
	// Worker is the tag of the process that runs the task, or "" if none does.
	Worker string `json:"worker,omitempty"`
	// Ends is when the engine ends the record.
	Ends time.Time `json:"ends"`
	// State is encoded as JSON.
	State T `json:"state"`
}

// Records are the tasks of one kind, whose states have one type. The owner of a task is part of its key: a
// request of another owner does not find the task. The functions with a type parameter are no methods,
// because every package that uses a type compiles its methods again.
type Records struct {
	worker *Worker
	kind   string
}

// NewRecords returns the tasks of a kind. A replica has at most one value for each kind.
func NewRecords(w *Worker, kind string) *Records { return &Records{w, kind} }

// conflictDelay is the pause before a record is read again that another process has changed.
const conflictDelay = 10 * time.Millisecond

// MaxSize limits the bytes of a record. A message of NATS has at most 1 MiB.
const MaxSize = 900 << 10

var (
	// ErrTooLarge is the error for a record with more than MaxSize bytes.
	ErrTooLarge = errors.New("state of the task is too large to be stored")
	// ErrUnchanged is returned by a function that leaves a record as it is.
	ErrUnchanged = errors.New("record is unchanged")
)

// key returns the key of a task. A reader of the engine learns neither the id nor the owner.
func (r *Records) key(owner, id string) string {
	sum := sha256.Sum256([]byte(r.kind + "\x00" + owner + "\x00" + id))
	return "t/" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// Create writes the record of a new task.
func Create[T any](ctx context.Context, r *Records, owner, id string, rec *Record[T]) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	return r.write(ctx, r.key(owner, id), rec, rec.Ends, 0)
}

func (r *Records) write(ctx context.Context, key string, rec any, ends time.Time, prev uint64) error {
	content, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode the record of a task: %w", err)
	}
	if len(content) > MaxSize {
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrTooLarge, len(content), MaxSize)
	}
	keep := max(time.Until(ends), time.Second)
	_, err = sealed.Put(ctx, r.worker.opts.Table, key, r.worker.keys.Seal(content, key), prev, keep)
	return err
}

// read reads a record into rec. It returns engine.ErrNone if there is none.
func (r *Records) read(ctx context.Context, key string, rec any) (version uint64, err error) {
	stored, err := r.worker.opts.Table.Get(ctx, key)
	if err != nil {
		return 0, err
	}
	content, err := r.worker.keys.Open(stored.Data, key)
	if err != nil {
		return 0, err
	}
	return stored.Version, json.Unmarshal(content, rec)
}

// Get returns the record of a task. It returns [engine.ErrNone] if the owner has no such task.
func Get[T any](ctx context.Context, r *Records, owner, id string) (*Record[T], error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	rec := new(Record[T])
	if _, err := r.read(ctx, r.key(owner, id), rec); err != nil {
		return nil, err
	}
	return rec, nil
}

// Change changes the record of a task with a function, and returns the record. If the record was changed
// meanwhile, the function is called again with the new record. Its error is returned; after ErrUnchanged,
// Change returns the record as it is and no error.
func Change[T any](ctx context.Context, r *Records, owner, id string, change func(*Record[T]) error) (rec *Record[T], err error) {
	err = r.change(ctx, r.key(owner, id),
		func() any { rec = new(Record[T]); return rec },
		func() (time.Time, error) { err := change(rec); return rec.Ends, err })
	if err != nil {
		return nil, err
	}
	return rec, nil
}

// change reads a record into the value that empty returns, and writes it after update has changed it.
func (r *Records) change(ctx context.Context, key string, empty func() any, update func() (ends time.Time, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	for {
		rec := empty()
		version, err := r.read(ctx, key, rec)
		if err != nil {
			return err
		}
		ends, err := update()
		if errors.Is(err, ErrUnchanged) {
			return nil
		} else if err != nil {
			return err
		}
		if err := r.write(ctx, key, rec, ends, version); !errors.Is(err, engine.ErrConflict) {
			return err
		}
		if !sealed.Sleep(ctx, conflictDelay) { // the engine may still return the old record
			return ctx.Err()
		}
	}
}

// Delete deletes the record of a task.
func (r *Records) Delete(ctx context.Context, owner, id string) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	key := r.key(owner, id)
	for {
		rec, err := r.worker.opts.Table.Get(ctx, key)
		if errors.Is(err, engine.ErrNone) {
			return nil
		}
		if err == nil {
			err = r.worker.opts.Table.Delete(ctx, key, rec.Version)
		}
		if err == nil || !errors.Is(err, engine.ErrConflict) {
			return err
		}
	}
}
