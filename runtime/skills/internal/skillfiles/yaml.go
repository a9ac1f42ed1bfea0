package skillfiles

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// maxYAMLDepth limits nested collections.
const maxYAMLDepth = 20

// yamlError is an error in a line of a file.
type yamlError struct {
	line int
	text string
}

func (e *yamlError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// yamlLine is a line without its line break.
type yamlLine struct {
	number int
	indent int    // number of spaces at the beginning
	text   string // without these spaces
}

// significant reports whether the line has more than spaces and a comment.
func (l yamlLine) significant() bool {
	text := strings.TrimLeft(l.text, "\t")
	return text != "" && text[0] != '#'
}

// isItem reports whether the line is an item of a sequence.
func (l yamlLine) isItem() bool { return l.text == "-" || strings.HasPrefix(l.text, "- ") }

// yamlReader reads the part of YAML 1.2 that front matter uses: mappings, sequences and scalars in
// all their styles, with the core schema. Anchors, aliases, tags, merge keys, directives and keys
// that are not scalars are errors.
//
// A failed method panics with a *yamlError, which parseYAML returns.
type yamlReader struct {
	lines []yamlLine
	next  int // index of the next line
	depth int
}

// parseYAML returns the mapping in a text whose first line has a number. Its values are those of
// encoding/json with numbers as [json.Number].
func parseYAML(text string, firstLine int) (m map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(*yamlError)
			if !ok {
				panic(r)
			}
			err = e
		}
	}()
	r := new(yamlReader)
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		line = strings.TrimSuffix(line, "\r")
		rest := strings.TrimLeft(line, " ")
		r.lines = append(r.lines, yamlLine{firstLine + i, len(line) - len(rest), rest})
	}
	l, ok := r.peek()
	if !ok {
		return nil, &yamlError{firstLine, "the front matter is empty"}
	}
	v := r.block(l.indent)
	if l, more := r.peek(); more {
		r.fail(l, "unexpected indentation")
	}
	m, ok = v.(map[string]any)
	if !ok {
		r.fail(l, "the front matter is not a mapping")
	}
	return m, nil
}

// fail ends parsing with an error.
func (r *yamlReader) fail(l yamlLine, format string, args ...any) {
	panic(&yamlError{l.number, fmt.Sprintf(format, args...)})
}

// peek skips lines that are empty or comments. It returns the next line, and reports whether there
// is one.
func (r *yamlReader) peek() (yamlLine, bool) {
	for ; r.next < len(r.lines); r.next++ {
		l := r.lines[r.next]
		if !l.significant() {
			continue
		}
		switch {
		case l.text[0] == '\t':
			r.fail(l, "tab in the indentation; use spaces")
		case l.indent == 0 && (l.text == "..." || strings.HasPrefix(l.text, "--- ") || l.text == "---" || l.text[0] == '%'):
			r.fail(l, "document markers and directives are not supported")
		}
		return l, true
	}
	return yamlLine{}, false
}

// block reads the collection or scalar that begins with the next line.
func (r *yamlReader) block(indent int) any {
	if r.depth++; r.depth > maxYAMLDepth {
		r.fail(r.lines[r.next], "more than %d nested collections", maxYAMLDepth)
	}
	defer func() { r.depth-- }()
	l := r.lines[r.next]
	if l.isItem() {
		return r.sequence(indent)
	}
	if _, _, ok := r.splitKey(l); ok {
		return r.mapping(indent)
	}
	r.next++
	return r.value(l, l.text, indent-1)
}

// mapping reads the entries with an indentation.
func (r *yamlReader) mapping(indent int) map[string]any {
	m := make(map[string]any)
	for {
		l, ok := r.peek()
		if !ok || l.indent < indent {
			return m
		}
		key, rest, isEntry := r.splitKey(l)
		switch {
		case l.indent > indent:
			r.fail(l, "unexpected indentation")
		case !isEntry || l.isItem():
			r.fail(l, "no key: want \"key: value\"")
		}
		if _, has := m[key]; has {
			r.fail(l, "duplicate key %q", key)
		}
		r.next++
		if rest == "" {
			m[key] = r.nested(indent, true)
			continue
		}
		if strings.HasPrefix(rest, "- ") {
			r.fail(l, "a sequence begins in the line after its key")
		}
		m[key] = r.value(l, rest, indent)
	}
}

// nested reads the value of a key or item that has no value in its own line. A sequence in a
// mapping may have the indentation of its key.
func (r *yamlReader) nested(indent int, inMapping bool) any {
	l, ok := r.peek()
	if ok && (l.indent > indent || inMapping && l.indent == indent && l.isItem()) {
		return r.block(l.indent)
	}
	return nil
}

// sequence reads the items with an indentation.
func (r *yamlReader) sequence(indent int) []any {
	list := []any{}
	for {
		l, ok := r.peek()
		if !ok || l.indent < indent || l.indent == indent && !l.isItem() {
			return list
		}
		if l.indent > indent {
			r.fail(l, "unexpected indentation")
		}
		rest := strings.TrimLeft(l.text[1:], " ")
		if rest == "" || rest[0] == '#' {
			r.next++
			list = append(list, r.nested(indent, false))
			continue
		}
		// The item may be a collection that begins in this line.
		inner := yamlLine{l.number, l.indent + len(l.text) - len(rest), rest}
		_, _, isEntry := r.splitKey(inner)
		if isEntry || inner.isItem() {
			r.lines[r.next] = inner
			list = append(list, r.block(inner.indent))
			continue
		}
		r.next++
		list = append(list, r.value(l, rest, indent))
	}
}

// splitKey returns the key and the value of a line, without a comment after the colon. It reports
// false if the line is not an entry of a mapping.
func (r *yamlReader) splitKey(l yamlLine) (key, value string, ok bool) {
	if l.text[0] == '"' || l.text[0] == '\'' {
		f := &yamlFlow{r: r, line: l, text: l.text}
		if key, ok = f.tryQuoted(); !ok {
			return "", "", false
		}
		value, ok = strings.CutPrefix(strings.TrimLeft(f.text[f.at:], " \t"), ":")
		if !ok || value != "" && value[0] != ' ' && value[0] != '\t' {
			return "", "", false
		}
	} else {
		i := colonIn(l.text)
		if i < 0 || strings.IndexByte("[{&*!|>%@`", l.text[0]) >= 0 {
			return "", "", false
		}
		key, value = strings.TrimRight(l.text[:i], " \t"), l.text[i+1:]
		r.checkKey(l, key)
	}
	value = strings.TrimLeft(value, " \t")
	if strings.HasPrefix(value, "#") {
		value = ""
	}
	return key, value, true
}

// colonIn returns the position of the colon after a plain key, or -1.
func colonIn(text string) int {
	for i := range len(text) {
		switch {
		case text[i] == '#' && i > 0 && isBlank(text[i-1]):
			return -1
		case text[i] == ':' && (i+1 == len(text) || isBlank(text[i+1])):
			return i
		}
	}
	return -1
}

// checkKey refuses plain keys that are not strings in all versions of YAML.
func (r *yamlReader) checkKey(l yamlLine, key string) {
	switch {
	case key == "<<":
		r.fail(l, "merge keys are not supported")
	case key == "" || key == "?" || strings.HasPrefix(key, "? "):
		r.fail(l, "keys that are not scalars are not supported")
	}
	if _, isText := r.plain(l, key).(string); !isText {
		r.fail(l, "key %q is not a string; quote it", key)
	}
}

// value reads a value that begins in a line with text. parent is the indentation of the collection
// that contains it.
func (r *yamlReader) value(l yamlLine, text string, parent int) any {
	switch text[0] {
	case '|', '>':
		return r.blockScalar(l, text, parent)
	case '"', '\'', '[', '{':
		return r.flow(l, text, parent)
	case '&', '*', '!':
		r.fail(l, "anchors, aliases and tags are not supported; quote a value that begins with %q", text[:1])
	case '@', '`', '%', ']', '}', ',':
		r.fail(l, "a plain value cannot begin with %q; quote it", text[:1])
	}
	return r.plain(l, r.plainText(l, text, parent))
}

// plainText returns a plain scalar, which may continue in lines with a larger indentation.
func (r *yamlReader) plainText(l yamlLine, text string, parent int) string {
	var b strings.Builder
	breaks := -1 // line breaks before the line; -1 for the first line
	for {
		part, commented := cutComment(text)
		if colonIn(part) >= 0 {
			r.fail(l, "\": \" in a plain value; quote the value")
		}
		if breaks == 0 {
			b.WriteByte(' ')
		} else if breaks > 0 {
			b.WriteString(strings.Repeat("\n", breaks))
		}
		b.WriteString(part)
		if commented {
			return b.String()
		}
		i := r.next
		for i < len(r.lines) && strings.TrimLeft(r.lines[i].text, "\t") == "" {
			i++
		}
		if i == len(r.lines) || r.lines[i].indent <= parent || r.lines[i].text[0] == '#' {
			return b.String()
		}
		breaks = i - r.next
		l, r.next = r.lines[i], i+1
		text = strings.TrimLeft(l.text, "\t")
	}
}

// cutComment returns a text without a comment and the blanks at its end, and reports whether there
// was a comment.
func cutComment(text string) (string, bool) {
	for i := 1; i < len(text); i++ {
		if text[i] == '#' && isBlank(text[i-1]) {
			return strings.TrimRight(text[:i], " \t"), true
		}
	}
	return strings.TrimRight(text, " \t"), false
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// yamlNumbers are the forms of numbers in the core schema.
type yamlNumbers struct{ integer, based, float, special *regexp.Regexp }

// numberForms are compiled when they are first needed, because most programs have no skills.
var numberForms = sync.OnceValue(func() *yamlNumbers {
	return &yamlNumbers{
		integer: regexp.MustCompile(`^[-+]?[0-9]+$`),
		based:   regexp.MustCompile(`^(0o[0-7]+|0x[0-9a-fA-F]+)$`),
		float:   regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`),
		special: regexp.MustCompile(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`),
	}
})

// plain returns the value of a plain scalar in the core schema.
func (r *yamlReader) plain(l yamlLine, text string) any {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nil
	case "true", "True", "TRUE":
		return true
	case "false", "False", "FALSE":
		return false
	}
	switch forms := numberForms(); {
	case forms.integer.MatchString(text):
		sign, digits := "", strings.TrimPrefix(text, "+")
		if digits[0] == '-' {
			sign, digits = "-", digits[1:]
		}
		if digits = strings.TrimLeft(digits, "0"); digits == "" {
			return json.Number("0")
		}
		return json.Number(sign + digits)
	case forms.based.MatchString(text):
		n, err := strconv.ParseUint(text, 0, 64)
		if err != nil {
			r.fail(l, "number %q is too large", text)
		}
		return json.Number(strconv.FormatUint(n, 10))
	case forms.float.MatchString(text):
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			r.fail(l, "number %q is too large", text)
		}
		return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
	case forms.special.MatchString(text):
		r.fail(l, "number %q has no form in JSON; quote it", text)
	}
	return text
}

// blockScalar reads a scalar in literal style (|) or folded style (>).
func (r *yamlReader) blockScalar(l yamlLine, header string, parent int) string {
	folded, keep, strip, indent := header[0] == '>', false, false, 0
	options, _ := cutComment(header)
	for _, c := range options[1:] {
		switch {
		case c == '+' && !keep && !strip:
			keep = true
		case c == '-' && !keep && !strip:
			strip = true
		case c >= '1' && c <= '9' && indent == 0:
			indent = max(parent, 0) + int(c-'0')
		default:
			r.fail(l, "invalid header %q of a block scalar", header)
		}
	}
	lines := r.blockLines(parent, indent)
	end := len(lines)
	for end > 0 && lines[end-1] == "" {
		end--
	}
	text := strings.Join(lines[:end], "\n")
	if folded {
		text = fold(lines[:end])
	}
	switch {
	case keep && end == 0:
		return strings.Repeat("\n", len(lines))
	case keep:
		return text + strings.Repeat("\n", len(lines)-end+1)
	case strip || end == 0:
		return text
	}
	return text + "\n"
}

// blockLines returns the lines of a block scalar without their indentation. If the indentation is
// zero, the first line that is not empty determines it.
func (r *yamlReader) blockLines(parent, indent int) (lines []string) {
	for ; r.next < len(r.lines); r.next++ {
		l := r.lines[r.next]
		if l.text == "" {
			lines = append(lines, strings.Repeat(" ", max(0, l.indent-indent)*min(indent, 1)))
			continue
		}
		if indent == 0 && l.indent > parent {
			indent = max(l.indent, 1)
		}
		if l.indent < indent || indent == 0 {
			break
		}
		lines = append(lines, strings.Repeat(" ", l.indent-indent)+l.text)
	}
	return lines
}

// fold joins lines that are not indented.
func fold(lines []string) string {
	var b strings.Builder
	indented, breaks := false, 0
	for i, line := range lines {
		if line == "" {
			breaks++
			continue
		}
		was := indented
		indented = isBlank(line[0])
		switch {
		case b.Len() == 0 && i == breaks: // the first line that is not empty
			b.WriteString(strings.Repeat("\n", breaks))
		case was || indented:
			b.WriteString(strings.Repeat("\n", breaks+1))
		case breaks == 0:
			b.WriteByte(' ')
		default:
			b.WriteString(strings.Repeat("\n", breaks))
		}
		b.WriteString(line)
		breaks = 0
	}
	return b.String()
}
