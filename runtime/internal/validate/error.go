package validate

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error lists the problems of a document.
type Error struct {
	// Problems has at least one problem and at most 20, sorted by pointer. Further
	// problems are omitted.
	Problems []Problem
}

// Problem is one problem of a document.
type Problem struct {
	// Pointer is the JSON pointer of the invalid value, empty for the whole
	// document.
	Pointer string
	// Message describes the problem.
	Message string
}

const (
	maxProblems = 20
	maxText     = 300 // bytes of one pointer or message
)

// Error implements error.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "; ")
}

// String returns the pointer and the message.
func (p Problem) String() string {
	if p.Pointer == "" {
		return p.Message
	}
	return p.Pointer + ": " + p.Message
}

// newError returns an [*Error] with one problem.
func newError(pointer, message string) error {
	return &Error{Problems: []Problem{{truncate(pointer), truncate(message)}}}
}

// cause is a problem that is not the consequence of another problem.
type cause struct {
	Problem
	constant bool // the value differs from a constant of the schema
}

// errorOf returns an [*Error] with the first causes, or nil if there are none. It
// sorts the causes.
func errorOf(causes []cause) error {
	if len(causes) == 0 {
		return nil
	}
	sortCauses(causes)
	e := new(Error)
	for _, c := range causes {
		if n := len(e.Problems); n == 0 || e.Problems[n-1] != c.Problem {
			e.Problems = append(e.Problems, c.Problem)
		}
		if len(e.Problems) == maxProblems {
			break
		}
	}
	return e
}

// closestAlternative returns the causes of the alternative that the value is
// closest to: the one with the fewest wrong constants, and then the fewest causes.
// If the value has the constants of no alternative, the only problem is that
// constant, with the messages of all alternatives.
func closestAlternative(alternatives [][]cause) []cause {
	for _, list := range alternatives {
		sortCauses(list)
	}
	best := slices.MinFunc(alternatives, func(a, b []cause) int {
		return cmp.Or(cmp.Compare(countConstants(a), countConstants(b)), cmp.Compare(len(a), len(b)))
	})
	i := slices.IndexFunc(best, func(c cause) bool { return c.constant })
	if i < 0 {
		return best
	}
	at, messages, seen := best[i].Pointer, []string(nil), map[string]bool{}
	for _, list := range alternatives {
		for _, c := range list {
			if c.constant && c.Pointer == at && !seen[c.Message] {
				seen[c.Message] = true
				messages = append(messages, c.Message)
			}
		}
	}
	return []cause{{Problem{at, truncate(strings.Join(messages, ", or "))}, true}}
}

func countConstants(list []cause) (n int) {
	for _, c := range list {
		if c.constant {
			n++
		}
	}
	return n
}

// sortCauses sorts causes by pointer and message, so that errors are the same for
// every order of the members of an object.
func sortCauses(list []cause) {
	sort.Slice(list, func(i, j int) bool {
		a, b := &list[i], &list[j]
		return cmp.Or(compareNatural(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message)) < 0
	})
}

// compareNatural compares texts. If the texts first differ in a number, it
// compares the numbers by value.
func compareNatural(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	return cmp.Or(cmp.Compare(leadingDigits(a), leadingDigits(b)), cmp.Compare(a, b))
}

// leadingDigits counts the digits at the start of a text.
func leadingDigits(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }

// quote returns a name or a pattern in single quotes. Only quotes and characters
// that cannot be printed are escaped.
func quote(text string) string {
	for _, r := range text {
		if !strconv.IsPrint(r) {
			text = strconv.Quote(text)
			text = strings.ReplaceAll(text[1:len(text)-1], `\"`, `"`)
			break
		}
	}
	return "'" + strings.ReplaceAll(text, "'", `\'`) + "'"
}

// quoteAll returns names in single quotes, separated by commas.
func quoteAll(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = quote(name)
	}
	return strings.Join(quoted, ", ")
}

// truncate shortens a long text, because a document can make it any length.
func truncate(text string) string {
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + fmt.Sprintf("… (%d bytes)", len(text))
}
