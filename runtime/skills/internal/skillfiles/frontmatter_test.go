package skillfiles

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/generated/skills"
)

// head is front matter that is complete.
const head = "---\nname: a\ndescription: b\n"

func TestFrontmatterValues(t *testing.T) {
	for text, want := range map[string]string{
		"k: plain text # comment":             `"plain text"`,
		"k: a#b":                              `"a#b"`,
		"k: http://host/x":                    `"http://host/x"`,
		"k: two\n  lines\n\n  and a third":    `"two lines\nand a third"`,
		"k: 'it''s'":                          `"it's"`,
		`k: "a\tb\u0041\x42 \"q\""`:           `"a\tbAB \"q\""`,
		"k: \"two\n  lines\n\n  x\"":          `"two lines\nx"`,
		"k: \"joined\\\n  text\"":             `"joinedtext"`,
		"k: |\n  one\n   two\n\n  three\n":    `"one\n two\n\nthree\n"`,
		"k: |-\n  one\n":                      `"one"`,
		"k: |+\n  one\n":                      `"one\n\n"`,
		"k: |2\n   one\n":                     `" one\n"`,
		"k: >\n  a\n  b\n\n  c\n    d\n  e\n": `"a b\nc\n  d\ne\n"`,
		"k: >-\n  a\n  b":                     `"a b"`,
		"k:":                                  `null`,
		"k: ~":                                `null`,
		"k: true":                             `true`,
		"k: yes":                              `"yes"`,
		"k: 12":                               `12`,
		"k: +012":                             `12`,
		"k: 0x1F":                             `31`,
		"k: 1.50":                             `1.5`,
		"k: 12345678901234567890":             `12345678901234567890`,
		"k: 2026-01-02":                       `"2026-01-02"`,
		"k: 1.2.3":                            `"1.2.3"`,
		"k: []":                               `[]`,
		"k: [a, \"b, c\", {d: 1, e}]":         `["a","b, c",{"d":1,"e":null}]`,
		"k: [a,\n  b, # comment\n  c]":        `["a","b","c"]`,
		`k: {"a":1, b: [x y]}`:                `{"a":1,"b":["x y"]}`,
		"k:\n- a\n- b":                        `["a","b"]`,
		"k:\n  - a: 1\n    b: 2\n  -\n    c\n  -": `[{"a":1,"b":2},"c",null]`,
		"k:\n  - - x\n    - y":                    `[["x","y"]]`,
		"k:\n  a:\n    b: c # comment\n  # d\n":   `{"a":{"b":"c"}}`,
		"\"k\": quoted key":                       `"quoted key"`,
	} {
		f, err := ParseFrontmatter([]byte(head + text + "\n---\n"))
		require.NoError(t, err, text)
		require.JSONEq(t, want, string(f.Extra["k"]), text)
	}
}

func TestInvalidFrontmatter(t *testing.T) {
	for text, problem := range map[string]string{
		"":                                    `the first line of the file is not "---"`,
		"# Title\n---\n":                      `the first line of the file is not "---"`,
		"---\nname: a\n":                      `no line "---" ends the front matter`,
		"---\n---\n":                          "line 2: the front matter is empty",
		"---\n- a\n---\n":                     "line 2: the front matter is not a mapping",
		"---\nname: a\n---\n":                 `no "description"`,
		"---\nname: 7\ndescription: b\n---\n": `"name" is not a string; quote it`,
		head + "name: a\n---\n":               `line 4: duplicate key "name"`,
		head + "k: a: b\n---\n":               `line 4: ": " in a plain value; quote the value`,
		head + "k: &x a\n---\n":               "line 4: anchors, aliases and tags are not supported",
		head + "k: *x\n---\n":                 "line 4: anchors, aliases and tags are not supported",
		head + "k: !t a\n---\n":               "line 4: anchors, aliases and tags are not supported",
		head + "<<: a\n---\n":                 "line 4: merge keys are not supported",
		head + "1: a\n---\n":                  `line 4: key "1" is not a string; quote it`,
		head + "? a\n---\n":                   "line 4: ",
		head + "k: .inf\n---\n":               "has no form in JSON",
		head + "k: 1e999\n---\n":              "is too large",
		head + "k: [a\n---\n":                 `missing "]"`,
		head + "k: {a: b\n---\n":              `missing "}"`,
		head + "k: \"a\n---\n":                `missing "\"" at the end of a value`,
		head + "k: 'a' b\n---\n":              `unexpected text after the value: "b"`,
		head + "k: \"\\q\"\n---\n":            "invalid escape sequence",
		head + "k: \"\\uD800\"\n---\n":        "invalid escape sequence",
		head + "k: |x\n  a\n---\n":            "invalid header",
		head + "k: @a\n---\n":                 "cannot begin with",
		head + "  k: a\n---\n":                `": " in a plain value`,
		head + "\tk: a\n---\n":                "tab in the indentation",
		head + "...\n---\n":                   "document markers",
		head + "k\n---\n":                     `line 4: no key`,
		head + "k: a\x00\n---\n":              `control character '\x00'`,
		head + "k: \xff\n---\n":               "file is not UTF-8",
		head + strings.Repeat("# comment\n", maxFrontmatter/10) + "---\n": "ends the front matter in the first",
		head + "k: " + strings.Repeat("[", maxYAMLDepth+1) + "\n---\n":    "nested collections",
	} {
		_, err := ParseFrontmatter([]byte(text))
		require.ErrorContains(t, err, problem, "%.80q", text)
	}
}

// The memory that is allocated for a value does not grow with the square of its lines.
func TestFrontmatterHasLinearCost(t *testing.T) {
	for _, text := range []string{"k: \"%s\"", "k: '%s'", "k: %s", "k: [%s]"} {
		cost := func(lines int) uint64 {
			file := []byte(head + fmt.Sprintf(text, strings.Repeat("a \n ", lines)) + "\n---\n")
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := ParseFrontmatter(file)
			require.NoError(t, err)
			runtime.ReadMemStats(&after)
			return after.TotalAlloc - before.TotalAlloc
		}
		require.Less(t, cost(8000), 20*cost(800), text)
	}
}

func TestFrontmatterRules(t *testing.T) {
	for _, name := range []string{"a", "a-b", "a1", strings.Repeat("x", 64)} {
		require.NoError(t, CheckFrontmatter(&skills.SkillFrontmatter{Name: name, Description: "d"}))
	}
	for _, name := range []string{"", "A", "a_b", "-a", "a-", "a--b", "a b", "é", "..", "a/b", strings.Repeat("x", 65)} {
		require.ErrorContains(t, CheckFrontmatter(&skills.SkillFrontmatter{Name: name, Description: "d"}), "invalid name")
	}
	for _, text := range []string{"", " \n", strings.Repeat("x", 1025)} {
		require.ErrorContains(t, CheckFrontmatter(&skills.SkillFrontmatter{Name: "a", Description: text}), "description has")
	}
}

func TestDifferentField(t *testing.T) {
	make := func(extra map[string]json.RawMessage) *skills.SkillFrontmatter {
		return &skills.SkillFrontmatter{Name: "a", Description: "b", Extra: extra}
	}
	raw := func(text string) map[string]json.RawMessage {
		return map[string]json.RawMessage{"k": json.RawMessage(text)}
	}
	require.Empty(t, DifferentField(make(raw(`{"a":1.0,"b":["\u0041"]}`)), make(raw(` {"b":["A"],"a":1}`))))
	require.Equal(t, "k", DifferentField(make(raw(`1`)), make(raw(`"1"`))))
	require.Equal(t, "k", DifferentField(make(raw(`9007199254740993`)), make(raw(`9007199254740992`))))
	require.Equal(t, "k", DifferentField(make(raw(`null`)), make(nil)))
	require.Equal(t, "k", DifferentField(make(nil), make(raw(`null`))))
	require.Equal(t, "name", DifferentField(make(nil), &skills.SkillFrontmatter{Name: "b", Description: "b"}))
	require.Equal(t, "description", DifferentField(make(nil), &skills.SkillFrontmatter{Name: "a"}))
}

// FuzzFrontmatter parses any text. The values are JSON, and the same text has equal values.
func FuzzFrontmatter(f *testing.F) {
	for _, text := range []string{"k: |\n  a\n", "k: [a, {b: c}]\n", "k: \"a\n\n  b\"\n", "k:\n- - a: >+\n\n    b\n", "k: 'a\n", "- a\n", "k: \"\\\n\"\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseFrontmatter([]byte(head + text + "\n---\n"))
		if err != nil {
			return
		}
		for name, raw := range a.Extra {
			require.True(t, json.Valid(raw), name)
		}
		b, err := ParseFrontmatter([]byte(head + text + "\n---\n"))
		require.NoError(t, err)
		require.Empty(t, DifferentField(a, b))
	})
}
