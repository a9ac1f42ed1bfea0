package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/mcpwright/mcp/gen/internal/ir"
	"github.com/mcpwright/mcp/gen/internal/load"
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
	newest string // the revision that rules change
}

// An item is one refusal, with the choices that are left.
type item struct {
	*refusal.Refusal
	choices []refusal.Choice // the first is the current one
	after   []*item          // whose choices were tried when it was found; they may be the reason for it
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
		if json.Unmarshal(data, &tree) == nil && valueAt(tree, "/$defs") != nil { // otherwise it is one of the errors
			f.trees[revision] = tree
			f.newest = max(f.newest, revision)
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
			choices := slices.Concat(f.removed(r), r.Choices, f.general(r))
			f.restoreNames(choices)
			slices.SortStableFunc(choices, changesLast)
			added = append(added, &item{r, distinct(choices), f.tried})
		case len(f.items[i].choices) > 0 && !slices.Contains(failed, f.items[i]):
			failed = append(failed, f.items[i])
		}
	}
	if len(refusals) == 0 && slices.ContainsFunc(others, func(err error) bool { return !errors.As(err, new(textError)) }) {
		failed = slices.DeleteFunc(f.tried, func(x *item) bool { return len(x.choices) < 2 })
	}
	if failed = f.next(failed, added); changed || len(failed) > 0 {
		f.tried = failed
		return true
	}
	f.items, f.tried = append(f.items, added...), added
	return slices.ContainsFunc(added, func(x *item) bool { return len(x.choices) > 0 })
}

// next removes the first choices of failed items, and returns the items with another first choice. If an
// item has no other choice, the choices of the items before it are removed instead, because they may be
// the reason for it.
func (f *form) next(failed, added []*item) (changed []*item) {
	retry := func(x *item) bool {
		before := slices.DeleteFunc(slices.Clone(x.after), func(y *item) bool { return len(y.choices) < 2 })
		for _, y := range before {
			if !slices.Contains(changed, y) {
				y.choices, changed = y.choices[1:], append(changed, y)
			}
		}
		if len(before) > 0 {
			f.items = slices.DeleteFunc(f.items, func(y *item) bool { return y == x })
		}
		return len(before) > 0
	}
	for _, x := range failed {
		if len(x.choices) > 1 || !retry(x) {
			x.choices, changed = x.choices[1:], append(changed, x)
		}
	}
	for _, x := range added {
		if len(x.choices) == 0 {
			retry(x)
		}
	}
	return changed
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

// distinct removes choices with the rules of an earlier one.
func distinct(choices []refusal.Choice) (list []refusal.Choice) {
	for _, c := range choices {
		if !slices.ContainsFunc(list, func(have refusal.Choice) bool { return reflect.DeepEqual(have.Rules, c.Rules) }) {
			list = append(list, c)
		}
	}
	return list
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
// place, the older definitions that it refers to or that refer to it, or any JSON. They change the newest
// revision, because the others compile without it.
func (f *form) general(r *refusal.Refusal) (list []refusal.Choice) {
	parts := strings.Split(r.Pointer, "/")
	if f.trees[f.revision(r)] == nil || len(parts) < 3 {
		return nil
	}
	if f.revision(r) != f.newest {
		parts = parts[:3]
	}
	pointer, definition := strings.Join(parts, "/"), "/$defs/"+parts[2]
	choose := func(effect string, edits ...any) {
		list = append(list, refusal.Choice{Effect: effect, Rules: edits})
	}
	if older, pointer := f.older(f.newest, pointer); older != "" {
		from := func(pointer string) any { return ir.Edit{In: f.newest, At: pointer, From: older} }
		if !sameSchema(valueAt(f.trees[older], pointer), valueAt(f.trees[f.newest], pointer)) {
			choose(fmt.Sprintf("The compiler reads the schema of %s here.", older), from(pointer))
		}
		if pointer != definition {
			choose(fmt.Sprintf("The compiler reads the definition of %s.", older), from(definition))
		}
		if near := f.changedNear(older, parts[2]); len(near) > 0 {
			var edits []any
			for _, name := range near {
				edits = append(edits, from("/$defs/"+name))
			}
			choose(fmt.Sprintf("The compiler reads other definitions of %s.", older), edits...)
		}
	}
	for _, member := range slices.Backward(members(parts)) {
		choose("The member may be any JSON.", ir.Edit{In: f.newest, At: member, JSON: "{}"})
	}
	choose("The definition allows any JSON.", ir.Edit{In: f.newest, At: definition, JSON: "{}"})
	return list
}

// removed returns the choice of the older definition for a reference to a definition that the newest revision
// lacks.
func (f *form) removed(r *refusal.Refusal) []refusal.Choice {
	ref, _ := valueAt(f.trees[f.newest], r.Pointer).(string)
	definition := "/$defs/" + path.Base(ref)
	older, pointer := f.older(f.newest, definition)
	if !strings.HasSuffix(r.Pointer, "/$ref") || pointer != definition || valueAt(f.trees[f.newest], definition) != nil {
		return nil
	}
	return []refusal.Choice{{Effect: fmt.Sprintf("The compiler reads the definition %s of %s.", path.Base(ref), older), Rules: []any{ir.Edit{In: f.newest, At: definition, From: older}}}}
}

// members returns the pointers of the members that contain the schema at a pointer, outer ones first.
func members(parts []string) (list []string) {
	for i := 3; i+1 < len(parts); i++ {
		switch parts[i] {
		case "properties":
			list = append(list, strings.Join(parts[:i+2], "/"))
			i++
		case "anyOf", "allOf", "oneOf":
			i++
		}
	}
	return list
}

// changedNear returns the definitions that changed since an older revision, if they refer to a definition or it
// refers to them.
func (f *form) changedNear(older, definition string) (names []string) {
	newest, _ := valueAt(f.trees[f.newest], "/$defs").(map[string]any)
	before, _ := valueAt(f.trees[older], "/$defs").(map[string]any)
	reached := map[string]bool{definition: true}
	for queue := []string{definition}; len(queue) > 0; queue = queue[1:] {
		eachRef(newest[queue[0]], func(name string) {
			if !reached[name] {
				reached[name] = true
				queue = append(queue, name)
			}
		})
	}
	for _, name := range slices.Sorted(maps.Keys(newest)) {
		near := reached[name]
		eachRef(newest[name], func(to string) { near = near || to == definition })
		if near && name != definition && before[name] != nil && !sameSchema(before[name], newest[name]) {
			names = append(names, name)
		}
	}
	return names
}

// eachRef calls use with the name of each definition that a schema refers to.
func eachRef(v any, use func(name string)) {
	switch x := v.(type) {
	case map[string]any:
		if ref, ok := x["$ref"].(string); ok {
			use(path.Base(ref))
		}
		for _, key := range slices.Sorted(maps.Keys(x)) {
			eachRef(x[key], use)
		}
	case []any:
		for _, inner := range x {
			eachRef(inner, use)
		}
	}
}

// sameSchema reports whether two schemas differ only in texts and in the keyword of definitions.
func sameSchema(a, b any) bool {
	switch x := a.(type) {
	case map[string]any:
		y, ok := b.(map[string]any)
		keys := slices.Concat(slices.Collect(maps.Keys(x)), slices.Collect(maps.Keys(y)))
		return ok && !slices.ContainsFunc(keys, func(key string) bool {
			v, text := x[key].(string)
			w, both := y[key].(string)
			switch {
			case key == "$ref" && text && both:
				return path.Base(v) != path.Base(w)
			case (key == "description" || key == "title") && (text || both):
				return false
			}
			return !sameSchema(x[key], y[key])
		})
	case []any:
		y, ok := b.([]any)
		return ok && slices.EqualFunc(x, y, sameSchema)
	}
	return a == b
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
			if pointer := strings.Join(parts, "/"); name < revision && valueAt(f.trees[name], pointer) != nil {
				return name, pointer
			}
		}
	}
	return "", ""
}

// valueAt returns the value at a JSON pointer of a schema, or nil.
func valueAt(v any, pointer string) any {
	value, _ := load.ValueAt(v, strings.Split(pointer, "/")[1:])
	return value
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
