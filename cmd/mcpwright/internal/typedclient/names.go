package typedclient

import (
	"go/token"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/dave/jennifer/jen"
)

// names are the names that are in use in a scope.
type names map[string]bool

// add returns a name that is not in use yet: the given one, or one with a number.
func (n names) add(name string) string {
	for unique, i := name, 2; ; i++ {
		if !n[unique] {
			n[unique] = true
			return unique
		}
		unique = name + strconv.Itoa(i)
	}
}

// initialisms are words that Go writes in capitals.
var initialisms = map[string]bool{
	"api": true, "css": true, "dns": true, "html": true, "http": true, "https": true, "id": true, "ip": true, "json": true,
	"sql": true, "ssh": true, "tcp": true, "tls": true, "ttl": true, "uid": true, "ui": true, "uri": true, "url": true, "utf8": true,
	"uuid": true, "xml": true,
}

// exported returns an exported Go name for any text. A text without letters has the fallback.
func exported(text, fallback string) string {
	var b strings.Builder
	for _, word := range words(text) {
		if initialisms[strings.ToLower(word)] {
			b.WriteString(strings.ToUpper(word))
			continue
		}
		first, size := utf8.DecodeRuneInString(word)
		b.WriteRune(unicode.ToUpper(first))
		b.WriteString(word[size:])
	}
	name := b.String()
	if name == "" {
		return fallback
	}
	if !token.IsExported(name) {
		name = fallback + name // begins with a digit, or with a letter without cases
	}
	return name
}

// words splits a text at characters that Go names do not have, and before capital letters.
func words(text string) []string {
	var list []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			list, word = append(list, string(word)), nil
		}
	}
	for _, r := range text {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			end()
			continue
		case unicode.IsUpper(r) && len(word) > 0 && !unicode.IsUpper(word[len(word)-1]):
			end()
		}
		word = append(word, r)
	}
	end()
	return list
}

// maxLine is the length at which comments are wrapped.
const maxLine = 100

// comment writes a comment with a first sentence, and a text of the server.
func (w *writer) comment(write func(string) *jen.Statement, sentence, text string) {
	paragraphs := []string{sentence}
	for line := range strings.Lines(text) {
		paragraphs = append(paragraphs, line)
	}
	blank := false
	for i, p := range paragraphs {
		p = oneLine(p)
		if p == "" {
			blank = true
			continue
		}
		if (blank || i == 1) && sentence != "" {
			write("//")
		}
		blank = false
		for len(p) > 0 {
			line := p
			if len(line) > maxLine {
				cut := strings.LastIndexByte(line[:maxLine], ' ')
				if cut <= 0 {
					cut = strings.IndexByte(line, ' ')
				}
				if cut > 0 {
					line = line[:cut]
				}
			}
			write("// " + line)
			p = strings.TrimLeft(p[len(line):], " ")
		}
	}
}

// quoted returns a name for a comment.
func quoted(name string) string { return strconv.Quote(oneLine(name)) }

// oneLine returns a text without line breaks, and without characters that could hide code from
// its readers.
func oneLine(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return strings.Join(strings.Fields(clean), " ")
}
