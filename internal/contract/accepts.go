package contract

import (
	"encoding/json"
	"math/big"
	"regexp"
	"slices"
	"unicode/utf8"
)

// truth is the result of a check: no, yes, or unknown.
type truth int

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// and returns the lesser truth.
func (t truth) and(other truth) truth { return min(t, other) }

// unsupported lists the keywords that the comparison does not interpret. A schema with one implies
// only a schema in which the keyword is the same.
var unsupported = []string{
	"not", "if", "then", "else", "contains", "minContains", "maxContains", "propertyNames", "dependencies", "dependentSchemas",
	"dependentRequired", "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef",
	"format", "contentEncoding", "contentMediaType", "contentSchema",
}

// accepts reports whether a schema accepts a value.
func (c *comparison) accepts(p part, value any) truth {
	if b, ok := p.at.(bool); ok {
		return truthOf(b)
	}
	members, ok := p.at.(map[string]any)
	if !ok || !c.step() || p.doc.dialect == unknownDialect {
		return unknown
	}
	if !wellFormed(members) {
		return unknown
	}
	result := yes
	if _, ok := members["$ref"]; ok {
		target, ok := p.reference()
		if !ok {
			return unknown
		}
		result = c.accepts(target, value)
		if p.doc.dialect == draft7 {
			return result
		}
	}
	for _, keyword := range unsupported {
		if _, ok := members[keyword]; ok {
			result = result.and(unknown)
		}
	}
	result = result.and(c.acceptsBase(p, value)).and(c.acceptsBranches(p, value))
	switch value := value.(type) {
	case map[string]any:
		result = result.and(c.acceptsObject(p, value))
	case []any:
		result = result.and(c.acceptsArray(p, value))
	case string:
		result = result.and(acceptsString(p, value))
	case json.Number:
		result = result.and(acceptsNumber(p, value))
	}
	return result
}

func (c *comparison) acceptsBase(p part, value any) truth {
	result := yes
	if allowed, ok := p.types(); ok {
		k := kindOf(value)
		switch {
		case k&allowed == 0:
			return no
		case k&^allowed != 0:
			result = unknown
		}
	} else if _, ok := p.members()["type"]; ok {
		result = unknown
	}
	if want, ok := p.members()["const"]; ok && !equal(want, value) {
		return no
	}
	if _, ok := p.members()["enum"]; ok {
		list, _ := p.members()["enum"].([]any)
		if len(list) == 0 {
			return unknown
		}
		if !slices.ContainsFunc(list, func(v any) bool { return equal(v, value) }) {
			return no
		}
	}
	return result
}

func (c *comparison) acceptsBranches(p part, value any) truth {
	result := yes
	for _, of := range p.list("allOf") {
		result = result.and(c.accepts(of, value))
	}
	if branches := p.list("anyOf"); len(branches) > 0 {
		any := no
		for _, of := range branches {
			any = max(any, c.accepts(of, value))
		}
		result = result.and(any)
	}
	if branches := p.list("oneOf"); len(branches) > 0 {
		var count [3]int
		for _, of := range branches {
			count[c.accepts(of, value)]++
		}
		switch {
		case count[yes] > 1 || count[yes]+count[unknown] == 0:
			return no
		case count[unknown] > 0:
			result = result.and(unknown)
		}
	}
	return result
}

func (c *comparison) acceptsObject(p part, value map[string]any) truth {
	result := yes
	for _, name := range p.texts("required") {
		if _, ok := value[name]; !ok {
			return no
		}
	}
	properties, patterns := p.table("properties"), p.table("patternProperties")
	more, hasMore := p.sub("additionalProperties")
	for name, member := range value {
		of, found := properties[name]
		if found {
			result = result.and(c.accepts(of, member))
		}
		if len(patterns) > 0 {
			result = result.and(unknown)
		} else if !found && hasMore {
			result = result.and(c.accepts(more, member))
		}
	}
	return result.and(within(p, len(value), "minProperties", "maxProperties"))
}

func (c *comparison) acceptsArray(p part, value []any) truth {
	result := within(p, len(value), "minItems", "maxItems")
	first, rest, hasRest := p.tuple()
	for i, element := range value {
		if i < len(first) {
			result = result.and(c.accepts(first[i], element))
		} else if hasRest {
			result = result.and(c.accepts(rest, element))
		}
		if p.members()["uniqueItems"] == true && slices.ContainsFunc(value[:i], func(v any) bool { return equal(v, element) }) {
			return no
		}
	}
	return result
}

func acceptsString(p part, value string) truth {
	result := within(p, utf8.RuneCountInString(value), "minLength", "maxLength")
	if pattern, ok := p.members()["pattern"].(string); ok {
		re, err := regexp.Compile(pattern)
		if err != nil {
			return result.and(unknown)
		}
		return result.and(truthOf(re.MatchString(value)))
	}
	return result
}

// within checks a length.
func within(p part, n int, least, most string) truth {
	length := new(big.Rat).SetInt64(int64(n))
	result := yes
	for keyword, sign := range map[string]int{least: -1, most: 1} {
		if _, ok := p.members()[keyword]; !ok {
			continue
		}
		limit, ok := p.number(keyword)
		if !ok {
			result = result.and(unknown)
		} else if length.Cmp(limit) == sign {
			return no
		}
	}
	return result
}

func acceptsNumber(p part, value json.Number) truth {
	n, ok := rational(value)
	result := yes
	for _, keyword := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if _, has := p.members()[keyword]; !has {
			continue
		}
		limit, valid := p.number(keyword)
		if !ok || !valid {
			result = unknown
			continue
		}
		sign := n.Cmp(limit)
		switch {
		case keyword == "minimum" && sign < 0, keyword == "maximum" && sign > 0, keyword == "exclusiveMinimum" && sign <= 0, keyword == "exclusiveMaximum" && sign >= 0:
			return no
		case keyword == "multipleOf" && (limit.Sign() <= 0 || !new(big.Rat).Quo(n, limit).IsInt()):
			return no
		}
	}
	return result
}
