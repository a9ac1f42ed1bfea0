package judge

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// list is a list of equal items.
func list(item string, n int) string { return "[" + item + strings.Repeat(","+item, n-1) + "]" }

// manyOf makes an object of n members out of a format of their names.
func manyOf(n int, name, value string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"`+name+`":%s`, i, value)
	}
	return "{" + b.String()[1:] + "}"
}

func TestWorkIsCountedBeforeItIsDone(t *testing.T) {
	const draft = `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("%q", fmt.Sprint("name", i)))
	}
	for what, c := range map[string]struct{ schema, few, many string }{
		"faults":       {`{"items":{"type":"string"}}`, `["a"]`, list("1", 5000)},
		"no values":    {`{"items":false}`, `[]`, list("1", 5000)},
		"values":       {`{"items":{"type":"integer"}}`, list("1", 5000), list("1", 25_000)},
		"patterns":     {`{"patternProperties":` + manyOf(200, "^(a|b)+%d[a-z]{1,5}$", `{}`) + `}`, manyOf(50, "ababab%d", "1"), manyOf(2000, "ababab%d", "1")},
		"a pattern":    {`{"items":{"pattern":"^([a-z]{1,30} ?){1,30}$"}}`, `["abc"]`, list(`"`+strings.Repeat("abcde ", 100)+`!"`, 50)},
		"constants":    {`{"items":{"const":` + list("1", 1000) + `}}`, `[]`, list(list("1", 999), 500)},
		"numbers":      {`{"items":{"enum":` + list("5", 1000) + `}}`, list("5", 10), list("5", 1000)},
		"names":        {`{"items":{"required":[` + strings.Join(names, ",") + `],"type":"object"}}`, `[]`, list("{}", 1000)},
		"long names":   {`{"additionalProperties":{"items":{"type":"integer"}}}`, `{"a":[1]}`, `{"` + strings.Repeat("n", 50_000) + `":` + list("1", 2000) + `}`},
		"depth":        {`{"type":["object","array"],"properties":{"x":{"$ref":"#"}},"items":{"type":"string"}}`, `{"x":{}}`, strings.Repeat(`{"x":`, 60) + list("1", 1000) + strings.Repeat("}", 60)},
		"schemas":      {draft, `{"type":"string"}`, `{"properties":` + manyOf(2000, "p%d", `{"type":"string"}`) + `}`},
		"dynamic refs": {`{"$defs":{"x":{"$dynamicAnchor":"it","type":"string"}},"items":{"$dynamicRef":"#it"}}`, `["a"]`, list("1", 5000)},
	} {
		v, err := newValidator([]byte(c.schema))
		require.NoError(t, err, what)
		for _, doc := range []struct {
			text  string
			fault error
		}{{c.few, nil}, {c.many, problem("", errTooMuchWork.Error())}, {c.few, nil}} {
			value, err := parse(json.RawMessage(doc.text))
			require.NoError(t, err, what)
			v.work = newWork(0)
			require.Equal(t, doc.fault, v.validate(value), what)
		}
	}
}

func TestLongDocumentsAreGivenMoreWorkButNotAnyAmount(t *testing.T) {
	require.Equal(t, minWork, newWork(0).left)
	require.Greater(t, newWork(1000).left, minWork)
	require.Equal(t, maxWork, newWork(1<<20).left)
	require.ErrorContains(t, compiled(t, `{"items":false}`).Validate(json.RawMessage(list("1", 150_000))), "too long")
}

func TestFaultsTakeLittleMemory(t *testing.T) {
	s := compiled(t, `{"items":{"type":"string"}}`)
	doc := json.RawMessage(list("1", 400_000))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Error(t, s.Validate(doc))
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)>>20, uint64(150))
}

func TestADynamicReferenceLeadsToTheOutermostAnchor(t *testing.T) {
	s := compiled(t, `{"$id":"https://example.org/strings","$ref":"list","$defs":{
		"string":{"$dynamicAnchor":"item","type":"string"},
		"list":{"$id":"list","items":{"$dynamicRef":"#item"},"$defs":{"any":{"$dynamicAnchor":"item"}}}}}`)
	require.NoError(t, s.Validate(json.RawMessage(`["a"]`)))
	require.Equal(t, "/0", problems(t, s, `[5]`)[0].Pointer)
	require.NoError(t, compiled(t, `{"$schema":"http://json-schema.org/draft-07/schema#","$dynamicAnchor":"none"}`).Validate(json.RawMessage(`5`)))
	old := compiled(t, `{"$schema":"https://json-schema.org/draft/2019-09/schema","$id":"https://example.org/tree","$recursiveAnchor":true,
		"$ref":"node","unevaluatedProperties":false,
		"$defs":{"node":{"$id":"node","$recursiveAnchor":true,"properties":{"child":{"$recursiveRef":"#"}}}}}`)
	require.NoError(t, old.Validate(json.RawMessage(`{"child":{"child":{}}}`)))
	require.Equal(t, "/child", problems(t, old, `{"child":{"chidl":{}}}`)[0].Pointer)
}

func TestUnevaluatedMembersAreThoseThatNoPartHasJudged(t *testing.T) {
	s := compiled(t, `{"$ref":"#/$defs/a","if":{"required":["b"]},"then":{"properties":{"b":true}},"unevaluatedProperties":false,
		"$defs":{"a":{"properties":{"a":{"prefixItems":[true],"contains":{"const":5},"unevaluatedItems":false}}}}}`)
	require.NoError(t, s.Validate(json.RawMessage(`{"a":[1,5,5],"b":1}`)))
	require.Error(t, s.Validate(json.RawMessage(`{"a":[1,5,6]}`)))
	require.Error(t, s.Validate(json.RawMessage(`{"a":[1,5],"c":1}`)))
}

func TestTheSchemasOfSchemasStayAsTheyAre(t *testing.T) {
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			s, err := Compile(json.RawMessage(`{"properties":{"schema":{"$ref":"http://json-schema.org/draft-07/schema#"}}}`))
			if err != nil || s.Validate(json.RawMessage(`{"schema":{"type":"string"}}`)) != nil || s.Validate(json.RawMessage(`{"schema":{"type":5}}`)) == nil {
				t.Error("wrong verdict")
			}
		})
	}
	all.Wait()
}
