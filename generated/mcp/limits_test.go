package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// limiting has the keywords that no Go type represents. Documents for a schema with any of them are
// chosen from candidates with a validator.
var limiting = []string{"contains", "dependentRequired", "dependentSchemas", "else", "exclusiveMaximum", "exclusiveMinimum", "if", "maxContains", "maxLength",
	"maxProperties", "minContains", "minItems", "minLength", "minProperties", "multipleOf", "not", "oneOf", "pattern", "patternProperties", "prefixItems", "propertyNames",
	"then", "uniqueItems"}

// withLimits adds raw to the limits of s if raw has keywords that shapes do not represent.
func (s shape) withLimits(raw any) shape {
	object, isObject := raw.(map[string]any)
	_, isRef := object["$ref"]
	_, isAll := object["allOf"]
	_, isAny := object["anyOf"]
	others := len(object) > 1 && (isRef || isAll || isAny) || raw == false
	for _, keyword := range limiting {
		others = others || object[keyword] != nil
	}
	properties, _ := object["properties"].(map[string]any)
	required, _ := object["required"].([]any)
	for _, name := range required {
		others = others || properties[name.(string)] == nil
	}
	if extra, _ := object["additionalProperties"].(map[string]any); isObject && (len(extra) > 0 && len(properties) > 0 || properties != nil && object["type"] == nil) {
		others = true
	}
	if others {
		s.limits = append(slices.Clip(s.limits), raw)
	}
	return s
}

// isValid reports whether a document fits the limits of s.
func (s shape) isValid(doc any) bool {
	if len(s.limits) == 0 {
		return true
	}
	doc = parse(render(doc, sorted))
	return !slices.ContainsFunc(append(slices.Clip(s.limits), s.raw), func(raw any) bool {
		return raw != nil && s.file.validator.limit(raw).Validate(doc) != nil
	})
}

// valid returns the documents that fit the limits of s.
func (s shape) valid(list []any) []any {
	return slices.DeleteFunc(list, func(doc any) bool { return !s.isValid(doc) })
}

// fitting returns doc, or the shortest or longest candidate if doc does not fit the limits of s. It returns
// doc if no candidate fits.
func (s shape) fitting(doc any, long bool) any {
	if s.isValid(doc) {
		return doc
	}
	best := 0
	for i, other := range s.limited() {
		if size := len(render(other, sorted)); i == 0 || (size > best) == long && size != best {
			doc, best = other, size
		}
	}
	return doc
}

// maxLimited is the number of documents for a schema with limits.
const maxLimited = 40

// limited returns some documents that fit the limits of s, which are the same for all levels.
func (s shape) limited() []any {
	key := string(render([]any{s.raw, s.limits}, sorted))
	known, ok := s.file.validator.documents.Load(key)
	if !ok {
		s.file.validator.documents.Store(key, []any{}) // for a schema that contains itself
		list := []any{}
		s.candidates(func(doc any) bool {
			if s.isValid(doc) {
				list = append(list, doc)
			}
			return len(list) < maxLimited
		})
		known = list
		s.file.validator.documents.Store(key, known)
	}
	return clone(known).([]any)
}

// each calls f with all schemas in the limits of s, except in alternatives of other values.
func (s shape) each(f func(raw map[string]any)) {
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			f(v)
			for _, name := range slices.Sorted(maps.Keys(v)) {
				walk(v[name])
			}
		case []any:
			for _, x := range v {
				walk(x)
			}
		}
	}
	walk(s.limits)
	walk(s.raw)
}

// candidates yields documents of which some may fit the limits of s.
func (s shape) candidates(yield func(any) bool) {
	done := false
	add := func(doc any) {
		if !done {
			done = !yield(doc)
		}
	}
	plain := s
	plain.limits = nil
	add(plain.small())
	add(plain.large(2))
	for _, alternative := range plain.alternatives() {
		for _, doc := range alternative.documents(0) {
			add(doc)
		}
	}
	kinds := s.types()
	if kinds == nil {
		kinds = []string{"string", "integer", "array", "object"}
		for _, doc := range wildcards() {
			add(doc)
		}
	}
	for _, kind := range kinds {
		switch kind {
		case "string":
			for _, text := range s.candidateTexts() {
				add(text)
			}
		case "integer", "number":
			s.candidateNumbers(add)
		case "array":
			s.candidateArrays(add)
		case "object":
			s.candidateObjects(add)
		}
	}
}

// candidateTexts returns texts with the lengths and of the patterns in the limits.
func (s shape) candidateTexts() (list []string) {
	s.each(func(raw map[string]any) {
		for _, keyword := range []string{"minLength", "maxLength"} {
			if n, ok := raw[keyword].(json.Number); ok {
				count, _ := n.Int64()
				list = append(list, strings.Repeat("a", int(min(count, 1000))))
			}
		}
		if pattern, ok := raw["pattern"].(string); ok {
			for n := range 70 {
				list = append(list, sample(pattern, n))
			}
		}
		if text, ok := raw["const"].(string); ok {
			list = append(list, text)
		}
	})
	return list
}

// sample returns a text that matches a regular expression, in which repetitions occur n times if they may.
func sample(pattern string, n int) string {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return ""
	}
	var b strings.Builder
	var write func(*syntax.Regexp)
	write = func(re *syntax.Regexp) {
		repeat := func(low, high int) {
			for range min(max(n, low), high) {
				write(re.Sub[0])
			}
		}
		switch re.Op {
		case syntax.OpLiteral:
			b.WriteString(string(re.Rune))
		case syntax.OpCharClass:
			b.WriteRune(re.Rune[0])
		case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
			b.WriteByte('a')
		case syntax.OpStar:
			repeat(0, math.MaxInt)
		case syntax.OpPlus:
			repeat(1, math.MaxInt)
		case syntax.OpQuest:
			repeat(0, 1)
		case syntax.OpRepeat:
			high := re.Max
			if high < 0 {
				high = math.MaxInt
			}
			repeat(re.Min, high)
		case syntax.OpAlternate:
			write(re.Sub[n%len(re.Sub)])
		default:
			for _, sub := range re.Sub {
				write(sub)
			}
		}
	}
	write(re)
	return b.String()
}

// candidateNumbers calls add with small numbers, and with multiples of the numbers in the limits.
func (s shape) candidateNumbers(add func(any)) {
	steps := []float64{1, 0.5}
	s.each(func(raw map[string]any) {
		for _, keyword := range []string{"multipleOf", "exclusiveMinimum", "exclusiveMaximum", "minimum", "maximum"} {
			if n, ok := raw[keyword].(json.Number); ok {
				f, _ := n.Float64()
				steps = append(steps, f, f/2)
			}
		}
	})
	for _, step := range steps {
		for i := -3; i <= 12; i++ {
			add(json.Number(strconv.FormatFloat(float64(i)*step, 'f', -1, 64)))
		}
	}
}

// candidateArrays calls add with arrays of different lengths, of equal and of different elements.
func (s shape) candidateArrays(add func(any)) {
	elements := s.items().documents(1)
	sizes := []int{0, 1, 2, 3, 4, 5}
	var first []any
	s.each(func(raw map[string]any) {
		for _, keyword := range []string{"minItems", "maxItems"} {
			if n, ok := raw[keyword].(json.Number); ok {
				count, _ := n.Int64()
				sizes = append(sizes, int(min(count, 200)))
			}
		}
		if tuple, ok := raw["prefixItems"].([]any); ok {
			first = nil
			for _, x := range tuple {
				first = append(first, s.sub(x).smallest())
			}
		}
		if x, ok := raw["contains"]; ok {
			elements = append(elements, s.sub(x).smallest())
			elements = append(elements, s.sub(x).documents(0)...)
		}
	})
	for _, n := range sizes {
		add(slices.Clone(first[:min(n, len(first))]))
		for at := range min(len(elements), 6) {
			var same, different []any
			for i := range n {
				if i < len(first) {
					same, different = append(same, first[i]), append(different, first[i])
					continue
				}
				same, different = append(same, elements[at]), append(different, elements[(at+i)%len(elements)])
			}
			add(append([]any{}, same...))
			add(append([]any{}, different...))
		}
	}
}

// candidateObjects calls add with objects that have some of the declared members and of the members that the
// limits name.
func (s shape) candidateObjects(add func(any)) {
	plain := s
	plain.limits = nil
	names := s.members()
	s.each(func(raw map[string]any) {
		required, _ := raw["required"].([]any)
		for _, name := range required {
			names = append(names, name.(string))
		}
		lists, _ := raw["dependentRequired"].(map[string]any)
		for _, list := range lists {
			for _, name := range list.([]any) {
				names = append(names, name.(string))
			}
		}
		properties, _ := raw["properties"].(map[string]any)
		names = append(names, slices.Sorted(maps.Keys(properties))...)
		patterns, _ := raw["patternProperties"].(map[string]any)
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			names = append(names, sample(pattern, 1))
		}
		if pattern, ok := raw["pattern"].(string); ok {
			names = append(names, sample(pattern, 1), sample(pattern, 2))
		}
	})
	names = append(names, "a", "b", "c", "d", "e")
	values := func(name string) []any {
		if member, ok := s.member(name); ok {
			return member.documents(0)
		}
		if s.other().raw != nil {
			return s.other().documents(0)
		}
		return []any{"", "x", json.Number("1"), true, map[string]any{}, []any{}}
	}
	for _, start := range []any{plain.large(2), plain.small()} {
		object, ok := start.(map[string]any)
		if !ok {
			continue
		}
		for at := range values("x-any") {
			all := maps.Clone(object)
			for _, name := range names {
				one := maps.Clone(object)
				delete(one, name)
				add(one)
				list := values(name)
				for _, v := range list {
					one := maps.Clone(object)
					one[name] = v
					add(one)
				}
				if _, has := all[name]; !has {
					all = maps.Clone(all)
					all[name] = list[at%len(list)]
					add(all)
				}
			}
		}
	}
}

// limit returns the validator of a schema in this file.
func (v *validator) limit(raw any) interface{ Validate(any) error } {
	text := string(render(withoutFormats(raw), sorted))
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.compiled[text]; s != nil {
		return s
	}
	url := fmt.Sprintf("mem:///limits/%d", len(v.compiled))
	doc := map[string]any{"$schema": v.root["$schema"], "$defs": v.root["$defs"], "definitions": v.root["definitions"], "allOf": []any{raw}}
	maps.DeleteFunc(doc, func(_ string, v any) bool { return v == nil })
	if err := v.compiler.AddResource(url, bytes.NewReader(render(withoutFormats(doc), sorted))); err != nil {
		panic(err)
	}
	s := v.compiler.MustCompile(url)
	v.compiled[text] = s
	return s
}
