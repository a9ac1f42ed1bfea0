package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// suite is the official suite, installed and ready to run.
type suite struct {
	dir string
	// shim tells that Node is older than the suite wants.
	shim bool
}

const (
	entry      = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	oldestNode = 20
	suiteNode  = 22
)

// prepare finds Node and installs the suite as the lock file in dir pins it.
// The installation is kept in the user's cache, under a name made of the lock.
func prepare(ctx context.Context, dir string) (*suite, error) {
	major, err := nodeVersion(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{"package-lock.json", "package.json", ".npmrc", "loader.mjs"}
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("-suite must name the folder that pins the suite: %w", err)
		}
		sum.Write(files[name])
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	s := &suite{dir: filepath.Join(cache, "mcpwright", fmt.Sprintf("conformance-%x", sum.Sum(nil)[:8])), shim: major < suiteNode}
	if _, err := os.Stat(filepath.Join(s.dir, entry)); err == nil {
		return s, nil
	}
	return s, s.install(ctx, files)
}

func nodeVersion(ctx context.Context) (int, error) {
	const wanted = "the official suite is a Node program: install Node 20 or newer with npm (your system's package \"nodejs\", or nodejs.org), and have both in PATH"
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return 0, fmt.Errorf("%q is missing: %s", program, wanted)
		}
	}
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("asking Node for its version: %w", err)
	}
	text := strings.TrimSpace(string(out))
	head, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	major, err := strconv.Atoi(head)
	if err != nil || major < oldestNode {
		return 0, fmt.Errorf("node %s is too old: %s", text, wanted)
	}
	return major, nil
}

// install puts the suite beside its place and moves it there when it is whole.
func (s *suite) install(ctx context.Context, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(s.dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(fresh)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(fresh, name), data, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts")
	cmd.Dir = fresh
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm could not install the suite's pinned packages (it needs your package registry once): %w\n%s", err, tail(out))
	}
	if err := os.Rename(fresh, s.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// run runs one leg and returns the folder of its reports.
func (s *suite) run(ctx context.Context, f *fixture, l leg, out string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(out, l.Side+"-"+l.Revision))
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil { // reports of an earlier run
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	target, err := f.target(dir)
	if err != nil {
		return "", err
	}
	args := []string{entry, l.Side, "--requirements", l.Revision, "-o", dir}
	if s.shim {
		args = append([]string{"--import", "./loader.mjs"}, args...)
	}
	cmd := exec.CommandContext(ctx, "node", append(args, target...)...)
	cmd.Dir = s.dir
	text, err := cmd.CombinedOutput()
	if werr := os.WriteFile(filepath.Join(dir, "suite.log"), text, 0o644); werr != nil {
		return "", werr
	}
	// The suite's own verdict is in the reports. Its exit tells only of a
	// suite that could not work when there are none.
	if found, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json")); err != nil && len(found) == 0 {
		return "", fmt.Errorf("the suite reported nothing for %s: %w\n%s", l, err, tail(text))
	}
	return dir, nil
}

// tail returns the last lines of a program's output.
func tail(out []byte) []byte {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-15):], []byte("\n"))
}
