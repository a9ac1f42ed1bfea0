package validate

import (
	"encoding/json"
	"strings"
)

// generator generates schemas and documents. The same data makes the same ones.
// After the end of the data it makes the shortest choices.
type generator struct {
	data    []byte
	dialect dialect
	junk    bool // some keywords have values of the wrong kind
	ids     bool // there are schemas with URLs in other schemas
	anchors map[string]bool
}

// upTo returns a number from 0 to n-1.
func (g *generator) upTo(n int) int {
	if len(g.data) == 0 {
		return 0
	}
	b := int(g.data[0])
	g.data = g.data[1:]
	return b % n
}

func pick[T any](g *generator, list ...T) T { return list[g.upTo(len(list))] }

func (g *generator) name() string {
	return pick(g, "a", "b", "c", "xa", "a/b~ %", "é", "type", "items", "minLength")
}

func (g *generator) number() json.Number {
	return json.Number(pick(g, "1", "1.0", "2", "0.5", "-0", "10e-1", "3", "-1", "100", "1E2", "0.05", "12345678901234567890", "1234567890123456789e1", "0.1e-3"))
}

func (g *generator) text() string {
	return pick(g, "a", "xyz", "", "é", "e\u0301", "ab\"'\\\n", "string", "aGk=", "{}", "(", "\U0001F600")
}

// value generates a document.
func (g *generator) value(depth int) any {
	switch kind := g.upTo(10); {
	case kind < 3 && depth > 0:
		object := map[string]any{}
		for range g.upTo(5) {
			object[g.name()] = g.value(depth - 1)
		}
		return object
	case kind < 5 && depth > 0:
		list := []any{}
		for range g.upTo(5) {
			list = append(list, g.value(depth-1))
		}
		return list
	case kind < 7:
		return g.number()
	case kind < 9:
		return g.text()
	}
	return pick[any](g, nil, true, false)
}

// schema generates a schema or, rarely, something that is not one.
func (g *generator) schema(depth int) any {
	if choice := g.upTo(14); depth == 0 || choice == 1 {
		if g.dialect == draft4 && g.upTo(30) != 1 {
			return map[string]any{"type": g.typeName()}
		}
		return g.upTo(4) > 0
	}
	s := map[string]any{}
	for range 1 + g.upTo(4) {
		k := keyword(1 + g.upTo(int(keywordCount)-1))
		if g.upTo(3) > 0 {
			k = pick(g, kwType, kwProperties, kwItems, kwAllOf, kwAnyOf, kwOneOf, kwRef, kwUnevaluatedProperties, kwUnevaluatedItems, kwAdditionalProperties, kwRequired, kwContains, kwPrefixItems, kwIf, kwThen)
		}
		if !k.in(g.dialect) && g.upTo(4) > 0 || !g.ids && k == kwID {
			continue
		}
		s[keywords[k].name] = g.keyword(k, depth-1)
	}
	return s
}

// anchor returns a name for an anchor. The reference selects any of the anchors with
// the same name, so the names differ.
func (g *generator) anchor(name string) string {
	for g.anchors[name] {
		name += "x"
	}
	g.anchors[name] = true
	return name
}

func (g *generator) typeName() string {
	return pick(g, "object", "array", "string", "number", "integer", "null", "boolean")
}

// keyword generates the value of a keyword.
func (g *generator) keyword(k keyword, depth int) any {
	if g.junk && g.upTo(12) == 1 {
		return pick[any](g, nil, json.Number("-1"), json.Number("1.5"), "x", []any{}, map[string]any{}, true, []any{json.Number("1"), json.Number("1.0")},
			[]any{"a", "a"}, "(", "%zz", "", "#frag", map[string]any{"(": true}, map[string]any{"a": "b"}, map[string]any{"a": []any{"b", "b"}}, []any{"object", "null"}, json.Number("0"), "http://[::1", "a b", "3.0")
	}
	switch k {
	case kwType:
		if g.upTo(3) == 1 {
			return []any{"null", pick(g, "object", "array"), pick(g, "string", "integer")}
		}
		return g.typeName()
	case kwEnum:
		return []any{g.value(2), []any{g.value(1)}, map[string]any{"a": g.value(1)}}
	case kwConst:
		return g.value(2)
	case kwRecursiveAnchor:
		if g.dialect == draft2020 {
			return "it"
		}
		return g.upTo(3) > 0
	case kwRef, kwDynamicRef, kwRecursiveRef:
		return g.reference(k)
	case kwID, kwOldID:
		return pick(g, "item.json", "https://example.org/x/", "other.json#", "#"+g.anchor("anchor"), "urn:a:b")
	case kwSchema:
		return "https://json-schema.org/draft-07/schema#"
	case kwAnchor, kwDynamicAnchor:
		return g.anchor(pick(g, "it", "other"))
	case kwPattern:
		return pick(g, "a", "^x", "^é$", "\\d", "[^a]", "^(a|b){2,3}$", "\\p{L}")
	case kwContentEncoding:
		return pick(g, "base64", "other")
	case kwContentMediaType:
		return pick(g, "application/json", "text/plain")
	case kwVocabulary:
		return map[string]any{"https://json-schema.org/draft/2020-12/vocab/core": pick(g, true, false), pick(g, "https://example.org/v", "https://json-schema.org/draft/2019-09/vocab/format"): false}
	}
	return g.shaped(k.shape(g.dialect), depth)
}

func (g *generator) reference(k keyword) string {
	if k == kwDynamicRef {
		return pick(g, "#it", "#/$defs/x", "#other")
	}
	if k == kwRecursiveRef && g.upTo(5) > 0 {
		return "#"
	}
	if g.ids && g.upTo(3) == 0 {
		return pick(g, "item.json", "item.json#it", "https://example.org/x/", "https://example.org/x/item.json#/properties/a", "urn:a:b", "urn:a:b#it", "none.json", "https://example.org/root#/$defs/x", "other.json")
	}
	if g.upTo(4) > 0 {
		return pick(g, "#/$defs/x", "#/$defs/y", "#/definitions/x", "#/definitions/y", "#/$defs/a~1b~0%20%25")
	}
	return pick(g, "#", "#it", "#other", "#/$defs/none", "#/properties/a", "#/more/x", "#/allOf/0", "#/prefixItems/1", "#/$defs/x/properties/b", "other.json", "#anchor",
		"http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema", "http://json-schema.org/draft-04/schema")
}

// shaped generates the value of a keyword with a shape.
func (g *generator) shaped(s shape, depth int) any {
	switch s {
	case shapeSchema, shapeSchemaOrAny:
		if s == shapeSchemaOrAny && g.upTo(3) == 1 {
			return g.upTo(2) > 0
		}
		return g.schema(depth)
	case shapeItems:
		if g.upTo(2) == 1 {
			return []any{g.schema(depth), g.schema(depth)}
		}
		return g.schema(depth)
	case shapeSchemas:
		return []any{g.schema(depth), g.schema(depth), g.schema(0)}[:1+g.upTo(3)]
	case shapeMap:
		return map[string]any{g.name(): g.schema(depth), g.name(): g.schema(depth), g.name(): g.schema(0)}
	case shapePatternMap:
		return map[string]any{pick(g, "a", "^x", "."): g.schema(depth), pick(g, "b$", "é"): g.schema(depth)}
	case shapeEither:
		return map[string]any{g.name(): g.schema(depth), g.name(): []any{g.name()}}
	case shapeNamesMap:
		return map[string]any{g.name(): []any{g.name()}, g.name(): []any{}}
	case shapeNames, shapeSomeNames:
		if name := pick(g, "a", "b", "c"); g.upTo(2) == 1 {
			return []any{name, pick(g, name+"x", "xa")}
		} else {
			return []any{name}
		}
	case shapeBoolean:
		return g.upTo(3) > 0
	case shapeCount:
		return json.Number(pick(g, "1", "0", "2", "2.0", "1e1", "-0", "99999999"))
	case shapeNumber, shapePositive:
		if n := g.number(); s == shapeNumber || g.upTo(3) == 1 {
			return n
		}
		return json.Number(pick(g, "1", "0.5", "0.01", "3", "2e-1", "7e30"))
	case shapeList:
		return []any{g.value(1)}
	}
	return g.text()
}

// document generates a schema for a whole document.
func (g *generator) document() map[string]any {
	g.dialect = pick(g, draft2020, draft2020, draft7, draft2019, draft4, draft6)
	g.anchors = map[string]bool{}
	g.junk, g.ids = g.upTo(6) == 1, g.upTo(6) == 1
	s, ok := g.schema(3).(map[string]any)
	if !ok {
		s = map[string]any{}
	}
	delete(s, "$schema")
	if g.ids {
		s["$id"] = "https://example.org/root"
	}
	for _, keyword := range []string{"$defs", "definitions", "more"} {
		defs := map[string]any{"x": g.schema(2), "y": g.schema(2), "a/b~ %": g.schema(1)}
		if x, ok := defs["y"].(map[string]any); ok && g.upTo(2) == 1 && keyword == "$defs" {
			x[pick(g, "$dynamicAnchor", "$anchor")] = g.anchor("it")
		}
		s[keyword] = defs
	}
	if g.dialect != draft2020 || g.upTo(2) == 1 {
		s["$schema"] = dialectURL(g.dialect)
	}
	return s
}

// dialectURL returns the URL of the meta-schema of a dialect.
func dialectURL(d dialect) string {
	return [...]string{
		draft4:    "http://json-schema.org/draft-04/schema#",
		draft6:    "http://json-schema.org/draft-06/schema#",
		draft7:    "http://json-schema.org/draft-07/schema#",
		draft2019: "https://json-schema.org/draft/2019-09/schema",
		draft2020: "https://json-schema.org/draft/2020-12/schema",
	}[d]
}

// usesAny reports whether a schema contains one of some keywords.
func usesAny(schema []byte, keywords ...string) bool {
	for _, k := range keywords {
		if strings.Contains(string(schema), `"`+k+`"`) {
			return true
		}
	}
	return false
}
