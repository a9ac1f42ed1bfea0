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

// Records are the tasks of one kind. The owner of a task is part of its key: a request of another owner
// does not find the task.
type Records[T any] struct {
	worker *Worker
	kind   string
}

// NewRecords returns the tasks of a kind. A replica has at most one value for each kind.
func NewRecords[T any](w *Worker, kind string) *Records[T] { return &Records[T]{w, kind} }

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
func (r *Records[T]) key(owner, id string) string {
	sum := sha256.Sum256([]byte(r.kind + "\x00" + owner + "\x00" + id))
	return "t/" + base64.RawURLEncoding.EncodeToString(sum[:])
}

// Create writes the record of a new task.
func (r *Records[T]) Create(ctx context.Context, owner, id string, rec *Record[T]) error {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	return r.write(ctx, r.key(owner, id), rec, 0)
}

func (r *Records[T]) write(ctx context.Context, key string, rec *Record[T], prev uint64) error {
	content, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode the record of a task: %w", err)
	}
	if len(content) > MaxSize {
		return fmt.Errorf("%w: it has %d bytes, more than %d", ErrTooLarge, len(content), MaxSize)
	}
	keep := max(time.Until(rec.Ends), time.Second)
	_, err = sealed.Put(ctx, r.worker.opts.Table, key, r.worker.keys.Seal(content, key), prev, keep)
	return err
}

// read reads a record. It returns engine.ErrNone if there is none.
func (r *Records[T]) read(ctx context.Context, key string) (*Record[T], uint64, error) {
	stored, err := r.worker.opts.Table.Get(ctx, key)
	if err != nil {
		return nil, 0, err
	}
	content, err := r.worker.keys.Open(stored.Data, key)
	if err != nil {
		return nil, 0, err
	}
	rec := new(Record[T])
	if err := json.Unmarshal(content, rec); err != nil {
		return nil, 0, err
	}
	return rec, stored.Version, nil
}

// Get returns the record of a task. It returns [engine.ErrNone] if the owner has no such task.
func (r *Records[T]) Get(ctx context.Context, owner, id string) (*Record[T], error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	rec, _, err := r.read(ctx, r.key(owner, id))
	return rec, err
}

// Change changes the record of a task with a function, and returns the record. If the record was changed
// meanwhile, the function is called again with the new record. Its error is returned; after ErrUnchanged,
// Change returns the record as it is and no error.
func (r *Records[T]) Change(ctx context.Context, owner, id string, change func(*Record[T]) error) (*Record[T], error) {
	ctx, cancel := context.WithTimeout(ctx, engineTimeout)
	defer cancel()
	key := r.key(owner, id)
	for {
		rec, version, err := r.read(ctx, key)
		if err != nil {
			return nil, err
		}
		if err := change(rec); errors.Is(err, ErrUnchanged) {
			return rec, nil
		} else if err != nil {
			return nil, err
		}
		if err := r.write(ctx, key, rec, version); !errors.Is(err, engine.ErrConflict) {
			return rec, err
		}
		if !sealed.Sleep(ctx, conflictDelay) { // the engine may still return the old record
			return nil, ctx.Err()
		}
	}
}

// Delete deletes the record of a task.
func (r *Records[T]) Delete(ctx context.Context, owner, id string) error {
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
