package ir

import (
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

// discriminate sets the key and the tests of a union, and reports a problem if its
// members cannot be distinguished.
func (s *analyzer) discriminate(t *mergedType, u *Union) {
	var list []*traits
	for _, mem := range u.Members {
		if st, ok := mem.Type.Shape.(*Struct); ok {
			list = append(list, s.traitsOf(mem, st, t.in()))
		}
	}
	u.Key = commonKey(list)
	if u.Key == "" {
		s.addTests(t, u, list, nil)
		return
	}
	for _, tr := range list {
		u.Optional |= tr.optional[u.Key]
	}
	for _, group := range groupsOf(list, u.Key) {
		slices.SortStableFunc(group.list, laterFirst)
		s.addTests(t, u, group.list, group.values)
	}
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
func (s *analyzer) addTests(t *mergedType, u *Union, rest []*traits, values []string) {
	var plain []Test
	defer func() { u.Tests = append(u.Tests, plain...) }()
	for len(rest) > 0 {
		if len(rest) == 1 && u.Key != "" {
			u.Tests = append(u.Tests, Test{rest[0].member, rest[0].in, values, nil})
			return
		}
		i, path := nextTest(rest)
		if i < 0 {
			var names []string
			how := "no revision has both; write a Renamed rule if a definition was renamed"
			for i, tr := range rest {
				names = append(names, tr.member.Type.Name)
				if !exclusive(rest, i) {
					how = "the union needs a constant member, or members that only one of them has"
				}
			}
			s.anyJSON(s.problems.add(t.newest(""), "%s cannot be distinguished: %s", strings.Join(names, " and "), how), t.name)
			return
		}
		if u.Key != "" && exclusive(rest, i) {
			plain = append(plain, Test{rest[i].member, rest[i].in, values, nil})
		}
		u.Tests = append(u.Tests, Test{rest[i].member, rest[i].in, values, strings.Split(path, "/")})
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

// traitsOf returns the traits of a member in the revisions of its union.
func (s *analyzer) traitsOf(mem *Member, st *Struct, union Window) *traits {
	in := union & mem.In
	always := func(f *Field) bool { return f.Always || in != 0 && f.Required&in == in }
	tr := &traits{member: mem, in: mem.In, keys: make(map[string][]*Value), optional: make(map[string]Window), without: make(map[string]Window)}
	for _, c := range st.Consts {
		tr.all = append(tr.all, c.JSON)
		switch {
		case c.Open&in != 0:
			continue // it may be any other value
		case c.Values != nil:
			tr.keys[c.JSON] = c.Values
		default:
			tr.keys[c.JSON] = []*Value{{JSON: c.Value, In: ^Window(0)}}
		}
		if c.JSON == "method" {
			continue
		}
		if tr.without[c.JSON] = in &^ c.In; c.Required&c.In != c.In {
			tr.optional[c.JSON] = mem.In &^ c.Required
		}
	}
	for _, f := range st.Fields {
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
				tr.keys[f.JSON] = x.Values
			}
		case *Struct:
			for _, inner := range x.Fields {
				tr.all = append(tr.all, f.JSON+"/"+inner.JSON)
				if always(inner) {
					tr.required = append(tr.required, f.JSON+"/"+inner.JSON)
				}
			}
		}
	}
	slices.Sort(tr.required)
	slices.Sort(tr.all)
	return tr
}
