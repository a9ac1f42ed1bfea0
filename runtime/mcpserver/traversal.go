package mcpserver

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// traverses tells whether a URI leads out of a folder: by itself, or by what the
// variables of a template stand for in it. There a single dot is refused as well:
// a handler that puts values together could make two of it.
func traverses(uri string, vars Variables) bool {
	if leadsOut(uri, 2) {
		return true
	}
	for _, values := range vars {
		if slices.ContainsFunc(values, func(value string) bool { return leadsOut(value, 1) }) {
			return true
		}
	}
	return false
}

// mostEscapes is how many times over a text may be escaped.
const mostEscapes = 5

// leadsOut tells whether a part of a path is nothing but dots, and how few are
// enough, once all escapes are undone. Whatever a file system may take for a slash
// or leave out counts; what is no text leads out, too.
func leadsOut(path string, dots int) bool {
	for range mostEscapes {
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

var escape = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

// unescaped undoes the escapes of a text, and leaves alone what is none.
func unescaped(text string) string {
	return escape.ReplaceAllStringFunc(text, func(e string) string {
		code, _ := strconv.ParseUint(e[1:], 16, 8) // digits, or it would be no escape
		return string([]byte{byte(code)})
	})
}
