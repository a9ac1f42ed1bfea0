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
// this repository. Such a file is an example or a test, so that the snippet compiles.
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

// sources returns the texts of the Go files, except benchmarks.
func sources(t *testing.T) (list []string) {
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || path == filepath.Join(root, "bench")) {
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
	// place is a file or folder of the repository, as pages name it.
	place = regexp.MustCompile("`((?:\\.ci|\\.github|bench|docs|examples|gen|generated|internal|interop|runtime|schema)/[A-Za-z0-9_./-]*)`")
	// declared is a link from a Go name to its file.
	declared = regexp.MustCompile("\\[`([A-Za-z0-9_.]+)`\\]\\(([^)#]+\\.go)\\)")

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

func TestPathsInPagesExist(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range place.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			if strings.Contains(m[1], "2027-03-01") { // a revision that does not exist yet
				continue
			}
			_, err := os.Stat(filepath.Join(root, strings.TrimSuffix(m[1], "/...")))
			require.NoError(t, err, "%s names %s", page, m[1])
		}
	}
}

// TestLinkedNamesAreDeclared checks links from the name of a function or type to a Go file, such as
// [`Conn.Deliver`](conn.go): the file declares the name.
func TestLinkedNamesAreDeclared(t *testing.T) {
	for page, text := range pages(t) {
		for _, m := range declared.FindAllStringSubmatch(text, -1) {
			source, err := os.ReadFile(filepath.Join(filepath.Dir(page), m[2]))
			require.NoError(t, err, page)
			require.True(t, declares(string(source), m[1]), "%s: %s is not declared in %s", page, m[1], m[2])
		}
	}
}

// declares reports whether a source declares a name: a function, a type, a constant or a variable, or a
// method as Type.Method.
func declares(source, name string) bool {
	receiver, method, is := strings.Cut(name, ".")
	if is {
		return regexp.MustCompile(`(?m)^func \([A-Za-z_]* ?\*?` + receiver + `(\[[^]]*\])?\) ` + method + `\(`).MatchString(source)
	}
	return regexp.MustCompile(`(?m)^(func ` + name + `[\[(]|(type|const|var) ` + name + `\b|\t` + name + `\s+[^\s]*\s*=)`).MatchString(source)
}

func TestDeclares(t *testing.T) {
	const source = "func F[T any](x T) {}\nfunc (c *Conn) Deliver() {}\nfunc (m Mux) Len() {}\nfunc (Set[T]) Add() {}\ntype T struct{}\nvar (\n\tx int = 1\n)\n"
	for name, want := range map[string]bool{
		"F": true, "Conn.Deliver": true, "Mux.Len": true, "Set.Add": true, "T": true, "x": true,
		"Deliver": false, "Conn": false, "Mux.Deliver": false, "Conn.Del": false, "any": false, "G": false,
	} {
		require.Equal(t, want, declares(source, name), name)
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
