package words

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	root = "../.."
	// folderLimit is the number of matches of all phrases together that a folder may have per 1,000
	// words, in addition to one match.
	folderLimit = 1.0
)

func TestRepositoryUsesPlainWords(t *testing.T) {
	folders, err := check(root)
	require.NoError(t, err)
	require.Greater(t, len(folders), 40, "too few folders were found")
	whole := new(tally)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		found := folders[folder]
		whole.add(found)
		if over(found, folderLimit) {
			t.Errorf("%s has %d odd phrases in %d words, more than %v per 1,000. Rewrite the sentences:\n%s",
				folder, len(found.matches), found.words, folderLimit, list(found))
		}
	}
	for i := range phrases {
		p := &phrases[i]
		found := whole.of(p)
		t.Logf("%5.2f per 1,000 words (limit %.2f)  %s", found.rate(), p.limit, p.name)
		if found.rate() > p.limit {
			t.Errorf("%s: %.2f per 1,000 words, more than %.2f:\n%s", p.name, found.rate(), p.limit, list(found))
		}
	}
	t.Logf("%5.2f per 1,000 words in all, %d of %d words", whole.rate(), len(whole.matches), whole.words)
}

func TestNamesAreNoMetaphors(t *testing.T) {
	var found []string
	require.NoError(t, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go"):
			return nil
		}
		source, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		names, err := metaphorsIn(name, source)
		for _, n := range names {
			found = append(found, name+": "+n)
		}
		return err
	}))
	require.Empty(t, found, "name these by what they are")
}

// list returns a line for each match.
func list(t *tally) (text string) {
	for _, m := range t.matches {
		text += fmt.Sprintln("  " + m.String())
	}
	return text
}

// rate returns the number of matches per 1,000 words.
func (t *tally) rate() float64 { return 1000 * float64(len(t.matches)) / float64(max(t.words, 1)) }

// of returns the tally of one phrase.
func (t *tally) of(p *phrase) *tally {
	one := &tally{words: t.words}
	for _, m := range t.matches {
		if m.phrase == p {
			one.matches = append(one.matches, m)
		}
	}
	return one
}
