package contract

import (
	"cmp"
	"encoding/json"
	"maps"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// keyword is a keyword of schemas that the comparison must not ignore.
type keyword struct {
	name    string
	kind    string // of the values that it is for; any if empty
	ordered bool   // the comparison decides which of two values allows more
	with    []string
}

// names returns the keywords that have an effect together.
func (k *keyword) names() []string { return append([]string{k.name}, k.with...) }

var keywords = []keyword{
	{name: "type", ordered: true}, {name: "enum", ordered: true}, {name: "const", ordered: true},
	{name: "minimum", kind: "number", ordered: true}, {name: "maximum", kind: "number", ordered: true},
	{name: "exclusiveMinimum", kind: "number", ordered: true}, {name: "exclusiveMaximum", kind: "number", ordered: true},
	{name: "multipleOf", kind: "number", ordered: true},
	{name: "minLength", kind: "string", ordered: true}, {name: "maxLength", kind: "string", ordered: true}, {name: "pattern", kind: "string"},
	{name: "format", kind: "string"}, {name: "contentEncoding", kind: "string"}, {name: "contentMediaType", kind: "string"},
	{name: "minItems", kind: "array", ordered: true}, {name: "maxItems", kind: "array", ordered: true},
	{name: "uniqueItems", kind: "array", ordered: true}, {name: "items", kind: "array", ordered: true},
	{name: "prefixItems", kind: "array", ordered: true},
	{name: "contains", kind: "array", with: []string{"minContains", "maxContains"}}, {name: "minContains", kind: "array"}, {name: "maxContains", kind: "array"},
	{name: "unevaluatedItems", kind: "array"},
	{name: "properties", kind: "object", ordered: true}, {name: "required", kind: "object", ordered: true},
	{name: "patternProperties", kind: "object", ordered: true}, {name: "additionalProperties", kind: "object", ordered: true},
	{name: "propertyNames", kind: "object"}, {name: "minProperties", kind: "object", ordered: true}, {name: "maxProperties", kind: "object", ordered: true},
	{name: "dependentRequired", kind: "object"}, {name: "dependentSchemas", kind: "object"}, {name: "unevaluatedProperties", kind: "object"},
	{name: "allOf", ordered: true}, {name: "anyOf", ordered: true}, {name: "oneOf", ordered: true},
	{name: "not"}, {name: "if", with: []string{"then", "else"}}, {name: "then"}, {name: "else"}, {name: "$ref", ordered: true},
}

// generator makes random schemas and documents. Every other schema has the keyword in its focus, so that
// each keyword occurs in many pairs.
type generator struct {
	rnd     *rand.Rand
	focus   *keyword
	lists   int // how rarely a pair replaces a part by values; see search
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

// pair returns a schema before and after a change.
func (g *generator) pair() (x, y map[string]any) {
	if g.lists > 0 && g.rnd.IntN(g.lists) == 0 {
		y = g.root()
		x = g.listed(y)
	} else {
		x = g.root()
		y = g.changed(x)
	}
	if text(x) == text(y) {
		return g.pair()
	}
	return x, y
}

// listed returns a schema in which a part lists values instead: values that it may accept, and values near
// them. A schema without parts is changed in another way.
func (g *generator) listed(schema map[string]any) map[string]any {
	schema = clone(schema)
	var all []map[string]any
	eachPart(schema, "", func(at string, members map[string]any) {
		if at != "" {
			all = append(all, members)
		}
	})
	if len(all) == 0 {
		return g.changed(schema)
	}
	g.collect(schema)
	members := all[g.rnd.IntN(len(all))]
	values := make([]any, 1+g.rnd.IntN(3))
	for i := range values {
		values[i] = copied(g.document(schema, members, 3))
	}
	clear(members)
	if members["enum"] = values; len(values) == 1 && g.rnd.IntN(2) == 0 {
		delete(members, "enum")
		members["const"] = values[0]
	}
	return schema
}

// changed returns another schema, which is usually similar.
func (g *generator) changed(schema map[string]any) map[string]any {
	if g.rnd.IntN(10) == 0 {
		return g.root()
	}
	schema = clone(schema)
	for range 1 + g.rnd.IntN(3)/2 {
		if g.rnd.IntN(2) == 0 {
			g.changeFocus(schema)
		} else {
			schema = g.mutate(schema).(map[string]any)
		}
	}
	return schema
}

// changeFocus adds, changes or removes the keyword in focus.
func (g *generator) changeFocus(root map[string]any) {
	var with, without []map[string]any
	eachPart(root, "", func(at string, members map[string]any) {
		kind, _ := members["type"].(string)
		_, listed := members["enum"]
		switch _, has := members[g.focus.name]; {
		case at == "" && g.focus.name == "$ref":
		case has:
			with = append(with, members)
		case listed || g.focus.kind == "" || kind == g.focus.kind || kind == "integer" && g.focus.kind == "number":
			without = append(without, members)
		}
	})
	switch n := len(with) + len(without); {
	case n == 0:
	case len(with) == 0 || len(without) > 0 && g.rnd.IntN(3) == 0:
		members := without[g.rnd.IntN(len(without))]
		if _, listed := members["enum"]; listed && g.focus.name != "enum" {
			clear(members) // instead of a list, all values that have the keyword
			maps.Copy(members, g.focused(2))
		} else {
			g.add(members, 2)
		}
	default:
		members := with[g.rnd.IntN(len(with))]
		if g.rnd.IntN(3) == 0 {
			delete(members, g.focus.name)
		} else {
			g.add(members, 2)
		}
	}
}

// openLimits are the limits of numbers that differ only in the limit itself.
var openLimits = map[string]string{
	"minimum": "exclusiveMinimum", "exclusiveMinimum": "minimum", "maximum": "exclusiveMaximum", "exclusiveMaximum": "maximum",
}

// add adds the keyword in focus to a schema, with those that it depends on.
func (g *generator) add(members map[string]any, depth int) {
	k := g.focus.name
	members[k] = g.valueOf(k, depth)
	if other, ok := openLimits[k]; ok && members[other] != nil && g.rnd.IntN(2) == 0 {
		members[k] = members[other] // the same limit, open or not
		delete(members, other)
	}
	need := func(k string) {
		if _, has := members[k]; !has {
			members[k] = g.valueOf(k, depth)
		}
	}
	switch k {
	case "minContains", "maxContains":
		need("contains")
	case "if":
		need(g.pick([]string{"then", "else"}))
	case "then", "else":
		need("if")
	}
}

// valueOf returns a value for a keyword.
func (g *generator) valueOf(k string, depth int) any {
	schema := func() any { return g.schema(depth + 1) }
	table := func(key string, value any) any { return map[string]any{key: value} }
	switch k {
	case "type":
		return g.pick([]string{"integer", "number", "string", "object", "array", "boolean"})
	case "enum":
		return []any{g.value(), g.value(), g.value()}[:1+g.rnd.IntN(3)]
	case "const":
		return g.value()
	case "multipleOf":
		return json.Number(g.pick([]string{"0.5", "1", "2", "3"}))
	case "pattern":
		return g.pick([]string{"^a", "b$"})
	case "format":
		return g.pick([]string{"date", "ipv4"})
	case "contentEncoding":
		return "base64"
	case "contentMediaType":
		return "application/json"
	case "uniqueItems":
		return g.rnd.IntN(4) != 0
	case "prefixItems":
		return []any{schema(), schema()}[:1+g.rnd.IntN(2)]
	case "allOf", "anyOf", "oneOf":
		return []any{schema(), schema()}
	case "required":
		return []any{g.pick(names)}
	case "properties":
		return map[string]any{g.pick(names): schema(), g.pick(names): schema()}
	case "patternProperties":
		return table(g.pick([]string{"^[ab]$", "[cd]"}), schema())
	case "propertyNames":
		return map[string]any{"enum": []any{"a", "b", g.pick(names)}}
	case "dependentRequired":
		return table(g.pick(names), []any{g.pick(names)})
	case "dependentSchemas":
		return table(g.pick(names), g.object(depth+1))
	case "unevaluatedProperties", "unevaluatedItems":
		return g.rnd.IntN(4) == 0
	case "additionalProperties":
		if g.rnd.IntN(2) == 0 {
			return false
		}
		return schema()
	case "items", "contains", "not", "if", "then", "else":
		return schema()
	case "$ref":
		return "#/$defs/" + g.pick([]string{"x", "y"})
	}
	return g.small() // a limit
}

func (g *generator) schema(depth int) any {
	if g.rnd.IntN(4) == 0 && depth < 3 {
		return g.focused(depth)
	}
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
		return map[string]any{"enum": g.valueOf("enum", depth)}
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
		return map[string]any{"$ref": g.valueOf("$ref", depth)}
	case 9:
		k := g.pick([]string{"anyOf", "oneOf", "allOf"})
		return map[string]any{k: g.valueOf(k, depth)}
	}
	s := map[string]any{"not": g.schema(depth + 1)}
	if g.rnd.IntN(2) == 0 {
		s["type"] = g.pick([]string{"integer", "string", "object"})
	}
	return s
}

// focused returns a schema with the keyword in focus, or a list of values.
func (g *generator) focused(depth int) map[string]any {
	if g.rnd.IntN(6) == 0 {
		return map[string]any{"enum": g.valueOf("enum", depth)}
	}
	s := map[string]any{}
	if g.rnd.IntN(3) == 0 {
		switch cmp.Or(g.focus.kind, g.pick([]string{"number", "string", "object"})) {
		case "number":
			s = g.number()
		case "string":
			s = g.text()
		case "array":
			s = g.array(depth)
		case "object":
			s = g.object(depth)
		}
	} else if g.focus.kind != "" {
		s["type"] = g.focus.kind
	}
	g.add(s, depth)
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
		if k == "dependentRequired" {
			return v
		}
		if k == "properties" && (len(value) == 0 || g.rnd.IntN(3) == 0) {
			name := g.pick(names)
			if _, ok := value[name]; ok {
				delete(value, name)
			} else {
				value[name] = g.schema(1)
			}
			return v
		}
		if slices.Contains([]string{"properties", "patternProperties", "dependentSchemas", "$defs"}, k) {
			name := g.pick(sortedNames(value))
			value[name] = g.mutate(value[name])
			return v
		}
		if k != "const" {
			members[k] = g.mutate(value)
		}
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
		if n, err := value.Int64(); err == nil && k != "multipleOf" && k != "const" {
			members[k] = json.Number(strconv.FormatInt(max(0, n+int64(g.rnd.IntN(3))-1), 10))
		}
	case string:
		if k == "type" && (value == "integer" || value == "number") {
			members[k] = g.pick([]string{"integer", "number"})
		} else if g.rnd.IntN(4) == 0 && len(members) > 1 {
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
			switch list, _ := v[k].([]any); k {
			case "enum":
				g.texts = append(g.texts, list...)
			case "const":
				g.texts = append(g.texts, v[k])
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
	if value, ok := s["const"]; ok && g.rnd.IntN(10) != 0 {
		return value
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
		return g.pick([]string{"", "a", "b", "ab", "ba", "abc", "aéb", "abab", "cccc", "ddddd", "dddddd", "2026-01-02", "127.0.0.1", "MQ==", "YQ==", "7"})
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
		if of, has := s["contains"]; has && g.rnd.IntN(3) == 0 {
			at = of
		}
		list = append(list, g.document(root, at, depth+1))
	}
	return list
}

func (g *generator) fields(root, s map[string]any, depth int) any {
	object := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	patterns, _ := s["patternProperties"].(map[string]any)
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
			for pattern, p := range patterns {
				if regexp.MustCompile(pattern).MatchString(name) {
					at = p
				}
			}
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
