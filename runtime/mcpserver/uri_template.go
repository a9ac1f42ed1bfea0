package mcpserver

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yosida95/uritemplate/v3"
)

// patternOf returns the regular expression of a template. The library panics if the expression
// is too large for package regexp.
func patternOf(t *uritemplate.Template) (pattern *regexp.Regexp, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("template is too large: an expression may have at most 1000 variables, and fewer if there are several")
		}
	}()
	return t.Regexp(), nil
}

// escaped escapes all characters of a text that are not ASCII.
func escaped(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < utf8.RuneSelf {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// maxURI is the maximum length of a URI that may match a template.
const maxURI = 8 << 10

// match returns the values of the variables in a URI, and reports whether the URI matches. It
// takes time proportional to the length of the URI.
func (t *template) match(uri string) (Variables, bool) {
	if len(uri) > maxURI {
		return nil, false
	}
	groups := t.pattern.FindStringSubmatch(escaped(uri))
	if groups == nil {
		return nil, false
	}
	vars := Variables{}
	for i, e := range t.exprs {
		if !e.assign(vars, groups[i+1]) {
			return nil, false
		}
	}
	return vars, true
}

// expression is one expression in braces of a template.
type expression struct {
	named     bool   // values are preceded by the names of their variables
	separator string // separates values
	vars      []variable
}

type variable struct {
	name    string
	explode bool // the values of a list are separated like variables
	length  int  // the maximum length of the value, 0 for no limit
}

// expressions parses the expressions of a valid template, and returns the length of the text
// outside of them.
func expressions(text string) (list []expression, literal int) {
	for {
		prefix, rest, found := strings.Cut(text, "{")
		literal += len(prefix)
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
			v.length, _ = strconv.Atoi(length) // digits, in a valid template
		}
		e.vars = append(e.vars, v)
	}
	return e
}

// assign sets the variables from the text that an expression was expanded to. It returns false
// if the expression cannot expand to that text.
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
	return e.assignPositional(vars, strings.Split(text, e.separator))
}

// assignPositional assigns values without names. If there are more values than variables, the
// last variable that may be a list receives the additional ones.
func (e *expression) assignPositional(vars Variables, parts []string) bool {
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

// assignNamed assigns values by name, in any order. Unknown names are accepted only if an
// exploded variable may be a map.
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

// set adds an unescaped value to a variable.
func set(vars Variables, v variable, value string) bool {
	plain, err := url.PathUnescape(value)
	if err != nil || !utf8.ValidString(plain) || v.length > 0 && utf8.RuneCountInString(plain) > v.length {
		return false
	}
	vars[v.name] = append(vars[v.name], plain)
	return true
}

// has reports whether a template has a variable.
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

// hasTraversal reports whether a URI refers to a place outside of a folder, by itself or by
// the values of variables. In a value a single dot is rejected too, because a handler that
// joins two values could make ".." of them.
func hasTraversal(uri string, vars Variables) bool {
	if hasDotSegment(uri, 2) {
		return true
	}
	for _, values := range vars {
		if slices.ContainsFunc(values, func(value string) bool { return hasDotSegment(value, 1) }) {
			return true
		}
	}
	return false
}

// maxEscapes limits how often a text may be escaped.
const maxEscapes = 5

// hasDotSegment reports whether a path segment consists of dots only, and of at least as many
// as given, after all escapes were decoded. Characters that some file system treats as a
// separator or ignores count as such. A path that is not valid text has one too.
func hasDotSegment(path string, dots int) bool {
	for range maxEscapes {
		if !utf8.ValidString(path) || strings.ContainsRune(path, 0) {
			return true
		}
		parts := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '\\' })
		if slices.ContainsFunc(parts, func(part string) bool { return onlyDots(part, dots) }) {
			return true
		}
		plain := unescaped(path)
		if plain == path {
			return false
		}
		path = plain
	}
	return true
}

func onlyDots(part string, least int) bool {
	rest := strings.TrimLeftFunc(part, func(c rune) bool { return c == '.' || unicode.IsSpace(c) || unicode.IsControl(c) })
	return rest == "" && strings.Count(part, ".") >= least
}

// unescaped decodes percent escapes, and leaves invalid ones unchanged.
func unescaped(text string) string {
	if !strings.Contains(text, "%") {
		return text
	}
	b := make([]byte, 0, len(text))
	for i := 0; i < len(text); i++ {
		c := text[i]
		if isEscape(text[i:]) {
			code, _ := strconv.ParseUint(text[i+1:i+3], 16, 8) // valid hexadecimal digits
			c = byte(code)
			i += 2
		}
		b = append(b, c)
	}
	return string(b)
}

// isEscape reports whether a text begins with a percent escape.
func isEscape(text string) bool {
	return len(text) >= 3 && text[0] == '%' && isHex(text[1]) && isHex(text[2])
}

func isHex(c byte) bool { return '0' <= c && c <= '9' || 'A' <= c && c <= 'F' || 'a' <= c && c <= 'f' }
