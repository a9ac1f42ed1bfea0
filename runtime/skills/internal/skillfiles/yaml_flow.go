package skillfiles

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// yamlFlow reads quoted scalars and collections in brackets, which may have several lines.
type yamlFlow struct {
	r     *yamlReader
	line  yamlLine // the first line
	text  string   // the lines
	at    int      // position in text
	depth int
}

// flow reads a value in flow style that begins in a line with text. Its further lines have a larger
// indentation than the collection that contains it.
func (r *yamlReader) flow(l yamlLine, text string, parent int) any {
	var b strings.Builder
	b.WriteString(text)
	for i := r.next; i < len(r.lines); i++ {
		next := r.lines[i]
		if strings.TrimLeft(next.text, "\t") != "" && next.indent <= parent {
			break
		}
		b.WriteByte('\n')
		b.WriteString(next.text)
	}
	f := &yamlFlow{r: r, line: l, text: b.String()}
	v := f.value()
	rest, _, _ := strings.Cut(f.text[f.at:], "\n")
	if rest != "" && !isBlank(rest[0]) {
		f.fail("unexpected text after the value: %q", clip(rest))
	}
	if rest = strings.TrimLeft(rest, " \t"); rest != "" && rest[0] != '#' {
		f.fail("unexpected text after the value: %q", clip(rest))
	}
	r.next += strings.Count(f.text[:f.at], "\n")
	return v
}

func (f *yamlFlow) fail(format string, args ...any) {
	l := f.line
	l.number += strings.Count(f.text[:min(f.at, len(f.text))], "\n")
	f.r.fail(l, format, args...)
}

// peek returns the next byte, or 0 at the end.
func (f *yamlFlow) peek() byte {
	if f.at < len(f.text) {
		return f.text[f.at]
	}
	return 0
}

// skip skips blanks, line breaks and comments.
func (f *yamlFlow) skip() {
	for f.at < len(f.text) {
		switch c := f.text[f.at]; {
		case isBlank(c) || c == '\n':
			f.at++
		case c == '#' && f.at > 0 && (isBlank(f.text[f.at-1]) || f.text[f.at-1] == '\n'):
			end := strings.IndexByte(f.text[f.at:], '\n')
			if end < 0 {
				end = len(f.text) - f.at
			}
			f.at += end
		default:
			return
		}
	}
}

func (f *yamlFlow) value() any {
	if f.depth++; f.depth+f.r.depth > maxYAMLDepth {
		f.fail("more than %d nested collections", maxYAMLDepth)
	}
	defer func() { f.depth-- }()
	switch f.peek() {
	case '"', '\'':
		return f.quoted()
	case '[':
		return f.sequence()
	case '{':
		return f.mapping()
	}
	return f.r.plain(f.line, f.plain())
}

func (f *yamlFlow) sequence() []any {
	list := []any{}
	f.at++
	for {
		f.skip()
		if f.peek() == ']' {
			f.at++
			return list
		}
		list = append(list, f.value())
		f.skip()
		if f.peek() == ':' {
			f.fail("mappings without braces are not supported in a sequence")
		}
		f.separator(']')
	}
}

func (f *yamlFlow) mapping() map[string]any {
	m := make(map[string]any)
	f.at++
	for {
		f.skip()
		if f.peek() == '}' {
			f.at++
			return m
		}
		key, quoted := f.key()
		if _, has := m[key]; has {
			f.fail("duplicate key %q", key)
		}
		var v any
		f.skip()
		if f.peek() == ':' {
			f.at++
			if next := f.peek(); !quoted && next != 0 && !isBlank(next) && next != '\n' && next != ',' && next != '}' {
				f.fail("no blank after the colon of key %q", key)
			}
			f.skip()
			if next := f.peek(); next != ',' && next != '}' {
				v = f.value()
			}
		}
		m[key] = v
		f.skip()
		f.separator('}')
	}
}

// key reads a key, and reports whether it is quoted.
func (f *yamlFlow) key() (string, bool) {
	if c := f.peek(); c == '"' || c == '\'' {
		return f.quoted(), true
	}
	key := f.plain()
	f.r.checkKey(f.line, key)
	return key, false
}

// separator reads a comma, unless the collection ends.
func (f *yamlFlow) separator(end byte) {
	switch f.peek() {
	case end:
	case ',':
		f.at++
	case 0:
		f.fail("missing %q", string(end))
	default:
		f.fail("want \",\" or %q, have %q", string(end), clip(f.text[f.at:]))
	}
}

// plain reads a plain scalar in a collection.
func (f *yamlFlow) plain() string {
	start := f.at
	if c := f.peek(); strings.IndexByte("&*!|>%@`,#]}", c) >= 0 || c == 0 {
		f.fail("want a value, have %q", clip(f.text[f.at:]))
	}
	if c := f.peek(); (c == '-' || c == '?' || c == ':') && (f.at+1 == len(f.text) || strings.IndexByte(" \t\n,[]{}", f.text[f.at+1]) >= 0) {
		f.fail("want a value, have %q", string(c))
	}
	for f.at < len(f.text) {
		c := f.text[f.at]
		if strings.IndexByte(",[]{}", c) >= 0 || c == '#' && isSpace(f.text[f.at-1]) ||
			c == ':' && (f.at+1 == len(f.text) || strings.IndexByte(" \t\n,[]{}", f.text[f.at+1]) >= 0) {
			break
		}
		f.at++
	}
	return strings.TrimRight(foldLines(f.text[start:f.at]), " \t\n")
}

func isSpace(c byte) bool { return isBlank(c) || c == '\n' }

// foldLines joins the lines of a flow scalar: a line break is a space, and n more line breaks are
// n line breaks. Blanks at the ends of lines are removed.
func foldLines(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	lines := strings.Split(text, "\n")
	var b strings.Builder
	b.WriteString(strings.TrimRight(lines[0], " \t"))
	breaks := 0
	for _, line := range lines[1:] {
		line = strings.TrimLeft(line, " \t")
		if strings.TrimRight(line, " \t") == "" {
			breaks++
			continue
		}
		if breaks == 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strings.Repeat("\n", breaks))
		b.WriteString(strings.TrimRight(line, " \t"))
		breaks = 0
	}
	return b.String()
}

// quoted reads a scalar in quotes.
func (f *yamlFlow) quoted() string {
	start := f.at
	text, ok := f.tryQuoted()
	if !ok {
		f.at = start
		f.fail("missing %q at the end of a value", f.text[start:start+1])
	}
	return text
}

// tryQuoted is like quoted, but reports whether the text has the second quote.
func (f *yamlFlow) tryQuoted() (string, bool) {
	quote := f.text[f.at]
	f.at++
	var b []byte
	kept := 0 // length of the part whose blanks at the end are not removed by a line break
	for f.at < len(f.text) {
		c := f.text[f.at]
		switch {
		case c == quote && quote == '\'' && strings.HasPrefix(f.text[f.at:], "''"):
			b = append(b, '\'')
			f.at += 2
		case c == quote:
			f.at++
			return string(b), true
		case c == '\\' && quote == '"':
			if f.at+1 == len(f.text) {
				return "", false
			}
			b = f.escape(b)
			kept = len(b)
		case c == '\n':
			b = f.lineBreaks(b, kept)
			kept = len(b)
		default:
			b = append(b, c)
			f.at++
		}
	}
	return "", false
}

// lineBreaks reads line breaks in a quoted scalar, with the blanks around them.
func (f *yamlFlow) lineBreaks(b []byte, kept int) []byte {
	for len(b) > kept && isBlank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	breaks := -1
	for ; f.at < len(f.text) && isSpace(f.text[f.at]); f.at++ {
		if f.text[f.at] == '\n' {
			breaks++
		}
	}
	if breaks == 0 {
		return append(b, ' ')
	}
	return append(b, strings.Repeat("\n", breaks)...)
}

// escapes are the escape sequences with one character.
var escapes = map[byte]string{
	'0': "\x00", 'a': "\a", 'b': "\b", 't': "\t", '\t': "\t", 'n': "\n", 'v': "\v", 'f': "\f", 'r': "\r", 'e': "\x1b",
	' ': " ", '"': `"`, '/': "/", '\\': `\`, 'N': "\u0085", '_': "\u00a0", 'L': "\u2028", 'P': "\u2029",
}

// escape reads an escape sequence.
func (f *yamlFlow) escape(b []byte) []byte {
	f.at++
	c := f.peek()
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	switch text, known := escapes[c]; {
	case known:
		f.at++
		return append(b, text...)
	case c == '\n': // the lines are joined without a space
		for f.at++; f.at < len(f.text) && isBlank(f.text[f.at]); f.at++ {
		}
	case digits > 0 && f.at+1+digits <= len(f.text):
		n, err := strconv.ParseUint(f.text[f.at+1:f.at+1+digits], 16, 32)
		if err != nil || !utf8.ValidRune(rune(n)) {
			f.fail("invalid escape sequence %q", clip(f.text[f.at-1:]))
		}
		f.at += 1 + digits
		return utf8.AppendRune(b, rune(n))
	default:
		f.fail("invalid escape sequence %q", clip(f.text[f.at-1:]))
	}
	return b
}

// clip shortens a text for an error message.
func clip(text string) string {
	const most = 20
	text, _, _ = strings.Cut(text, "\n")
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "..."
	}
	return text
}
