// Package refusal describes schemas that the compiler does not compile, with the rules that
// a person can choose from.
package refusal

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// An Edit changes one schema of a revision before it is compiled. It sets the schema to JSON, copies
// it from the revision From, or gives the definition another Name. Without these, it removes what At
// refers to: a schema, a keyword, or an alternative. At is a JSON pointer in the official file.
type Edit struct {
	In, At     string
	JSON       string
	From, Name string
	Why        string
}

// A Refusal is a schema that the compiler does not compile.
type Refusal struct {
	Stage    string // of the compiler, or ""
	File     string // the revision, or the name of the file
	Revision string // "" if it is File, or unknown
	Pointer  string // JSON pointer in the file
	Text     string // one sentence
	Choices  []Choice
	// Untyped reports whether the reason is that no Go type has the values of the schema, or of the union
	// whose alternative it is.
	Untyped bool
	// Unused is set for a rule that has no effect, instead of a schema.
	Unused any
}

// A Choice is one way to compile the schema: rules, and a sentence that states their effect.
type Choice struct {
	Effect string
	Rules  []any
}

// Error returns the place and the text on one line.
func (r *Refusal) Error() string {
	text := r.Place() + ": " + r.Text
	if r.Stage != "" {
		text = r.Stage + ": " + text
	}
	return text
}

// Place returns the file and the pointer.
func (r *Refusal) Place() string {
	if r.Pointer == "" && r.Stage != "" {
		return r.File
	}
	return r.File + "#" + strings.TrimPrefix(r.Pointer, "#")
}

// Choose adds a choice and returns r.
func (r *Refusal) Choose(effect string, rules ...any) *Refusal {
	r.Choices = append(r.Choices, Choice{effect, rules})
	return r
}

// In returns all refusals in an error, and the other errors.
func In(err error) (refusals []*Refusal, others []error) {
	var r *Refusal
	var joined interface{ Unwrap() []error }
	switch {
	case err == nil:
	case errors.As(err, &joined):
		for _, e := range joined.Unwrap() {
			more, rest := In(e)
			refusals, others = append(refusals, more...), append(others, rest...)
		}
	case errors.As(err, &r):
		refusals = append(refusals, r)
	default:
		others = append(others, err)
	}
	return refusals, others
}

// Go returns a rule as a Go literal without zero fields, except for Why.
func Go(rule any) string {
	v := reflect.ValueOf(rule)
	name := "ir." + v.Type().Name()
	return name + fields(v)
}

func fields(v reflect.Value) string {
	var list []string
	for i := range v.NumField() {
		f, x := v.Type().Field(i), v.Field(i)
		if f.Name != "Why" && x.IsZero() {
			continue
		}
		list = append(list, f.Name+": "+literal(x))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

func literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.String:
		if s := v.String(); strconv.CanBackquote(s) && strings.Contains(s, `"`) {
			return "`" + s + "`"
		}
		return strconv.Quote(v.String())
	case reflect.Slice:
		var list []string
		for i := range v.Len() {
			list = append(list, literal(v.Index(i)))
		}
		return "[]string{" + strings.Join(list, ", ") + "}"
	case reflect.Struct:
		return "ir." + v.Type().Name() + fields(v)
	}
	if s, ok := v.Interface().(fmt.Stringer); ok { // the name of a constant
		return "ir." + s.String()
	}
	return fmt.Sprint(v.Interface())
}
