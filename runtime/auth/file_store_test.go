package auth

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFileStore(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	store, other := FileStore(dir), FileStore(dir)
	ctx := t.Context()
	const key = "token https://mcp.test/mcp?x=../.."
	value, err := store.Load(ctx, key)
	require.NoError(t, err)
	require.Nil(t, value)
	require.NoError(t, store.Save(ctx, key, nil), "the value may be missing")
	require.NoDirExists(t, dir)
	require.NoError(t, store.Save(ctx, key, []byte("one")))
	require.NoError(t, store.Save(ctx, "client https://login.test", []byte("two")))
	value, err = other.Load(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "one", string(value))
	require.NoError(t, other.Save(ctx, key, []byte("three")))
	value, err = store.Load(ctx, key)
	require.NoError(t, err)
	require.Equal(t, "three", string(value))

	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 2)
	for _, entry := range entries {
		info, err := entry.Info()
		require.NoError(t, err)
		if runtime.GOOS != "windows" {
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "only the user may read the file")
		}
	}
	require.NoError(t, store.Save(ctx, key, nil))
	value, err = other.Load(ctx, key)
	require.NoError(t, err)
	require.Nil(t, value)
}

func TestFileStoreErrors(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	store := FileStore(filepath.Join(file, "below"))
	require.Error(t, store.Save(t.Context(), "a", []byte("x")))
	_, err := store.Lock(t.Context(), "a")
	require.Error(t, err)
}

func TestFileStoreLock(t *testing.T) {
	dir := t.TempDir()
	store, other := FileStore(dir), FileStore(dir)
	unlock, err := store.Lock(t.Context(), "a")
	require.NoError(t, err)
	for _, s := range []Store{store, other} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*lockPollInterval)
		_, err = s.Lock(ctx, "a")
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		free, err := s.Lock(t.Context(), "b")
		require.NoError(t, err, "each key has its own lock")
		free()
	}
	time.AfterFunc(3*lockPollInterval, unlock)
	free, err := other.Lock(t.Context(), "a")
	require.NoError(t, err)
	free()
}

// TestFileStoreLockOfProcesses starts this test in further processes, which add to a number
// in the store.
func TestFileStoreLockOfProcesses(t *testing.T) {
	const processes, rounds = 4, 20
	if dir := os.Getenv("AUTH_TEST_FILE_STORE"); dir != "" {
		store := FileStore(dir)
		for range rounds {
			unlock, err := store.Lock(t.Context(), "number")
			require.NoError(t, err)
			value, err := store.Load(t.Context(), "number")
			require.NoError(t, err)
			var n int
			_, _ = fmt.Sscan(string(value), &n)
			require.NoError(t, store.Save(t.Context(), "number", fmt.Append(nil, n+1)))
			unlock()
		}
		return
	}
	dir := t.TempDir()
	var all sync.WaitGroup
	for range processes {
		all.Go(func() {
			cmd := exec.Command(os.Args[0], "-test.run=^TestFileStoreLockOfProcesses$")
			cmd.Env = append(os.Environ(), "AUTH_TEST_FILE_STORE="+dir)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	all.Wait()
	value, err := FileStore(dir).Load(t.Context(), "number")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprint(processes*rounds), string(value))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, entry := range entries {
		require.False(t, strings.HasPrefix(entry.Name(), "new-"), "temporary files are renamed or removed")
	}
}

// TestLockEndsWithProcess checks that a program that crashes leaves no lock behind.
func TestLockEndsWithProcess(t *testing.T) {
	if dir := os.Getenv("AUTH_TEST_FILE_STORE"); dir != "" {
		_, err := FileStore(dir).Lock(t.Context(), "a")
		require.NoError(t, err)
		os.Exit(0)
	}
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0], "-test.run=^TestLockEndsWithProcess$")
	cmd.Env = append(os.Environ(), "AUTH_TEST_FILE_STORE="+dir)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	unlock, err := FileStore(dir).Lock(ctx, "a")
	require.NoError(t, err)
	unlock()
}
