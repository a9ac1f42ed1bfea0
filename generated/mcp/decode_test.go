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

// everyPlace changes each place of the largest document of each definition in turn. It
// calls visit with the text of the changed document and a pointer to the change, and
// returns the number of changes.
func everyPlace(change func(v any) (changed any, ok bool), visit func(s *subject, text []byte, pointer string)) (count int) {
	for _, s := range newestSubjects() {
		whole := s.shape.largest(variedDepth + 1)
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

// requireSyntaxError checks that decoding fails with a syntax error at a pointer.
func requireSyntaxError(t *testing.T, s *subject, text []byte, pointer string) {
	t.Helper()
	_, err := s.decode(text)
	var failure *wire.DecodeError
	require.True(t, errors.As(err, &failure), "%v: %s", s, text)
	require.Equal(t, pointer, failure.Pointer, "%v: %v: %s", s, err, text)
	require.True(t, failure.Syntax, "%v: %v: %s", s, err, text)
}

func TestDecodeRejectsDuplicateMembers(t *testing.T) {
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
		return withDuplicate{object, literal("{" + key + ":null}")}, true
	}
	count := everyPlace(spell, func(s *subject, text []byte, at string) {
		requireSyntaxError(t, s, text, pointer(at, name))
	})
	require.Greater(t, count, 500)
}

func TestDecodeRejectsTrailingData(t *testing.T) {
	for _, s := range subjects() {
		text := render(s.shape.largest(variedDepth), sorted)
		for _, more := range []string{"x", " {}", "\n\n1", ",", "\x00", "]", "}", "/**/", "\ufeff"} {
			requireSyntaxError(t, s, append(slices.Clone(text), more...), "")
		}
		_, err := s.decode(append(slices.Clone(text), " \t\r\n"...))
		require.NoError(t, err, s)
	}
}

func TestDecodeRejectsInvalidStrings(t *testing.T) {
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
			requireSyntaxError(t, s, text, at)
		})
		require.Greater(t, count, 500)
	}
}

func TestDecodeRejectsInvalidNames(t *testing.T) {
	for _, broken := range []string{`"\ud800"`, "\"\xff\"", "\"\x01\"", `""x`, `name`} {
		add := func(v any) (any, bool) {
			object, ok := v.(map[string]any)
			return withDuplicate{object, literal("{" + broken + ":1}")}, ok && len(object) > 0
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

// TestDecodeRejectsUnboundedValues adds unknown members with very deep or very large
// values to objects at every depth.
func TestDecodeRejectsUnboundedValues(t *testing.T) {
	for _, value := range []literal{
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
			object["~unbounded"] = value
			return object, true
		}
		everyPlace(add, func(s *subject, text []byte, at string) {
			_, err := s.decode(text)
			var failure *wire.DecodeError
			require.True(t, errors.As(err, &failure), "%v %.200s", s, text)
			require.True(t, failure.Syntax, "%v: %v", s, err)
			require.True(t, strings.HasPrefix(failure.Pointer, pointer(at, "~unbounded")), "%v: %v", s, err)
		})
	}
}

func TestDecodeRejectsNumbersBeyondFloat64(t *testing.T) {
	for _, number := range []literal{"1e309", "-1e309", "1.8e308", literal(strings.Repeat("9", 400)), "0.1e999999999999999999999"} {
		replace := func(v any) (any, bool) {
			_, ok := v.(json.Number)
			return number, ok
		}
		count := everyPlace(replace, func(s *subject, text []byte, at string) {
			requireSyntaxError(t, s, text, at)
		})
		require.Greater(t, count, 30)
	}
}

func TestDecodeRejectsTruncatedDocuments(t *testing.T) {
	for _, s := range subjects() {
		text := render(s.shape.largest(variedDepth), sorted)
		if text[0] != '{' && text[0] != '[' && text[0] != '"' {
			continue // a number without its last digits is a number
		}
		for n := 0; n < len(text); n += 1 + len(text)/100 {
			_, err := s.decode(text[:n])
			require.Error(t, err, "%v: %s", s, text[:n])
		}
	}
}

// TestFrameLimitsDepth decodes a raw value whose depth, with the object around it, is
// exactly the limit of the frame, and a value that is one level deeper.
func TestFrameLimitsDepth(t *testing.T) {
	for limit, levels := range map[int]int{0: wire.DefaultMaxDepth - 1, 3: 2, 1000: 999, 10_000: 9_999, 20_000: 9_999} {
		f := &wire.Frame{Revision: Revision20260728, MaxDepth: limit}
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

// everyID replaces each ID and each progress token in the largest document of each subject
// in turn.
func everyID(t *testing.T, value any, visit func(s *subject, text []byte, pointer string)) {
	t.Helper()
	count := 0
	for _, s := range testedSubjects() {
		whole := s.shape.largest(variedDepth + 1)
		shapes := s.shape.shapesOf(whole)
		for _, p := range places(&whole) {
			if original := *p.at; shapes[p.pointer].isID() {
				p.store(value)
				visit(s, render(whole, sorted), p.pointer)
				p.store(original)
				count++
			}
		}
	}
	require.Greater(t, count, 20)
}

func TestDecodeRejectsInvalidIDs(t *testing.T) {
	long := literal(`"` + strings.Repeat("x", 127) + `"`)
	for _, id := range []literal{"1.5", "1e0", "1.0", "-1E2", "true", "false", "null", "{}", "[]", "[1]", long, literal(strings.Repeat("1", 129))} {
		everyID(t, id, func(s *subject, text []byte, at string) {
			_, err := s.decode(text)
			var failure *wire.DecodeError
			require.True(t, errors.As(err, &failure), "%v: %s", s, text)
			require.Equal(t, at, failure.Pointer, "%v: %v", s, err)
			require.False(t, failure.Syntax, "%v: %v", s, err)
		})
	}
}

func TestIDsRoundTripExactly(t *testing.T) {
	for _, id := range []string{"9007199254740993", "9223372036854775808", "-9223372036854775809", "-0", strings.Repeat("8", 128)} {
		everyID(t, json.Number(id), func(s *subject, text []byte, at string) {
			requireRoundTrip(t, s, text)
		})
	}
	for _, id := range []string{"", "1", "null", "é\x00", strings.Repeat("x", 126)} {
		everyID(t, id, func(s *subject, text []byte, at string) {
			requireRoundTrip(t, s, text)
		})
	}
}

func TestEncodeRejectsUnsetIDs(t *testing.T) {
	for _, x := range []struct {
		value   wire.Value
		pointer string
	}{
		{new(CancelledNotification), "/params/requestId"},
		{new(ProgressNotification), "/params/progressToken"},
		{new(SubscriptionsListenResultMeta), "/io.modelcontextprotocol~1subscriptionId"},
		{new(SubscriptionsListenResult), "/_meta/io.modelcontextprotocol~1subscriptionId"},
	} {
		_, err := wire.Append(nil, &wire.Frame{Revision: Revision20260728}, x.value)
		var failure *wire.EncodeError
		require.True(t, errors.As(err, &failure), "%T", x.value)
		require.Equal(t, x.pointer, failure.Pointer, "%T", x.value)
		require.ErrorContains(t, err, "required and not set")
	}
}

// TestCancelWithoutIDIn20251125 tests the only revision in which the ID is optional,
// because tasks are cancelled with another method.
func TestCancelWithoutIDIn20251125(t *testing.T) {
	out, err := wire.AppendParams(nil, &wire.Frame{Revision: Revision20251125}, new(CancelledNotification))
	require.NoError(t, err)
	require.Equal(t, `{}`, string(out))
}

// lookalikes returns names that are almost equal to a member's name.
func lookalikes(name string) []string {
	return []string{strings.ToUpper(name), name + "\x00", "\x00" + name, " " + name, name + "\u017f", strings.ReplaceAll(name, "e", "\u0435")}
}

// TestLookalikeNamesAreUnknownMembers adds members whose names are almost equal to the
// name of each member and whose values are invalid for it. They must be stored as unknown
// members.
func TestLookalikeNamesAreUnknownMembers(t *testing.T) {
	count := 0
	for _, s := range testedSubjects() {
		whole := s.shape.largest(variedDepth)
		shapes := s.shape.shapesOf(whole)
		for _, p := range places(&whole) {
			object, _ := (*p.at).(map[string]any)
			at := shapes[p.pointer]
			if object == nil || at.isMap() || at.isClosed() || at.isMessage() || at.raw == nil || at.values() != nil {
				continue
			}
			others := withLookalikes(object)
			if !at.isValid(others) {
				continue
			}
			p.store(others)
			requireRoundTrip(t, s, render(whole, sorted))
			requireRoundTrip(t, s, render(whole, reversed))
			p.store(object)
			count++
		}
	}
	require.Greater(t, 2*count, 5*len(testedSubjects()), "most documents have several objects")
}

func withLookalikes(object map[string]any) map[string]any {
	out := maps.Clone(object)
	for name := range object {
		for _, other := range lookalikes(name) {
			if _, taken := object[other]; !taken {
				out[other] = map[string]any{"type": []any{nil}}
			}
		}
	}
	return out
}

// TestLookalikeNamesDoNotReplaceRequiredMembers replaces the name of a required member by
// a name that is almost equal.
func TestLookalikeNamesDoNotReplaceRequiredMembers(t *testing.T) {
	tolerated := map[string]bool{"resultType": true, "ttlMs": true, "cacheScope": true}
	count := 0
	for _, s := range subjects() {
		object, _ := s.shape.smallest().(map[string]any)
		if len(s.shape.limits) > 0 {
			continue // the object may have other members, or another keyword may refuse the other name
		}
		for name := range object {
			if tolerated[name] || name == "text" && s.shape.name == "TextResourceContents" {
				continue
			}
			for _, other := range lookalikes(name)[:4] {
				doc := maps.Clone(object)
				doc[other] = doc[name]
				delete(doc, name)
				if s.file.validator.validate(s.pointer, doc) == nil {
					continue // another alternative of a union does not require the member
				}
				_, err := s.decode(render(doc, sorted))
				require.Error(t, err, "%v %q", s, other)
				want := "missing|want an object with one of"
				if s.shape.isClosed() || slices.ContainsFunc(s.shape.alternatives(), shape.isClosed) {
					want += "|revision has no member"
				}
				require.Regexp(t, want, err, "%v %q", s, other)
				count++
			}
		}
	}
	require.Greater(t, count, 1000)
}

func TestDecodeUnescapesNames(t *testing.T) {
	for _, s := range subjects() {
		object, _ := s.shape.smallest().(map[string]any)
		for name := range object {
			text := string(render(object, sorted))
			escaped := strings.Replace(text, `"`+name+`"`, `"\u00`+hex(name[0])+name[1:]+`"`, 1)
			_, err := s.decode([]byte(escaped))
			require.NoError(t, err, "%v: %s", s, escaped)
		}
	}
}

func hex(c byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[c>>4], digits[c&15]})
}
