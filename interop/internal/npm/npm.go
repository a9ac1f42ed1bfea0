// Package npm installs packages of npm for tests, in the user's cache folder.
package npm

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Install installs the packages in the lock file of a folder, unless they are in the cache. It also
// copies other files of the folder. It returns the folder with the packages.
func Install(t testing.TB, folder string, others ...string) string {
	t.Helper()
	files := map[string][]byte{}
	sum := sha256.New()
	for _, name := range append([]string{"package.json", "package-lock.json", ".npmrc"}, others...) {
		data, err := os.ReadFile(filepath.Join(folder, name))
		require.NoError(t, err)
		files[name] = data
		sum.Write(data)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "mcpwright", fmt.Sprintf("%s-%x", filepath.Base(folder), sum.Sum(nil)[:8]))
	if _, err := os.Stat(dir); err == nil {
		return dir
	}
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	temp, err := os.MkdirTemp(filepath.Dir(dir), "installing-")
	require.NoError(t, err)
	defer os.RemoveAll(temp)
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(temp, name), data, 0o644))
	}
	cmd := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts")
	cmd.Dir = temp
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "npm ci in %s: %s", folder, out)
	if err := os.Rename(temp, dir); err != nil { // another process may have been faster
		require.DirExists(t, dir)
	}
	return dir
}
