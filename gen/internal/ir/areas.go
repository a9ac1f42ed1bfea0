package ir

import (
	"slices"
	"strings"
)

// areas puts every type into a file: the one of the messages that reach it,
// else the one whose subject its name speaks of, else "common".
func (s *shaper) areas() {
	reach := make(map[*Type][]string)
	for _, m := range s.pkg.Methods {
		m.Area = s.methodArea(m)
		for _, t := range []*Type{m.Type, m.Result} {
			if t != nil {
				s.walk(t, m.Area, reach)
			}
		}
	}
	for _, t := range s.pkg.Types {
		t.Area = s.typeArea(t, reach)
	}
	for _, e := range s.pkg.Errors {
		if e.Data != nil {
			e.Data.Area = "errors"
		}
	}
	for _, t := range s.pkg.Types { // a union nobody reaches stays with its members
		if u, ok := t.Shape.(*Union); ok && t.Area == "common" && sameArea(u) {
			t.Area = u.Members[0].Type.Area
		}
	}
}

func (s *shaper) typeArea(t *Type, reach map[*Type][]string) string {
	if area := s.rules.area(t.Name); area != "" {
		return area
	}
	if st, ok := t.Shape.(*Struct); ok && st.Method != nil {
		return st.Method.Area
	}
	if len(reach[t]) == 1 {
		return reach[t][0]
	}
	for _, m := range s.pkg.Methods {
		for _, word := range Words(t.Name) {
			if strings.ToLower(word) == strings.TrimSuffix(m.Area, "s") {
				return m.Area
			}
		}
	}
	return "common"
}

func sameArea(u *Union) bool {
	return !slices.ContainsFunc(u.Members, func(m *Member) bool { return m.Type.Area != u.Members[0].Type.Area })
}

// walk marks everything that t leads to as reached from an area.
func (s *shaper) walk(t *Type, area string, reach map[*Type][]string) {
	if slices.Contains(reach[t], area) || s.rules.area(t.Name) != "" {
		return
	}
	reach[t] = append(reach[t], area)
	switch x := t.Shape.(type) {
	case *Struct:
		for _, f := range x.Fields {
			if f.Role != Meta {
				s.walkExpr(f.Type, area, reach)
			}
		}
	case *Union:
		for _, mem := range x.Members {
			s.walk(mem.Type, area, reach)
		}
	case *Alias:
		s.walkExpr(x.Of, area, reach)
	}
}

func (s *shaper) walkExpr(e Expr, area string, reach map[*Type][]string) {
	switch x := e.(type) {
	case Named:
		s.walk(x.Type, area, reach)
	case List:
		s.walkExpr(x.Elem, area, reach)
	case Map:
		s.walkExpr(x.Elem, area, reach)
	case Ordered:
		s.walkExpr(x.Elem, area, reach)
	case OneOrMany:
		s.walkExpr(x.Elem, area, reach)
	}
}

// methodArea is the first part of a method's name that says something: a new
// family of methods gets a file of its own.
func (s *shaper) methodArea(m *Method) string {
	if area := s.rules.area(m.Wire); area != "" {
		return area
	}
	parts := strings.Split(m.Wire, "/")
	if parts[0] == "notifications" && len(parts) > 2 {
		parts = parts[1:]
	}
	if len(parts) < 2 {
		return "common"
	}
	return strings.ToLower(strings.Join(Words(parts[0]), "_"))
}
