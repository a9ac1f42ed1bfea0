package mcp

import (
	"encoding/json"
	"flag"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

var (
	differentialFor  = flag.Duration("differential", 0, "duration of the comparison of the decoder with the schemas; 0 means 3s, or 300ms with -short")
	differentialSeed = flag.Uint64("seed", 1, "seed of the documents for the comparison; 0 means a new seed for each run")
)

// A differentialRun compares the decoder with the schemas for many documents. A document
// depends only on the seed and on its number.
type differentialRun struct {
	seed uint64
	end  time.Time
	next atomic.Uint64

	mu      sync.Mutex
	valid   int
	applied map[exception]int
	failure *comparison
}

func TestDecoderAgreesWithSchemas(t *testing.T) {
	duration := *differentialFor
	switch {
	case duration != 0:
	case testing.Short():
		duration = 300 * time.Millisecond
	default:
		duration = 3 * time.Second
	}
	c := &differentialRun{seed: *differentialSeed, end: time.Now().Add(duration), applied: map[exception]int{}}
	if c.seed == 0 {
		c.seed = uint64(time.Now().UnixNano())
	}
	t.Logf("seed %d, for %v", c.seed, duration)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(c.work)
	}
	workers.Wait()
	if x := c.failure; x != nil {
		minimal := x.minimized()
		require.Fail(t, "the decoder disagrees with the schema", "seed %d, document %d\n%v\n%s\n%s\nminimized:\n%s\n%s",
			c.seed, x.number, x.subject, x.text, x.problem(), minimal.text, minimal.problem())
	}
	t.Logf("%d documents, %d valid", c.next.Load(), c.valid)
	for _, e := range exceptions {
		t.Logf("exception %q applied %d times", e.name, c.applied[e.exception])
	}
}

// work compares documents until the time is over or a comparison fails.
func (c *differentialRun) work() {
	mutators := map[*schemaFile]*mutator{}
	for _, file := range schemas() {
		mutators[file] = newMutator(file)
	}
	for time.Now().Before(c.end) {
		number := c.next.Add(1)
		rng := rand.New(rand.NewPCG(c.seed, number))
		s := subjects()[rng.IntN(len(subjects()))]
		m := mutators[s.file]
		m.rng = rng
		x := newComparison(s, m.document(s))
		x.number = number
		if !c.record(x, x.problem() != "", x.applied()) {
			return
		}
	}
}

// record counts a comparison. It returns false if there is a failure to report.
func (c *differentialRun) record(x *comparison, failed bool, applied []exception) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed && c.failure == nil {
		c.failure = x
	}
	if x.validate(allExceptions) == nil {
		c.valid++
	}
	for _, e := range applied {
		c.applied[e]++
	}
	return c.failure == nil
}

// document returns a text for a subject: a valid document with mutations that is sometimes
// corrupted.
func (m *mutator) document(s *subject) []byte {
	doc := clone(s.shape.largest(m.rng.IntN(variedDepth + 2)))
	if m.rng.IntN(2) == 0 {
		all := m.source(s).documents()
		doc = clone(all[m.rng.IntN(len(all))])
	}
	shuffled := func(names []string) {
		m.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	text := render(m.mutate(doc), shuffled)
	if m.rng.IntN(8) == 0 {
		text = m.corrupted(text)
	}
	return text
}

// source returns the subject that provides the first document: usually s, sometimes the
// same definition in another revision or any subject.
func (m *mutator) source(s *subject) *subject {
	switch m.rng.IntN(6) {
	case 0:
		if other := subjectFor(Revisions[m.rng.IntN(len(Revisions))].Revision, s.definition); other != nil {
			return other
		}
	case 1:
		return subjects()[m.rng.IntN(len(subjects()))]
	}
	return s
}

// A comparison decodes and validates a document, and compares the results.
type comparison struct {
	subject *subject
	number  uint64 // of the document in its run
	text    []byte
	doc     any   // nil if text is not valid JSON
	json    error // the reason, or nil

	results map[exception]error
}

func newComparison(s *subject, text []byte) *comparison {
	t := &comparison{subject: s, text: text, json: wire.Check(text, 0), results: map[exception]error{}}
	if t.json == nil {
		t.doc = parse(text)
	}
	return t
}

// validate returns the validator's error for the document with exceptions applied, or nil
// if it is valid.
func (t *comparison) validate(e exception) error {
	if t.json != nil {
		return t.json
	}
	err, known := t.results[e]
	if !known {
		s := t.subject
		err = s.file.validator.validate(s.pointer, rewriter{applies: e}.rewrite(s.shape, t.doc))
		t.results[e] = err
	}
	return err
}

// applied returns the exceptions that change the result of the validation.
func (t *comparison) applied() (list []exception) {
	valid := t.validate(allExceptions) == nil
	if valid == (t.validate(0) == nil) {
		return nil
	}
	for _, e := range exceptions {
		if valid != (t.validate(allExceptions&^e.exception) == nil) {
			list = append(list, e.exception)
		}
	}
	return list
}

// problem returns a description of what the codec does wrong, or "". The decoder must
// agree with the validator. An accepted document must be encoded as valid JSON with the
// same meaning.
func (t *comparison) problem() string {
	s := t.subject
	invalid := t.validate(allExceptions)
	v, err := s.decode(t.text)
	switch {
	case err == nil && invalid != nil:
		return fmt.Sprintf("the decoder accepts a document that the schema rejects: %v", invalid)
	case err != nil && invalid == nil:
		return fmt.Sprintf("the decoder rejects a document that the schema accepts: %v", err)
	case err != nil:
		return ""
	}
	out, err := s.encode(v)
	if err != nil {
		return fmt.Sprintf("the decoded value cannot be encoded: %v", err)
	}
	back := newComparison(s, out)
	if err := back.validate(passedThrough); err != nil {
		return fmt.Sprintf("the decoded value is encoded as %s, which is invalid: %v", out, err)
	}
	if t.validate(0) != nil {
		return ""
	}
	if at := s.shape.differs(t.doc, back.doc, ""); at != "" {
		return fmt.Sprintf("the decoded value is encoded as %s, which differs: %s", out, at)
	}
	return ""
}

// minimized returns a comparison with a problem whose document cannot be reduced any more.
func (t *comparison) minimized() *comparison {
	for t.doc != nil {
		next := t.reduced()
		if next == nil {
			break
		}
		t = next
	}
	return t
}

// reduced returns a comparison with a problem and a smaller document, or nil.
func (t *comparison) reduced() *comparison {
	for _, doc := range reductions(t.doc) {
		if next := newComparison(t.subject, render(doc, sorted)); next.problem() != "" {
			return next
		}
	}
	return nil
}

// reductions returns copies of a document that each lack one member or one element.
func reductions(doc any) (list []any) {
	for i, p := range places(&doc) {
		reduce := func(change func(any) any) {
			copied := clone(doc)
			at := places(&copied)[i]
			at.store(change(*at.at))
			list = append(list, copied)
		}
		switch v := (*p.at).(type) {
		case map[string]any:
			for name := range v {
				reduce(func(v any) any { delete(v.(map[string]any), name); return v })
			}
		case []any:
			for j := range v {
				reduce(func(v any) any { return append(v.([]any)[:j:j], v.([]any)[j+1:]...) })
			}
		}
	}
	return list
}

// replacements are written in place of every value. Most are invalid there.
var replacements = []any{
	nil, true, "", "text", "input_required", json.Number("0"), json.Number("-1"), json.Number("2"), json.Number("0.5"), json.Number("1e2"), json.Number("1e19"),
	[]any{}, []any{nil}, []any{"text"}, slices.Repeat([]any{"text"}, 101), map[string]any{}, map[string]any{"x": nil}, map[string]any{"x": map[string]any{}},
}

// TestEveryLocationAgreesWithSchema makes every change at each place of each definition.
// The differential test makes random changes at random places.
func TestEveryLocationAgreesWithSchema(t *testing.T) {
	var total atomic.Int64
	t.Run("revisions", func(t *testing.T) {
		for _, file := range schemas() {
			t.Run(file.revision.String(), func(t *testing.T) {
				t.Parallel()
				for _, s := range testedSubjects() {
					if s.file == file {
						total.Add(comparePlaces(t, s))
					}
				}
			})
		}
	})
	t.Logf("%d documents", total.Load())
	if !testing.Short() {
		require.Greater(t, total.Load(), int64(30_000))
	}
}

// comparePlaces compares all nearly valid documents of a subject and returns their number.
func comparePlaces(t *testing.T, s *subject) (count int64) {
	for doc := range s.nearlyValid() {
		if x := newComparison(s, render(doc, sorted)); x.problem() != "" {
			require.Fail(t, x.problem(), "%v: %s", s, x.text)
		}
		count++
	}
	require.NotZero(t, count, s)
	return count
}

// nearlyValid yields documents with one change each. It does not change the places inside
// other definitions, which are subjects of their own.
func (s *subject) nearlyValid() iter.Seq[any] {
	return func(yield func(any) bool) {
		whole := s.shape.largest(variedDepth)
		shapes := s.shape.shapesOf(whole)
		for _, p := range places(&whole) {
			if !s.owns(shapes, p.pointer) {
				continue
			}
			original := *p.at
			for _, changed := range changes(original) {
				p.store(changed)
				if !yield(whole) {
					return
				}
			}
			p.store(original)
		}
	}
}

// owns reports whether a place is not inside another definition.
func (s *subject) owns(shapes map[string]shape, place string) bool {
	if place != "" && shapes[""].name != s.shape.name {
		return false // the document of a union is a document of one of its types
	}
	for end := strings.LastIndexByte(place, '/'); end > 0; end = strings.LastIndexByte(place[:end], '/') {
		if shapes[place[:end]].name != "" {
			return false
		}
	}
	return true
}

// changes returns the values to write in place of a value: other values, copies that lack
// one member, and arrays with many elements.
func changes(v any) []any {
	list := slices.Clone(replacements)
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			without := maps.Clone(v)
			delete(without, name)
			list = append(list, without)
		}
	case []any:
		if len(v) > 0 {
			list = append(list, slices.Repeat(v[:1], 100), slices.Repeat(v[:1], 101))
		}
	}
	return list
}
