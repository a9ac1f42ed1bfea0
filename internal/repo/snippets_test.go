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

// pages are the texts for people.
func pages(t *testing.T) map[string]string {
	names, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	require.NoError(t, err)
	texts := map[string]string{}
	for _, name := range append(names, filepath.Join(root, "README.md")) {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		texts[name] = string(data)
	}
	return texts
}

var snippet = regexp.MustCompile("(?ms)^```go\n(.*?)^```$")

// TestSnippetsAreCode wants every piece of Go in a page to stand, word for word,
// in a Go file of this module: an example or a test, which is compiled, and run
// where it says what it prints.
func TestSnippetsAreCode(t *testing.T) {
	sources := sources(t)
	for page, text := range pages(t) {
		for _, m := range snippet.FindAllStringSubmatch(text, -1) {
			want := tight(m[1])
			found := false
			for _, source := range sources {
				found = found || strings.Contains(source, want)
			}
			require.True(t, found, "%s: no Go file has this:\n%s", page, m[1])
		}
	}
}

// sources are the module's Go files that are written by hand.
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

// tight is code without what an indentation or a blank line makes of it.
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

func TestLinksLeadSomewhere(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(inline.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			_, err := os.Stat(filepath.Join(filepath.Dir(page), m[1]))
			require.NoError(t, err, "%s links to %s", page, m[1])
		}
	}
}

// TestOurColumnIsCode wants what the last column of a table says of us to stand
// in a Go file, as snippets have to.
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
