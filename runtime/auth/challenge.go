package auth

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// A challenge is one of those that the header WWW-Authenticate of a refusal holds:
// a scheme, and what the server says with it. Names of parameters are in lower case.
type challenge struct {
	scheme string
	params map[string]string
}

// String is the challenge as a header holds it, with its parameters in order.
func (c challenge) String() string {
	var b strings.Builder
	b.WriteString(c.scheme)
	for i, name := range slices.Sorted(maps.Keys(c.params)) {
		separator := ", "
		if i == 0 {
			separator = " "
		}
		fmt.Fprintf(&b, `%s%s="%s"`, separator, name, quoted.Replace(c.params[name]))
	}
	return b.String()
}

// quoted escapes what ends a quoted string, and drops what no header may hold.
var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\r", "", "\n", "")

// bearer returns the challenge of a refusal that a bearer token would meet, the zero
// one where there is none. What cannot be read of a header counts as absent: a server
// that refuses has been understood by its status.
func bearer(h http.Header) challenge {
	for _, line := range h.Values("WWW-Authenticate") {
		for _, c := range parseChallenges(line) {
			if strings.EqualFold(c.scheme, "Bearer") {
				return c
			}
		}
	}
	return challenge{}
}

// parseChallenges reads one line of WWW-Authenticate. Commas part challenges as well
// as the parameters of one, so that a word is a scheme where no "=" follows it.
func parseChallenges(line string) []challenge {
	var all []challenge
	for line = strings.TrimLeft(line, " \t,"); line != ""; line = strings.TrimLeft(line, " \t,") {
		rest := strings.TrimLeft(line, alphanumeric+"!#$%&'*+-.^_`|~/") // the slash is for what Negotiate says
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
		value, line = paramValue(strings.TrimLeft(value, " \t"))
		if name := strings.ToLower(word); value != "" {
			all[len(all)-1].params[name] = value
		}
	}
	return all
}

// paramValue cuts a token or a quoted string off the front of s.
func paramValue(s string) (value, rest string) {
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
	return b.String(), "" // an end quote is missing
}

const alphanumeric = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
