package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// edits contains scripts in the format of "diff -e", in a folder for each server.
//
//go:embed edits
var edits embed.FS

// run runs a command in a folder, and returns its standard output.
func run(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod -buildvcs=false")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, err
}

// fetch fetches the commit of a server and checks it out into several folders.
func (s *server) fetch(ctx context.Context, from, dir string, trees ...string) error {
	source := s.url
	if from != "" {
		var err error
		if source, err = filepath.Abs(filepath.Join(from, s.name)); err != nil {
			return err
		}
	}
	repository := "--git-dir=" + filepath.Join(dir, "git")
	if _, err := run(ctx, dir, "git", repository, "init", "-q", "--bare"); err != nil {
		return err
	}
	if _, err := run(ctx, dir, "git", repository, "fetch", "-q", "--depth=1", source, s.commit); err != nil {
		return err
	}
	for _, tree := range trees {
		if err := os.Mkdir(tree, 0o777); err != nil {
			return err
		}
		if _, err := run(ctx, tree, "git", repository, "--work-tree=.", "checkout", "-q", "-f", "FETCH_HEAD", "--", "."); err != nil {
			return err
		}
	}
	return nil
}

// port changes the source of a server, which is in tree, to the modules in this repository.
func (s *server) port(ctx context.Context, tree string) error {
	files, err := s.imports.change(tree)
	if err != nil {
		return err
	}
	changed, err := applyEdits(s.name, tree)
	if err != nil {
		return err
	}
	fmt.Printf("%s %s: import paths in %d files, %d other lines, and %d lines in tests\n", s.name, s.commit[:12], files, changed.lines, changed.inTests)
	if changed.lines > s.maxChanged {
		return fmt.Errorf("%d lines are changed, more than %d", changed.lines, s.maxChanged)
	}
	root, err := run(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	base := filepath.Dir(strings.TrimSpace(string(root)))
	args := []string{"mod", "edit"}
	for _, module := range s.imports.modules {
		path := "github.com/mcpwright/mcp" + module
		args = append(args, "-require="+path+"@v0.0.0", "-replace="+path+"="+base+module)
	}
	_, err = run(ctx, tree, "go", args...)
	return err
}

// change changes the import paths in a folder, and returns the number of changed files.
func (p *importPaths) change(tree string) (changed int, err error) {
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after := p.old.ReplaceAll(before, []byte(p.new))
		if bytes.Equal(before, after) {
			return nil
		}
		changed++
		return os.WriteFile(path, after, 0o666)
	})
	return changed, err
}

// changedLines are the numbers of lines that edits change.
type changedLines struct{ lines, inTests int }

// isTest reports whether a file is a test, or is in a package for tests.
func isTest(file string) bool {
	return strings.HasSuffix(file, "_test.go") || strings.HasSuffix(filepath.Dir(file), "test")
}

// applyEdits applies the scripts for a server to its files, and adds the files without a script. It
// returns the numbers of changed lines.
func applyEdits(name, tree string) (changed changedLines, err error) {
	folder := "edits/" + name
	if _, err := fs.Stat(edits, folder); err != nil {
		return changed, nil // this server needs no edits
	}
	err = fs.WalkDir(edits, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		script, err := edits.ReadFile(path)
		if err != nil {
			return err
		}
		target, isScript := strings.CutSuffix(filepath.Join(tree, strings.TrimPrefix(path, folder)), ".ed")
		if !isScript {
			script = fmt.Appendf(nil, "0a\n%s.\n", script)
		}
		before, err := os.ReadFile(target)
		if errors.Is(err, fs.ErrNotExist) && bytes.HasPrefix(script, []byte("0a\n")) {
			err = os.MkdirAll(filepath.Dir(target), 0o777)
		}
		if err != nil {
			return err
		}
		after, lines, err := edit(string(before), string(script))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if isTest(target) {
			changed.inTests += lines
		} else {
			changed.lines += lines
		}
		return os.WriteFile(target, []byte(after), 0o666)
	})
	return changed, err
}
