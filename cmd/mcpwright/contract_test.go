package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLockAndDiff(t *testing.T) {
	s, url := newShell(t), serveHTTP(t, nil)
	lock := s.run("lock", url)
	require.Zero(t, lock.status, lock.errs)
	require.Contains(t, lock.out, `"name": "order"`)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600))
	}
	write("old.json", lock.out)
	got := s.run("diff", "old.json", url)
	require.Equal(t, result{0, "There are no changes.\n", ""}, got)

	require.Contains(t, lock.out, `"dish"`)
	write("new.json", strings.Replace(lock.out, `"name": "fail"`, `"name": "failed"`, 1))
	got = s.run("diff", "old.json", "new.json")
	require.Equal(t, 1, got.status)
	require.Contains(t, got.out, "breaking    tool fail: removed\n")
	require.Contains(t, got.out, "compatible  tool failed: added\n")
	got = s.run("diff", "-json", "old.json", "new.json")
	require.Contains(t, got.out, `"severity": "breaking"`)
	got = s.run("diff", "-markdown", "new.json", url)
	require.Contains(t, got.out, "### Breaking\n\n- tool `failed`: removed\n")

	write("risky.json", strings.Replace(lock.out, `"uri": "kitchen://menu",`, `"uri": "kitchen://menu", "mimeType": "text/html",`, 1))
	got = s.run("diff", "risky.json", url)
	require.Equal(t, 4, got.status, got.out)
	require.Equal(t, 2, s.run("diff").status)
	require.Equal(t, 2, s.run("diff", "missing.json", url).status)
	require.Equal(t, 2, s.run("diff", "old.json").status)
	write("bad.json", "{")
	got = s.run("diff", "old.json", "bad.json")
	require.Equal(t, 2, got.status)
	require.Contains(t, got.errs, "read bad.json")
}
