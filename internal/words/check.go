package words

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

// A match is a phrase to avoid that was found in a file.
type match struct {
	phrase *phrase
	file   string
	line   int
	// found is the phrase with the words around it.
	found string
}

func (m match) String() string {
	return fmt.Sprintf("%s:%d: %q (%s; write %s)", m.file, m.line, m.found, m.phrase.name, m.phrase.instead)
}

// A tally counts the words and the matches of some files.
type tally struct {
	words   int
	matches []match
}

// over reports whether a folder has more matches than its limit. One match is free, so that a
// small folder may have one.
func over(t *tally, limit float64) bool {
	return float64(len(t.matches)) > 1+limit*float64(t.words)/1000
}

// add adds the words and the matches of other.
func (t *tally) add(other *tally) {
	t.words += other.words
	t.matches = append(t.matches, other.matches...)
}

var (
	anyWord = regexp.MustCompile(`[\pL']+`)
	around  = 40 // bytes before and after a match that are shown
)

// tallyOf counts the words and the matches of one file.
func tallyOf(file string, paragraphs []paragraph) *tally {
	t := new(tally)
	for _, p := range paragraphs {
		t.words += len(anyWord.FindAllString(p.text, -1))
		for i := range phrases {
			for _, at := range phrases[i].pattern.FindAllStringIndex(p.text, -1) {
				from, to := max(at[0]-around, 0), min(at[1]+around, len(p.text))
				found := strings.ToValidUTF8(strings.TrimSpace(p.text[from:to]), "")
				t.matches = append(t.matches, match{&phrases[i], file, p.line(at[0]), found})
			}
		}
	}
	return t
}

// check counts the words and the matches of all texts below a folder, by the folder that they are in.
func check(root string) (map[string]*tally, error) {
	folders := map[string]*tally{}
	return folders, filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if skipped[d.Name()] {
				return fs.SkipDir
			}
			return nil
		}
		paragraphs, err := paragraphsOf(name)
		if err != nil || paragraphs == nil {
			return err
		}
		file, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		folder := path.Dir(file)
		if folders[folder] == nil {
			folders[folder] = new(tally)
		}
		folders[folder].add(tallyOf(file, paragraphs))
		return nil
	})
}

// skipped are the folders that contain no texts of this repository.
var skipped = map[string]bool{".git": true, "testdata": true, "node_modules": true}

// paragraphsOf returns the paragraphs of a file, or nil if it is none of the files that are checked.
func paragraphsOf(name string) ([]paragraph, error) {
	isPage := strings.HasSuffix(name, ".md") || filepath.Base(name) == "docs.txt"
	if !isPage && !strings.HasSuffix(name, ".go") {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	if isPage {
		return pageParagraphs(string(data)), nil
	}
	return goParagraphs(name, data)
}
