package docs

import (
	"archive/zip"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// blocks finds the code blocks of a page: their language, the name of their file, and their text.
var blocks = regexp.MustCompile("(?ms)^```(\\w*) ?([a-z_.]*)\n(.*?)^```$")

// TestPageOfExtensions does what the page describes, in an empty module and without this repository: the go
// command reads this module from a folder.
func TestPageOfExtensions(t *testing.T) {
	if testing.Short() {
		t.Skip("-short builds no programs")
	}
	page, err := os.ReadFile("extensions.md")
	require.NoError(t, err)
	dir := t.TempDir()
	env := moduleEnv(t)
	var printed string
	for _, b := range blocks.FindAllStringSubmatch(string(page), -1) {
		switch language, file, text := b[1], b[2], b[3]; {
		case file != "":
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
		case language == "sh":
			cmd := exec.CommandContext(t.Context(), "sh", "-e", "-c", text)
			cmd.Dir, cmd.Env = dir, append(cmd.Environ(), env...)
			var stderr strings.Builder
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			require.NoError(t, err, "%s%s", text, &stderr)
			printed = string(out)
		case language == "":
			require.True(t, strings.HasSuffix(printed, text), "%s", printed)
		}
	}
	check := exec.CommandContext(t.Context(), "go", "tool", "gen", "extension", "-schema", "weather.json", "-name", "com.example/weather", "-out", "forecast", "-client", "Settings", "-server", "Settings", "-check")
	check.Dir, check.Env = dir, append(check.Environ(), env...)
	out, err := check.CombinedOutput()
	require.NoError(t, err, "%s", out)
	source, err := os.ReadFile(filepath.Join(dir, "forecast", "types.go"))
	require.NoError(t, err)
	require.Contains(t, string(source), "// Settings has the units of all values.\n")
}

// moduleEnv returns an environment in which the go command finds this module as version v0.0.1, and other
// modules in the module cache.
func moduleEnv(t *testing.T) []string {
	t.Helper()
	proxy := t.TempDir()
	writeModule(t, filepath.Join(proxy, "github.com", "mcpwright", "mcp", "@v"), "v0.0.1")
	cache, err := exec.CommandContext(t.Context(), "go", "env", "GOMODCACHE").Output()
	require.NoError(t, err)
	// -modcacherw, so that the test can remove its cache.
	return []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy) + ",file://" + filepath.ToSlash(strings.TrimSpace(string(cache))) + "/cache/download,off",
		"GOMODCACHE=" + t.TempDir(), "GOSUMDB=off", "GOWORK=off", "GOFLAGS=-modcacherw -buildvcs=false",
	}
}

// writeModule writes the root module in the form of a module proxy.
func writeModule(t *testing.T, dir, version string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(dir, 0o755))
	info, err := json.Marshal(map[string]string{"Version": version, "Time": "2026-01-01T00:00:00Z"})
	require.NoError(t, err)
	mod, err := os.ReadFile("../go.mod")
	require.NoError(t, err)
	for name, data := range map[string][]byte{"list": []byte(version + "\n"), version + ".info": info, version + ".mod": mod} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o644))
	}
	file, err := os.Create(filepath.Join(dir, version+".zip"))
	require.NoError(t, err)
	defer file.Close()
	z := zip.NewWriter(file)
	root := os.DirFS("..")
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, nested := fs.Stat(root, name+"/go.mod")
			if name != "." && (nested == nil || strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
				return fs.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() {
			return nil
		}
		data, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		w, err := z.Create(fmt.Sprintf("github.com/mcpwright/mcp@%s/%s", version, name))
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}))
	require.NoError(t, z.Close())
}
