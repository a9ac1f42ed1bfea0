package ir

import (
	"strings"
	"unicode"
)

// initialisms are words in a single case.
var initialisms = map[string]string{
	"id": "ID", "uri": "URI", "url": "URL", "json": "JSON", "mime": "MIME", "ttl": "TTL", "jsonrpc": "JSONRPC",
	"http": "HTTP", "html": "HTML", "sse": "SSE", "css": "CSS", "csp": "CSP", "api": "API", "uuid": "UUID", "ids": "IDs", "uris": "URIs", "urls": "URLs",
}

// goName returns the Go name of a definition, a member or a position.
func goName(name string) string {
	name = name[strings.LastIndex(name, "/")+1:] // without the prefix of a reserved _meta key
	var out strings.Builder
	for _, word := range Words(name) {
		if s, ok := initialisms[strings.ToLower(word)]; ok {
			out.WriteString(s)
			continue
		}
		r := []rune(word)
		out.WriteString(string(unicode.ToUpper(r[0])) + string(r[1:]))
	}
	return out.String()
}

// Words splits a name into words: at each character that is not a letter or digit, and
// before each capital letter that begins a word.
func Words(name string) []string {
	var list []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			list = append(list, string(word))
			word = nil
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			flush()
			continue
		case unicode.IsUpper(r) && i > 0:
			afterLower := unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])
			beforeLower := i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterLower || beforeLower && unicode.IsUpper(runes[i-1]) {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return list
}
