package auth

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// challenge is a challenge of the WWW-Authenticate header: a scheme and its parameters.
// Names of parameters are in lower case.
type challenge struct {
	scheme string
	params map[string]string
}

// String formats the challenge for a header, with its parameters in order.
func (c challenge) String() string {
	var b strings.Builder
	b.WriteString(c.scheme)
	for i, name := range slices.Sorted(maps.Keys(c.params)) {
		separator := ", "
		if i == 0 {
			separator = " "
		}
		fmt.Fprintf(&b, `%s%s="%s"`, separator, name, quotedEscaper.Replace(c.params[name]))
	}
	return b.String()
}

// quotedEscaper escapes the text of a quoted string, and removes line ends.
var quotedEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", "")

// bearerChallenge returns the first challenge with the scheme Bearer, or the zero
// challenge if there is none. It ignores malformed parts of the header, because the
// status of the response is sufficient.
func bearerChallenge(h http.Header) challenge {
	for _, line := range h.Values("WWW-Authenticate") {
		for _, c := range parseChallenges(line) {
			if strings.EqualFold(c.scheme, "Bearer") {
				return c
			}
		}
	}
	return challenge{}
}

// parseChallenges parses a line of WWW-Authenticate. Commas separate both challenges and
// the parameters of a challenge, so a word is a scheme if no "=" follows it.
func parseChallenges(line string) []challenge {
	var all []challenge
	for line = strings.TrimLeft(line, " \t,"); line != ""; line = strings.TrimLeft(line, " \t,") {
		rest := strings.TrimLeft(line, alphanumeric+"!#$%&'*+-.^_`|~/") // Negotiate sends a slash
		word := line[:len(line)-len(rest)]
		if word == "" {
			return all
		}
		line = strings.TrimLeft(rest, " \t")
		value, isParam := strings.CutPrefix(line, "=")
		if !isParam || len(all) == 0 {
			all = append(all, challenge{word, map[string]string{}})
			continue
		}
		value, line = cutValue(strings.TrimLeft(value, " \t"))
		if name := strings.ToLower(word); value != "" {
			all[len(all)-1].params[name] = value
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

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
