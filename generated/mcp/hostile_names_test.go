package mcp

import (
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// lookalikes are names that are nearly that of a member.
func lookalikes(name string) []string {
	return []string{strings.ToUpper(name), name + "\x00", "\x00" + name, " " + name, name + "\u017f", strings.ReplaceAll(name, "e", "\u0435")}
}

// TestLookalikeNamesNeverMatch puts beside every member others with nearly its
// name and a value that would not do, and expects them back as they were.
func TestLookalikeNamesNeverMatch(t *testing.T) {
	count := 0
	for _, s := range covered() {
		whole := s.shape.most(deepest)
		shapes := s.shape.shapesOf(whole)
		for _, p := range places(&whole) {
			object, _ := (*p.at).(map[string]any)
			if at := shapes[p.pointer]; object == nil || at.isMap() || at.isMessage() || at.raw == nil {
				continue
			}
			p.store(withLookalikes(object))
			requireRoundTrip(t, s, render(whole, sorted))
			requireRoundTrip(t, s, render(whole, reversed))
			p.store(object)
			count++
		}
	}
	require.Greater(t, count, 500)
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

// TestLookalikeNamesDoNotCount takes a required member away and leaves only one
// with nearly its name.
func TestLookalikeNamesDoNotCount(t *testing.T) {
	tolerated := map[string]bool{"resultType": true, "ttlMs": true, "cacheScope": true}
	count := 0
	for _, s := range subjects() {
		object, _ := s.shape.least().(map[string]any)
		for name := range object {
			if tolerated[name] || name == "text" && s.shape.name == "TextResourceContents" {
				continue
			}
			for _, other := range lookalikes(name)[:4] {
				doc := maps.Clone(object)
				doc[other] = doc[name]
				delete(doc, name)
				_, err := s.decode(render(doc, sorted))
				require.Error(t, err, "%v %q", s, other)
				require.Regexp(t, "missing|want an object with one of", err, "%v %q", s, other)
				count++
			}
		}
	}
	require.Greater(t, count, 1000)
}

func TestEscapedNamesAreTheNamesThatTheySpell(t *testing.T) {
	for _, s := range subjects() {
		object, _ := s.shape.least().(map[string]any)
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
