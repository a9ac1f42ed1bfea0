package mcp

import (
	"encoding/json"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// replacements are put in the place of every value. Most do not belong there.
var replacements = []any{
	nil, true, "", "text", "input_required", json.Number("0"), json.Number("-1"), json.Number("2"), json.Number("0.5"), json.Number("1e2"), json.Number("1e19"),
	[]any{}, []any{nil}, []any{"text"}, slices.Repeat([]any{"text"}, 101), map[string]any{}, map[string]any{"x": nil}, map[string]any{"x": map[string]any{}},
}

// TestEveryPlaceIsJudgedAsTheSchemaSays changes each place of each definition in
// every one way, where the differential test takes some of the ways of some.
func TestEveryPlaceIsJudgedAsTheSchemaSays(t *testing.T) {
	var total atomic.Int64
	t.Run("in each revision", func(t *testing.T) {
		for _, file := range schemas() {
			t.Run(file.revision.String(), func(t *testing.T) {
				t.Parallel()
				for _, s := range covered() {
					if s.file == file {
						total.Add(judgedPlaces(t, s))
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

func judgedPlaces(t *testing.T, s *subject) (count int64) {
	for doc := range s.nearlyValid() {
		if x := newTrial(s, render(doc, sorted)); x.problem() != "" {
			require.Fail(t, x.problem(), "%v: %s", s, x.text)
		}
		count++
	}
	require.NotZero(t, count, s)
	return count
}

// nearlyValid yields a document with one place changed at a time, except places inside of
// other definitions, which have their own turn.
func (s *subject) nearlyValid() iter.Seq[any] {
	return func(yield func(any) bool) {
		whole := s.shape.most(deepest)
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

// owns reports whether no other definition stands between the document and a
// place.
func (s *subject) owns(shapes map[string]shape, place string) bool {
	if place != "" && shapes[""].name != s.shape.name {
		return false // the document of a union is that of one of its types
	}
	for end := strings.LastIndexByte(place, '/'); end > 0; end = strings.LastIndexByte(place[:end], '/') {
		if shapes[place[:end]].name != "" {
			return false
		}
	}
	return true
}

// changes are what may become of a value: something else, one member less, or
// many elements.
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
