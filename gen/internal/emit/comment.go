package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"
)

// comment prints the documentation of a name: the name, the text that follows it, or a
// colon and a sentence of its own, and a paragraph about its deprecation. It does not end with a line break.
func comment(name, text, deprecated string) *jen.Statement {
	if !strings.HasPrefix(text, ":") {
		text = " " + text
	}
	paragraphs := strings.FieldsFunc(name+text, func(r rune) bool { return r == '\n' })
	if deprecated != "" {
		paragraphs = append(paragraphs, "Deprecated: "+deprecated)
	}
	s := jen.Null()
	for i, p := range paragraphs {
		if i > 0 {
			s.Line().Comment("//").Line()
		}
		for j, line := range wrap(p, 76) {
			if j > 0 {
				s.Line()
			}
			s.Comment("// " + line) // without the slashes, a line that begins with /* or // would be code or a directive
		}
	}
	return s
}

// a returns a link to a name with its indefinite article.
func a(name string) string {
	if strings.ContainsAny(name[:1], "AEIO") {
		return "an [" + name + "]"
	}
	return "a [" + name + "]"
}

// wrap breaks a paragraph into lines of at most width characters.
func wrap(text string, width int) []string {
	var lines []string
	var line string
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}
