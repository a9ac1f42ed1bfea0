package repo

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root   = "../.."
	module = "github.com/mcpwright/mcp"
)

// pkg is a package of the module, without its tests.
type pkg struct {
	ImportPath, Dir, Name, Doc string
	GoFiles                    []string
	Imports                    []string
}

// path returns the package's folder in the repository.
func (p pkg) path() string { return strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/") }

// packages lists the module's packages for one operating system.
func packages(t *testing.T, goos string) []pkg {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Dir,Name,Doc,GoFiles,Imports", "./...")
	cmd.Dir = root
	cmd.Env = append(cmd.Environ(), "GOOS="+goos, "CGO_ENABLED=0")
	out, err := cmd.Output()
	require.NoError(t, err)
	var list []pkg
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p pkg
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		list = append(list, p)
	}
}

// files returns the paths of the package's files.
func (p pkg) files() []string {
	var list []string
	for _, name := range p.GoFiles {
		list = append(list, filepath.Join(p.Dir, name))
	}
	return list
}
