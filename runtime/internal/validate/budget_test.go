package validate

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// list returns a list of n equal items.
func list(item string, n int) string { return "[" + item + strings.Repeat(","+item, n-1) + "]" }

// manyOf returns an object with n members; name is a format for their names.
func manyOf(n int, name, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"`+name+`":%s`, i, value)
	}
	return "{" + b.String()[1:] + "}"
}

// validateWithin validates a document with the budget of a short one.
func validateWithin(t *testing.T, s *Schema, doc string) error {
	t.Helper()
	v := newValidation()
	defer v.release()
	require.NoError(t, v.doc.parse([]byte(doc)))
	return v.validate(s, 0)
}

func TestExpensiveValidationsExceedTheBudget(t *testing.T) {
	const draft = `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`
	nested := func(n int) string { return strings.Repeat(`{"x":`, n) + "1" + strings.Repeat("}", n) }
	for name, c := range map[string]struct{ schema, few, many string }{
		"values":        {`{"items":{"type":"integer"}}`, list("1", 5000), list("1", 250_000)},
		"patterns":      {`{"patternProperties":` + manyOf(200, "^(a|b)+%d[a-z]{1,5}$", `{}`) + `}`, manyOf(50, "ababab%d", "1"), manyOf(2000, "ababab%d", "1")},
		"a pattern":     {`{"items":{"pattern":"^([a-z]{1,30} ?){1,30}$"}}`, `["abc"]`, list(`"`+strings.Repeat("abcde ", 100)+`"`, 50)},
		"constants":     {`{"items":{"const":` + list("1", 1000) + `}}`, `[]`, list(list("1", 1000), 500)},
		"numbers":       {`{"items":{"enum":` + list("5", 1000) + `}}`, list("6", 10), list("6", 1000)},
		"long numbers":  {`{"items":{"multipleOf":1e-400}}`, list("5e300", 10), list("0."+strings.Repeat("1", 1000), 1000)},
		"names":         {`{"items":{"anyOf":[{"required":["a"]},{"properties":` + manyOf(1000, "p%d", "{}") + `}]}}`, `[]`, list(manyOf(1000, "p%d", "1"), 300)},
		"unique items":  {`{"items":{"uniqueItems":true}}`, `[[1,2]]`, list("["+manyOf(100, "p%d", "1")+"]", 2000)},
		"alternatives":  {`{"items":{"anyOf":` + list(`{"type":"string"}`, 1000) + `}}`, `["a"]`, list("1", 1000)},
		"nested unions": {`{"anyOf":[{"type":"string"},{"properties":{"x":{"$ref":"#"}},"required":["y"]},{"properties":{"x":{"$ref":"#"}},"required":["y"]}]}`, `"a"`, nested(40)},
		"dependencies":  {`{"items":{"dependentRequired":` + manyOf(1000, "p%d", `["a"]`) + `}}`, `[]`, list("{}", 2000)},
		"schemas":       {draft, `{"type":"string"}`, `{"properties":` + manyOf(80_000, "p%d", `{"type":"string"}`) + `}`},
	} {
		s := compiled(t, c.schema)
		if err := validateWithin(t, s, c.few); err != nil {
			require.NotContains(t, err.Error(), "too long", name)
		}
		require.Equal(t, newError("", errOverBudget.Error()), validateWithin(t, s, c.many), name)
	}
}

func TestBudgetGrowsWithTheDocument(t *testing.T) {
	require.Equal(t, minWork, newBudget(0).left)
	require.Greater(t, newBudget(1000).left, minWork)
	require.Equal(t, maxWork, newBudget(1<<20).left)
}

func TestManyProblemsUseLittleMemory(t *testing.T) {
	s := compiled(t, `{"items":{"type":"string"}}`)
	doc := json.RawMessage(list("1", 400_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Len(t, problems(t, s, string(doc)), maxProblems)
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(50))
}

// A value can be compared with the same schema again only if a dynamic reference
// has another target than the compiler expects.
func TestEndlessRecursionIsAnError(t *testing.T) {
	s := compiled(t, `{"$id":"https://example.org/a","$dynamicAnchor":"it","$ref":"b","$defs":{
		"b":{"$id":"b","anyOf":[{"$dynamicRef":"#it"}],"$defs":{"none":{"$dynamicAnchor":"it"}}}}}`)
	require.ErrorContains(t, s.Validate(json.RawMessage(`5`)), "too long")
	s = compiled(t, `{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://example.org/a","$recursiveAnchor":true,"$ref":"b","$defs":{
		"b":{"$id":"b","$ref":"c","$defs":{"c":{"$id":"c","$recursiveAnchor":true,"properties":{"x":{"$id":"d","anyOf":[{"$recursiveRef":"c"}]}}}}}}}`)
	require.NoError(t, s.Validate(json.RawMessage(`{"x":{"x":{}}}`)))
}

func TestDeepRecursionIsAnError(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{"d20000":{}`)
	for i := range 20_000 {
		fmt.Fprintf(&b, `,"d%d":{"type":"integer","$ref":"#/$defs/d%d"}`, i, i+1)
	}
	s := compiled(t, b.String()+"}}")
	require.ErrorContains(t, s.Validate(json.RawMessage(`5`)), "too long")
	require.Equal(t, "expected integer, but got string", problems(t, s, `"a"`)[0].Message)
}

func TestSharedMemoryIsNotRetained(t *testing.T) {
	s := compiled(t, booking)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 1000 {
				doc := []byte(`{"name":"Ada","guests":13,"a/b~c%d é":1}`)
				err := s.Validate(doc)
				clear(doc)
				if err == nil || err.Error() != "/a~1b~0c%d é: expected boolean, but got number; /guests: must be <= 12 but found 13" {
					t.Error("wrong result", err)
				}
			}
		})
	}
	all.Wait()
}
