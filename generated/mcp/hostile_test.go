package mcp

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/wire"
)

// everyPlace changes each place of a rich document of each form in turn, and
// hands on the text of the changed document with a pointer to the change.
func everyPlace(change func(v any) (changed any, ok bool), visit func(s *subject, text []byte, pointer string)) (count int) {
	for _, s := range newest() {
		whole := s.shape.most(deepest + 1)
		for _, p := range places(&whole) {
			original := *p.at
			if changed, ok := change(original); ok {
				p.store(changed)
				visit(s, render(whole, sorted), p.pointer)
				p.store(original)
				count++
			}
		}
	}
	return count
}

// requireNoJSON checks that a document is refused as no JSON, at a place.
func requireNoJSON(t *testing.T, s *subject, text []byte, pointer string) {
	t.Helper()
	_, err := s.decode(text)
	var failure *wire.DecodeError
	require.True(t, errors.As(err, &failure), "%v: %s", s, text)
	require.Equal(t, pointer, failure.Pointer, "%v: %v: %s", s, err, text)
	require.True(t, failure.Syntax, "%v: %v: %s", s, err, text)
}

func TestDuplicateMembersAreRefusedAtAnyDepth(t *testing.T) {
	name := ""
	spell := func(v any) (any, bool) {
		object, _ := v.(map[string]any)
		if len(object) == 0 {
			return nil, false
		}
		name = slices.Max(slices.Collect(maps.Keys(object)))
		key := string(wire.AppendString(nil, name))
		if strings.Contains(name, "e") {
			key = strings.Replace(key, "e", `\u0065`, 1)
		}
		return twice{object, literal("{" + key + ":null}")}, true
	}
	count := everyPlace(spell, func(s *subject, text []byte, at string) {
		requireNoJSON(t, s, text, pointer(at, name))
	})
	require.Greater(t, count, 500)
}

func TestTrailingDataIsRefused(t *testing.T) {
	for _, s := range subjects() {
		text := render(s.shape.most(deepest), sorted)
		for _, more := range []string{"x", " {}", "\n\n1", ",", "\x00", "]", "}", "/**/", "\ufeff"} {
			requireNoJSON(t, s, append(slices.Clone(text), more...), "")
		}
		_, err := s.decode(append(slices.Clone(text), " \t\r\n"...))
		require.NoError(t, err, s)
	}
}

func TestBrokenStringsAreRefused(t *testing.T) {
	for _, broken := range []literal{
		`"\ud800"`, `"\udc00 "`, `"\ud800\u0041"`, `"\ud83d\ud83d\ude00"`,
		"\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xe2\x82\"",
		"\"\n\"", "\"\x00\"", `"\x"`, `"\u00g0"`,
	} {
		replace := func(v any) (any, bool) {
			_, ok := v.(string)
			return broken, ok
		}
		count := everyPlace(replace, func(s *subject, text []byte, at string) {
			requireNoJSON(t, s, text, at)
		})
		require.Greater(t, count, 500)
	}
}

func TestBrokenNamesAreRefused(t *testing.T) {
	for _, broken := range []string{`"\ud800"`, "\"\xff\"", "\"\x01\"", `""x`, `name`} {
		add := func(v any) (any, bool) {
			object, ok := v.(map[string]any)
			return twice{object, literal("{" + broken + ":1}")}, ok && len(object) > 0
		}
		everyPlace(add, func(s *subject, text []byte, at string) {
			_, err := s.decode(text)
			var failure *wire.DecodeError
			require.True(t, errors.As(err, &failure), "%v: %s", s, text)
			require.True(t, failure.Syntax, "%v: %v: %s", s, err, text)
			require.True(t, strings.HasPrefix(failure.Pointer, at), "%v: %v: %s", s, err, text)
		})
	}
}

// TestUnboundedValuesAreRefused puts what no parser should follow into unknown
// members, at every depth.
func TestUnboundedValuesAreRefused(t *testing.T) {
	for _, hostile := range []literal{
		literal(strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)),
		literal(strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000)),
		literal(strings.Repeat("[", 10_000)),
		"1e309", "-1e309", "1e9000000", literal(strings.Repeat("9", 400)), "[[1E+400]]",
	} {
		add := func(v any) (any, bool) {
			object, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			object = maps.Clone(object)
			object["~hostile"] = hostile
			return object, true
		}
		everyPlace(add, func(s *subject, text []byte, at string) {
			_, err := s.decode(text)
			var failure *wire.DecodeError
			require.True(t, errors.As(err, &failure), "%v %.200s", s, text)
			require.True(t, failure.Syntax, "%v: %v", s, err)
			require.True(t, strings.HasPrefix(failure.Pointer, pointer(at, "~hostile")), "%v: %v", s, err)
		})
	}
}

func TestNumbersBeyondFloat64AreRefused(t *testing.T) {
	for _, number := range []literal{"1e309", "-1e309", "1.8e308", literal(strings.Repeat("9", 400)), "0.1e999999999999999999999"} {
		replace := func(v any) (any, bool) {
			_, ok := v.(json.Number)
			return number, ok
		}
		count := everyPlace(replace, func(s *subject, text []byte, at string) {
			requireNoJSON(t, s, text, at)
		})
		require.Greater(t, count, 30)
	}
}

func TestNoBeginningOfADocumentIsADocument(t *testing.T) {
	for _, s := range subjects() {
		text := render(s.shape.most(deepest), sorted)
		if text[0] != '{' && text[0] != '[' && text[0] != '"' {
			continue // the first digits of a number are a number
		}
		for n := 0; n < len(text); n += 1 + len(text)/100 {
			_, err := s.decode(text[:n])
			require.Error(t, err, "%v: %s", s, text[:n])
		}
	}
}

// TestTheFrameBoundsDepth nests a raw value as deep as the frame allows, the
// object around it included, and one level deeper.
func TestTheFrameBoundsDepth(t *testing.T) {
	for bound, levels := range map[int]int{0: wire.DefaultMaxDepth - 1, 3: 2, 1000: 999, 10_000: 9_999, 20_000: 9_999} {
		f := &wire.Frame{Revision: Revision20260728, MaxDepth: bound}
		doc := func(levels int) []byte {
			nested := strings.Repeat("[", levels) + strings.Repeat("]", levels)
			return []byte(`{"resultType":"complete","content":[],"structuredContent":` + nested + `}`)
		}
		v := new(CallToolResult)
		require.NoError(t, wire.Decode(doc(levels), f, v))
		out, err := wire.Append(nil, f, v)
		require.NoError(t, err)
		require.Equal(t, string(doc(levels)), string(out))
		require.ErrorContains(t, wire.Decode(doc(levels+1), f, new(CallToolResult)), "deep")
	}
}
