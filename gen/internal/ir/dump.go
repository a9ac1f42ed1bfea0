package ir

import (
	"fmt"
	"io"
	"strings"
)

// Dump writes the model as text, one line per member. It is the output of the -dump
// flag, and the golden files of the tests contain it.
func (p *Package) Dump(w io.Writer) {
	for _, t := range p.Types {
		fmt.Fprintf(w, "%s%s [%s]", t.Name, p.window(t.In), t.Area)
		switch x := t.Shape.(type) {
		case *Struct:
			fmt.Fprintf(w, " struct%s%s\n", roleName(x.Role), methodSuffix(x))
			for _, c := range x.Consts {
				fmt.Fprintf(w, "\t%s = %q%s\n", c.JSON, c.Value, p.window(c.In))
				for _, v := range c.Values {
					fmt.Fprintf(w, "\t\t%s%s\n", v.JSON, p.window(v.In))
				}
			}
			for _, f := range x.Fields {
				fmt.Fprintf(w, "\t%s %s%s%s\n", f.JSON, exprName(f.Type), p.window(f.In), p.traits(f))
			}
		case *Union:
			if x.Objects != 0 {
				fmt.Fprintf(w, " object%s\n", p.window(x.Objects))
			}
			for _, sel := range x.Selectors() {
				fmt.Fprintf(w, " union%s by %q\n", p.window(sel.In), sel.Key)
				for _, t := range sel.Tests {
					fmt.Fprintf(w, "\t%s%s if %s %s\n", t.Member.Type.Name, p.window(t.In), strings.Join(t.Values, "|"), strings.Join(t.Path, "/"))
				}
			}
		case *Enum:
			fmt.Fprintf(w, " enum open=%v\n", x.Open)
			for _, v := range x.Values {
				fmt.Fprintf(w, "\t%s%s\n", v.JSON, p.window(v.In))
			}
		case *Alias:
			fmt.Fprintf(w, " = %s\n", exprName(x.Of))
		}
	}
	for _, m := range p.Methods {
		fmt.Fprintf(w, "%s %s [%s]", m.Wire, m.Name, m.Area)
		for _, x := range []struct {
			name string
			in   Window
		}{{"client", m.FromClient}, {"server", m.FromServer}, {"embedded", m.Embedded}, {"rounds", m.MultiRound}, {"cache", m.Cacheable}} {
			if x.in != 0 {
				fmt.Fprintf(w, " %s%s", x.name, p.window(x.in))
			}
		}
		if m.Result != nil {
			fmt.Fprintf(w, " -> %s", m.Result.Name)
		}
		if m.Pages != nil {
			fmt.Fprintf(w, " pages %s", m.Pages.JSON)
		}
		fmt.Fprintln(w)
	}
	for _, e := range p.Errors {
		fmt.Fprintf(w, "%d %s%s", e.Code, e.Name, p.window(e.In))
		for _, o := range e.Others {
			fmt.Fprintf(w, ", %d%s", o.Code, p.window(o.In))
		}
		fmt.Fprintln(w)
	}
}

// window returns the names of the revisions in w, or "" if w contains all.
func (p *Package) window(w Window) string {
	if w == ^Window(0) {
		return ""
	}
	var names []string
	for bit, r := range p.Revisions {
		if w.Has(bit) {
			names = append(names, r.Name)
		}
	}
	return " @" + strings.Join(names, ",")
}

func (p *Package) traits(f *Field) string {
	var list []string
	add := func(on bool, what string) {
		if on {
			list = append(list, what)
		}
	}
	add(f.Always, "always")
	add(!f.Always && f.Required != 0, "required"+p.window(f.Required))
	add(f.Pointer, "pointer")
	add(f.Nullable, "nullable")
	add(f.Nulls != 0, fmt.Sprintf("nulls %b", f.Nulls))
	add(f.Integers != 0, fmt.Sprintf("integers %b", f.Integers))
	add(f.Default != "", "default "+f.Default)
	add(f.Revision, "default revision")
	add(f.Tolerant, "tolerant")
	add(f.Strict != 0, fmt.Sprintf("strict %b", f.Strict))
	add(f.NullAbsent, "null is absent")
	add(f.Lenient, "lenient")
	add(f.Zeros != 0, fmt.Sprintf("zeros %b", f.Zeros))
	add(f.Kept, "kept")
	for _, v := range f.Extra {
		add(true, "in Extra"+p.window(v.In))
	}
	for _, v := range f.Checks {
		add(true, "checked"+p.window(v.In))
	}
	if len(list) == 0 {
		return ""
	}
	return " (" + strings.Join(list, ", ") + ")"
}

func methodSuffix(s *Struct) string {
	if s.Method == nil {
		return ""
	}
	return " " + s.Method.Wire
}

func roleName(r Role) string {
	return [...]string{"", " request", " notification", " result", " meta"}[r]
}

func exprName(e Expr) string {
	switch x := e.(type) {
	case Scalar:
		s := [...]string{"string", "bool", "int", "float", "bytes", "raw", "rawobject", "id", "token", "object", "primitive"}[x.Kind]
		if x.Objects != 0 {
			s += fmt.Sprintf(" object in %b", x.Objects)
		}
		if x.Min != nil {
			s += fmt.Sprintf(" >=%g", *x.Min)
		}
		if x.Max != nil {
			s += fmt.Sprintf(" <=%g", *x.Max)
		}
		if x.Bounds != 0 {
			s += fmt.Sprintf(" in %b", x.Bounds)
		}
		return s
	case Named:
		return x.Type.Name
	case List:
		s := "[]" + exprName(x.Elem)
		if x.Max > 0 {
			s += fmt.Sprintf(" max %d", x.Max)
		}
		return s
	case Map:
		return "map " + exprName(x.Elem)
	case Ordered:
		return "ordered " + exprName(x.Elem)
	case OneOrMany:
		return "one or many " + exprName(x.Elem)
	}
	return "?"
}
