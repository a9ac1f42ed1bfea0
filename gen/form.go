package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/refusal"
)

// A form lists everything that a compilation refuses, each with the rules that resolve it. To find all
// refusals in one run, it compiles again with the first choice of each, until nothing is refused.
type form struct {
	items  []*item
	tried  []*item // whose current choices were tried for the first time in the last compilation
	others []error // errors that no rule resolves
	into   string  // the place for rules
	base   []any   // the rules that exist
	trees  map[string]any
}

// An item is one refusal, with the choices that are left.
type item struct {
	*refusal.Refusal
	choices []refusal.Choice // the first is the current one
}

// trial is the reason of rules that are only tried.
const trial = "a trial"

// maxTrials limits the compilations for one form.
const maxTrials = 16

// newForm fills in a form for an error, with rules to paste into a place. The function compile compiles
// with other rules. The schemas of all revisions are in raw.
func newForm(err error, into string, base *ir.Rules, raw map[string][]byte, compile func(*ir.Rules) error) *form {
	f := &form{trees: make(map[string]any), into: into, base: base.Decisions}
	for revision, data := range raw {
		var tree any
		if json.Unmarshal(data, &tree) == nil { // otherwise it is one of the errors
			f.trees[revision] = tree
		}
	}
	for range maxTrials {
		if !f.add(err) {
			break
		}
		rules := *base
		rules.Decisions = append(slices.Clip(rules.Decisions), f.rules()...)
		if err = withoutPanic(func() error { return compile(&rules) }); err == nil {
			break
		}
	}
	f.items = slices.DeleteFunc(f.items, func(x *item) bool { return len(x.choices) > 0 && len(x.choices[0].Rules) == 0 })
	return f
}

// withoutPanic returns an error if f panics, so that another choice is tried.
func withoutPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return f()
}

// rules returns the rules of the first choices, without repetitions.
func (f *form) rules() (list []any) {
	for _, x := range f.items {
		if len(x.choices) == 0 {
			continue
		}
		for _, r := range x.choices[0].Rules {
			r = withReason(r, trial)
			if !slices.ContainsFunc(list, func(have any) bool { return reflect.DeepEqual(have, r) }) {
				list = append(list, r)
			}
		}
	}
	return list
}

// withReason returns a copy of a rule with another reason.
func withReason(rule any, why string) any {
	c := reflect.New(reflect.TypeOf(rule)).Elem()
	c.Set(reflect.ValueOf(rule))
	c.FieldByName("Why").SetString(why)
	return c.Interface()
}

// add adds the refusals in an error. If a choice did not resolve its refusal, the next one becomes the
// first, and add adds nothing: the choice may be the reason for other refusals. It reports whether
// another compilation can find more.
func (f *form) add(err error) (changed bool) {
	refusals, others := refusal.In(err)
	f.others = others
	var added, failed []*item
	for _, r := range refusals {
		if r.Unused != nil {
			changed = f.dropRule(r.Unused) || changed
			continue
		}
		i := slices.IndexFunc(f.items, func(x *item) bool { return x.Error() == r.Error() || x.renames(r) })
		twice := func(x *item) bool { return x.Error() == r.Error() }
		switch {
		case i < 0 && slices.ContainsFunc(added, twice):
		case i < 0:
			choices := append(slices.Clip(r.Choices), f.general(r)...)
			f.restoreNames(choices)
			slices.SortStableFunc(choices, changesLast)
			added = append(added, &item{r, choices})
		case len(f.items[i].choices) > 0 && !slices.Contains(failed, f.items[i]):
			failed = append(failed, f.items[i])
		}
	}
	if len(refusals) == 0 && slices.ContainsFunc(others, func(err error) bool { return !errors.As(err, new(textError)) }) {
		failed = slices.DeleteFunc(f.tried, func(x *item) bool { return len(x.choices) < 2 })
	}
	for _, x := range failed {
		x.choices = x.choices[1:]
	}
	if f.tried = failed; changed || len(failed) > 0 {
		return true
	}
	f.items, f.tried = append(f.items, added...), added
	return slices.ContainsFunc(added, func(x *item) bool { return len(x.choices) > 0 })
}

// renames reports whether the current choice gave a definition the name that another refusal has. A
// name that the loader refuses, before the first stage, needs another name in any case.
func (x *item) renames(r *refusal.Refusal) bool {
	return x.Stage != "" && len(x.choices) > 0 && slices.ContainsFunc(x.choices[0].Rules, func(rule any) bool {
		e, ok := rule.(ir.Edit)
		return ok && e.Name != "" && strings.HasPrefix(r.Pointer+"/", "/$defs/"+e.Name+"/")
	})
}

// restoreNames changes the pointers of edits to the names that definitions have in the file: an edit
// refers to the schema before definitions are renamed.
func (f *form) restoreNames(choices []refusal.Choice) {
	for _, rule := range append(slices.Clip(f.base), f.rules()...) {
		renaming, ok := rule.(ir.Edit)
		if !ok || renaming.Name == "" {
			continue
		}
		prefix := "/$defs/" + renaming.Name + "/"
		for _, c := range choices {
			for i, r := range c.Rules {
				if e, ok := r.(ir.Edit); ok && e.In == renaming.In && strings.HasPrefix(e.At+"/", prefix) {
					e.At = renaming.At + strings.TrimPrefix(e.At, strings.TrimSuffix(prefix, "/"))
					c.Rules[i] = e
				}
			}
		}
	}
}

// changesLast orders choices that change Go declarations after others.
func changesLast(a, b refusal.Choice) int {
	rank := func(c refusal.Choice) int {
		if slices.ContainsFunc(c.Rules, func(r any) bool { _, change := r.(ir.Change); return change }) {
			return 1
		}
		return 0
	}
	return rank(a) - rank(b)
}

// dropRule removes a rule without effect: another choice has the effect, too.
func (f *form) dropRule(rule any) (found bool) {
	for _, x := range f.items {
		if len(x.choices) == 0 {
			continue
		}
		first := &x.choices[0]
		first.Rules = slices.DeleteFunc(slices.Clone(first.Rules), func(r any) bool {
			same := reflect.DeepEqual(withReason(r, trial), rule)
			found = found || same
			return same
		})
	}
	return found
}

// general returns choices that are possible for any schema: the schema of an older revision at the same
// place, or any JSON.
func (f *form) general(r *refusal.Refusal) (list []refusal.Choice) {
	revision := f.revision(r)
	parts := strings.Split(r.Pointer, "/")
	if f.trees[revision] == nil || len(parts) < 3 {
		return nil
	}
	definition := "/$defs/" + parts[2]
	if older, pointer := f.older(revision, r.Pointer); older != "" {
		list = append(list, refusal.Choice{Effect: fmt.Sprintf("The compiler reads the schema of %s here.", older), Rules: []any{ir.Edit{In: revision, At: pointer, From: older}}})
		if pointer != definition {
			list = append(list, refusal.Choice{Effect: fmt.Sprintf("The compiler reads the definition of %s.", older), Rules: []any{ir.Edit{In: revision, At: definition, From: older}}})
		}
	}
	if i := slices.Index(parts, "properties"); i > 0 && i+1 < len(parts) {
		list = append(list, refusal.Choice{Effect: "The member may be any JSON.", Rules: []any{ir.Edit{In: revision, At: strings.Join(parts[:i+2], "/"), JSON: "{}"}}})
	}
	return append(list, refusal.Choice{Effect: "The definition allows any JSON.", Rules: []any{ir.Edit{In: revision, At: definition, JSON: "{}"}}})
}

// revision returns the revision of a refusal.
func (f *form) revision(r *refusal.Refusal) string {
	if r.Revision != "" {
		return r.Revision
	}
	return r.File
}

// older returns the newest older revision with a schema at a pointer, or at the beginning of the
// pointer, and the pointer of this schema.
func (f *form) older(revision, pointer string) (older, found string) {
	parts := strings.Split(pointer, "/")
	for ; len(parts) >= 3; parts = parts[:len(parts)-1] {
		for _, name := range slices.Backward(slices.Sorted(maps.Keys(f.trees))) {
			if name < revision && has(f.trees[name], parts[1:]) {
				return name, strings.Join(parts, "/")
			}
		}
	}
	return "", ""
}

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// has reports whether a schema has a value at a JSON pointer.
func has(v any, path []string) bool {
	for _, part := range path {
		switch x := v.(type) {
		case map[string]any:
			key := unescape.Replace(part)
			if key == "$defs" && x[key] == nil {
				key = "definitions"
			}
			v = x[key]
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(x) {
				return false
			}
			v = x[i]
		}
		if v == nil {
			return false
		}
	}
	return true
}

// Error returns the form as text. The rules are Go.
func (f *form) Error() string {
	var b strings.Builder
	for i, x := range f.items {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(x.Error())
		if revision := f.revision(x.Refusal); f.trees[revision] != nil && strings.HasPrefix(x.Pointer, "/") {
			older, pointer := f.older(revision, x.Pointer)
			if older == "" && len(f.trees) > 1 {
				fmt.Fprintf(&b, "\n\tno older revision has this definition")
			} else if place := older + "#" + pointer; older != "" && !strings.Contains(x.Text, place) {
				fmt.Fprintf(&b, "\n\tthe older schema is %s", place)
			}
		}
		if len(x.choices) == 0 {
			b.WriteString("\n\tno rule resolves this")
		}
		for j, c := range x.choices[:min(len(x.choices), maxChoices)] {
			if j > 0 {
				b.WriteString("\n\tor:")
			}
			fmt.Fprintf(&b, "\n\t// %s", c.Effect)
			for _, r := range c.Rules {
				fmt.Fprintf(&b, "\n\t%s,", refusal.Go(r))
			}
		}
	}
	for _, err := range f.others {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(err.Error())
	}
	if slices.ContainsFunc(f.items, func(x *item) bool { return len(x.choices) > 0 }) {
		fmt.Fprintf(&b, "\nPaste one choice for each into %s, write its reason into Why, and run the command again.", f.into)
	}
	return b.String()
}

// maxChoices limits the choices that a form prints for one refusal.
const maxChoices = 3
