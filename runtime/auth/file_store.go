package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/mcpwright/mcp/runtime/internal/challenge"
)

// FileStore returns a store that saves each value in a file of a directory, such as a
// folder below [os.UserConfigDir]. Several programs may use the directory at the same
// time. The directory is created if it is missing. Only the user of the program may read
// the files, which contain secrets and are not encrypted.
//
// Locks are locks of the operating system, which end with the program. On systems without
// such locks (JavaScript, WASI, Plan 9, Solaris, AIX), they only work inside a program.
func FileStore(dir string) Store { return &fileStore{dir: dir} }

type fileStore struct {
	dir   string
	locks keyLocks // of this store, so that its goroutines do not poll for each other
}

// path returns the name of the file for a key. It has the kind of the key in clear text.
func (s *fileStore) path(key, extension string) string {
	kind, _, _ := strings.Cut(key, " ")
	if strings.Trim(kind, challenge.Alphanumeric) != "" {
		kind = "value"
	}
	return filepath.Join(s.dir, fmt.Sprintf("%s-%.16x%s", kind, sha256.Sum256([]byte(key)), extension))
}

// Load implements [Store].
func (s *fileStore) Load(ctx context.Context, key string) (value []byte, err error) {
	err = retryWhileInUse(ctx, func() error {
		value, err = os.ReadFile(s.path(key, ".json"))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return value, err
}

// Save implements [Store]. It replaces the file at once, so that a crash does not leave a
// part of a value.
func (s *fileStore) Save(ctx context.Context, key string, value []byte) (err error) {
	path := s.path(key, ".json")
	if value == nil {
		err := retryWhileInUse(ctx, func() error { return os.Remove(path) })
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(s.dir, "new-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(temp.Name())
		}
	}()
	_, err = temp.Write(value)
	if err == nil {
		err = temp.Sync()
	}
	if err = errors.Join(err, temp.Close()); err != nil {
		return err
	}
	return retryWhileInUse(ctx, func() error { return os.Rename(temp.Name(), path) })
}

// lockPollInterval is the time between two attempts to lock a file that another program
// has locked.
const lockPollInterval = 50 * time.Millisecond

// Lock implements [Store]. The lock is a file next to the value, which remains.
func (s *fileStore) Lock(ctx context.Context, key string) (unlock func(), err error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	unlockKey, err := s.locks.lock(ctx, key)
	if err != nil {
		return nil, err
	}
	for {
		release, err := tryLockFile(s.path(key, ".lock"))
		switch {
		case err == nil:
			return func() {
				release()
				unlockKey()
			}, nil
		case !errors.Is(err, errLocked):
			unlockKey()
			return nil, err
		}
		if err := sleep(ctx, lockPollInterval); err != nil {
			unlockKey()
			return nil, err
		}
	}
}

// errLocked is returned for a file that another program has locked.
var errLocked = errors.New("file is locked")

// retryWhileInUse calls f again if the file is in use by another program, which is an
// error on Windows.
func retryWhileInUse(ctx context.Context, f func() error) error {
	deadline := time.Now().Add(2 * time.Second)
	for {
		err := f()
		if err == nil || runtime.GOOS != "windows" || errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
			return err
		}
		if sleep(ctx, 5*time.Millisecond) != nil {
			return err
		}
	}
}

// sleep waits. It returns an error if ctx ends before.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// keyLocks has a lock for each key. The zero value is ready to use.
type keyLocks struct {
	mu    sync.Mutex
	locks map[string]chan struct{} // with capacity 1; they remain, because there are few keys
}

// lock waits until the key is not locked, and locks it.
func (l *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	l.mu.Lock()
	if l.locks == nil {
		l.locks = map[string]chan struct{}{}
	}
	c := l.locks[key]
	if c == nil {
		c = make(chan struct{}, 1)
		l.locks[key] = c
	}
	l.mu.Unlock()
	select {
	case c <- struct{}{}:
		return func() { <-c }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
