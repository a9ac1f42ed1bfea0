// Package engine describes the storage that replicas of a server share: small records that
// change by compare-and-set, and logs of entries. Package scale uses it.
//
// The modules scale/nats and scale/redis implement it. [Memory] is an implementation for
// handlers in one process and for tests. Package enginetest has the tests for an
// implementation of your own.
package engine

import (
	"context"
	"errors"
	"time"
)

var (
	// ErrNone is returned if a table has no record for a key.
	ErrNone = errors.New("no such record")
	// ErrConflict is returned if a record or a log was changed since the caller read it.
	// Nothing was changed by the call.
	ErrConflict = errors.New("changed concurrently")
)

// Record is the value of a key in a [Table].
type Record struct {
	// Data must not be modified.
	Data []byte
	// Version is different after each change of the record, and never 0. A record that is
	// written again after its end has a new version too.
	Version uint64
}

// Table stores small records. It is safe for concurrent use. Keys have at most 128
// characters: letters, digits, and the characters "-", "_" and "/".
//
// An error other than [ErrNone] and [ErrConflict] leaves open whether the change was made. The
// change may also be made after the call has returned. The caller reads the record to find out.
type Table interface {
	// Get returns a record, or ErrNone. The record may be older than the last change: a
	// caller that acts on it calls Put or Delete with its version.
	Get(ctx context.Context, key string) (Record, error)
	// Put writes a record if its version is prev, or if prev is 0 and there is no record.
	// Otherwise it returns ErrConflict. The record ends after the time keep, unless it is
	// written again. An engine may round keep up to a whole second and end the record a
	// second later.
	Put(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (version uint64, err error)
	// Delete ends a record if its version is prev. Otherwise it returns ErrConflict, also if
	// there is no record.
	Delete(ctx context.Context, key string, prev uint64) error
}

// Entry is an element of a log.
type Entry struct {
	// Number is greater than the numbers of earlier entries of the log. It is never 0.
	// Numbers may have gaps.
	Number uint64
	// Data must not be modified.
	Data []byte
}

// Log stores a sequence of entries for each key. It is safe for concurrent use. Keys are as in
// a [Table], and errors leave as much open.
type Log interface {
	// Append adds an entry if the last entry of the log has the number prev, or if prev is 0
	// and the log is empty. Otherwise it returns ErrConflict. The number of the last entry
	// stays the same when old entries end, as long as the log has one.
	//
	// When Append returns, the entry outlives the failure of one machine as far as the
	// engine is set up for that. The entry ends after the time keep. The oldest entries of
	// the log may end earlier if it has too many.
	Append(ctx context.Context, key string, data []byte, prev uint64, keep time.Duration) (number uint64, err error)
	// Read returns the entries with a number greater than after, in order. The latest
	// entries may be missing: a caller that acts on the result calls Append with the number
	// of the last entry. Read returns no entries for a log that does not exist.
	Read(ctx context.Context, key string, after uint64) ([]Entry, error)
	// Drop removes all entries of a log. A log that does not exist is no error.
	Drop(ctx context.Context, key string) error
}
