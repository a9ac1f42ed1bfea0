package ir

import (
	"slices"
	"strings"
)

// intersect returns a node that allows exactly the values that both a and b allow. It reports
// whether there is one. If one of two references is narrower, the result is this reference.
func (p *parser) intersect(a, b node) (node, bool) {
	if _, anything := a.(*anyNode); anything || equalNodes(a, b) {
		return b, true
	}
	if is[*anyNode](b) {
		return a, true
	}
	resolvedA, resolvedB := p.resolve(a), p.resolve(b)
	switch {
	case p.narrower(resolvedA, resolvedB):
		return b, true
	case p.narrower(resolvedB, resolvedA):
		return a, true
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
	case *enumNode, *constNode:
		values := slices.DeleteFunc(textValues(a), func(v string) bool { return !slices.Contains(textValues(resolvedB), v) })
		return &enumNode{at(b.pos()), values}, len(values) > 0
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
		switch b.(type) {
		case *constNode, *enumNode:
			return slices.Contains(a.kinds, "string") && a.format == ""
		case *numberNode:
			return (slices.Contains(a.kinds, "integer") || slices.Contains(a.kinds, "number")) && a.min == nil && a.max == nil
		}
	case *enumNode:
		values := textValues(b)
		return values != nil && !slices.ContainsFunc(values, func(v string) bool { return !slices.Contains(a.values, v) })
	case *objectNode:
		b, ok := b.(*objectNode)
		return ok && !a.closed && !slices.ContainsFunc(a.members, func(m member) bool {
			have := b.member(m.name)
			return have == nil || m.required && !have.required || !equalNodes(m.node, have.node) && !p.narrower(p.resolve(m.node), p.resolve(have.node))
		})
	}
	return equalNodes(a, b)
}
