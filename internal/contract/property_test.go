package contract

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
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
	target := 60_000
	if testing.Short() {
		target = 8_000
	}
	if text := os.Getenv(documentsVariable); text != "" {
		var err error
		target, err = strconv.Atoi(text)
		require.NoError(t, err)
	}
	result := search(t, 4, 20*target, target, func(a, b *document) bool { return len(implies(a, b, false)) == 0 })
	require.Empty(t, result.counterexample)
	t.Logf("%d pairs, %d compatible, %d documents", result.pairs, result.compatible, result.documents)
	require.Greater(t, result.compatible, result.pairs/20, "the pairs must have compatible ones")
}

// TestSearchFindsFaults breaks the comparison of each keyword on purpose: the keyword is ignored, or its values
// are compared in the wrong direction. The search must find a counterexample among the pairs for which that
// makes a difference.
func TestSearchFindsFaults(t *testing.T) {
	if testing.Short() {
		t.Skip("-short")
	}
	for _, k := range keywords {
		fault := func(t *testing.T, broken func(a, b any) (any, any)) {
			result := search(t, 0, 20_000, 5_000, func(a, b *document) bool {
				x, y := broken(a.root, b.root)
				mistaken := implies(&document{root: x, dialect: a.dialect}, &document{root: y, dialect: b.dialect}, false)
				return len(mistaken) == 0 && len(implies(a, b, false)) > 0
			})
			t.Logf("%d pairs, %d documents", result.pairs, result.documents)
			require.NotEmpty(t, result.counterexample)
		}
		t.Run(k.name+" ignored", func(t *testing.T) {
			fault(t, func(a, b any) (any, any) {
				if !k.ordered { // both must have the same value
					a = without(a, k.names())
				}
				return a, without(b, k.names())
			})
		})
		if k.ordered {
			t.Run(k.name+" reversed", func(t *testing.T) {
				fault(t, func(a, b any) (any, any) { return exchange(a, b, k.names()) })
			})
		}
	}
}

// without removes keywords from a schema and its parts.
func without(schema any, names []string) any {
	schema = copied(schema)
	eachSchema(schema, func(members map[string]any) {
		for _, name := range names {
			delete(members, name)
		}
	})
	return schema
}

// exchange exchanges the keywords of the parts that two schemas have in common.
func exchange(a, b any, names []string) (any, any) {
	a, b = copied(a), copied(b)
	byPath := map[string]map[string]any{}
	eachPart(a, "", func(at string, members map[string]any) { byPath[at] = members })
	var pairs [][2]map[string]any
	eachPart(b, "", func(at string, members map[string]any) {
		if other, ok := byPath[at]; ok {
			pairs = append(pairs, [2]map[string]any{other, members})
		}
	})
	for _, p := range pairs {
		for _, name := range names {
			x, has := p[0][name]
			y, too := p[1][name]
			set(p[0], name, y, too)
			set(p[1], name, x, has)
		}
	}
	return a, b
}

func set(members map[string]any, name string, value any, has bool) {
	if delete(members, name); has {
		members[name] = value
	}
}

type searchResult struct {
	pairs, compatible, documents int
	counterexample               string
}

// search validates documents of random pairs of schemas until it finds a counterexample or has compared and
// validated enough. One of lists pairs replaces a part by values; 0 is none.
func search(t *testing.T, lists, pairs, documents int, implied func(a, b *document) bool) (r searchResult) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for r.documents < documents && r.pairs < pairs {
		g := &generator{rnd: rnd, focus: &keywords[r.pairs%len(keywords)], lists: lists}
		x, y := g.pair()
		before, after := draft2020, draft2020
		if rnd.IntN(4) == 0 {
			before, after = draft7, draft7
			if rnd.IntN(8) == 0 {
				after = draft2020
			}
		}
		r.pairs++
		if !implied(parsed(t, in(before, x)), parsed(t, in(after, y))) {
			continue
		}
		r.compatible++
		plain, errOld := compile(in(before, x))
		closed, errClosed := compile(closeObjects(effective(before, x)))
		new, errNew := compile(in(after, y))
		if errOld != nil || errClosed != nil || errNew != nil {
			continue // a reference to itself
		}
		g.collect(x)
		g.collect(y)
		for range 50 {
			doc := g.document(x, x, 0)
			if rnd.IntN(3) == 0 {
				doc = g.document(y, y, 0)
			}
			if plain.Validate(doc) != nil || closed.Validate(doc) != nil {
				continue
			}
			r.documents++
			if err := new.Validate(doc); err != nil {
				r.counterexample = fmt.Sprintf("old %s\nnew %s\ndocument %s\n%v", text(in(before, x)), text(in(after, y)), text(doc), err)
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
	c.Draft, c.AssertFormat, c.AssertContent = jsonschema.Draft2020, true, true
	if err := c.AddResource("mem:///s.json", strings.NewReader(text(schema))); err != nil {
		return nil, err
	}
	return c.Compile("mem:///s.json")
}

func copied(v any) any {
	value, err := decode([]byte(text(v)))
	if err != nil {
		panic(err)
	}
	return value
}

func clone(v any) map[string]any {
	members, _ := copied(v).(map[string]any)
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
		for name := range members {
			switch name {
			case "not", "if", "contains", "propertyNames": // these are compared only with equal schemas
				continue
			}
			parts(members, name, func(_ string, p any) {
				if slices.Contains([]string{"$defs", "allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"}, name) {
					inside(p)
				} else {
					atValue(p)
				}
			})
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
		case "additionalProperties", "patternProperties", "unevaluatedProperties", "dependentSchemas":
			open = true
		case "allOf", "anyOf", "oneOf", "if", "then", "else", "not":
			parts(members, name, func(_ string, p any) { add(p) })
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

// parts calls f with each schema in a keyword.
func parts(members map[string]any, keyword string, f func(at string, p any)) {
	switch keyword {
	case "properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
		table := members[keyword].(map[string]any)
		for _, name := range sortedNames(table) {
			if _, isList := table[name].([]any); !isList { // of dependencies
				f(keyword+"/"+name, table[name])
			}
		}
	case "allOf", "anyOf", "oneOf", "prefixItems":
		for i, p := range members[keyword].([]any) {
			f(keyword+"/"+strconv.Itoa(i), p)
		}
	case "items":
		if list, isList := members[keyword].([]any); isList {
			for i, p := range list {
				f(keyword+"/"+strconv.Itoa(i), p)
			}
			return
		}
		f(keyword, members[keyword])
	case "additionalProperties", "additionalItems", "propertyNames", "contains", "not", "if", "then", "else", "unevaluatedProperties", "unevaluatedItems":
		f(keyword, members[keyword])
	}
}

// eachPart calls f with each schema in a schema that is an object, and its path.
func eachPart(schema any, at string, f func(at string, members map[string]any)) {
	members, ok := schema.(map[string]any)
	if !ok {
		return
	}
	f(at, members)
	for _, k := range sortedNames(members) {
		parts(members, k, func(name string, p any) { eachPart(p, at+"/"+name, f) })
	}
}

func eachSchema(schema any, f func(members map[string]any)) {
	eachPart(schema, "", func(_ string, members map[string]any) { f(members) })
}

// effective returns a schema without the keywords that have no effect in a dialect.
func effective(d dialect, schema map[string]any) map[string]any {
	schema = clone(schema)
	if d != draft7 {
		return schema
	}
	eachSchema(schema, func(members map[string]any) {
		for _, k := range []string{"minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems"} {
			delete(members, k)
		}
		if ref, ok := members["$ref"]; ok {
			clear(members)
			members["$ref"] = ref
		}
	})
	return schema
}

// in returns a schema in a dialect.
func in(d dialect, schema map[string]any) map[string]any {
	if d != draft7 {
		return schema
	}
	schema = clone(schema)
	eachSchema(schema, func(members map[string]any) {
		for _, k := range []string{"minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems"} {
			delete(members, k)
		}
		if ref, ok := members["$ref"].(string); ok {
			members["$ref"] = strings.Replace(ref, "$defs", "definitions", 1)
		}
		if first, ok := members["prefixItems"]; ok {
			rest, has := members["items"]
			set(members, "additionalItems", rest, has)
			members["items"] = first
			delete(members, "prefixItems")
		}
		if defs, ok := members["$defs"]; ok {
			members["definitions"] = defs
			delete(members, "$defs")
		}
		dependencies := map[string]any{}
		for _, k := range []string{"dependentRequired", "dependentSchemas"} {
			of, ok := members[k].(map[string]any)
			if ok {
				maps.Copy(dependencies, of)
				members["dependencies"] = dependencies
			}
			delete(members, k)
		}
	})
	schema["$schema"] = "http://json-schema.org/draft-07/schema#"
	return schema
}
