package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
	"github.com/stretchr/testify/require"
)

// documentsVariable is the environment variable with the number of documents of TestCompatible.
const documentsVariable = "CONTRACT_DOCUMENTS"

// TestCompatibleChangesHaveNoCounterexample compares random schemas. If a schema is said to imply
// another, each document that a validator accepts by the first must be valid by the second. With
// CONTRACT_DOCUMENTS=1000000 it validates a million documents.
func TestCompatibleChangesHaveNoCounterexample(t *testing.T) {
	target := 30_000
	if testing.Short() {
		target = 8_000
	}
	if text := os.Getenv(documentsVariable); text != "" {
		var err error
		target, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	result := search(t, target, func(a, b *document) bool { return len(implies(a, b, false)) == 0 })
	require.Empty(t, result.counterexample)
	t.Logf("%d pairs, %d compatible, %d documents", result.pairs, result.compatible, result.documents)
	require.Greater(t, result.compatible, result.pairs/20, "the pairs must have compatible ones")
}

// TestSearchFindsFaults breaks the comparison on purpose: it ignores a keyword. The search must find a
// counterexample among the pairs for which that makes a difference.
func TestSearchFindsFaults(t *testing.T) {
	for _, keyword := range []string{"type", "required", "enum", "minimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "minItems", "items"} {
		result := search(t, 5_000, func(a, b *document) bool {
			blind := &document{root: without(b.root, keyword), dialect: b.dialect}
			return len(implies(a, blind, false)) == 0 && len(implies(a, b, false)) > 0
		})
		t.Logf("%s: %d pairs, %d documents", keyword, result.pairs, result.documents)
		require.NotEmpty(t, result.counterexample, "the search must find that %s is ignored", keyword)
	}
}

// without removes a keyword from a schema and its parts.
func without(value any, keyword string) any {
	switch value := value.(type) {
	case map[string]any:
		out := map[string]any{}
		for name, member := range value {
			switch {
			case name == keyword:
			case name == "enum":
				out[name] = member
			case name == "properties" || name == "$defs":
				table := map[string]any{}
				for n, p := range member.(map[string]any) {
					table[n] = without(p, keyword)
				}
				out[name] = table
			default:
				out[name] = without(member, keyword)
			}
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, e := range value {
			out[i] = without(e, keyword)
		}
		return out
	}
	return value
}

type searchResult struct {
	pairs, compatible, documents int
	counterexample               string
}

// search validates documents of random pairs of schemas until it finds a counterexample or has validated
// enough documents.
func search(t *testing.T, target int, implied func(a, b *document) bool) (r searchResult) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for r.documents < target && r.pairs < 20*target {
		g := &generator{rnd: rnd}
		x := g.root()
		y := g.root()
		if rnd.IntN(8) != 0 {
			y = g.mutate(clone(x)).(map[string]any)
			if rnd.IntN(3) == 0 {
				y = g.mutate(y).(map[string]any)
			}
		}
		a, b := parsed(t, x), parsed(t, y)
		r.pairs++
		if !implied(a, b) {
			continue
		}
		r.compatible++
		va, errA := compile(closeObjects(x))
		plain, errOld := compile(x)
		vb, errB := compile(y)
		if errOld != nil || errA != nil || errB != nil {
			continue // a reference to itself
		}
		g.collect(x)
		g.collect(y)
		for range 200 {
			doc := g.document(x, x, 0)
			if rnd.IntN(3) == 0 {
				doc = g.document(y, y, 0)
			}
			if plain.Validate(doc) != nil || va.Validate(doc) != nil {
				continue
			}
			r.documents++
			if err := vb.Validate(doc); err != nil {
				r.counterexample = fmt.Sprintf("old %s\nnew %s\ndocument %s\n%v", text(x), text(y), text(doc), err)
				return r
			}
		}
	}
	return r
}

func text(v any) string {
	data, _ := json.Marshal(v)
	return string(data)
}

func parsed(t *testing.T, schema any) *document {
	d, err := parse([]byte(text(schema)))
	require.NoError(t, err)
	return d
}

func compile(schema any) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("mem:///s.json", strings.NewReader(text(schema))); err != nil {
		return nil, err
	}
	return c.Compile("mem:///s.json")
}

func clone(v any) map[string]any {
	value, err := decode([]byte(text(v)))
	if err != nil {
		panic(err)
	}
	members, _ := value.(map[string]any)
	return members
}

// closeObjects returns a schema that refuses members that no schema declares, for each value with a
// schema that declares members and does not mention others.
func closeObjects(root map[string]any) map[string]any {
	root = clone(root)
	var atValue, inside func(v any)
	atValue = func(v any) {
		members, ok := v.(map[string]any)
		if !ok {
			return
		}
		declares, open := mentions(root, members, map[string]bool{})
		if declares && !open {
			members["unevaluatedProperties"] = false
		}
		inside(v)
	}
	inside = func(v any) {
		members, _ := v.(map[string]any)
		for name, member := range members {
			switch name {
			case "properties":
				for _, p := range member.(map[string]any) {
					atValue(p)
				}
			case "items", "additionalProperties":
				atValue(member)
			case "prefixItems":
				for _, p := range member.([]any) {
					atValue(p)
				}
			case "allOf", "anyOf", "oneOf":
				for _, p := range member.([]any) {
					inside(p)
				}
			case "$defs":
				for _, p := range member.(map[string]any) {
					inside(p)
				}
			}
		}
	}
	atValue(root)
	return root
}

func mentions(root, members map[string]any, seen map[string]bool) (declares, open bool) {
	add := func(v any) {
		of, _ := v.(map[string]any)
		d, o := mentions(root, of, seen)
		declares, open = declares || d, open || o
	}
	for name, member := range members {
		switch name {
		case "properties":
			declares = true
		case "additionalProperties":
			open = true
		case "allOf", "anyOf", "oneOf":
			for _, p := range member.([]any) {
				add(p)
			}
		case "not":
			add(member)
		case "$ref":
			if ref := member.(string); !seen[ref] {
				seen[ref] = true
				defs, _ := root["$defs"].(map[string]any)
				add(defs[strings.TrimPrefix(ref, "#/$defs/")])
			}
		}
	}
	return declares, open
}

// generator makes random schemas and documents.
type generator struct {
	rnd     *rand.Rand
	numbers []json.Number
	texts   []any
}

var names = []string{"a", "b", "c", "d"}

func (g *generator) pick(list []string) string { return list[g.rnd.IntN(len(list))] }

func (g *generator) small() json.Number { return json.Number(strconv.Itoa(g.rnd.IntN(4))) }

func (g *generator) root() map[string]any {
	root := g.object(0)
	defs := map[string]any{}
	for _, name := range []string{"x", "y"} {
		defs[name] = g.schema(1)
	}
	root["$defs"] = defs
	return root
}

func (g *generator) schema(depth int) any {
	n := 11
	if depth >= 3 {
		n = 5
	}
	switch g.rnd.IntN(n) {
	case 0:
		return g.number()
	case 1:
		return g.text()
	case 2:
		return map[string]any{"type": g.pick([]string{"boolean", "null", "integer", "string"})}
	case 3:
		return map[string]any{"enum": []any{g.value(), g.value(), g.value()}[:1+g.rnd.IntN(3)]}
	case 4:
		if g.rnd.IntN(3) == 0 {
			return g.rnd.IntN(6) != 0
		}
		return map[string]any{"type": []any{g.pick([]string{"integer", "number"}), g.pick([]string{"string", "null", "object", "array"})}}
	case 5, 6:
		return g.object(depth)
	case 7:
		return g.array(depth)
	case 8:
		return map[string]any{"$ref": "#/$defs/" + g.pick([]string{"x", "y"})}
	case 9:
		return map[string]any{g.pick([]string{"anyOf", "oneOf", "allOf"}): []any{g.schema(depth + 1), g.schema(depth + 1)}}
	}
	s := map[string]any{"not": g.schema(depth + 1)}
	if g.rnd.IntN(2) == 0 {
		s["type"] = g.pick([]string{"integer", "string", "object"})
	}
	return s
}

func (g *generator) value() any {
	switch g.rnd.IntN(5) {
	case 0:
		return nil
	case 1:
		return g.rnd.IntN(2) == 0
	case 2:
		return g.small()
	case 3:
		return map[string]any{g.pick(names): g.small()}
	}
	return g.pick(names)
}

func (g *generator) number() map[string]any {
	s := map[string]any{"type": g.pick([]string{"integer", "number"})}
	for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		if g.rnd.IntN(3) == 0 {
			s[k] = g.small()
			if strings.HasSuffix(strings.ToLower(k), "maximum") {
				s[k] = json.Number(strconv.Itoa(3 + g.rnd.IntN(4)))
			}
		}
	}
	if g.rnd.IntN(4) == 0 {
		s["multipleOf"] = json.Number(g.pick([]string{"0.5", "1", "2", "3"}))
	}
	return s
}

func (g *generator) text() map[string]any {
	s := map[string]any{"type": "string"}
	if g.rnd.IntN(2) == 0 {
		s["minLength"] = g.small()
	}
	if g.rnd.IntN(2) == 0 {
		s["maxLength"] = json.Number(strconv.Itoa(2 + g.rnd.IntN(3)))
	}
	if g.rnd.IntN(6) == 0 {
		s["pattern"] = g.pick([]string{"^a", "b$"})
	}
	return s
}

func (g *generator) object(depth int) map[string]any {
	s := map[string]any{"type": "object"}
	properties := map[string]any{}
	for range g.rnd.IntN(4) {
		properties[g.pick(names)] = g.schema(depth + 1)
	}
	if g.rnd.IntN(5) != 0 {
		s["properties"] = properties
	}
	if g.rnd.IntN(2) == 0 {
		s["required"] = []any{g.pick(names)}
	}
	switch g.rnd.IntN(5) {
	case 0:
		s["additionalProperties"] = false
	case 1:
		s["additionalProperties"] = g.schema(depth + 1)
	}
	if g.rnd.IntN(6) == 0 {
		s["minProperties"] = g.small()
	}
	if g.rnd.IntN(6) == 0 {
		s["maxProperties"] = json.Number(strconv.Itoa(1 + g.rnd.IntN(3)))
	}
	if g.rnd.IntN(6) == 0 {
		s[g.pick([]string{"anyOf", "oneOf", "allOf"})] = []any{g.object(depth + 1), g.object(depth + 1)}
	}
	return s
}

func (g *generator) array(depth int) map[string]any {
	s := map[string]any{"type": "array"}
	if g.rnd.IntN(4) != 0 {
		s["items"] = g.schema(depth + 1)
	}
	if g.rnd.IntN(3) == 0 {
		s["prefixItems"] = []any{g.schema(depth + 1), g.schema(depth + 1)}[:1+g.rnd.IntN(2)]
	}
	if g.rnd.IntN(3) == 0 {
		s["minItems"] = g.small()
	}
	if g.rnd.IntN(3) == 0 {
		s["maxItems"] = json.Number(strconv.Itoa(1 + g.rnd.IntN(3)))
	}
	if g.rnd.IntN(4) == 0 {
		s["uniqueItems"] = true
	}
	return s
}

// mutate changes one place of a schema.
func (g *generator) mutate(v any) any {
	members, ok := v.(map[string]any)
	if !ok || len(members) == 0 {
		return g.schema(2)
	}
	k := g.pick(sortedNames(members))
	switch value := members[k].(type) {
	case map[string]any:
		if k == "properties" && (len(value) == 0 || g.rnd.IntN(3) == 0) {
			name := g.pick(names)
			if _, ok := value[name]; ok {
				delete(value, name)
			} else {
				value[name] = g.schema(1)
			}
			return v
		}
		if k == "properties" || k == "$defs" {
			name := g.pick(sortedNames(value))
			value[name] = g.mutate(value[name])
			return v
		}
		members[k] = g.mutate(value)
	case []any:
		switch {
		case k == "required" || k == "enum":
			g.mutateList(members, k, value)
		case k == "type":
			members[k] = value[0]
		default:
			i := g.rnd.IntN(len(value))
			value[i] = g.mutate(value[i])
		}
	case json.Number:
		if n, err := value.Int64(); err == nil && k != "multipleOf" {
			members[k] = json.Number(strconv.FormatInt(max(0, n+int64(g.rnd.IntN(3))-1), 10))
		}
	case string:
		if k == "type" && (value == "integer" || value == "number") {
			members[k] = g.pick([]string{"integer", "number"})
		} else if g.rnd.IntN(4) == 0 && k != "$ref" {
			delete(members, k)
		}
	case bool:
		if g.rnd.IntN(2) == 0 {
			delete(members, k)
		}
	}
	if len(members) > 1 && k != "$defs" && k != "$ref" && g.rnd.IntN(5) == 0 {
		delete(members, k)
	}
	return v
}

func (g *generator) mutateList(members map[string]any, k string, value []any) {
	switch {
	case k == "enum":
		members[k] = append(value, g.pick(names)+"!")
		if len(value) > 1 && g.rnd.IntN(2) == 0 {
			members[k] = value[:len(value)-1]
		}
	case g.rnd.IntN(2) == 0:
		delete(members, k)
	default:
		members[k] = []any{g.pick(names)}
	}
}

// collect collects the constants of a schema, so that documents are near its boundaries.
func (g *generator) collect(v any) {
	switch v := v.(type) {
	case json.Number:
		n, ok := rational(v)
		if !ok {
			return
		}
		for _, d := range []string{"-1", "-0.5", "0", "0.5", "1"} {
			delta, _ := new(big.Rat).SetString(d)
			g.numbers = append(g.numbers, json.Number(strings.TrimSuffix(new(big.Rat).Add(n, delta).FloatString(1), ".0")))
		}
	case map[string]any:
		for _, k := range sortedNames(v) {
			if k == "enum" {
				g.texts = append(g.texts, v[k].([]any)...)
			}
			g.collect(v[k])
		}
	case []any:
		for _, e := range v {
			g.collect(e)
		}
	}
}

// document makes a document that a schema may accept.
func (g *generator) document(root map[string]any, at any, depth int) any {
	s, ok := at.(map[string]any)
	if !ok || depth > 5 || g.rnd.IntN(20) == 0 {
		return g.any(depth)
	}
	if list, ok := s["enum"].([]any); ok && g.rnd.IntN(10) != 0 {
		return list[g.rnd.IntN(len(list))]
	}
	if ref, ok := s["$ref"].(string); ok {
		defs := root["$defs"].(map[string]any)
		return g.document(root, defs[strings.TrimPrefix(ref, "#/$defs/")], depth+1)
	}
	base := g.typed(root, s, depth)
	for _, k := range []string{"anyOf", "oneOf", "allOf"} {
		list, _ := s[k].([]any)
		for i, b := range list {
			if k != "allOf" && i != g.rnd.IntN(len(list)) {
				continue
			}
			doc := g.document(root, b, depth+1)
			x, isObject := base.(map[string]any)
			y, too := doc.(map[string]any)
			if !isObject || !too {
				base = doc
				continue
			}
			joined := maps.Clone(x) // x may be a value of the schema
			maps.Copy(joined, y)
			base = joined
		}
	}
	return base
}

func (g *generator) typed(root, s map[string]any, depth int) any {
	t, _ := s["type"].(string)
	if list, ok := s["type"].([]any); ok {
		t, _ = list[g.rnd.IntN(len(list))].(string)
	}
	switch t {
	case "integer", "number":
		if len(g.numbers) > 0 && g.rnd.IntN(4) != 0 {
			return g.numbers[g.rnd.IntN(len(g.numbers))]
		}
		return json.Number(g.pick([]string{"0", "1", "2", "3", "-1", "2.5", "6", "12", "1.0"}))
	case "string":
		return g.pick([]string{"", "a", "b", "ab", "ba", "abc", "aéb", "abab", "cccc", "ddddd", "dddddd"})
	case "boolean":
		return g.rnd.IntN(2) == 0
	case "null":
		return nil
	case "array":
		return g.elements(root, s, depth)
	case "object":
		return g.fields(root, s, depth)
	}
	return g.any(depth)
}

func (g *generator) elements(root, s map[string]any, depth int) any {
	first, _ := s["prefixItems"].([]any)
	list := []any{}
	for i := range g.rnd.IntN(5) {
		at := s["items"]
		if i < len(first) {
			at = first[i]
		}
		list = append(list, g.document(root, at, depth+1))
	}
	return list
}

func (g *generator) fields(root, s map[string]any, depth int) any {
	object := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	required, _ := s["required"].([]any)
	for _, name := range names {
		at, declared := properties[name]
		must := len(required) > 0 && required[0] == name
		switch {
		case must && g.rnd.IntN(10) != 0, declared && g.rnd.IntN(2) == 0:
		case g.rnd.IntN(10) != 0:
			continue
		}
		if !declared {
			at = s["additionalProperties"]
		}
		object[name] = g.document(root, at, depth+1)
	}
	return object
}

func (g *generator) any(depth int) any {
	if len(g.texts) > 0 && g.rnd.IntN(3) == 0 {
		return g.texts[g.rnd.IntN(len(g.texts))]
	}
	t := g.pick([]string{"integer", "number", "string", "boolean", "null", "array", "object"})
	if depth > 6 {
		t = "string"
	}
	return g.typed(map[string]any{"$defs": map[string]any{}}, map[string]any{"type": t}, depth+1)
}
