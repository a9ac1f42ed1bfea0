package ir

import (
	"fmt"
	"strings"
)

// document gives every name its text: the overlay's, or a line of facts.
func (s *shaper) document() {
	for _, t := range s.pkg.Types {
		t.Doc = s.text("", t.Name, t.In, func() (string, bool) { return s.docs.Type(t.Name) }, s.typeFacts(t))
		t.Deprecated = s.rules.deprecated(t.Name)
		switch x := t.Shape.(type) {
		case *Struct:
			for _, f := range x.Fields {
				f.Doc = s.text(t.Name+".", f.JSON, f.In&t.In, func() (string, bool) { return s.docs.Member(t.Name, f.JSON) },
					s.factOnly(fmt.Sprintf("the member %q", f.JSON), f.In))
				f.Deprecated = s.rules.deprecated(t.Name + "." + f.JSON)
			}
		case *Enum:
			for _, v := range x.Values {
				v.Doc = s.text(t.Name+"=", v.JSON, v.In&t.In, func() (string, bool) { return s.docs.Value(t.Name, v.JSON) },
					s.factOnly(fmt.Sprintf("the value %q", v.JSON), v.In))
			}
		}
	}
	for _, m := range s.pkg.Methods {
		m.Doc = s.text("method ", m.Wire, m.FromClient|m.FromServer|m.Embedded, func() (string, bool) { return s.docs.Method(m.Wire) },
			s.factOnly("the method "+m.Wire, m.FromClient|m.FromServer|m.Embedded))
		m.Deprecated = s.rules.deprecated("method " + m.Wire)
	}
	for _, e := range s.pkg.Errors {
		e.Doc = s.text("error ", fmt.Sprint(e.Code), e.In, func() (string, bool) { return s.docs.Error(e.Code) },
			s.factOnly(fmt.Sprintf("the error code %d", e.Code), e.In))
	}
}

// text looks a text up and notes the key where there is none.
func (s *shaper) text(prefix, name string, in Window, find func() (string, bool), facts string) string {
	if text, ok := find(); ok {
		return text
	}
	since := ""
	if i := oldest(in); i < len(s.drafts) {
		since = s.drafts[i].name
	}
	s.pkg.Undocumented = append(s.pkg.Undocumented, Undocumented{prefix + name, since})
	return facts
}

func (s *shaper) typeFacts(t *Type) string {
	if st, ok := t.Shape.(*Struct); ok && st.Method != nil {
		return s.factOnly("the message "+st.Method.Wire, t.In)
	}
	name := t.At[strings.LastIndex(t.At, "/")+1:]
	return s.factOnly("the definition "+name, t.In)
}
