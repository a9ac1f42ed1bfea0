package ir

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// traits are the properties of a union's member that distinguish it from other
// members.
type traits struct {
	member   *Member
	in       Window              // the revisions
	keys     map[string][]*Value // fixed values, by member
	optional map[string]Window   // the revisions in which a key may be absent
	without  map[string]Window   // the revisions without a key
	required []string            // paths of members that are always present
	all      []string            // paths of all members
}

// discriminate sets the selectors of a union, and reports a problem if its members cannot be distinguished.
func (s *analyzer) discriminate(t *mergedType, u *Union) {
	list := s.selections(t, u, t.in())
	u.Objects = s.openEnded(t.in()&^t.unionIn(), t.in())
	for i, x := range list {
		if x.unclear != nil {
			s.refuseUnclear(t, x)
		}
		if i == 0 {
			u.Selector = x.Selector
			continue
		}
		u.Newer = append(u.Newer, x.Selector)
		switch only := x.Only(); {
		case only != nil:
			s.note(t.name, singleJoin, only.Type.Name, s.in(x.In))
		case x.Key == list[i-1].Key: // the types have the notes about their constants
		case x.Key != "":
			s.note(t.name, selectorJoin, s.in(x.In), fmt.Sprintf("the member %q", x.Key))
		default:
			s.note(t.name, selectorJoin, s.in(x.In), "other members than in older revisions")
		}
	}
}

// A selection is a selector, with the members of the union that it cannot distinguish.
type selection struct {
	Selector
	unclear []*traits
}

// selections returns the selectors for the revisions in w, oldest first. The released revisions have a single one. A
// newer revision has its own if the selector of the older revisions does not apply.
func (s *analyzer) selections(t *mergedType, u *Union, w Window) []selection {
	bit := newest(w)
	if s.documents[bit].name <= s.rules.OrderFrom || oldest(w) == bit {
		return []selection{s.selection(t, u, w)}
	}
	list := s.selections(t, u, w&^(1<<bit))
	own := s.selection(t, u, 1<<bit)
	last := &list[len(list)-1]
	if own.Only() == nil && last.Only() == nil {
		joined := s.selection(t, u, last.In|1<<bit)
		if joined.unclear == nil && joined.Texts() && (last.Key == "" || last.Key == joined.Key) && joined.continues(last.Selector) {
			*last = joined
			return list
		}
	}
	for _, mem := range u.Members {
		st, ok := mem.Type.Shape.(*Struct)
		if ok && mem.In.Has(bit) && mem.In&last.In == 0 && (last.Key == "" || fieldNamed(st, last.Key) != nil) {
			own.unclear = append(own.unclear, s.traitsOf(mem, st, 1<<bit)) // in the all-revisions form, it may be an older type
		}
	}
	return append(list, own)
}

// continues reports whether x looks for the same paths as an older selector, in the same order.
func (x *selection) continues(older Selector) bool {
	plain := func(t Test) bool { return len(t.Path) == 0 }
	before := slices.DeleteFunc(slices.Clone(older.Tests), plain)
	after := slices.DeleteFunc(slices.Clone(x.Tests), func(t Test) bool {
		return plain(t) || !slices.ContainsFunc(before, func(o Test) bool { return o.Member == t.Member })
	})
	return slices.EqualFunc(after, before, func(a, b Test) bool { return a.Member == b.Member && slices.Equal(a.Path, b.Path) })
}

// selection returns the selector for the revisions in w.
func (s *analyzer) selection(t *mergedType, u *Union, w Window) selection {
	x := selection{Selector: Selector{In: s.openEnded(w, t.in())}}
	var list []*traits
	for _, mem := range u.Members {
		if st, ok := mem.Type.Shape.(*Struct); ok && mem.In&w != 0 {
			list = append(list, s.traitsOf(mem, st, w))
		}
	}
	if bit := newest(w); len(list) == 1 && s.documents[bit].name > s.rules.OrderFrom && w == 1<<bit && oldest(t.in()) < bit && !t.unionIn().Has(bit) {
		x.Tests = []Test{{Member: list[0].member, In: ^Window(0)}}
		return x
	}
	x.Key = commonKey(list)
	if x.Key == "" {
		x.addTests(list, nil)
		return x
	}
	for _, tr := range list {
		x.Optional |= tr.optional[x.Key]
	}
	for _, group := range groupsOf(list, x.Key) {
		slices.SortStableFunc(group.list, laterFirst)
		x.addTests(group.list, group.values)
	}
	return x
}

// unionIn returns the revisions that have t as a union.
func (t *mergedType) unionIn() Window {
	unions, _ := where(t.occs, func(n node) bool { u, ok := n.(*unionNode); return ok && !u.single })
	return unions
}

// refuseUnclear reports a problem: the members of a union cannot be distinguished.
func (s *analyzer) refuseUnclear(t *mergedType, x selection) {
	var names []string
	how := "no revision has both; write a Renamed rule if a definition was renamed"
	for i, tr := range x.unclear {
		names = append(names, tr.member.Type.Name)
		if !exclusive(x.unclear, i) {
			how = "the union needs a constant member, or members that only one of them has"
		}
	}
	s.untyped(s.problems.add(t.newest(""), "%s cannot be distinguished: %s", strings.Join(names, " and "), how), t.name)
}

// A group has the members of a union that have the same values of the key.
type group struct {
	values []string
	list   []*traits
}

// groupsOf returns the groups of a list, in its order. A member is in a group in the revisions in which it has
// the values.
func groupsOf(list []*traits, key string) (groups []group) {
	byValue := make(map[string][]*traits)
	var order []string
	for _, tr := range list {
		for _, v := range tr.keys[key] {
			if byValue[v.JSON] == nil {
				order = append(order, v.JSON)
			}
			has := *tr
			has.in &= v.In
			byValue[v.JSON] = append(byValue[v.JSON], &has)
		}
	}
	for _, v := range order {
		same := func(g group) bool {
			return slices.EqualFunc(g.list, byValue[v], func(a, b *traits) bool { return a.member == b.member && a.in == b.in })
		}
		if i := slices.IndexFunc(groups, same); i >= 0 {
			groups[i].values = append(groups[i].values, v)
		} else {
			groups = append(groups, group{[]string{v}, byValue[v]})
		}
	}
	return groups
}

// laterFirst orders newer types before older ones: an object that matches no test has
// the last type of its group.
func laterFirst(a, b *traits) int { return oldest(b.member.Type.In) - oldest(a.member.Type.In) }

// commonKey returns the member that has fixed values in every member of a union and is
// optional in at most one of them, or "". A revision without the key has no other member of the union.
func commonKey(list []*traits) string {
	if len(list) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(list[0].keys)) {
		var optional int
		fits := true
		for _, tr := range list {
			_, ok := tr.keys[name]
			others := func(other *traits) bool { return other != tr && other.in&tr.without[name] != 0 }
			fits = fits && ok && !slices.ContainsFunc(list, others)
			if tr.optional[name] != 0 {
				optional++
			}
		}
		if fits && optional <= 1 {
			return name
		}
	}
	return ""
}

// addTests adds the tests for the members with the same key value, or without a key.
// Each test looks for a member that the types after it do not have. If the key and the
// revision are sufficient, a test without a path follows.
func (x *selection) addTests(rest []*traits, values []string) {
	var plain []Test
	defer func() { x.Tests = append(x.Tests, plain...) }()
	for len(rest) > 0 {
		if len(rest) == 1 && x.Key != "" {
			x.Tests = append(x.Tests, Test{rest[0].member, rest[0].in, values, nil})
			return
		}
		i, path := nextTest(rest)
		if i < 0 {
			x.unclear = rest
			return
		}
		if x.Key != "" && exclusive(rest, i) {
			plain = append(plain, Test{rest[i].member, rest[i].in, values, nil})
		}
		x.Tests = append(x.Tests, Test{rest[i].member, rest[i].in, values, strings.Split(path, "/")})
		rest = slices.Delete(slices.Clone(rest), i, i+1)
	}
}

// nextTest returns the index of a type that has a required path which no other type
// has. If there is none, it returns a type that refines another: it has the same
// required paths and one more optional path, and the same types of the paths that both have. The index is -1 if there is neither.
func nextTest(rest []*traits) (int, string) {
	for i, tr := range rest {
		for _, path := range tr.required {
			if !othersHave(rest, i, path) {
				return i, path
			}
		}
	}
	for i, tr := range rest {
		for j, other := range rest {
			if i == j || !slices.Equal(tr.required, other.required) || !subset(other.all, tr.all) || !sameFields(tr.member.Type, other.member.Type) {
				continue
			}
			for _, path := range tr.all {
				if !othersHave(rest, i, path) {
					return i, path
				}
			}
		}
	}
	return -1, ""
}

// exclusive reports whether no revision has both the type with index i and another
// one.
func exclusive(rest []*traits, i int) bool {
	return !slices.ContainsFunc(rest, func(other *traits) bool {
		return other != rest[i] && other.in&rest[i].in != 0
	})
}

func othersHave(rest []*traits, i int, path string) bool {
	for j, other := range rest {
		if j != i && slices.Contains(other.all, path) {
			return true
		}
	}
	return false
}

// sameFields reports whether the members that both of two types have allow the same values.
func sameFields(a, b *Type) bool {
	for _, f := range a.Shape.(*Struct).Fields {
		for _, other := range b.Shape.(*Struct).Fields {
			checks := len(f.Checks) + len(f.Extra) + len(other.Checks) + len(other.Extra)
			if f.JSON == other.JSON && (checks > 0 || exprName(f.Type) != exprName(other.Type)) {
				return false
			}
		}
	}
	return true
}

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

// traitsOf returns the traits of a member in some revisions of its union.
func (s *analyzer) traitsOf(mem *Member, st *Struct, w Window) *traits {
	in := w & mem.In
	always := func(f *Field) bool { return in&^f.In == 0 && (f.Always || in != 0 && f.Required&in == in) }
	tr := &traits{member: mem, in: s.openEnded(in, w), keys: make(map[string][]*Value), optional: make(map[string]Window), without: make(map[string]Window)}
	for _, c := range st.Consts {
		if c.JSON != "method" && c.In&in == 0 {
			continue
		}
		tr.all = append(tr.all, c.JSON)
		switch {
		case c.Open&in != 0:
			continue // it may be any other value
		case c.Values != nil:
			s.addKey(tr, in, c.JSON, c.Values...)
		default:
			s.addKey(tr, in, c.JSON, &Value{JSON: jsonText(c.Value), In: ^Window(0)})
		}
		if c.JSON == "method" {
			continue
		}
		if tr.without[c.JSON] = in &^ c.In; c.Required&c.In != c.In {
			tr.optional[c.JSON] = tr.in &^ c.Required
		}
	}
	for _, f := range st.Fields {
		if f.In&in == 0 {
			continue
		}
		tr.all = append(tr.all, f.JSON)
		if !always(f) {
			continue
		}
		tr.required = append(tr.required, f.JSON)
		named, ok := f.Type.(Named)
		if !ok {
			continue
		}
		switch x := named.Type.Shape.(type) {
		case *Enum:
			if !x.Open && extraWindow(f)&in == 0 {
				for _, v := range x.Values {
					s.addKey(tr, in, f.JSON, &Value{JSON: jsonText(v.JSON), In: v.In})
				}
			}
		case *Struct:
			for _, inner := range x.Fields {
				tr.all = append(tr.all, f.JSON+"/"+inner.JSON)
				if always(inner) && extraWindow(f)&in == 0 {
					tr.required = append(tr.required, f.JSON+"/"+inner.JSON)
				}
			}
		}
	}
	slices.Sort(tr.required)
	slices.Sort(tr.all)
	return tr
}

// addKey adds the fixed values that a member has in some revisions.
func (s *analyzer) addKey(tr *traits, in Window, name string, values ...*Value) {
	for _, v := range values {
		if v.In&in != 0 {
			tr.keys[name] = append(tr.keys[name], &Value{JSON: v.JSON, In: s.openEnded(v.In&in, in)})
		}
	}
}
