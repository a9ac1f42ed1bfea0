package typed_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mcpwright/mcp/runtime/internal/validate"
	"github.com/mcpwright/mcp/runtime/mcpserver/internal/typed"
)

// common is a type whose schema a plan can validate completely, and whose fields accept all
// values that the schema accepts.
type common struct {
	Name   string            `json:"name" minLength:"2" maxLength:"3"`
	Size   string            `json:"size,omitempty" enum:"s,m"`
	Count  int8              `json:"count" minimum:"-2" maximum:"3"`
	Price  float64           `json:"price,omitempty" minimum:"0.5" maximum:"9"`
	Fast   *bool             `json:"fast"`
	Tags   []string          `json:"tags,omitempty" minItems:"1" maxItems:"2"`
	Labels map[string]uint16 `json:"labels,omitempty"`
	Inner  *struct {
		Deep []struct {
			N uint8 `json:"n"`
		} `json:"deep"`
	} `json:"inner,omitempty"`
	Any any `json:"any,omitempty"`
}

// random generates documents that are often almost valid.
type random struct{ *rand.Rand }

func (r random) of(texts ...string) string { return texts[r.IntN(len(texts))] }

func (r random) scalar() string {
	return r.of(`null`, `true`, `false`, `0`, `1`, `-2`, `-3`, `3.0`, `30e-1`, `1.5`, `0.5`, `9`, `9.5`, `255`, `256`, `70000`,
		`""`, `"s"`, `"m"`, `"ab"`, `"abc"`, `"abcd"`, `"ää"`, `"\u00e4\u00e4"`, `"😀😀😀"`)
}

func (r random) value(depth int) string {
	switch n := r.IntN(10); {
	case n < 6 || depth == 0:
		return r.scalar()
	case n < 8:
		var items []string
		for range r.IntN(4) {
			items = append(items, r.value(depth-1))
		}
		return "[" + strings.Join(items, ",") + "]"
	}
	return r.object(depth-1, map[string]func() string{r.of("n", "deep", "a"): func() string { return r.value(depth - 1) }})
}

func (r random) object(depth int, members map[string]func() string) string {
	var list []string
	for name, value := range members {
		text := value()
		if r.IntN(8) == 0 {
			text = r.value(depth)
		}
		if r.IntN(12) > 0 {
			list = append(list, fmt.Sprintf("%q:%s", name, text))
		}
	}
	if r.IntN(15) == 0 {
		list = append(list, fmt.Sprintf(`%q:1`, r.of("Name", "more", "COUNT")))
	}
	return "{" + strings.Join(list, ",") + "}"
}

func (r random) document() string {
	return r.object(3, map[string]func() string{
		"name":   func() string { return r.of(`"ab"`, `"abc"`, `"a"`) },
		"size":   func() string { return r.of(`"s"`, `"m"`, `"l"`) },
		"count":  func() string { return r.of(`1`, `3.0`, `-2`, `4`) },
		"price":  func() string { return r.of(`0.5`, `9`, `3`, `0.4`) },
		"fast":   func() string { return r.of(`true`, `null`) },
		"tags":   func() string { return r.of(`["x"]`, `["x","y"]`, `[]`, `["x","y","z"]`) },
		"labels": func() string { return r.of(`{}`, `{"a":1}`, `{"a":65536}`, `{"a":-1}`) },
		"inner": func() string {
			return r.of(`null`, `{"deep":[]}`, `{"deep":[{"n":1}]}`, `{"deep":[{}]}`, `{"deep":null}`)
		},
		"any": func() string { return r.value(2) },
	})
}

func TestPlanAgreesWithSchema(t *testing.T) {
	plan, schema := planOf[common](t)
	require.True(t, plan.Validates())
	j, err := validate.Compile(schema)
	require.NoError(t, err)
	r := random{rand.New(rand.NewPCG(1, 2))}
	accepted := 0
	for range 20_000 {
		doc := r.document()
		var c common
		read, judged := plan.Read(json.RawMessage(doc), &c), j.Validate(json.RawMessage(doc))
		require.Equal(t, judged == nil, read == nil, "%s\nplan: %v\nschema: %v", doc, read, judged)
		if read == nil {
			accepted++
			sameAsJSON(t, doc, c)
		}
	}
	require.Greater(t, accepted, 200)
}

// sameAsJSON checks that a document was decoded as by encoding/json, if that accepts it.
func sameAsJSON(t *testing.T, doc string, got common) {
	var want common
	if json.Unmarshal([]byte(doc), &want) == nil { // it rejects 3.0 as an integer
		require.Equal(t, want, got, doc)
	}
}

func TestPlanDelegatesUnsupportedKeywords(t *testing.T) {
	type in struct {
		A string          `json:"a"`
		N int             `json:"n"`
		F float64         `json:"f"`
		L []int           `json:"l"`
		M map[string]int  `json:"m"`
		B []byte          `json:"b"`
		U uint64          `json:"u"`
		X any             `json:"x"`
		S struct{ K int } `json:"s"`
	}
	for _, c := range []struct {
		property string
		judges   bool
	}{
		{``, true},
		{`"a":{"type":"string","description":"x","examples":["y"]}`, true},
		{`"a":{"type":"string","pattern":"x"}`, false},
		{`"a":{"type":["string","integer"]}`, false},
		{`"a":{"enum":["x"]}`, false},
		{`"a":{"type":"string","enum":["x",null]}`, false},
		{`"a":{"type":["string","null"],"enum":["x"]}`, false},
		{`"a":{"const":"x"}`, false},
		{`"a":{"type":"string","enum":[]}`, true},
		{`"a":{"type":"string","enum":null}`, false},
		{`"a":false`, false},
		{`"a":true`, true},
		{`"a":1`, false},
		{`"a":{"type":7}`, false},
		{`"n":{"type":"number"}`, false},
		{`"n":{"type":"integer","minimum":1.5}`, true},
		{`"n":{"type":"integer","enum":[1]}`, false},
		{`"n":{"type":"integer","minimum":"x"}`, false},
		{`"n":{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`, true},
		{`"n":{"type":"integer","minimum":9223372036854775807.5}`, false},
		{`"n":{"type":"integer","maximum":-1e19}`, false},
		{`"f":{"type":"integer"}`, false},
		{`"f":{"type":"number","exclusiveMinimum":1}`, false},
		{`"l":{"type":"array","items":{"type":"integer"},"maxItems":3}`, true},
		{`"l":{"type":"array","uniqueItems":true}`, false},
		{`"l":{"type":"object"}`, false},
		{`"m":{"type":"object","additionalProperties":{"type":"integer"}}`, true},
		{`"m":{"type":"object","required":["a"]}`, false},
		{`"m":{"type":"object","additionalProperties":false}`, false},
		{`"b":{"type":"string"}`, true},
		{`"b":{"type":"string","maxLength":3}`, false},
		{`"u":{"type":"integer","minimum":0}`, true},
		{`"u":{"type":"integer","minimum":1}`, false},
		{`"x":{"type":"integer"}`, false},
		{`"x":{"type":["string","boolean"]}`, true},
		{`"x":{"minimum":1}`, false},
		{`"s":{"type":"object","properties":{"K":{"type":"integer"},"Z":true}}`, true},
		{`"s":{"type":"object","properties":{"Z":{"type":"integer"}}}`, false},
		{`"s":{"type":"object","additionalProperties":{"type":"integer"}}`, false},
		{`"s":{"type":"object","required":["Z"]}`, false},
		{`"s":{"$ref":"#"}`, false},
		{`"s":{"type":"object","properties":{"K":{"type":"integer"}},"additionalProperties":false}`, true},
		{`"s":{"type":"object","properties":{},"additionalProperties":false}`, false},
		{`"s":{"type":"object","additionalProperties":false}`, false},
	} {
		schema := `{"type":"object","properties":{` + c.property + `}}`
		plan, err := typed.NewPlan(reflect.TypeFor[in](), json.RawMessage(schema))
		require.NoError(t, err, schema)
		require.Equal(t, c.judges, plan.Validates(), schema)
	}
}
