package judge

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

// Error says what is wrong with a document.
type Error struct {
	// Problems are what is wrong, at least one thing, in the order of their
	// pointers. More than 20 are not collected.
	Problems []Problem
}

// Problem is one thing that is wrong with a document.
type Problem struct {
	// Pointer is the JSON pointer of the value that is wrong, empty for the
	// whole document.
	Pointer string
	// Message says what is wrong with it.
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

// problem makes an error of one problem.
func problem(pointer, message string) error {
	return &Error{Problems: []Problem{{short(pointer), short(message)}}}
}

// mark is what the validator's own errors begin with.
const mark = "jsonschema: "

// explainedSchema makes a readable error of why a schema does not compile.
func explainedSchema(err error) error {
	if s, ok := errors.AsType[*jsonschema.SchemaError](err); ok {
		err = s.Err
	}
	if _, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		return explained(err)
	}
	return errors.New(strings.TrimPrefix(err.Error(), mark))
}

// explained makes an [*Error] of a validator's error.
func explained(err error) error {
	if err == nil {
		return nil
	}
	v, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return problem("", strings.TrimPrefix(err.Error(), mark))
	}
	e := new(Error)
	for _, l := range sorted(leaves(v)) {
		if n := len(e.Problems); n == 0 || e.Problems[n-1] != l.Problem {
			e.Problems = append(e.Problems, l.Problem)
		}
		if len(e.Problems) == maxProblems {
			break
		}
	}
	return e
}

// leaf is a problem with no other behind it.
type leaf struct {
	Problem
	fixed bool // the value should have been a certain one
}

// leaves lists what is wrong. Of the alternatives of a union only the one that
// was meant counts.
func leaves(v *jsonschema.ValidationError) []leaf {
	if len(v.Causes) == 0 {
		p := Problem{short(pointer(v.InstanceLocation)), short(message(v))}
		return []leaf{{p, strings.HasSuffix(v.KeywordLocation, "/const")}}
	}
	arms := make([][]leaf, len(v.Causes))
	for i, cause := range v.Causes {
		arms[i] = leaves(cause)
	}
	if v.Message == "anyOf failed" || v.Message == "oneOf failed" {
		return meant(arms)
	}
	return slices.Concat(arms...)
}

// sorted puts problems in order. The validator comes to the members of an object in
// any, and its words must be the same each time.
func sorted(list []leaf) []leaf {
	slices.SortFunc(list, func(a, b leaf) int {
		return cmp.Or(natural(a.Pointer, b.Pointer), cmp.Compare(a.Message, b.Message))
	})
	return list
}

// natural compares texts, and numbers that they differ in by how great they are.
func natural(a, b string) int {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	return cmp.Or(cmp.Compare(digits(a), digits(b)), cmp.Compare(a, b))
}

// digits counts the digits that a text begins with.
func digits(text string) int { return len(text) - len(strings.TrimLeft(text, "0123456789")) }

// message is what the validator says, with names in order that it lists in any. In a
// name a quote has a backslash before it.
func message(v *jsonschema.ValidationError) string {
	const before, between, after = "additionalProperties '", "', '", "' not allowed"
	if !strings.HasPrefix(v.Message, before) {
		return v.Message
	}
	names := strings.Split(strings.TrimSuffix(v.Message[len(before):], after), between)
	slices.Sort(names)
	return before + strings.Join(names, between) + after
}

// meant returns the problems of the alternative that a value comes closest to:
// one whose constants it has, of those the one with the fewest problems. A value
// that has nobody's constants has that one problem, told in the words of all.
func meant(arms [][]leaf) []leaf {
	for _, list := range arms {
		sorted(list)
	}
	best := slices.MinFunc(arms, func(a, b []leaf) int {
		return cmp.Or(cmp.Compare(countFixed(a), countFixed(b)), cmp.Compare(len(a), len(b)))
	})
	i := slices.IndexFunc(best, func(l leaf) bool { return l.fixed })
	if i < 0 {
		return best
	}
	at, words := best[i].Pointer, []string(nil)
	for _, l := range slices.Concat(arms...) {
		if l.fixed && l.Pointer == at && !slices.Contains(words, l.Message) {
			words = append(words, l.Message)
		}
	}
	return []leaf{{Problem{at, short(strings.Join(words, ", or "))}, true}}
}

func countFixed(list []leaf) (n int) {
	for _, l := range list {
		if l.fixed {
			n++
		}
	}
	return n
}

// pointer returns a JSON pointer as it is outside of URLs.
func pointer(location string) string {
	if plain, err := url.PathUnescape(location); err == nil {
		return plain
	}
	return location
}

// short cuts a text that a document has made long.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	cut := maxText
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + fmt.Sprintf("… (%d bytes)", len(text))
}
