package ir

import (
	"maps"
	"slices"
	"strings"
)

// traits are what a union's member can be recognised by.
type traits struct {
	member   *Member
	keys     map[string][]string // members with fixed values
	optional map[string]bool     // of the keys, those that may be absent
	required []string            // paths of members that are always there
	all      []string            // paths of all members
}

// discriminate finds how the members of a union are told apart, and refuses
// where they cannot be.
func (s *shaper) discriminate(t *thing, u *Union) {
	var list []*traits
	for _, mem := range u.Members {
		if st, ok := mem.Type.Shape.(*Struct); ok {
			list = append(list, traitsOf(mem, st))
		}
	}
	u.Key = key(list)
	if u.Key == "" {
		s.tell(t, u, list, nil)
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
			s.tell(t, u, group, tr.keys[u.Key])
			groups[joined] = nil
		}
	}
	s.overlaps(t, u, list)
}

// laterFirst orders what came later to the protocol before what was there: the
// last one of a group is what an object is that looks like no other.
func laterFirst(a, b *traits) int { return oldest(b.member.Type.In) - oldest(a.member.Type.In) }

// overlaps refuses members whose key values meet without being the same.
func (s *shaper) overlaps(t *thing, u *Union, list []*traits) {
	owner := make(map[string]string)
	for _, tr := range list {
		joined := strings.Join(tr.keys[u.Key], "|")
		for _, v := range tr.keys[u.Key] {
			if other, taken := owner[v]; taken && other != joined {
				s.issues.add(t.newest(""), "two members of the union share the %s %q but not all others", u.Key, v)
			}
			owner[v] = joined
		}
	}
}

// key is the member that has fixed values in every member of a union, absent
// in at most one.
func key(list []*traits) string {
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

// tell orders the members that share a key value (or have none) so that each
// is found by a member that the ones after it lack. Where the key and the revision
// say enough, what has none of them is found as well.
func (s *shaper) tell(t *thing, u *Union, rest []*traits, values []string) {
	var plain []Test
	defer func() { u.Tests = append(u.Tests, plain...) }()
	for len(rest) > 0 {
		if len(rest) == 1 && u.Key != "" {
			u.Tests = append(u.Tests, Test{rest[0].member, values, nil})
			return
		}
		i, path := next(rest)
		if i < 0 {
			var names []string
			how := "no revision has both; write a Same rule if a definition was renamed"
			for i, tr := range rest {
				names = append(names, tr.member.Type.Name)
				if !alone(rest, i) {
					how = "the union needs a constant member, or members that only one of them has"
				}
			}
			s.issues.add(t.newest(""), "%s cannot be told apart: %s", strings.Join(names, " and "), how)
			return
		}
		if u.Key != "" && alone(rest, i) {
			plain = append(plain, Test{rest[i].member, values, nil})
		}
		u.Tests = append(u.Tests, Test{rest[i].member, values, strings.Split(path, "/")})
		rest = slices.Delete(slices.Clone(rest), i, i+1)
	}
}

// next finds a member with a required path that no other has, else one that
// refines another: the same required paths, and an optional one more.
func next(rest []*traits) (int, string) {
	for i, tr := range rest {
		for _, path := range tr.required {
			if !othersHave(rest, i, path) {
				return i, path
			}
		}
	}
	for i, tr := range rest {
		for j, other := range rest {
			if i == j || !slices.Equal(tr.required, other.required) || !subset(other.all, tr.all) {
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

// alone tells whether no revision has the member and another one.
func alone(rest []*traits, i int) bool {
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

func subset(a, b []string) bool {
	return !slices.ContainsFunc(a, func(s string) bool { return !slices.Contains(b, s) })
}

func traitsOf(mem *Member, st *Struct) *traits {
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
		if !f.Always {
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
				if inner.Always {
					tr.required = append(tr.required, f.JSON+"/"+inner.JSON)
				}
			}
		}
	}
	slices.Sort(tr.required)
	slices.Sort(tr.all)
	return tr
}
