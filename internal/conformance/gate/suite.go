package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// suite is an installation of the official suite.
type suite struct {
	dir string
	// loader is true if Node needs loader.mjs, because it is older than the suite requires.
	loader bool
}

const (
	entry     = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
	minNode   = 20 // with loader.mjs
	suiteNode = 22 // that the suite requires
)

// prepareSuite installs the version of the suite in the lock file of dir, if it is not
// installed. The installation is in the user's cache folder, and its name contains a hash
// of the lock file.
func prepareSuite(ctx context.Context, dir string) (*suite, error) {
	major, err := nodeVersion(ctx)
	if err != nil {
		return nil, err
	}
	names := []string{"package-lock.json", "package.json", ".npmrc", "loader.mjs"}
	sum := sha256.New()
	files := map[string][]byte{}
	for _, name := range names {
		if files[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, fmt.Errorf("read the folder of -suite: %w", err)
		}
		sum.Write(files[name])
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	s := &suite{dir: filepath.Join(cache, "mcpwright", fmt.Sprintf("conformance-%x", sum.Sum(nil)[:8])), loader: major < suiteNode}
	if _, err := os.Stat(filepath.Join(s.dir, entry)); err == nil {
		return s, nil
	}
	return s, s.install(ctx, files)
}

// nodeVersion returns the major version of Node.
func nodeVersion(ctx context.Context) (int, error) {
	const advice = "the official suite needs Node 20 or newer with npm in PATH; install your system's package \"nodejs\", or see nodejs.org"
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return 0, fmt.Errorf("%q is missing: %s", program, advice)
		}
	}
	out, err := exec.CommandContext(ctx, "node", "--version").Output()
	if err != nil {
		return 0, fmt.Errorf("run node --version: %w", err)
	}
	text := strings.TrimSpace(string(out))
	head, _, _ := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	major, err := strconv.Atoi(head)
	if err != nil || major < minNode {
		return 0, fmt.Errorf("node %s is too old: %s", text, advice)
	}
	return major, nil
}

// install installs the suite in a temporary folder, and renames the folder when it is
// complete.
func (s *suite) install(ctx context.Context, files map[string][]byte) error {
	if err := os.MkdirAll(filepath.Dir(s.dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(s.dir), "installing-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(temp, name), data, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts")
	cmd.Dir = temp
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("install the suite with npm, which needs a package registry: %w\n%s", err, tail(out))
	}
	if err := os.Rename(temp, s.dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// run runs the suite, and returns the folder of its reports.
func (s *suite) run(ctx context.Context, f *fixture, r testRun, out string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(out, strings.ReplaceAll(r.String(), " ", "-")))
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
	if !r.Named {
		return dir, s.start(ctx, r, dir, append([]string{"--requirements", r.Revision}, target...))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Checks)) {
		args := append([]string{"--scenario", name, "--spec-version", r.Revision, "--force"}, target...)
		if err := s.start(ctx, r, dir, args); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// start runs the suite once. It adds the output of the suite to suite.log.
func (s *suite) start(ctx context.Context, r testRun, dir string, args []string) error {
	args = append([]string{entry, r.Side, "-o", dir}, args...)
	if s.loader {
		args = append([]string{"--import", "./loader.mjs"}, args...)
	}
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Dir = s.dir
	text, err := cmd.CombinedOutput()
	log, lerr := os.OpenFile(filepath.Join(dir, "suite.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if lerr != nil {
		return lerr
	}
	_, werr := log.Write(text)
	if err := errors.Join(werr, log.Close()); err != nil {
		return err
	}
	// The suite also exits with an error if a scenario fails, which the reports contain. It
	// is an error of the suite itself only if there are no reports.
	if found, _ := filepath.Glob(filepath.Join(dir, "*", "checks.json")); err != nil && len(found) == 0 {
		return fmt.Errorf("the suite has written no reports for %s: %w\n%s", r, err, tail(text))
	}
	return nil
}
