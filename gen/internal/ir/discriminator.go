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
	keys     map[string][]string // fixed values, by member
	optional map[string]bool     // the keys that may be absent
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
	groups := make(map[string][]*traits)
	for _, tr := range list {
		groups[strings.Join(tr.keys[u.Key], "|")] = append(groups[strings.Join(tr.keys[u.Key], "|")], tr)
	}
	for _, tr := range list {
		joined := strings.Join(tr.keys[u.Key], "|")
		if group := groups[joined]; group != nil {
			slices.SortStableFunc(group, laterFirst)
			s.addTests(t, u, group, tr.keys[u.Key])
			groups[joined] = nil
		}
	}
	s.overlaps(t, u, list)
}

// laterFirst orders newer types before older ones: an object that matches no test has
// the last type of its group.
func laterFirst(a, b *traits) int { return oldest(b.member.Type.In) - oldest(a.member.Type.In) }

// overlaps reports members that have some key values in common, but not all.
func (s *analyzer) overlaps(t *mergedType, u *Union, list []*traits) {
	owner := make(map[string]string)
	for _, tr := range list {
		joined := strings.Join(tr.keys[u.Key], "|")
		for _, v := range tr.keys[u.Key] {
			if other, taken := owner[v]; taken && other != joined {
				r := s.problems.add(t.newest(""), "two members of the union have the %s %q in common, but not all their values", u.Key, v)
				s.anyJSON(r, t.name)
			}
			owner[v] = joined
		}
	}
}

// commonKey returns the member that has fixed values in every member of a union and is
// optional in at most one of them, or "".
func commonKey(list []*traits) string {
	if len(list) == 0 {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(list[0].keys)) {
		var optional int
		fits := true
		for _, tr := range list {
			_, ok := tr.keys[name]
			fits = fits && ok
			if tr.optional[name] {
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
			u.Tests = append(u.Tests, Test{rest[0].member, values, nil})
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
			plain = append(plain, Test{rest[i].member, values, nil})
		}
		u.Tests = append(u.Tests, Test{rest[i].member, values, strings.Split(path, "/")})
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
		return other != rest[i] && other.member.In&rest[i].member.In != 0
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
	tr := &traits{member: mem, keys: make(map[string][]string), optional: make(map[string]bool)}
	for _, c := range st.Consts {
		tr.keys[c.JSON] = []string{c.Value}
		if c.JSON != "method" && c.Required != ^Window(0) {
			tr.optional[c.JSON] = c.Required&c.In != c.In
		}
		tr.all = append(tr.all, c.JSON)
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
			if !x.Open {
				for _, v := range x.Values {
					tr.keys[f.JSON] = append(tr.keys[f.JSON], v.JSON)
				}
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
