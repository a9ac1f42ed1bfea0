package main

import (
	"bytes"
	"context"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// edits contains scripts in the format of "diff -e", in a folder for each server.
//
//go:embed edits
var edits embed.FS

// maxChanged limits the lines that a port changes besides import paths.
const maxChanged = 60

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

// oldPath begins import paths of packages that compat/mcpgo has, too.
var oldPath = regexp.MustCompile(`"github\.com/mark3labs/mcp-go/(mcp|server|client|client/transport)"`)

// port changes the source of a server, which is in tree, to the modules in this repository.
func (s *server) port(ctx context.Context, tree string) error {
	files, err := changeImports(tree)
	if err != nil {
		return err
	}
	changed, err := applyEdits(s.name, tree)
	if err != nil {
		return err
	}
	fmt.Printf("%s %s: import paths in %d files, %d other lines\n", s.name, s.commit[:12], files, changed)
	if changed > maxChanged {
		return fmt.Errorf("%d lines are changed, more than %d", changed, maxChanged)
	}
	root, err := run(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	base := filepath.Dir(strings.TrimSpace(string(root)))
	args := []string{"mod", "edit"}
	for _, module := range []string{"", "/compat/mcpgo"} {
		path := "github.com/mcpwright/mcp" + module
		args = append(args, "-require="+path+"@v0.0.0", "-replace="+path+"="+base+module)
	}
	_, err = run(ctx, tree, "go", args...)
	return err
}

// changeImports changes the import paths in a folder, and returns the number of changed files.
func changeImports(tree string) (changed int, err error) {
	err = filepath.WalkDir(tree, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		before, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		after := oldPath.ReplaceAll(before, []byte(`"github.com/mcpwright/mcp/compat/mcpgo/$1"`))
		if bytes.Equal(before, after) {
			return nil
		}
		changed++
		return os.WriteFile(path, after, 0o666)
	})
	return changed, err
}

// applyEdits applies the scripts for a server to its files, and returns the number of changed lines.
func applyEdits(name, tree string) (changed int, err error) {
	folder := "edits/" + name
	if _, err := fs.Stat(edits, folder); err != nil {
		return 0, nil // this server needs no edits
	}
	err = fs.WalkDir(edits, folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		script, err := edits.ReadFile(path)
		if err != nil {
			return err
		}
		target := filepath.Join(tree, strings.TrimSuffix(strings.TrimPrefix(path, folder), ".ed"))
		before, err := os.ReadFile(target)
		if err != nil {
			return err
		}
		after, lines, err := edit(string(before), string(script))
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		changed += lines
		return os.WriteFile(target, []byte(after), 0o666)
	})
	return changed, err
}
