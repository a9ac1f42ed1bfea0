package validate

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v5"
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

// libraryPrefix is the prefix of the library's error texts.
const libraryPrefix = "jsonschema: "

// convertSchemaError converts the library's error for a schema that does not
// compile.
func convertSchemaError(err error) error {
	if s, ok := errors.AsType[*jsonschema.SchemaError](err); ok {
		err = s.Err
	}
	if _, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return convertError(err)
	}
	return errors.New(strings.TrimPrefix(err.Error(), libraryPrefix))
}

// convertError converts the library's error for an invalid document to an
// [*Error]. It returns nil for nil.
func convertError(err error) error {
	if err == nil {
		return nil
	}
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return newError("", strings.TrimPrefix(err.Error(), libraryPrefix))
	}
	e := new(Error)
	for _, c := range sortCauses(rootCauses(v)) {
		if n := len(e.Problems); n == 0 || e.Problems[n-1] != c.Problem {
			e.Problems = append(e.Problems, c.Problem)
		}
		if len(e.Problems) == maxProblems {
			break
		}
	}
	return e
}

// rootCause is a problem that is not the consequence of another problem.
type rootCause struct {
	Problem
	constant bool // the value differs from a constant of the schema
}

// rootCauses returns the root causes of an error. For a union, it returns only
// the causes of the alternative that the value is closest to.
func rootCauses(v *jsonschema.ValidationError) []rootCause {
	if len(v.Causes) == 0 {
		p := Problem{truncate(pointer(v.InstanceLocation)), truncate(message(v))}
		return []rootCause{{p, strings.HasSuffix(v.KeywordLocation, "/const")}}
	}
	alternatives := make([][]rootCause, len(v.Causes))
	for i, cause := range v.Causes {
		alternatives[i] = rootCauses(cause)
	}
	if v.Message == "anyOf failed" || v.Message == "oneOf failed" {
		return closestAlternative(alternatives)
	}
	return slices.Concat(alternatives...)
}

// closestAlternative returns the causes of the alternative that the value is
// closest to: the one with the fewest wrong constants, and then the fewest causes.
// If the value has the constants of no alternative, the only problem is that
// constant, with the messages of all alternatives.
func closestAlternative(alternatives [][]rootCause) []rootCause {
	for _, list := range alternatives {
		sortCauses(list)
	}
	best := slices.MinFunc(alternatives, func(a, b []rootCause) int {
		return cmp.Or(cmp.Compare(countConstants(a), countConstants(b)), cmp.Compare(len(a), len(b)))
	})
	i := slices.IndexFunc(best, func(c rootCause) bool { return c.constant })
	if i < 0 {
		return best
	}
	at, messages := best[i].Pointer, []string(nil)
	for _, c := range slices.Concat(alternatives...) {
		if c.constant && c.Pointer == at && !slices.Contains(messages, c.Message) {
			messages = append(messages, c.Message)
		}
	}
	return []rootCause{{Problem{at, truncate(strings.Join(messages, ", or "))}, true}}
}

func countConstants(list []rootCause) (n int) {
	for _, c := range list {
		if c.constant {
			n++
		}
	}
	return n
}

// sortCauses sorts causes by pointer and message. The library visits the members of
// an object in random order, and errors must be the same each time.
func sortCauses(list []rootCause) []rootCause {
	slices.SortFunc(list, func(a, b rootCause) int {
		return cmp.Or(compareNatural(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	return list
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

// message returns the message of a library error, with its list of names sorted.
// The library lists them in random order, and escapes quotes in names with a
// backslash.
func message(v *jsonschema.ValidationError) string {
	const before, between, after = "additionalProperties '", "', '", "' not allowed"
	if !strings.HasPrefix(v.Message, before) {
		return v.Message
	}
	names := strings.Split(strings.TrimSuffix(v.Message[len(before):], after), between)
	slices.Sort(names)
	return before + strings.Join(names, between) + after
}

// pointer returns a JSON pointer without the escapes of URLs.
func pointer(location string) string {
	if plain, err := url.PathUnescape(location); err == nil {
		return plain
	}
	return location
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
