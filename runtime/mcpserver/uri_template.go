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
)

// parse reads a template of RFC 6570. It sets the expressions, the pattern, and the length of the text
// outside of expressions.
func (t *template) parse(text string) error {
	pattern := "^"
	for {
		outside, rest, found := strings.Cut(text, "{")
		plain := escaped(outside)
		if plain != "" && !hasURICharacters(plain) {
			return fmt.Errorf("invalid character in %q: it must be escaped", outside)
		}
		t.literal += len(outside)
		pattern += regexp.QuoteMeta(plain)
		if !found {
			break
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return fmt.Errorf("expression %q has no closing brace", "{"+rest)
		}
		e, err := newExpression(inside)
		if err != nil {
			return fmt.Errorf("expression %q: %w", "{"+inside+"}", err)
		}
		t.exprs = append(t.exprs, e)
		pattern += e.pattern()
		text = after
	}
	var err error
	if t.pattern, err = regexp.Compile(pattern + "$"); err != nil {
		return errors.New("template is too large: an expression may have at most 1000 variables, and fewer if there are several")
	}
	return nil
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
	reserved  bool   // values may have reserved characters
	first     string // precedes the values, if there are any
	separator string // separates values
	vars      []variable
}

type variable struct {
	name    string
	explode bool // the values of a list are separated like variables
	length  int  // the maximum length of the value, 0 for no limit
}

// newExpression parses the text of an expression, without its braces.
func newExpression(text string) (e expression, err error) {
	e.separator = ","
	if text == "" {
		return e, errors.New("it has no variable")
	}
	switch text[0] {
	case '+':
		e.reserved = true
	case '#':
		e.reserved, e.first = true, "#"
	case '.', '/':
		e.first, e.separator = text[:1], text[:1]
	case ';':
		e.named, e.first, e.separator = true, ";", ";"
	case '?', '&':
		e.named, e.first, e.separator = true, text[:1], "&"
	case '=', ',', '!', '@', '|':
		return e, fmt.Errorf("operator %q is reserved", text[:1])
	}
	if e.first != "" || e.reserved {
		text = text[1:]
	}
	for spec := range strings.SplitSeq(text, ",") {
		v, err := newVariable(spec)
		if err != nil {
			return e, err
		}
		e.vars = append(e.vars, v)
	}
	return e, nil
}

// newVariable parses a variable with its modifier.
func newVariable(text string) (v variable, err error) {
	v.name, v.explode = strings.CutSuffix(text, "*")
	if name, length, cut := strings.Cut(v.name, ":"); cut && !v.explode {
		v.name = name
		v.length, err = strconv.Atoi(length)
		if err != nil || v.length < 1 || v.length > 9999 || length[0] < '1' {
			return v, fmt.Errorf("length %q is not a number from 1 to 9999", length)
		}
	}
	for part := range strings.SplitSeq(escaped(v.name), ".") {
		if !hasNameCharacters(part) {
			return v, fmt.Errorf("invalid name of a variable: %q", v.name)
		}
	}
	return v, nil
}

// hasNameCharacters reports whether a text is not empty and contains only the characters of the names of
// variables.
func hasNameCharacters(text string) bool {
	for i := range len(text) {
		if !isAlphanumeric(text[i]) && text[i] != '_' && !isEscape(text[i:]) {
			return false
		}
	}
	return text != ""
}

// pattern returns a regular expression, with one group, for the texts that the expression expands to.
func (e *expression) pattern() string {
	explodes := slices.ContainsFunc(e.vars, func(v variable) bool { return v.explode })
	values := e.valuePattern(e.vars[0].explode)
	if more := len(e.vars) - 1; more > 0 || explodes {
		count := "*"
		if !explodes {
			count = fmt.Sprintf("{0,%d}", more)
		}
		values += "(?:" + regexp.QuoteMeta(e.separator) + e.valuePattern(explodes) + ")" + count
	}
	return "(?:" + regexp.QuoteMeta(e.first) + "(" + values + "))?"
}

// valuePattern returns a regular expression for a value, which may be a list. pairs reports whether it
// may contain names.
func (e *expression) valuePattern(pairs bool) string {
	const unreserved = `0-9A-Za-z\-._~`
	switch {
	case e.reserved:
		return "(?:[" + unreserved + `:/?#\[\]@!$&'()*+,;=]|%[[:xdigit:]]{2})*`
	case e.named || pairs:
		return "(?:[" + unreserved + `,=]|%[[:xdigit:]]{2})*`
	}
	return "(?:[" + unreserved + `,]|%[[:xdigit:]]{2})*`
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
