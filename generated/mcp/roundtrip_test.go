package mcp

import (
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// fewestDocuments is far below what the five revisions give; a builder that
// forgets something falls below it.
const fewestDocuments = 20_000

func TestEveryDocumentOfEveryDefinitionComesBack(t *testing.T) {
	var total atomic.Int64
	t.Run("of each revision", func(t *testing.T) {
		for _, file := range schemas() {
			t.Run(file.revision.String(), func(t *testing.T) {
				t.Parallel()
				total.Add(roundTripsOf(t, file))
			})
		}
	})
	t.Logf("%d documents of %d definitions", total.Load(), len(subjects()))
	if !testing.Short() {
		require.Greater(t, total.Load(), int64(fewestDocuments))
	}
}

func roundTripsOf(t *testing.T, file *schemaFile) (count int64) {
	for _, s := range covered() {
		if s.file == file {
			count += int64(roundTrips(t, s))
		}
	}
	t.Logf("%d documents", count)
	return count
}

// roundTrips takes every document of a subject through the codec, and returns
// how many there are.
func roundTrips(t *testing.T, s *subject) int {
	require.NotEmpty(t, s.documents(), s)
	for i, doc := range s.documents() {
		order := sorted
		if i%2 == 1 {
			order = reversed
		}
		requireRoundTrip(t, s, render(doc, order))
	}
	return len(s.documents())
}

// requireRoundTrip takes one valid document through the codec.
func requireRoundTrip(t *testing.T, s *subject, doc []byte) {
	t.Helper()
	require.NoError(t, s.file.judge.acceptsText(s.pointer, doc), "%v: the document itself: %s", s, doc)
	v, err := s.decode(doc)
	require.NoError(t, err, "%v: %s", s, doc)
	out, err := s.encode(v)
	require.NoError(t, err, "%v: %s", s, doc)
	require.Empty(t, s.shape.differs(parse(doc), parse(out), ""), "%v: %s came back as %s", s, doc, out)
	require.NoError(t, s.file.judge.acceptsText(s.pointer, out), "%v: %s came back as %s", s, doc, out)
}

func TestEveryDefinitionIsAccountedFor(t *testing.T) {
	for _, file := range schemas() {
		for _, name := range file.names() {
			require.True(t, hasForm(name, file), "%v %s", file.revision, name)
		}
	}
	for _, f := range forms {
		require.NotZero(t, f.in, f.definition)
		if f.why == "" {
			require.True(t, f.value != nil || f.params != nil || f.code != 0, f.definition)
		}
	}
}

func hasForm(definition string, file *schemaFile) bool {
	for _, f := range forms {
		if f.definition == definition {
			return f.in.Has(file.revision)
		}
	}
	return false
}
