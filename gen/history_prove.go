package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/load"
)

// A prover builds and tests the generated code of states in a copy of the module, which
// it reuses for all states.
type prover struct {
	dir      string // of the copy
	index    []byte // the index of the released schemas
	released []string
}

// newProver copies the module and hashes the encodings of the released revisions. The
// caller must call [prover.close].
func newProver(root string) (*prover, error) {
	dir, err := os.MkdirTemp("", "mcp-history-*")
	if err != nil {
		return nil, err
	}
	p := &prover{dir: dir}
	if err = copyModule(dir, root); err == nil {
		p.index, err = os.ReadFile(p.path("schema", load.IndexFile))
	}
	if err == nil {
		p.released, err = p.test()
	}
	if err != nil {
		p.close()
		return nil, fmt.Errorf("without any state: %w", err)
	}
	return p, nil
}

// close removes the copy.
func (p *prover) close() { _ = os.RemoveAll(p.dir) } // a temporary folder

func (p *prover) path(elem ...string) string {
	return filepath.Join(append([]string{p.dir}, elem...)...)
}

// copyModule copies the files of a module, without nested modules and hidden folders.
func copyModule(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil || rel == "." {
			return err
		}
		target := filepath.Join(to, rel)
		if d.IsDir() {
			_, missing := os.Stat(filepath.Join(path, "go.mod"))
			if strings.HasPrefix(d.Name(), ".") || missing == nil {
				return fs.SkipDir
			}
			return os.Mkdir(target, 0o755)
		}
		if !d.Type().IsRegular() || d.Name() == "go.work" || d.Name() == "go.work.sum" {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, data, 0o644)
	})
}

// prove builds the module with a state as the newest revision, and runs the tests of the
// generated package. The encodings of the released revisions must be unchanged.
func (p *prover) prove(s *compilation) error {
	if err := p.install(s); err != nil {
		return err
	}
	defer os.Remove(p.path("schema", s.entry.File()))
	if out, err := p.run("build", "./..."); err != nil {
		return fmt.Errorf("build: %w\n%s", err, out)
	}
	lines, err := p.test()
	if err != nil {
		return err
	}
	for _, line := range p.released {
		if _, found := slices.BinarySearch(lines, line); !found {
			name, _, _ := strings.Cut(line, " ")
			return fmt.Errorf("the encodings of %s are different: %s", name, line)
		}
	}
	return nil
}

// install writes the schema of a state and the generated code.
func (p *prover) install(s *compilation) error {
	index, err := load.ParseIndex(load.IndexFile, p.index)
	if err != nil {
		return err
	}
	index.Put(s.entry)
	for name, data := range map[string][]byte{s.entry.File(): s.raw, load.IndexFile: index.Bytes()} {
		if err := os.WriteFile(p.path("schema", name), data, 0o644); err != nil {
			return err
		}
	}
	return write(p.path("generated", "mcp"), s.printed)
}

// test runs the tests of the generated package, and returns the hashes of its encodings,
// sorted.
func (p *prover) test() ([]string, error) {
	hashes := p.path("encodings.txt")
	if out, err := p.run("test", "-short", "-vet=off", "./generated/mcp", "-encodings", hashes); err != nil {
		return nil, fmt.Errorf("test: %w\n%s", err, out)
	}
	text, err := os.ReadFile(hashes)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	slices.Sort(lines)
	return lines, err
}

// run runs the go command in the copy. It returns the end of its output.
func (p *prover) run(args ...string) ([]byte, error) {
	cmd := exec.Command("go", args...)
	cmd.Dir = p.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	out, err := cmd.CombinedOutput()
	return bytes.TrimSpace(out[max(0, len(out)-4096):]), err
}
