package repo

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// forbidden are texts that no file may contain: hosts of package registries, which depend on
// where the module is built, and paths of one machine.
var forbidden = []string{
	"proxy.golang" + ".org", "sum.golang" + ".org", "goproxy" + ".", "registry.npmjs" + ".org", "pypi" + ".org", "crates" + ".io",
	"/ro" + "ot/", "/ho" + "me/", "/Us" + "ers/", "/wo" + "rk/", `:\Us` + `ers\`,
}

func TestNoFileNamesAMachineOrARegistry(t *testing.T) {
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules"): // the latter is ignored by git
			return fs.SkipDir
		case d.IsDir() || d.Name() == ".git": // a file in a second work tree
			return nil
		case strings.HasSuffix(path, ".test") || strings.HasSuffix(path, ".prof"): // written by go test, and ignored by git
			return nil
		}
		data, err := os.ReadFile(path)
		for _, text := range forbidden {
			require.False(t, bytes.Contains(data, []byte(text)), "%s mentions %s", path, text)
		}
		return err
	}))
}

func TestNoSentenceOfTheSpecificationIsCopied(t *testing.T) {
	if testing.Short() {
		t.Skip("-short leaves this to make lint")
	}
	tool, err := filepath.Abs(filepath.Join(root, "..", "shared", "tools", "check-prose"))
	require.NoError(t, err)
	if _, err := os.Stat(tool); err != nil {
		t.Skip("the official texts are not next to this checkout (../shared)")
	}
	out, err := exec.Command(tool, root).CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestModuleReplacesNothing(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		require.False(t, strings.HasPrefix(strings.TrimSpace(line), "replace"), "go.mod replaces a module: %s", line)
	}
}
