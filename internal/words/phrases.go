// Package words finds phrases in comments, messages and pages that are hard to read. Its
// tests check the texts of this repository and fail if a folder has more of them than its limit.
//
// A match is a hint: rewrite the sentence so that a reader understands it at once, and do not
// only replace the word. CONTRIBUTING.md has the rules behind the list.
package words

import (
	"regexp"
	"strings"
)

// A phrase is a kind of wording to avoid.
type phrase struct {
	name string
	// instead is the advice to the author.
	instead string
	// limit is the number of matches per 1,000 words that the whole repository may have.
	limit   float64
	pattern *regexp.Regexp
}

// any matches one of several words or groups of words.
func any(alternatives ...string) string { return "(?:" + strings.Join(alternatives, "|") + ")" }

// word compiles a pattern that matches whole words, in any case.
func word(parts ...string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b` + strings.Join(parts, " ") + `\b`)
}

var be = any("is", "are", "was", "were")

// phrases lists what to avoid. The examples of TestPhrases show what each of them matches.
var phrases = []phrase{
	{"tells whether", `"reports whether"`, 0, word(any("tells?", "says?"), "whether")},
	{"things that speak", "what the thing does: returns, contains, reports, requires", 0.3,
		word(any("tells", "told", "says", "hears", "heard", "wants", "knows of", "speaks? of"))},
	{"a clause as the subject", "a noun as the subject: the server that asks", 0.2,
		regexp.MustCompile(`(?:^|[.;:] )(?:What|Who|Whoever|Whatever) ` + any(be, "has", "had", "it", "they", "the", "an?", "goes", "comes?", "does", "did", "may", "can", "one"))},
	{"a clause as the object", "a noun: the response, the remaining bytes", 0.2,
		word(any("of", "in", "for", "to", "by", "with", "on", "from", "about"), "what", any(be, "it", "has", "the", "they"))},
	{"where for if", `"if" or "when"; "or nil"`, 0.1,
		word("where", any("it", "there", "that", "nothing", "none", "nobody", "one", "they"), any(be, "can", "may", "has", "have", "does"))},
	{"nobody and somebody", "the caller, the client, the subscriber, no handler", 0.05, word(any("nobody", "somebody", "anybody") + "(?:'s)?")},
	{"that of", "repeat the noun", 0.3, word(any("that", "those"), "of", any("an?", "the", "its", "all", "each", "one"))},
	{"words of another century", "the usual word: again, fix, next to, unused", 0.05, word(any(
		"anew", "mend(?:s|ed|ing)?", "heed(?:s|ed|ing)?", "lest", "in vain", "c(?:o|a)mes? to nothing", "of its own making", "of whatever", "as ever",
		"without further ado", "takes? up again", "gives? back", "farewell", "beside (?:it|them|the|an?)", "stands? (?:alone|for itself)"))},
}
