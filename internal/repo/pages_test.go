package repo

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages returns the Markdown pages of the repository by their paths.
func pages(t *testing.T) map[string]string {
	var names []string
	for _, folder := range []string{".", "docs", ".github"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		require.NoError(t, err)
		names = append(names, found...)
	}
	require.Contains(t, names, filepath.Join(root, "README.md"))
	texts := map[string]string{}
	for _, name := range names {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		texts[name] = string(data)
	}
	return texts
}

var snippet = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestSnippetsAreCode checks that each snippet of Go in a page occurs word for word in a Go file of
// this module. Such a file is an example or a test, so that the snippet compiles.
func TestSnippetsAreCode(t *testing.T) {
	sources := sources(t)
	for page, text := range pages(t) {
		for _, m := range snippet.FindAllStringSubmatch(text, -1) {
			want := tight(m[1])
			found := false
			for _, source := range sources {
				found = found || strings.Contains(source, want)
			}
			require.True(t, found, "%s: no Go file contains this snippet:\n%s", page, m[1])
		}
	}
}

// sources returns the texts of the module's Go files.
func sources(t *testing.T) (list []string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || path == filepath.Join(root, "bench") || path == filepath.Join(root, "interop")) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		data, err := os.ReadFile(path)
		list = append(list, tight(string(data)))
		return err
	})
	require.NoError(t, err)
	return list
}

// tight returns code without indentation and blank lines.
func tight(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return "\n" + b.String()
}

var (
	link   = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	fence  = regexp.MustCompile("(?ms)^```.*?^```$")
	inline = regexp.MustCompile("`([^`]+)`")
)

func TestLinksOfPagesExist(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			require.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}

// TestOurColumnIsCode checks that the code in the last column of the migration tables occurs in a
// Go file.
func TestOurColumnIsCode(t *testing.T) {
	const page = "docs/migrating"
	text, err := os.ReadFile(filepath.Join(root, page+".md"))
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(root, page+"_test.go"))
	require.NoError(t, err)
	squeezed := strings.Join(strings.Fields(string(source)), " ")
	rows := 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 4 {
			continue
		}
		rows++
		for _, m := range inline.FindAllStringSubmatch(cells[3], -1) {
			require.Contains(t, squeezed, m[1], line)
		}
	}
	require.Greater(t, rows, 20)
}
