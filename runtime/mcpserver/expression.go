package mcpserver

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// expression is what stands between braces in a template.
type expression struct {
	named     bool   // values come with the names of their variables
	separator string // between values
	vars      []variable
}

type variable struct {
	name    string
	explode bool // a list has the expression's separator between its values
	length  int  // how much of the value there is, 0 for all
}

// expressions finds what stands between the braces of a template that has been
// accepted, and how long the rest is.
func expressions(text string) (list []expression, literal int) {
	for {
		before, rest, found := strings.Cut(text, "{")
		literal += len(before)
		if !found {
			return list, literal
		}
		inside, after, _ := strings.Cut(rest, "}")
		list = append(list, newExpression(inside))
		text = after
	}
}

func newExpression(text string) expression {
	e := expression{separator: ","}
	switch text[0] {
	case '+', '#':
		text = text[1:]
	case '.', '/':
		e.separator, text = text[:1], text[1:]
	case ';':
		e.named, e.separator, text = true, ";", text[1:]
	case '?', '&':
		e.named, e.separator, text = true, "&", text[1:]
	}
	for spec := range strings.SplitSeq(text, ",") {
		var v variable
		v.name, v.explode = strings.CutSuffix(spec, "*")
		if name, length, cut := strings.Cut(v.name, ":"); cut {
			v.name = name
			v.length, _ = strconv.Atoi(length) // digits, or it would be no template
		}
		e.vars = append(e.vars, v)
	}
	return e
}

// assign gives the variables their values out of the text that stands in place of
// the expression. It is false where the text is none of what the expression could
// have become.
func (e *expression) assign(vars Variables, text string) bool {
	if text == "" && e.named {
		return true
	}
	if e.named {
		return e.assignNamed(vars, strings.Split(text, e.separator))
	}
	if len(e.vars) == 1 && !e.vars[0].explode {
		return set(vars, e.vars[0], text)
	}
	return e.assignInOrder(vars, strings.Split(text, e.separator))
}

// assignInOrder takes values without names. If there are more than variables, the
// last one that may be a list has those.
func (e *expression) assignInOrder(vars Variables, parts []string) bool {
	list, surplus := -1, max(0, len(parts)-len(e.vars))
	for i, v := range e.vars {
		if v.explode {
			list = i
		}
	}
	if surplus > 0 && list < 0 {
		return false
	}
	for i, part := range parts {
		if i > list {
			i = max(list, i-surplus)
		}
		if !set(vars, e.vars[i], part) {
			return false
		}
	}
	return true
}

// assignNamed takes values by name, in any order. Only what may be the members of an
// exploded map have other names.
func (e *expression) assignNamed(vars Variables, parts []string) bool {
	explodes := slices.ContainsFunc(e.vars, func(v variable) bool { return v.explode })
	for _, part := range parts {
		name, value, _ := strings.Cut(part, "=")
		i := slices.IndexFunc(e.vars, func(v variable) bool { return v.name == name })
		if i < 0 && !explodes || i >= 0 && !set(vars, e.vars[i], value) {
			return false
		}
	}
	return true
}

// set adds a value to a variable, with its escapes undone.
func set(vars Variables, v variable, value string) bool {
	plain, err := url.PathUnescape(value)
	if err != nil || !utf8.ValidString(plain) || v.length > 0 && utf8.RuneCountInString(plain) > v.length {
		return false
	}
	vars[v.name] = append(vars[v.name], plain)
	return true
}

// has tells whether a template has a variable.
func (t *template) has(name string) bool {
	for _, e := range t.exprs {
		for _, v := range e.vars {
			if v.name == name {
				return true
			}
		}
	}
	return false
}
