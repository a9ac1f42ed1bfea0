package ir

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// intersect returns a node that allows exactly the values that both a and b allow. It reports
// whether there is one. If one of two references is narrower, the result is this reference.
func (p *parser) intersect(a, b node) (node, bool) {
	d := p.document
	if a.pos() != b.pos() && (d.isRestrictedWithin(a) || d.isRestrictedWithin(b)) {
		return nil, false
	}
	if _, anything := a.(*anyNode); anything || equalNodes(a, b) {
		return b, true
	}
	if is[*anyNode](b) {
		return a, true
	}
	resolvedA, resolvedB := p.resolve(a), p.resolve(b)
	if d.isRestrictedWithin(resolvedA) || d.isRestrictedWithin(resolvedB) {
		return nil, false
	}
	switch {
	case p.narrower(resolvedA, resolvedB):
		return b, true
	case p.narrower(resolvedB, resolvedA):
		return a, true
	}
	switch values := constantValues(resolvedA); {
	case values != nil:
		return constantsIn(values, resolvedB)
	case constantValues(resolvedB) != nil:
		return constantsIn(constantValues(resolvedB), resolvedA)
	}
	switch a := resolvedA.(type) {
	case *objectNode:
		if b, ok := resolvedB.(*objectNode); ok {
			return p.intersectObjects(a, b)
		}
	case *scalarNode:
		if b, ok := resolvedB.(*scalarNode); ok {
			return intersectScalars(a, b)
		}
	case *arrayNode:
		if b, ok := resolvedB.(*arrayNode); ok {
			elem, ok := p.intersect(a.elem, b.elem)
			return &arrayNode{b.at, elem, lower(a.max, b.max)}, ok
		}
	case *mapNode:
		if b, ok := resolvedB.(*mapNode); ok {
			elem, ok := p.intersect(a.elem, b.elem)
			return &mapNode{b.at, elem}, ok
		}
	}
	return nil, false
}

// constantsIn returns a node for the constants that a node allows. It reports whether there are any.
func constantsIn(values []string, n node) (node, bool) {
	var list []string
	for _, v := range values {
		if allows(n, v) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return nil, false
	}
	var texts []string
	for _, v := range list {
		if text := ""; json.Unmarshal([]byte(v), &text) == nil && isOfKind(v, "string") {
			texts = append(texts, text)
		}
	}
	if len(texts) == len(list) {
		return &enumNode{at(n.pos()), texts}, true
	}
	return constantsOf(n.pos(), list), true
}

// allows reports whether a node allows a constant. It may report false if it does.
func allows(n node, value string) bool {
	switch n := n.(type) {
	case *anyNode:
		return true
	case *scalarNode:
		number, _ := strconv.ParseFloat(value, 64)
		numeric := isOfKind(value, "number")
		return n.format == "" && slices.ContainsFunc(n.kinds, func(kind string) bool { return isOfKind(value, kind) }) &&
			!(numeric && n.min != nil && number < *n.min) && !(numeric && n.max != nil && number > *n.max)
	}
	return slices.Contains(constantValues(n), value)
}

// lower returns the lower of two limits. 0 is no limit.
func lower(a, b int) int {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func (p *parser) intersectObjects(a, b *objectNode) (node, bool) {
	if a.closed || b.closed {
		return nil, false
	}
	both := &objectNode{at: b.at, members: slices.Clone(a.members)}
	for _, m := range b.members {
		have := both.member(m.name)
		if have == nil {
			both.members = append(both.members, m)
			continue
		}
		n, ok := p.intersect(have.node, m.node)
		if !ok {
			return nil, false
		}
		have.node, have.required = n, have.required || m.required
	}
	slices.SortFunc(both.members, func(a, b member) int { return strings.Compare(a.name, b.name) })
	return both, true
}

func intersectScalars(a, b *scalarNode) (node, bool) {
	both := &scalarNode{at: b.at, min: b.min, max: b.max, format: b.format}
	for _, k := range a.kinds {
		switch {
		case slices.Contains(b.kinds, k), k == "integer" && slices.Contains(b.kinds, "number"):
			both.kinds = append(both.kinds, k)
		case k == "number" && slices.Contains(b.kinds, "integer"):
			both.kinds = append(both.kinds, "integer")
		}
	}
	if both.min == nil || a.min != nil && *a.min > *both.min {
		both.min = a.min
	}
	if both.max == nil || a.max != nil && *a.max < *both.max {
		both.max = a.max
	}
	if both.format == "" {
		both.format = a.format
	}
	slices.Sort(both.kinds)
	both.kinds = slices.Compact(both.kinds)
	possible := both.min == nil || both.max == nil || *both.min <= *both.max
	return both, len(both.kinds) > 0 && possible && (a.format == "" || both.format == a.format)
}

// narrower reports whether every value of b is a value of a. It may report false if it is.
func (p *parser) narrower(a, b node) bool {
	if p.depth++; p.depth > 32 {
		p.depth--
		return false // recursive definitions
	}
	defer func() { p.depth-- }()
	switch a := a.(type) {
	case *anyNode:
		return true
	case *mapNode:
		return is[*anyNode](a.elem) && isObject(b)
	case *scalarNode:
		if values := constantValues(b); values != nil {
			return !slices.ContainsFunc(values, func(v string) bool { return !allows(a, v) })
		}
	case *enumNode, *valuesNode:
		values := constantValues(b)
		return values != nil && !slices.ContainsFunc(values, func(v string) bool { return !allows(a, v) })
	case *objectNode:
		b, ok := b.(*objectNode)
		return ok && !a.closed && !slices.ContainsFunc(a.members, func(m member) bool {
			have := b.member(m.name)
			return have == nil || m.required && !have.required || !equalNodes(m.node, have.node) && !p.narrower(p.resolve(m.node), p.resolve(have.node))
		})
	}
	return equalNodes(a, b)
}
