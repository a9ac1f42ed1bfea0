package load

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// IndexFile is the name of the file that lists the revisions of a folder.
const IndexFile = "index.json"

// An Entry is the origin of the schema of one revision. Package schema, which embeds
// the index, has its own copy of this type: a damaged folder must not break the
// import.
type Entry struct {
	Revision string `json:"revision"`         // the protocol revision, a date
	Official string `json:"official_sha256"`  // hash of the official file
	SHA256   string `json:"sha256"`           // hash of the transcription
	Commit   string `json:"commit,omitempty"` // commit of the specification, empty if unknown
	// Edits has the pointers of the Edit rules that changed the official file.
	Edits []string `json:"edits,omitempty"`
}

// File returns the file name of the transcription.
func (e Entry) File() string { return e.Revision + ".json" }

// An Index is the content of index.json: the revisions in a folder, oldest first.
type Index struct {
	Revisions []Entry `json:"revisions"`
}

// ParseIndex reads and checks an index.
func ParseIndex(file string, data []byte) (*Index, error) {
	if _, err := parse(file, data); err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	x := &Index{}
	if err := dec.Decode(x); err != nil {
		return nil, problemf(file, "", "%w", err)
	}
	return x, x.check(file)
}

func (x *Index) check(file string) error {
	var errs []error
	fail := func(at, format string, args ...any) {
		errs = append(errs, problemf(file, at, format, args...))
	}
	for i, e := range x.Revisions {
		at := element("/revisions", i)
		if err := CheckRevision(e.Revision); err != nil {
			fail(child(at, "revision"), "%w", err)
		}
		if i > 0 && e.Revision <= x.Revisions[i-1].Revision {
			fail(child(at, "revision"), "%q must come after %q; list every revision once, oldest first", e.Revision, x.Revisions[i-1].Revision)
		}
		if !hash.MatchString(e.Official) {
			fail(child(at, "official_sha256"), "%q is not a SHA-256 in lower-case hexadecimal", e.Official)
		}
		if !hash.MatchString(e.SHA256) {
			fail(child(at, "sha256"), "%q is not a SHA-256 in lower-case hexadecimal", e.SHA256)
		}
	}
	return errors.Join(errs...)
}

var hash = regexp.MustCompile(`^[0-9a-f]{64}$`)

// CheckRevision returns an error if revision is not a date like 2026-07-28.
func CheckRevision(revision string) error {
	if _, err := time.Parse(time.DateOnly, revision); err != nil {
		return fmt.Errorf("revision %q is not a date; write it like 2026-07-28", revision)
	}
	return nil
}

// Bytes returns the content of the index file.
func (x *Index) Bytes() []byte { return format(x) }

// Find returns the entry of a revision and reports whether it exists.
func (x *Index) Find(revision string) (Entry, bool) {
	for _, e := range x.Revisions {
		if e.Revision == revision {
			return e, true
		}
	}
	return Entry{}, false
}

// Before returns the entry of the last revision before the given one and reports
// whether it exists.
func (x *Index) Before(revision string) (Entry, bool) {
	for _, e := range slices.Backward(x.Revisions) {
		if e.Revision < revision {
			return e, true
		}
	}
	return Entry{}, false
}

// Put adds an entry in the order of dates, or replaces the entry of its revision.
func (x *Index) Put(e Entry) {
	i, found := slices.BinarySearchFunc(x.Revisions, e, func(a, b Entry) int {
		return strings.Compare(a.Revision, b.Revision)
	})
	if found {
		x.Revisions[i] = e
		return
	}
	x.Revisions = slices.Insert(x.Revisions, i, e)
}

// Sum returns the SHA-256 of data as the index contains it.
func Sum(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
