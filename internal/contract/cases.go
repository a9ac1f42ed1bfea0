package contract

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// A value is described by several schemas at once: a schema, the target of its reference, and each
// schema in allOf. A set of atoms lists them, with one branch of each anyOf and oneOf chosen. The set
// accepts at least the values that the schemas accept.
type atoms struct {
	parts []part // each is an object
	kinds kinds
	// declared has the names of the members that any of the schemas declares, in each branch.
	declared map[string]bool
	// closed reports whether other members do not occur: the schemas declare members, and do not
	// mention others.
	closed bool
}

// maxCases limits the combinations of branches. Further branches are ignored, which makes the sets
// larger.
const maxCases = 16

// cases returns sets of atoms. Each value that all schemas accept is accepted by one of the sets.
func (c *comparison) cases(schemas []part) []atoms {
	names, closed := c.declaredBy(schemas)
	sets := [][]part{nil}
	for _, p := range schemas {
		sets = product(sets, c.expand(p, map[string]bool{}))
	}
	var list []atoms
	for _, set := range sets {
		a := atoms{parts: set, kinds: allKinds, declared: names, closed: closed}
		for _, p := range set {
			k, _ := p.types()
			a.kinds &= k
			if p.at == false {
				a.kinds = 0
			}
		}
		if a.kinds != 0 {
			list = append(list, a)
		}
	}
	return list
}

// product joins each set with each alternative, or ignores the alternatives if that are too many.
func product(sets, alternatives [][]part) (joined [][]part) {
	if len(sets)*len(alternatives) > maxCases {
		return sets
	}
	for _, s := range sets {
		for _, a := range alternatives {
			joined = append(joined, append(slices.Clone(s), a...))
		}
	}
	return joined
}

// expand returns the alternatives for a schema.
func (c *comparison) expand(p part, seen map[string]bool) [][]part {
	if p.at == false {
		return [][]part{{p}}
	}
	id := identity(p)
	if p.members() == nil || seen[id] || !c.step() {
		return [][]part{nil}
	}
	seen[id] = true
	defer delete(seen, id)
	sets := [][]part{{p}}
	if _, ok := p.members()["$ref"]; ok {
		target, ok := p.reference()
		if p.doc.dialect == draft7 {
			sets = [][]part{nil}
		}
		if ok {
			sets = product(sets, c.expand(target, seen))
		}
		if p.doc.dialect == draft7 {
			return sets
		}
	}
	for _, of := range p.list("allOf") {
		sets = product(sets, c.expand(of, seen))
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		var alternatives [][]part
		for _, of := range p.list(keyword) {
			alternatives = append(alternatives, c.expand(of, seen)...)
		}
		if alternatives != nil {
			sets = product(sets, alternatives)
		}
	}
	return sets
}

// inPlace are the keywords with schemas for the same value.
var inPlace = []string{"allOf", "anyOf", "oneOf", "if", "then", "else", "not"}

// declaredBy returns the names of the members that schemas declare, and whether others do not occur.
func (c *comparison) declaredBy(schemas []part) (names map[string]bool, closed bool) {
	names = map[string]bool{}
	declares, open := false, false
	seen := map[string]bool{}
	var visit func(p part)
	visit = func(p part) {
		id := identity(p)
		if p.members() == nil || seen[id] {
			return
		}
		seen[id] = true
		if _, ok := p.members()["$ref"]; ok {
			target, ok := p.reference()
			open = open || !ok
			visit(target)
			if p.doc.dialect == draft7 {
				return // the other keywords have no effect
			}
		}
		for name := range p.table("properties") {
			names[name] = true
		}
		_, has := p.members()["properties"]
		declares = declares || has
		for _, keyword := range []string{"additionalProperties", "patternProperties", "unevaluatedProperties", "dependentSchemas", "dependencies"} {
			_, has := p.members()[keyword]
			open = open || has
		}
		for _, keyword := range inPlace {
			of, _ := p.sub(keyword)
			visit(of)
			for _, of := range p.list(keyword) {
				visit(of)
			}
		}
	}
	for _, p := range schemas {
		visit(p)
	}
	return names, declares && !open
}

// identity returns a text that identifies a part.
func identity(p part) string {
	if members := p.members(); members != nil {
		return fmt.Sprintf("%x", reflect.ValueOf(members).Pointer())
	}
	return fmt.Sprint(p.at)
}

func identities(parts []part) string {
	var ids []string
	for _, p := range parts {
		ids = append(ids, identity(p))
	}
	slices.Sort(ids)
	return strings.Join(slices.Compact(ids), ",")
}

// member returns the schemas for a member of an object. With convention, members that are not declared
// do not occur in a closed set.
func (a atoms) member(name string, convention bool) (schemas []part) {
	if convention && a.closed && !a.declared[name] {
		return []part{nothing}
	}
	for _, p := range a.parts {
		of, ok := p.table("properties")[name]
		if !ok && len(p.table("patternProperties")) == 0 {
			of, ok = p.sub("additionalProperties")
		}
		if ok {
			schemas = append(schemas, of)
		}
	}
	return schemas
}

// others returns the schemas for all members that no schema declares.
func (a atoms) others() (schemas []part) {
	if a.closed {
		return []part{nothing}
	}
	for _, p := range a.parts {
		if of, ok := p.sub("additionalProperties"); ok && len(p.table("patternProperties")) == 0 {
			schemas = append(schemas, of)
		}
	}
	return schemas
}

// matching returns the schemas for the members that match a pattern and are not declared.
func (a atoms) matching(pattern string) (schemas []part) {
	for _, p := range a.parts {
		if of, ok := p.table("patternProperties")[pattern]; ok {
			schemas = append(schemas, of)
		}
	}
	return append(schemas, a.others()...)
}

// element returns the schemas for the element at an index.
func (a atoms) element(i int) (schemas []part) {
	for _, p := range a.parts {
		first, rest, hasRest := p.tuple()
		if i < len(first) {
			schemas = append(schemas, first[i])
		} else if hasRest {
			schemas = append(schemas, rest)
		}
	}
	return schemas
}

// tupleLength returns the number of elements with a schema of their own.
func (a atoms) tupleLength() (n int) {
	for _, p := range a.parts {
		first, _, _ := p.tuple()
		n = max(n, len(first))
	}
	return n
}

// requires reports whether a member is required.
func (a atoms) requires(name string) bool {
	return slices.ContainsFunc(a.parts, func(p part) bool { return slices.Contains(p.texts("required"), name) })
}

func (a atoms) requiredNames() []string {
	names := map[string]bool{}
	for _, p := range a.parts {
		for _, name := range p.texts("required") {
			names[name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// values returns the values of the set, if a schema lists them.
func (c *comparison) values(a atoms) (values []any, ok bool) {
	for _, p := range a.parts {
		list, found := p.members()["enum"].([]any)
		if value, has := p.members()["const"]; has {
			list, found = []any{value}, true
		}
		if found && len(list) > 0 && (!ok || len(list) < len(values)) {
			values, ok = list, true
		}
	}
	if !ok && a.kinds&^(kindNull|kindBoolean) == 0 {
		ok = true
		if a.kinds&kindNull != 0 {
			values = append(values, nil)
		}
		if a.kinds&kindBoolean != 0 {
			values = append(values, false, true)
		}
	}
	return slices.DeleteFunc(slices.Clone(values), func(v any) bool {
		return kindOf(v)&a.kinds == 0 || slices.ContainsFunc(a.parts, func(p part) bool { return c.accepts(p, v) == no })
	}), ok
}

// disjoint reports whether it is certain that no value is accepted by a set and by a schema.
func (c *comparison) disjoint(a atoms, b part, depth int) bool {
	for _, other := range c.cases([]part{b}) {
		if !c.disjointSets(a, other, depth) {
			return false
		}
	}
	return true
}

// maxDisjoint limits the depth of members that are compared to find two sets disjoint.
const maxDisjoint = 4

func (c *comparison) disjointSets(a, b atoms, depth int) bool {
	if !c.step() {
		return false
	}
	if a.kinds&b.kinds == 0 || c.refusesAll(a, b) || c.refusesAll(b, a) {
		return true
	}
	if a.kinds&b.kinds != kindObject || depth == maxDisjoint {
		return false
	}
	for _, name := range append(a.requiredNames(), b.requiredNames()...) {
		x, y := c.cases(a.member(name, true)), c.cases(b.member(name, false))
		different := true
		for _, x := range x {
			if !different {
				break
			}
			for _, y := range y {
				if different = c.disjointSets(x, y, depth+1); !different {
					break
				}
			}
		}
		if different {
			return true
		}
	}
	return false
}

// refusesAll reports whether a lists its values and b accepts none.
func (c *comparison) refusesAll(a, b atoms) bool {
	values, ok := c.values(a)
	return ok && !slices.ContainsFunc(values, func(v any) bool {
		return kindOf(v)&b.kinds != 0 && !slices.ContainsFunc(b.parts, func(p part) bool { return c.accepts(p, v) == no })
	})
}
