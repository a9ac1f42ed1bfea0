package words

import (
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math"
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
	// ratchetFile has the folders that are still above folderLimit, with the limits that hold for them.
	// Limits only become lower: -update lowers them to the present rates.
	ratchetFile = "ratchet.txt"
	// maxMetaphors is the number of files and types that are still named by a metaphor.
	maxMetaphors = 60
)

var update = flag.Bool("update", false, "lower the limits in "+ratchetFile+" to the present rates")

func TestRepositoryUsesPlainWords(t *testing.T) {
	folders, err := check(root)
	require.NoError(t, err)
	require.Greater(t, len(folders), 40, "too few folders were found")
	ratchet := readRatchet(t)
	whole := new(tally)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		found := folders[folder]
		whole.add(found)
		limit := max(folderLimit, ratchet[folder])
		if over(found, limit) {
			t.Errorf("%s has %d odd phrases in %d words, more than %v per 1,000. Rewrite the sentences, or move the limit in %s if the texts have only been moved:\n%s",
				folder, len(found.matches), found.words, limit, ratchetFile, list(found))
		}
	}
	for i := range phrases {
		p := &phrases[i]
		found := whole.of(p)
		t.Logf("%5.2f per 1,000 words (limit %.2f)  %s", found.rate(), p.limit, p.name)
		if found.rate() > p.limit && len(ratchet) == 0 {
			t.Errorf("%s: %.2f per 1,000 words, more than %.2f:\n%s", p.name, found.rate(), p.limit, list(found))
		}
	}
	t.Logf("%5.2f per 1,000 words in all, %d of %d words", whole.rate(), len(whole.matches), whole.words)
}

// TestRatchetIsTight fails if a limit can be lowered by half, or removed. It does nothing with -short.
func TestRatchetIsTight(t *testing.T) {
	folders, err := check(root)
	require.NoError(t, err)
	ratchet := readRatchet(t)
	if *update {
		writeRatchet(t, tightened(ratchet, folders))
		return
	}
	if testing.Short() {
		t.Skip("-short does not require lower limits")
	}
	for folder, limit := range ratchet {
		require.Contains(t, folders, folder, "the folder in %s is gone", ratchetFile)
		found := folders[folder]
		require.True(t, over(found, folderLimit) && found.rate() > limit/2, "the limit of %s is too high; run: go test ./internal/words -update", folder)
	}
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
	require.LessOrEqual(t, len(found), maxMetaphors, "name these by what they are:\n%s", strings.Join(found, "\n"))
	if !testing.Short() {
		require.GreaterOrEqual(t, len(found), maxMetaphors, "lower maxMetaphors to %d", len(found))
	}
}

// tightened returns the limits, lowered to the present rates. Folders that are within folderLimit, or
// gone, have none.
func tightened(ratchet map[string]float64, folders map[string]*tally) map[string]float64 {
	tight := map[string]float64{}
	for folder, limit := range ratchet {
		if found := folders[folder]; found != nil && over(found, folderLimit) {
			tight[folder] = min(limit, math.Ceil(10*found.rate())/10)
		}
	}
	return tight
}

func TestTightenedOnlyLowers(t *testing.T) {
	folders := map[string]*tally{
		"better": {1000, make([]match, 5)}, "worse": {1000, make([]match, 9)}, "good": {1000, make([]match, 2)}, "new": {1000, make([]match, 7)},
	}
	require.Equal(t, map[string]float64{"better": 5, "worse": 8},
		tightened(map[string]float64{"better": 8, "worse": 8, "good": 8, "gone": 8}, folders))
}

// readRatchet reads lines of a folder and its limit.
func readRatchet(t *testing.T) map[string]float64 {
	data, err := os.ReadFile(ratchetFile)
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	ratchet := map[string]float64{}
	for line := range strings.Lines(string(data)) {
		var (
			folder string
			limit  float64
		)
		_, err := fmt.Sscan(line, &folder, &limit)
		require.NoError(t, err, line)
		ratchet[folder] = limit
	}
	return ratchet
}

// writeRatchet writes the limits, or removes the file if there are none.
func writeRatchet(t *testing.T, ratchet map[string]float64) {
	if len(ratchet) == 0 {
		require.NoError(t, os.RemoveAll(ratchetFile))
		return
	}
	text := ""
	for _, folder := range slices.Sorted(maps.Keys(ratchet)) {
		text += fmt.Sprintln(folder, ratchet[folder])
	}
	require.NoError(t, os.WriteFile(ratchetFile, []byte(text), 0o644))
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

// list formats the matches, a line each.
func list(t *tally) (text string) {
	for _, m := range t.matches {
		text += fmt.Sprintln("  " + m.String())
	}
	return text
}
