package mcp

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var (
	differentialFor  = flag.Duration("differential", 0, "how long to compare the decoder with the schemas; 0 means 3s, or 300ms with -short")
	differentialSeed = flag.Uint64("seed", 1, "which documents to compare them over; 0 takes ones that nobody has seen yet")
)

// A campaign compares the decoder with the schemas over many documents. What a
// document is depends only on the seed and its number.
type campaign struct {
	seed uint64
	end  time.Time
	next atomic.Uint64

	mu      sync.Mutex
	valid   int
	applied map[exception]int
	failure *trial
}

func TestTheDecoderAgreesWithTheSchemas(t *testing.T) {
	duration := *differentialFor
	switch {
	case duration != 0:
	case testing.Short():
		duration = 300 * time.Millisecond
	default:
		duration = 3 * time.Second
	}
	c := &campaign{seed: *differentialSeed, end: time.Now().Add(duration), applied: map[exception]int{}}
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
		small := x.smaller()
		require.Fail(t, "the decoder and the schema disagree", "seed %d, document %d\n%v\n%s\n%s\nsmallest:\n%s\n%s",
			c.seed, x.number, x.subject, x.text, x.problem(), small.text, small.problem())
	}
	t.Logf("%d documents, %d of them valid", c.next.Load(), c.valid)
	for _, e := range exceptions {
		t.Logf("exception %q applied %d times", e.name, c.applied[e.exception])
	}
}

func (c *campaign) work() {
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
		x := newTrial(s, m.document(s))
		x.number = number
		if !c.record(x, x.problem() != "", x.applied()) {
			return
		}
	}
}

// record counts a trial. It returns false when there is a failure to report.
func (c *campaign) record(x *trial, failed bool, applied []exception) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if failed && c.failure == nil {
		c.failure = x
	}
	if x.verdict(allExceptions) == nil {
		c.valid++
	}
	for _, e := range applied {
		c.applied[e]++
	}
	return c.failure == nil
}

// document makes a text for a subject: a valid document, mutated, and sometimes
// spoiled.
func (m *mutator) document(s *subject) []byte {
	doc := clone(s.shape.most(m.rng.IntN(deepest + 2)))
	if m.rng.IntN(2) == 0 {
		all := m.source(s).documents()
		doc = clone(all[m.rng.IntN(len(all))])
	}
	shuffled := func(names []string) {
		m.rng.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	}
	text := render(m.mutate(doc), shuffled)
	if m.rng.IntN(8) == 0 {
		text = m.spoiled(text)
	}
	return text
}

// source is the subject whose documents to begin with: mostly s, at times the
// same definition in another revision, or any.
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
