// Package challenge reads and writes the challenges of the WWW-Authenticate header.
package challenge

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"
)

// Challenge is a challenge of the WWW-Authenticate header: a scheme and its parameters.
// Names of parameters are in lower case.
type Challenge struct {
	Scheme string
	Params map[string]string
}

// String formats the challenge for a header, with its parameters in order.
func (c Challenge) String() string {
	var b strings.Builder
	b.WriteString(c.Scheme)
	names := slices.Collect(maps.Keys(c.Params))
	sort.Strings(names)
	for i, name := range names {
		separator := ", "
		if i == 0 {
			separator = " "
		}
		fmt.Fprintf(&b, `%s%s="%s"`, separator, name, quotedEscaper.Replace(c.Params[name]))
	}
	return b.String()
}

// quotedEscaper escapes the text of a quoted string, and removes line ends.
var quotedEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", "")

// Find returns the first challenge with a scheme, or the zero challenge if there is none.
// It ignores malformed parts of the header, because the status of the response is
// sufficient.
func Find(h http.Header, scheme string) Challenge {
	for _, line := range h.Values("WWW-Authenticate") {
		for _, c := range parse(line) {
			if strings.EqualFold(c.Scheme, scheme) {
				return c
			}
		}
	}
	return Challenge{}
}

// Reason returns the OAuth error and its description in the challenges of a response, or
// the empty string if there are none.
func Reason(h http.Header) string {
	for _, line := range h.Values("WWW-Authenticate") {
		for _, c := range parse(line) {
			text := c.Params["error"]
			if d := c.Params["error_description"]; d != "" {
				text = strings.TrimSpace(fmt.Sprintf("%s %q", text, d))
			}
			if text != "" {
				return text
			}
		}
	}
	return ""
}

// parse parses a line of WWW-Authenticate. Commas separate both challenges and
// the parameters of a challenge, so a word is a scheme if no "=" follows it.
func parse(line string) []Challenge {
	var all []Challenge
	for line = strings.TrimLeft(line, " \t,"); line != ""; line = strings.TrimLeft(line, " \t,") {
		rest := strings.TrimLeft(line, Alphanumeric+"!#$%&'*+-.^_`|~/") // Negotiate sends a slash
		word := line[:len(line)-len(rest)]
		if word == "" {
			return all
		}
		line = strings.TrimLeft(rest, " \t")
		value, isParam := strings.CutPrefix(line, "=")
		if !isParam || len(all) == 0 {
			all = append(all, Challenge{word, map[string]string{}})
			continue
		}
		value, line = cutValue(strings.TrimLeft(value, " \t"))
		if name := strings.ToLower(word); value != "" {
			all[len(all)-1].Params[name] = value
		}
	}
	return all
}

// cutValue cuts a token or a quoted string from the start of s.
func cutValue(s string) (value, rest string) {
	if !strings.HasPrefix(s, `"`) {
		end := strings.IndexAny(s, ", \t")
		if end < 0 {
			end = len(s)
		}
		return s[:end], s[end:]
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), "" // the closing quote is missing
}

// Alphanumeric are the letters and digits of ASCII.
const Alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
