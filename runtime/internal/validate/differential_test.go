package validate

import (
	"cmp"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzAgainstReference compares this package with another implementation.
func FuzzAgainstReference(f *testing.F) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		f.Add(randomBytes(random))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compareWithReference(t, data) })
}

func randomBytes(r *rand.Rand) []byte {
	data := make([]byte, 100+r.IntN(1200))
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func TestResultsEqualThoseOfTheReference(t *testing.T) {
	schemas := 20_000
	if testing.Short() {
		schemas = 1000
	}
	random, count := rand.New(rand.NewPCG(1, 2)), map[string]int{}
	for range schemas {
		for _, result := range compareWithReference(t, randomBytes(random)) {
			count[result]++
		}
	}
	t.Log(count)
	require.Greater(t, min(count["valid"], count["invalid"], count["refused"]), schemas/4)
}

// compareWithReference generates a schema and documents, and compares the results of
// this package with the results of the reference. It returns the results.
func compareWithReference(t *testing.T, data []byte) (results []string) {
	t.Helper()
	g := &generator{data: data}
	schema, err := json.Marshal(g.document())
	require.NoError(t, err)
	got, err := Compile(schema)
	compareWithCheck(t, schema, err)
	want, wantErr := compileReference(schema, "")
	if (err == nil) != (wantErr == nil) {
		if isDeliberate(g, schema, err, wantErr) {
			return []string{"deliberate"}
		}
		t.Fatalf("schema %s\ngot  %v\nwant %v", schema, err, wantErr)
	}
	if err != nil {
		return []string{"refused"}
	}
	for range 8 {
		doc, err := json.Marshal(g.value(3))
		require.NoError(t, err)
		err, wantErr := got.Validate(doc), want.validate(doc)
		if (err == nil) != (wantErr == nil) {
			if isDeliberateResult(schema, g, wantErr) {
				results = append(results, "deliberate")
				continue
			}
			t.Fatalf("schema %s\ndocument %s\ngot  %v\nwant %v", schema, doc, err, wantErr)
		}
		if err == nil {
			results = append(results, "valid")
			continue
		}
		results = append(results, "invalid")
		if text := schemaText(schema); !strings.Contains(text, "json-schema.org/draft") && !strings.Contains(text, `"unevaluated`) {
			require.Equal(t, plainProblems(wantErr, false), plainProblems(err, true), "schema %s\ndocument %s", schema, doc)
		}
	}
	return results
}

// compareWithCheck compares the error of Compile with the result of Check, which must be the same
// unless the schema has a reference.
func compareWithCheck(t *testing.T, schema json.RawMessage, compileErr error) {
	t.Helper()
	outline, err := Check(schema)
	if err != nil {
		require.Error(t, compileErr, "schema %s", schema)
		require.Equal(t, strings.TrimPrefix(compileErr.Error(), "compile schema: "), strings.TrimPrefix(err.Error(), "check schema: "))
	} else if compileErr != nil {
		require.True(t, outline.HasReferences, "schema %s: %v", schema, compileErr)
	}
}

// schemaText returns a schema without its $schema.
func schemaText(schema []byte) string {
	return regexp.MustCompile(`,?"\$schema":"[^"]*"`).ReplaceAllString(string(schema), "")
}

// isDeliberate reports whether it is intended that only one of the errors of
// compilers is nil.
func isDeliberate(g *generator, schema []byte, got, want error) bool {
	switch {
	// The reference does not find all loops. It finds the others during a validation.
	case want == nil && strings.Contains(got.Error(), "infinite loop"):
		return true
	// In 2020-12, the reference checks schemas in definitions and dependencies with a
	// part of the meta-schema only.
	case want == nil && g.dialect == draft2020 && isInDefinitions(got):
		return true
	// The reference finds $id and anchors in additionalItems, which is not a keyword of
	// 2020-12.
	case g.dialect == draft2020 && usesAny(schema, "additionalItems") && isAboutReference(cmp.Or(got, want)):
		return true
	// An $id at a location without a keyword is found after a reference to the location.
	// The reference resolves references in a random order.
	case g.ids && (g.dialect <= draft7 || strings.Contains(string(schema), "#/more/")) && isAboutReference(cmp.Or(got, want)):
		return true
	// The reference compiles contentSchema, which is an annotation.
	case got == nil && usesAny(schema, "contentSchema") && isAboutReference(want):
		return true
	// The reference also compiles schemas with a $dynamicAnchor that nothing refers to.
	case got == nil && usesAny(schema, "$dynamicAnchor") && isAboutReference(want):
		return true
	}
	return false
}

// isInDefinitions reports whether an error is about a schema in definitions or
// dependencies.
func isInDefinitions(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && !slices.ContainsFunc(e.Problems, func(p Problem) bool {
		return !strings.Contains(p.Pointer, "/definitions/") && !strings.Contains(p.Pointer, "/dependencies/")
	})
}

// isAboutReference reports whether an error of the reference is about a $ref or its
// target.
func isAboutReference(err error) bool {
	text := err.Error()
	return strings.Contains(text, "'/more/") || strings.Contains(text, "not found") || strings.Contains(text, "not loaded") || strings.Contains(text, "same canonical-uri") || strings.Contains(text, "infinite loop")
}

// isDeliberateResult reports whether it is intended that only one of the errors of
// validations is nil.
func isDeliberateResult(schema []byte, g *generator, want error) bool {
	// The reference searches schemas for the target of $dynamicRef, not resources.
	return g.ids && usesAny(schema, "$dynamicRef")
}

// betterTexts replace texts of the reference that are hard to read.
var betterTexts = []struct{ was, is *regexp.Regexp }{
	{regexp.MustCompile(`^(value must be|const failed|enum failed)`), regexp.MustCompile(`^value must be`)},
	{regexp.MustCompile(`^must be (>=|<=|>|<) `), regexp.MustCompile(`^must be (>=|<=|>|<) `)},
	{regexp.MustCompile(` not multipleOf `), regexp.MustCompile(`^must be a multiple of `)},
	{regexp.MustCompile(`^does not match pattern `), regexp.MustCompile(`^does not match pattern `)},
	{regexp.MustCompile(`^not failed$`), regexp.MustCompile(`^must not match the schema in not$`)},
	{regexp.MustCompile(`^valid against schemas at `), regexp.MustCompile(`^must match exactly one schema in oneOf, `)},
	{regexp.MustCompile(`^valid must be >= `), regexp.MustCompile(`^must contain at least `)},
	{regexp.MustCompile(`^valid must be <= `), regexp.MustCompile(`^must contain at most `)},
	{regexp.MustCompile(`^minimum \d+ properties allowed`), regexp.MustCompile(`^minimum \d+ properties required`)},
}

// plainProblems returns the problems of an error of this package, or of the
// reference. Texts that differ are replaced by their number in betterTexts.
func plainProblems(err error, ours bool) []string {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return []string{err.Error()}
	}
	var list []string
	for _, p := range e.Problems {
		for i, text := range betterTexts {
			if ours && text.is.MatchString(p.Message) || !ours && text.was.MatchString(p.Message) {
				p.Message = strconv.Itoa(i)
				break
			}
		}
		list = append(list, p.String())
	}
	slices.Sort(list)
	return slices.Compact(list)
}
