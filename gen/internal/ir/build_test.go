package ir

import (
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/atombender/go-jsonschema/pkg/schemas"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "update the golden files")

// source returns a revision with the given definitions.
func source(t *testing.T, revision, defs string) *Source {
	t.Helper()
	s, err := schemas.FromJSONReader(strings.NewReader(`{"$schema": "https://json-schema.org/document/2020-12/schema", "$defs": ` + defs + `}`))
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

func TestBuildMergesTwoRevisions(t *testing.T) {
	p, err := Build([]*Source{source(t, "2024-01-01", first), source(t, "2025-01-01", second)}, &Rules{}, NoDocs{})
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

func TestBuildIgnoresOrderOfSources(t *testing.T) {
	dumps := map[string]bool{}
	for range 2 {
		a, b := source(t, "2024-01-01", first), source(t, "2025-01-01", second)
		for _, list := range [][]*Source{{a, b}, {b, a}} {
			p, err := Build(list, &Rules{}, NoDocs{})
			require.NoError(t, err)
			var dump strings.Builder
			p.Dump(&dump)
			dumps[dump.String()] = true
		}
	}
	require.Len(t, dumps, 1)
}

func TestBuildWithoutSources(t *testing.T) {
	_, err := Build(nil, &Rules{}, NoDocs{})
	require.EqualError(t, err, "build: no schemas")
}

func TestBuildReportsAllProblemsInOrder(t *testing.T) {
	newer := `{
		"Pet": {"type": "object", "properties": {"kind": {"type": "integer"}}},
		"Odd": {"type": ["string", "null"]},
		"Mood": {"type": "string", "enum": ["good"]}}`
	_, err := Build([]*Source{source(t, "2024-01-01", first), source(t, "2025-01-01", newer)}, &Rules{OrderFrom: "2025-01-01"}, NoDocs{})
	require.EqualError(t, err, strings.Join([]string{
		`merge: 2025-01-01#/$defs/Odd: no rule gives "Odd" a Go type: 2025-01-01#/$defs/Odd is null or string; a definition that may be null has no Go type; write a Types rule`,
		`merge: 2025-01-01#/$defs/Pet/properties/kind: the revisions define "Pet.kind" differently and no rule merges them: 2024-01-01#/$defs/Pet/properties/kind is the constant "pet"; 2025-01-01#/$defs/Pet/properties/kind is integer; a constant cannot change; give the newer form its own definition`,
	}, "\n"))
}

func TestBuildChecksJSONOfOtherTypes(t *testing.T) {
	odd := `{"Pet": {"type": "object", "properties": {"age": {"type": ["integer", "boolean", "null"]}}}}`
	p, err := Build([]*Source{source(t, "2024-01-01", odd)}, &Rules{}, NoDocs{})
	require.NoError(t, err)
	age := p.Types[0].Shape.(*Struct).Fields[0]
	require.Equal(t, Scalar{Kind: Raw}, age.Type)
	require.Equal(t, []Variant{{At: "/$defs/Pet/properties/age", In: ^Window(0), Schema: &Schema{Types: []string{"boolean", "integer", "null"}}}}, age.Checks)
}

func TestOpenEnded(t *testing.T) {
	m := &merger{documents: make([]*document, 3)}
	all := ^Window(0)
	for _, c := range []struct{ in, owner, want Window }{
		{0b001, 0b111, 0b001},
		{0b100, 0b111, all << 2},
		{0b101, 0b111, 0b001 | all<<2},
		{0b111, 0b111, all},
		{0b010, 0b010, all},
		{0, 0b111, 0},
	} {
		require.Equal(t, c.want, m.openEnded(c.in, c.owner), "%03b of %03b", c.in, c.owner)
	}
}
