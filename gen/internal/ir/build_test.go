package ir

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/atombender/go-jsonschema/pkg/schemas"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the expected models anew")

// source makes a revision of definitions written out in a test.
func source(t *testing.T, revision, defs string) *Source {
	t.Helper()
	s, err := schemas.FromJSONReader(strings.NewReader(`{"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": ` + defs + `}`))
	require.NoError(t, err)
	return &Source{Revision: revision, File: revision + ".json", SHA256: "0", Defs: s.Definitions}
}

const (
	first = `{
		"Pet": {"type": "object", "required": ["kind", "name"], "properties": {
			"kind": {"type": "string", "const": "pet"}, "name": {"type": "string"}, "age": {"type": "integer"}, "old": {"type": "boolean"},
			"owner": {"type": "object", "properties": {"name": {"type": "string"}}}}},
		"Mood": {"type": "string", "enum": ["good", "bad"]}}`
	second = `{
		"Pet": {"type": "object", "required": ["kind", "name", "mood"], "properties": {
			"kind": {"type": "string", "const": "pet"}, "name": {"type": "string"}, "age": {"type": "integer"}, "mood": {"$ref": "#/$defs/Mood"},
			"owner": {"$ref": "#/$defs/PetOwner"}}},
		"PetOwner": {"type": "object", "properties": {"name": {"type": "string"}, "phone": {"type": "string"}}},
		"Plant": {"type": "object", "required": ["kind"], "properties": {"kind": {"type": "string", "const": "plant"}}},
		"Thing": {"anyOf": [{"$ref": "#/$defs/Pet"}, {"$ref": "#/$defs/Plant"}]},
		"Mood": {"type": "string", "enum": ["good", "bad", "odd"]}}`
)

func TestTwoRevisionsBecomeOneModel(t *testing.T) {
	p, err := Build([]*Source{source(t, "2024-01-01", first), source(t, "2025-01-01", second)}, &Rules{}, noDocs{})
	require.NoError(t, err)
	var dump strings.Builder
	p.Dump(&dump)
	if *update {
		require.NoError(t, os.WriteFile("testdata/small.txt", []byte(dump.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/small.txt")
	require.NoError(t, err)
	require.Equal(t, string(want), dump.String())
}

func TestTheOrderOfTheSourcesDoesNotMatter(t *testing.T) {
	dumps := map[string]bool{}
	for range 2 {
		a, b := source(t, "2024-01-01", first), source(t, "2025-01-01", second)
		for _, list := range [][]*Source{{a, b}, {b, a}} {
			p, err := Build(list, &Rules{}, noDocs{})
			require.NoError(t, err)
			var dump strings.Builder
			p.Dump(&dump)
			dumps[dump.String()] = true
		}
	}
	require.Len(t, dumps, 1)
}

func TestNothingMakesNoPackage(t *testing.T) {
	_, err := Build(nil, &Rules{}, noDocs{})
	require.EqualError(t, err, "build: there is no schema")
}

func TestAllThatIsWrongIsReportedAtOnceAndInOrder(t *testing.T) {
	newer := `{
		"Pet": {"type": "object", "properties": {"name": {"type": "integer"}, "age": {"type": "string"}}},
		"Mood": {"type": "string", "enum": ["good"]}}`
	_, err := Build([]*Source{source(t, "2024-01-01", first), source(t, "2025-01-01", newer)}, &Rules{}, noDocs{})
	require.EqualError(t, err, strings.Join([]string{
		`merge: 2025-01-01#/$defs/Pet/properties/age: the revisions disagree about "Pet.age" and no rule joins them: 2024-01-01#/$defs/Pet/properties/age is integer; 2025-01-01#/$defs/Pet/properties/age is string; write a Raw rule`,
		`merge: 2025-01-01#/$defs/Pet/properties/name: the revisions disagree about "Pet.name" and no rule joins them: 2024-01-01#/$defs/Pet/properties/name is string; 2025-01-01#/$defs/Pet/properties/name is integer; write a Raw rule`,
	}, "\n"))
}

func TestWhatOneRevisionSaysIsNoDisagreement(t *testing.T) {
	odd := `{"Pet": {"type": "object", "properties": {"age": {"type": ["integer", "boolean", "null"]}}}}`
	_, err := Build([]*Source{source(t, "2024-01-01", odd)}, &Rules{}, noDocs{})
	require.EqualError(t, err, `merge: 2024-01-01#/$defs/Pet/properties/age: no rule says what "Pet.age" is in Go: `+
		`2024-01-01#/$defs/Pet/properties/age is boolean or integer or null; several kinds of value have no Go form here; write a Raw rule`)
}

func TestAWindowThatReachesTheNewestRevisionGoesOn(t *testing.T) {
	m := &merger{drafts: make([]*draft, 3)}
	all := ^Window(0)
	for _, c := range []struct{ in, owner, want Window }{
		{0b001, 0b111, 0b001},
		{0b100, 0b111, all << 2},
		{0b101, 0b111, 0b001 | all<<2},
		{0b111, 0b111, all},
		{0b010, 0b010, all},
		{0, 0b111, 0},
	} {
		require.Equal(t, c.want, m.open(c.in, c.owner), "%03b of %03b", c.in, c.owner)
	}
}
