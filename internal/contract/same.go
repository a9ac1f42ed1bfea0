package contract

import (
	"maps"
	"slices"
)

// annotations are keywords without an effect on validation.
var annotations = []string{
	"title", "description", "default", "examples", "example", "deprecated", "readOnly", "writeOnly", "$comment", "$schema", "$id", "definitions", "$defs", "markdownDescription",
}

// tables are keywords whose value is an object with a schema for each name.
var tables = []string{"properties", "patternProperties", "dependentSchemas", "dependencies", "dependentRequired"}

// same reports whether two schemas are equal except for annotations. References are followed.
func (c *comparison) same(a, b part) bool {
	return a.doc.dialect == b.doc.dialect && c.sameParts(a, b, map[string]bool{})
}

func (c *comparison) sameParts(a, b part, seen map[string]bool) bool {
	x, y := a.members(), b.members()
	if x == nil || y == nil {
		return x == nil && y == nil && equal(a.at, b.at)
	}
	id := identity(a) + " " + identity(b)
	if seen[id] {
		return true
	}
	seen[id] = true
	if !c.step() {
		return false
	}
	for keyword, value := range x {
		if slices.Contains(annotations, keyword) {
			continue
		}
		other, ok := y[keyword]
		if !ok || !c.sameKeyword(a, b, keyword, value, other, seen) {
			return false
		}
	}
	for keyword := range y {
		if _, ok := x[keyword]; !ok && !slices.Contains(annotations, keyword) {
			return false
		}
	}
	return true
}

func (c *comparison) sameKeyword(a, b part, keyword string, x, y any, seen map[string]bool) bool {
	switch {
	case keyword == "$ref":
		p, ok := a.reference()
		q, too := b.reference()
		return ok && too && c.sameParts(p, q, seen)
	case keyword == "$dynamicRef" || keyword == "$recursiveRef":
		return false
	case keyword == "required":
		p, q := a.texts(keyword), b.texts(keyword)
		slices.Sort(p)
		slices.Sort(q)
		return slices.Equal(p, q)
	case keyword == "enum" || keyword == "const":
		return equal(x, y)
	case slices.Contains(tables, keyword):
		p, q := a.table(keyword), b.table(keyword)
		return maps.EqualFunc(p, q, func(p, q part) bool { return c.sameParts(p, q, seen) })
	}
	p, isList := x.([]any)
	q, too := y.([]any)
	if isList && too {
		return slices.EqualFunc(p, q, func(p, q any) bool { return c.sameParts(part{a.doc, p}, part{b.doc, q}, seen) })
	}
	return c.sameParts(part{a.doc, x}, part{b.doc, y}, seen)
}
