package repo

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the tables of the pages")

// TestTablesAreFresh compares the tables of the pages with their sources: the generated tables of
// methods, the package comments, the last benchmark, and the limits and joins in the code.
func TestTablesAreFresh(t *testing.T) {
	for page, tables := range map[string]map[string]func(*testing.T) string{
		"docs/README.md":      {"packages": packageTable, "examples": exampleTable},
		"docs/revisions.md":   {"revisions": revisionTable},
		"docs/http.md":        {"limits": limitTable},
		"docs/performance.md": {"bench": benchTable},
		"docs/schema.md":      {"joins": joinTable},
	} {
		path := filepath.Join(root, page)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		text := string(data)
		for name, table := range tables {
			text = between(t, text, name, table(t))
		}
		if *update {
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
			continue
		}
		require.Equal(t, text, string(data), "run: go test -run TestTables ./internal/repo -update")
	}
}

// between replaces the text between two marks.
func between(t *testing.T, text, name, table string) string {
	marks := regexp.MustCompile(`(?s)(<!-- ` + name + ` -->\n).*?(<!-- end -->)`)
	require.Regexp(t, marks, text)
	return marks.ReplaceAllStringFunc(text, func(old string) string {
		m := marks.FindStringSubmatch(old)
		return m[1] + "\n" + table + "\n" + m[2]
	})
}
